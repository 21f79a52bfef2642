//! `MiniMax`'s images, at `/image_generation` for both doors: a picture to edit goes in as the character
//! that is to be drawn (`subject_reference`), which is the nearest that the vendor has.
//!
//! A size is `width` and `height`, or a ratio such as `16:9` in `aspect_ratio`. Errors come under status 200
//! with a number in `base_resp`. Counts are texts. Pictures that its own check holds back are missing, and
//! where all are, nothing says so but the counts.

use crate::vendor_http::{Call, Complaint, Said, text_at};
use serde_json::{Map, Value, json};
use trunkline_catalog::{Fate, Note, Refusal};

use super::{FOREIGN, decoded, linked, made, put};
use crate::complaints::{self, garbage, is_success, minimax_number};
use crate::errand::{Errand, Written};
use crate::images::pictures::as_text;
use crate::images::{Ask, Image, Made, Protocol};
use crate::policy::{carried, not_sent, shown};
use crate::trouble::Trouble;

/// The protocol.
pub(super) const PROTOCOL: Protocol = Protocol {
    format: "minimax_images",
    write,
    read,
};

/// Lets the vendor choose.
const AUTO: &str = "auto";

fn write(ask: &Ask, model: &str) -> Result<Written, Refusal> {
    let mut notes: Vec<Note> = Vec::new();
    let foreign: Vec<&str> = FOREIGN.iter().copied().chain(["output_format"]).collect();
    let mut body = carried(&ask.extras, &foreign, &mut notes);
    put(&mut body, "model", model);
    put(&mut body, "prompt", ask.prompt.as_str());
    put(&mut body, "n", ask.count);
    let form = if ask.wants_base64 { "base64" } else { "url" };
    put(&mut body, "response_format", form);
    if let Some(size) = &ask.size {
        say_size(size, &mut body, &mut notes)?;
    }
    if ask.quality.is_some() {
        notes.push(not_sent("quality"));
    }
    if ask.mask.is_some() {
        notes.push(not_sent("mask"));
    }
    if !ask.images.is_empty() {
        let subject = |text: String| json!({ "type": "character", "image_file": text });
        let subjects: Vec<Value> = ask.images.iter().map(as_text).map(subject).collect();
        put(&mut body, "subject_reference", subjects);
        let why = "this vendor draws a new picture with the character of the one that is sent";
        notes.push(Note::told(
            "image",
            Fate::Rewritten,
            "image_as_subject",
            why,
        ));
    }
    Ok(Written {
        errand: Errand::plain(Call::post("/image_generation", &body)),
        notes,
    })
}

fn say_size(
    size: &str,
    body: &mut Map<String, Value>,
    notes: &mut Vec<Note>,
) -> Result<(), Refusal> {
    let whole = |text: &str| text.parse::<u64>().ok();
    let pair = |mark: char| {
        let (width, height) = size.split_once(mark)?;
        Some((whole(width)?, whole(height)?))
    };
    for name in ["width", "height", "aspect_ratio"] {
        body.remove(name);
    }
    if let Some((width, height)) = pair('x').or_else(|| pair('*')) {
        put(body, "width", width);
        put(body, "height", height);
    } else if pair(':').is_some() {
        put(body, "aspect_ratio", size);
    } else if size == AUTO {
        notes.push(not_sent("size"));
    } else {
        let text = format!("{:?} is no size of this vendor", shown(size));
        let refusal = Refusal::new("size_unsupported", "size", text);
        return Err(
            refusal.with_fix("say it in pixels, such as 1024x1024, or as a ratio, such as 16:9")
        );
    }
    Ok(())
}

fn read(ask: &Ask, said: &Said<'_>) -> Result<Made, Trouble> {
    let body = said.json();
    if !is_success(said) || minimax_number(&body).is_some() {
        return Err(complaints::minimax(said));
    }
    let texts = |pointer: &str| {
        let list = body.pointer(pointer).and_then(Value::as_array);
        list.into_iter().flatten().filter_map(Value::as_str)
    };
    let links = texts("/data/image_urls").filter_map(linked);
    let inline = texts("/data/image_base64").filter_map(decoded);
    let pictures: Vec<Image> = links.chain(inline).collect();
    let failed = text_at(&body, "/metadata/failed_count").filter(|count| count != "0");
    let why = failed.map(|count| {
        let text = format!("{count} pictures were held back by the vendor's own check");
        Complaint::new(400, "output_sensitive", text)
    });
    made(ask, pictures, why, |why| match why {
        Some(why) => Trouble::Refused(why),
        None => garbage(said, "an answer without a picture"),
    })
}
