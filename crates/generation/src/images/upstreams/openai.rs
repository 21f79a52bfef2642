//! OpenAI's images, and everybody's who copies them.
//!
//! Generations are JSON at `/images/generations`. Edits are a form at `/images/edits`: one picture in
//! `image`, several in `image[]`, where to edit in `mask`. Where a picture is only an address, the same
//! door takes JSON with `images: [{"image_url": …}]`, and pictures that are here go in it as data URIs.
//! `response_format` is sent only if the model's record names it, which the plan sees to: newer models
//! refuse it and always answer in base64, older ones answer with addresses. Both are read. `n` is always
//! sent; everything that the caller said beside goes along.

use crate::vendor_http::{Call, Said, text_at};
use serde_json::{Map, Value, json};
use trunkline_catalog::Refusal;

use super::{decoded, linked, made, put};
use crate::complaints::{self, garbage, is_success, told};
use crate::errand::{Content, Errand, Part, Written, parts_of};
use crate::images::pictures::as_text;
use crate::images::{Ask, Door, Image, Made, Picture, Protocol};
use crate::trouble::Trouble;

/// The protocol.
pub(super) const PROTOCOL: Protocol = Protocol {
    format: "openai_images",
    write,
    read,
};

const GENERATIONS: &str = "/images/generations";
const EDITS: &str = "/images/edits";

fn write(ask: &Ask, model: &str) -> Result<Written, Refusal> {
    let body = said_of(ask, model);
    let errand = match ask.door {
        Door::Generations => Errand::plain(Call::post(GENERATIONS, &body)),
        Door::Edits => match held(ask) {
            Some(files) => form(&body, files),
            None => Errand::plain(Call::post(EDITS, &with_links(ask, body))),
        },
    };
    Ok(Written {
        errand,
        notes: Vec::new(),
    })
}

fn said_of(ask: &Ask, model: &str) -> Map<String, Value> {
    let mut body = ask.extras.clone();
    put(&mut body, "model", model);
    put(&mut body, "prompt", ask.prompt.as_str());
    put(&mut body, "n", ask.count);
    if let Some(size) = &ask.size {
        // With an x, however the caller or a record wrote it.
        put(&mut body, "size", size.replace('*', "x"));
    }
    if let Some(quality) = &ask.quality {
        put(&mut body, "quality", quality.as_str());
    }
    body
}

/// The files of a form; none where something is only an address.
fn held(ask: &Ask) -> Option<Vec<Part>> {
    let name = if ask.images.len() > 1 {
        "image[]"
    } else {
        "image"
    };
    let images = ask.images.iter().map(|picture| file(name, picture));
    let mask = ask.mask.iter().map(|picture| file("mask", picture));
    images.chain(mask).collect()
}

fn file(name: &str, picture: &Picture) -> Option<Part> {
    match picture {
        Picture::Link(_) => None,
        Picture::Held {
            name: file_name,
            content_type,
            bytes,
        } => Some(Part {
            name: name.to_owned(),
            content: Content::File {
                name: file_name.clone(),
                content_type: content_type.clone(),
                bytes: bytes.clone(),
            },
        }),
    }
}

fn form(body: &Map<String, Value>, files: Vec<Part>) -> Errand {
    let mut parts: Vec<Part> = body
        .iter()
        .flat_map(|(name, value)| parts_of(name, value))
        .collect();
    parts.extend(files);
    let mut call = Call::post(EDITS, &Map::new());
    call.body = None;
    Errand::form(call, parts)
}

fn with_links(ask: &Ask, mut body: Map<String, Value>) -> Map<String, Value> {
    let entry = |picture: &Picture| json!({ "image_url": as_text(picture) });
    let images: Vec<Value> = ask.images.iter().map(entry).collect();
    put(&mut body, "images", images);
    if let Some(mask) = &ask.mask {
        put(&mut body, "mask", entry(mask));
    }
    body
}

fn read(ask: &Ask, said: &Said<'_>) -> Result<Made, Trouble> {
    if !is_success(said) {
        return Err(complaints::openai(said));
    }
    let body = said.json();
    let list = body.get("data").and_then(Value::as_array);
    let pictures = list.into_iter().flatten().filter_map(picture).collect();
    let error = body.get("error").filter(|error| error.is_object());
    let why = error.map(|_| told(said, &body, "/error"));
    made(ask, pictures, why, |_| {
        garbage(said, "an answer without a picture")
    })
}

/// An entry has an address or base64; the other of the two may be null or empty.
pub(super) fn picture(entry: &Value) -> Option<Image> {
    let text = |pointer: &str| text_at(entry, pointer).filter(|text| !text.is_empty());
    let found = text("/b64_json").and_then(|text| decoded(&text));
    let found = found.or_else(|| {
        let url = text("/url")?;
        linked(&url).or_else(|| decoded(&url))
    });
    found.map(|image| Image {
        revised_prompt: text("/revised_prompt"),
        ..image
    })
}
