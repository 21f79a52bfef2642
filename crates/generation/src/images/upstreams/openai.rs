//! OpenAI's images, and vendors with the same API.
//!
//! Generations are JSON at `/images/generations`. Edits are a form at `/images/edits`: one image in `image`,
//! several in `image[]`, the mask in `mask`. Where an image is only a URL, the same endpoint takes JSON with
//! `images: [{"image_url": …}]`, and images in memory go in it as data URIs.
//! `response_format` is sent only if the model's record names it, which the plan sees to: newer models
//! refuse it and always respond in base64, older ones with URLs. Both are read. `n` is always sent; the
//! caller's other fields are passed on.

use serde_json::{Map, Value, json};
use trunkline_catalog::RequestError;

use super::{decoded, linked, made};
use crate::encoding::put;
use crate::error_mapping::{self, error_at, garbage};
use crate::images::input_images::as_text;
use crate::images::{GeneratedImages, Image, ImageEndpoint, ImageRequest, InputImage, Protocol};
use crate::vendor_failure::VendorFailure;
use crate::vendor_http::{
    Content, Encoded, Part, VendorRequest, VendorResponse, filled_at, parts_of,
};

pub(super) const PROTOCOL: Protocol = Protocol {
    format: "openai_images",
    encode,
    decode,
};

const GENERATIONS: &str = "/images/generations";
const EDITS: &str = "/images/edits";

fn encode(request: &ImageRequest, model: &str) -> Result<Encoded, RequestError> {
    let body = said_of(request, model);
    let vendor_request = match request.endpoint {
        ImageEndpoint::Generations => VendorRequest::post(GENERATIONS, &body),
        ImageEndpoint::Edits => match held(request) {
            Some(files) => form(&body, files),
            None => VendorRequest::post(EDITS, &with_links(request, body)),
        },
    };
    Ok(Encoded {
        request: vendor_request,
        notes: Vec::new(),
    })
}

fn said_of(request: &ImageRequest, model: &str) -> Map<String, Value> {
    let mut body = request.extras.clone();
    put(&mut body, "model", model);
    put(&mut body, "prompt", request.prompt.as_str());
    put(&mut body, "n", request.count);
    if let Some(size) = &request.size {
        // With an x, however the caller or a record wrote it.
        put(&mut body, "size", size.replace('*', "x"));
    }
    if let Some(quality) = &request.quality {
        put(&mut body, "quality", quality.as_str());
    }
    body
}

/// The files of a form; none where something is only an address.
fn held(request: &ImageRequest) -> Option<Vec<Part>> {
    let name = if request.images.len() > 1 {
        "image[]"
    } else {
        "image"
    };
    let images = request.images.iter().map(|picture| file(name, picture));
    let mask = request.mask.iter().map(|picture| file("mask", picture));
    images.chain(mask).collect()
}

fn file(name: &str, picture: &InputImage) -> Option<Part> {
    match picture {
        InputImage::Link(_) => None,
        InputImage::Held {
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

fn form(body: &Map<String, Value>, files: Vec<Part>) -> VendorRequest {
    let mut parts: Vec<Part> = body
        .iter()
        .flat_map(|(name, value)| parts_of(name, value))
        .collect();
    parts.extend(files);
    VendorRequest::post_form(EDITS, parts)
}

fn with_links(request: &ImageRequest, mut body: Map<String, Value>) -> Map<String, Value> {
    let entry = |picture: &InputImage| json!({ "image_url": as_text(picture) });
    let images: Vec<Value> = request.images.iter().map(entry).collect();
    put(&mut body, "images", images);
    if let Some(mask) = &request.mask {
        put(&mut body, "mask", entry(mask));
    }
    body
}

fn decode(
    request: &ImageRequest,
    response: &VendorResponse<'_>,
) -> Result<GeneratedImages, VendorFailure> {
    if !response.is_success() {
        return Err(error_mapping::openai(response));
    }
    let body = response.json();
    let list = body.get("data").and_then(Value::as_array);
    let pictures = list.into_iter().flatten().filter_map(picture).collect();
    let error = body.get("error").filter(|error| error.is_object());
    let why = error.map(|_| error_at(response, &body, "/error"));
    made(request, pictures, why, |_| {
        garbage(response, "an answer without a picture")
    })
}

/// An entry has an address or base64; the other of the two may be null or empty.
pub(super) fn picture(entry: &Value) -> Option<Image> {
    let text = |pointer: &str| filled_at(entry, pointer);
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
