//! Ark's images (Seedream), at `/images/generations` for both endpoints: an image to edit is sent in `image`, as
//! a URL or a data URI, several as a list.
//!
//! The vendor adds a watermark by default, so `watermark` is always sent: false, or the caller's value. It has
//! no `n`: several images are a sequence with at most so many
//! (`sequential_image_generation`), which may end early; what is missing counts as failed. A caller cannot
//! request a sequence by the vendor's own fields, since `n` is what is paid. Sizes are `2K` or `2048x2048`.
//! A single image that failed has an `error` in its place.

use serde_json::{Value, json};
use trunkline_catalog::{FieldNote, RequestError};

use super::{FOREIGN, made, openai, skip_quality_and_mask};
use crate::encoding::put;
use crate::error_mapping::{self, error_at, garbage};
use crate::field_policy::carried;
use crate::images::input_images::as_text;
use crate::images::{GeneratedImages, Image, ImageRequest, Protocol};
use crate::vendor_failure::VendorFailure;
use crate::vendor_http::{Encoded, VendorError, VendorRequest, VendorResponse};

pub(super) const PROTOCOL: Protocol = Protocol {
    format: "ark_images",
    encode,
    decode,
};

/// Said by us alone: how many there are is what is paid.
const SEQUENCE: [&str; 2] = [
    "sequential_image_generation",
    "sequential_image_generation_options",
];

fn encode(request: &ImageRequest, model: &str) -> Result<Encoded, RequestError> {
    let mut notes: Vec<FieldNote> = Vec::new();
    let foreign: Vec<&str> = FOREIGN.iter().chain(&SEQUENCE).copied().collect();
    let mut body = carried(&request.extras, &foreign, &mut notes);
    body.entry("watermark").or_insert(Value::Bool(false));
    put(&mut body, "model", model);
    put(&mut body, "prompt", request.prompt.as_str());
    let form = if request.wants_base64 {
        "b64_json"
    } else {
        "url"
    };
    put(&mut body, "response_format", form);
    if let Some(size) = &request.size {
        put(&mut body, "size", size.replace('*', "x"));
    }
    skip_quality_and_mask(request, &mut notes);
    match request.images.as_slice() {
        [] => {}
        [one] => put(&mut body, "image", as_text(one)),
        several => {
            let all: Vec<String> = several.iter().map(as_text).collect();
            put(&mut body, "image", all);
        }
    }
    if request.count > 1 {
        put(&mut body, "sequential_image_generation", "auto");
        let options = json!({ "max_images": request.count });
        put(&mut body, "sequential_image_generation_options", options);
    }
    Ok(Encoded {
        request: VendorRequest::post("/images/generations", &body),
        notes,
    })
}

fn decode(
    request: &ImageRequest,
    response: &VendorResponse<'_>,
) -> Result<GeneratedImages, VendorFailure> {
    if !response.is_success() {
        return Err(error_mapping::ark(response));
    }
    let body = response.json();
    let list = body.get("data").and_then(Value::as_array);
    let entries: Vec<&Value> = list.into_iter().flatten().collect();
    let wrong = |entry: &&&Value| entry.get("error").is_some_and(Value::is_object);
    let why = entries.iter().find(wrong);
    let why = why.map(|entry| error_at(response, entry, "/error"));
    let whole = body.get("error").filter(|error| error.is_object());
    let why = why.or_else(|| whole.map(|_| error_at(response, &body, "/error")));
    let pictures: Vec<Image> = entries
        .iter()
        .filter_map(|entry| openai::picture(entry))
        .collect();
    made(request, pictures, why, |why| nothing(response, why))
}

/// The failure of a response without any image. The caller sees an error of the request.
fn nothing(response: &VendorResponse<'_>, why: Option<VendorError>) -> VendorFailure {
    match why {
        Some(why) if why.code.starts_with("Internal") => VendorFailure::Failed(why),
        Some(why) => VendorFailure::Refused(why),
        None => garbage(response, "an answer without a picture"),
    }
}
