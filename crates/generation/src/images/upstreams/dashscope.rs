//! `DashScope`'s images (Qwen, Wan, Z), in one call at `/services/aigc/multimodal-generation/generation` for
//! both doors: pictures and the prompt are parts of one message, everything else is in `parameters`.
//!
//! Sizes are written `1328*1328`. `watermark` is always said: false, or what the caller wants. Pictures are
//! addresses for a day, one or several to a choice. Older models' lists of results are read too, where an
//! entry may have a code instead of an address. Errors are `{"code", "message"}`.

use crate::vendor_http::{Call, Complaint, Said, text_at};
use serde_json::{Map, Value, json};
use trunkline_catalog::{Note, Refusal};

use super::{FOREIGN, linked, made, put};
use crate::complaints::{self, garbage, is_success, told};
use crate::errand::{Errand, Written};
use crate::images::pictures::as_text;
use crate::images::{Ask, Image, Made, Protocol};
use crate::policy::{carried, not_sent};
use crate::trouble::Trouble;

/// The protocol.
pub(super) const PROTOCOL: Protocol = Protocol {
    format: "dashscope_images",
    write,
    read,
};

const PATH: &str = "/services/aigc/multimodal-generation/generation";

fn write(ask: &Ask, model: &str) -> Result<Written, Refusal> {
    let mut notes: Vec<Note> = Vec::new();
    let foreign: Vec<&str> = FOREIGN.iter().copied().chain(["output_format"]).collect();
    let mut parameters = carried(&ask.extras, &foreign, &mut notes);
    // There are only addresses, and what the caller sees does not depend on it.
    parameters.remove("response_format");
    parameters.entry("watermark").or_insert(Value::Bool(false));
    put(&mut parameters, "n", ask.count);
    if let Some(size) = &ask.size {
        put(&mut parameters, "size", size.replace('x', "*"));
    }
    if ask.quality.is_some() {
        notes.push(not_sent("quality"));
    }
    if ask.mask.is_some() {
        notes.push(not_sent("mask"));
    }
    let images = ask
        .images
        .iter()
        .map(|one| json!({ "image": as_text(one) }));
    let content: Vec<Value> = images.chain([json!({ "text": ask.prompt })]).collect();
    let mut body = Map::new();
    put(&mut body, "model", model);
    let messages = json!({ "messages": [{ "role": "user", "content": content }] });
    put(&mut body, "input", messages);
    put(&mut body, "parameters", parameters);
    Ok(Written {
        errand: Errand::plain(Call::post(PATH, &body)),
        notes,
    })
}

fn read(ask: &Ask, said: &Said<'_>) -> Result<Made, Trouble> {
    if !is_success(said) {
        return Err(complaints::dashscope(said));
    }
    let body = said.json();
    let mut pictures: Vec<Image> = Vec::new();
    for choice in list(&body, "/output/choices") {
        let parts = list(choice, "/message/content");
        let links = parts.iter().filter_map(|part| text_at(part, "/image"));
        pictures.extend(links.filter_map(|link| linked(&link)));
    }
    let mut why = None;
    for result in list(&body, "/output/results") {
        match text_at(result, "/url").and_then(|link| linked(&link)) {
            Some(picture) => pictures.push(picture),
            None => why = why.or_else(|| Some(told(said, result, ""))),
        }
    }
    if text_at(&body, "/code").is_some_and(|code| !code.is_empty()) {
        why = Some(told(said, &body, ""));
    }
    made(ask, pictures, why, |why| nothing(said, why))
}

fn nothing(said: &Said<'_>, why: Option<Complaint>) -> Trouble {
    match why {
        Some(why) => complaints::dashscope_by_code(said, why),
        None => garbage(said, "an answer without a picture"),
    }
}

fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    let list = value.pointer(pointer).and_then(Value::as_array);
    list.map(Vec::as_slice).unwrap_or_default()
}
