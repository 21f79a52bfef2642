//! Ark's images (Seedream), at `/images/generations` for both doors: a picture to edit goes in `image`, as
//! an address or a data URI, several as a list.
//!
//! The vendor puts a watermark on everything unless it is told not to, so `watermark` is always said:
//! false, or what the caller wants. It knows no `n`: several pictures are a sequence with at most so many
//! (`sequential_image_generation`), which may end early; what is missing counts as failed. A caller cannot
//! ask for a sequence in the vendor's words, since `n` is what is paid. Sizes are `2K` or `2048x2048`.
//! Single pictures fail with an `error` in their place while the others are there.

use crate::vendor_http::{Call, Complaint, Said};
use serde_json::{Value, json};
use trunkline_catalog::{Note, Refusal};

use super::{FOREIGN, made, openai, put};
use crate::complaints::{self, garbage, is_success, told};
use crate::errand::{Errand, Written};
use crate::images::pictures::as_text;
use crate::images::{Ask, Image, Made, Protocol};
use crate::policy::{carried, not_sent};
use crate::trouble::Trouble;

/// The protocol.
pub(super) const PROTOCOL: Protocol = Protocol {
    format: "ark_images",
    write,
    read,
};

/// Said by us alone: how many there are is what is paid.
const SEQUENCE: [&str; 2] = [
    "sequential_image_generation",
    "sequential_image_generation_options",
];

fn write(ask: &Ask, model: &str) -> Result<Written, Refusal> {
    let mut notes: Vec<Note> = Vec::new();
    let foreign: Vec<&str> = FOREIGN.iter().chain(&SEQUENCE).copied().collect();
    let mut body = carried(&ask.extras, &foreign, &mut notes);
    body.entry("watermark").or_insert(Value::Bool(false));
    put(&mut body, "model", model);
    put(&mut body, "prompt", ask.prompt.as_str());
    let form = if ask.wants_base64 { "b64_json" } else { "url" };
    put(&mut body, "response_format", form);
    if let Some(size) = &ask.size {
        put(&mut body, "size", size.replace('*', "x"));
    }
    if ask.quality.is_some() {
        notes.push(not_sent("quality"));
    }
    if ask.mask.is_some() {
        notes.push(not_sent("mask"));
    }
    match ask.images.as_slice() {
        [] => {}
        [one] => put(&mut body, "image", as_text(one)),
        several => {
            let all: Vec<String> = several.iter().map(as_text).collect();
            put(&mut body, "image", all);
        }
    }
    if ask.count > 1 {
        put(&mut body, "sequential_image_generation", "auto");
        let options = json!({ "max_images": ask.count });
        put(&mut body, "sequential_image_generation_options", options);
    }
    Ok(Written {
        errand: Errand::plain(Call::post("/images/generations", &body)),
        notes,
    })
}

fn read(ask: &Ask, said: &Said<'_>) -> Result<Made, Trouble> {
    if !is_success(said) {
        return Err(complaints::ark(said));
    }
    let body = said.json();
    let list = body.get("data").and_then(Value::as_array);
    let entries: Vec<&Value> = list.into_iter().flatten().collect();
    let wrong = |entry: &&&Value| entry.get("error").is_some_and(Value::is_object);
    let why = entries.iter().find(wrong);
    let why = why.map(|entry| told(said, entry, "/error"));
    let whole = body.get("error").filter(|error| error.is_object());
    let why = why.or_else(|| whole.map(|_| told(said, &body, "/error")));
    let pictures: Vec<Image> = entries
        .iter()
        .filter_map(|entry| openai::picture(entry))
        .collect();
    made(ask, pictures, why, |why| nothing(said, why))
}

/// Why there is no picture at all. What the request did wrong is said to who sent it.
fn nothing(said: &Said<'_>, why: Option<Complaint>) -> Trouble {
    match why {
        Some(why) if why.code.starts_with("Internal") => Trouble::Failed(why),
        Some(why) => Trouble::Refused(why),
        None => garbage(said, "an answer without a picture"),
    }
}
