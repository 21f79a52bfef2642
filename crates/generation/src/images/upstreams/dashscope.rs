//! `DashScope`'s images (Qwen, Wan, Z), in one call at `/services/aigc/multimodal-generation/generation` for
//! both endpoints: images and the prompt are parts of one message, everything else is in `parameters`.
//!
//! Sizes are written `1328*1328`. `watermark` is always sent: false, or the caller's value. Images are
//! URLs for a day, one or several to a choice. Older models' lists of results are read too, where an
//! entry may have a code instead of an address. Errors are `{"code", "message"}`.

use serde_json::{Map, Value, json};
use trunkline_catalog::{FieldNote, RequestError};

use super::{FOREIGN, linked, made, skip_quality_and_mask};
use crate::encoding::put;
use crate::error_mapping::{self, error_at, garbage};
use crate::field_policy::carried;
use crate::images::input_images::as_text;
use crate::images::{GeneratedImages, Image, ImageRequest, Protocol};
use crate::vendor_failure::VendorFailure;
use crate::vendor_http::{Encoded, VendorError, VendorRequest, VendorResponse, filled_at, text_at};

pub(super) const PROTOCOL: Protocol = Protocol {
    format: "dashscope_images",
    encode,
    decode,
};

const PATH: &str = "/services/aigc/multimodal-generation/generation";

fn encode(request: &ImageRequest, model: &str) -> Result<Encoded, RequestError> {
    let mut notes: Vec<FieldNote> = Vec::new();
    let foreign: Vec<&str> = FOREIGN.iter().copied().chain(["output_format"]).collect();
    let mut parameters = carried(&request.extras, &foreign, &mut notes);
    // There are only addresses, and what the caller sees does not depend on it.
    parameters.remove("response_format");
    parameters.entry("watermark").or_insert(Value::Bool(false));
    put(&mut parameters, "n", request.count);
    if let Some(size) = &request.size {
        put(&mut parameters, "size", size.replace('x', "*"));
    }
    skip_quality_and_mask(request, &mut notes);
    let images = request
        .images
        .iter()
        .map(|one| json!({ "image": as_text(one) }));
    let content: Vec<Value> = images.chain([json!({ "text": request.prompt })]).collect();
    let mut body = Map::new();
    put(&mut body, "model", model);
    let messages = json!({ "messages": [{ "role": "user", "content": content }] });
    put(&mut body, "input", messages);
    put(&mut body, "parameters", parameters);
    Ok(Encoded {
        request: VendorRequest::post(PATH, &body),
        notes,
    })
}

fn decode(
    request: &ImageRequest,
    response: &VendorResponse<'_>,
) -> Result<GeneratedImages, VendorFailure> {
    if !response.is_success() {
        return Err(error_mapping::dashscope(response));
    }
    let body = response.json();
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
            None => why = why.or_else(|| Some(error_at(response, result, ""))),
        }
    }
    if filled_at(&body, "/code").is_some() {
        why = Some(error_at(response, &body, ""));
    }
    made(request, pictures, why, |why| nothing(response, why))
}

fn nothing(response: &VendorResponse<'_>, why: Option<VendorError>) -> VendorFailure {
    match why {
        Some(why) => error_mapping::dashscope_by_code(response, why),
        None => garbage(response, "an answer without a picture"),
    }
}

fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    let list = value.pointer(pointer).and_then(Value::as_array);
    list.map(Vec::as_slice).unwrap_or_default()
}
