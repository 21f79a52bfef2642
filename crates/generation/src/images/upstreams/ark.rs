//! Ark's images (Seedream), at `/images/generations` for both doors: a picture to edit goes in `image`, as
//! an address or a data URI, several as a list.
//!
//! The vendor puts a watermark on everything unless it is told not to, so `watermark` is always said:
//! false, or what the caller wants. It knows no `n`: several pictures are a sequence with at most so many
//! (`sequential_image_generation`), which may end early; what is missing counts as failed. A caller cannot
//! ask for a sequence in the vendor's words, since `n` is what is paid. Sizes are `2K` or `2048x2048`.
//! Single pictures fail with an `error` in their place while the others are there.

use serde_json::{Value, json};
use trunkline_catalog::{Note, Refusal};

use super::{FOREIGN, made, openai, skip_quality_and_mask};
use crate::encoding::put;
use crate::error_mapping::{self, garbage, told};
use crate::field_policy::carried;
use crate::images::input_images::as_text;
use crate::images::{GeneratedImages, Image, ImageRequest, Protocol};
use crate::vendor_failure::VendorFailure;
use crate::vendor_http::{Encoded, VendorError, VendorRequest, VendorResponse};

/// The protocol.
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

fn encode(request: &ImageRequest, model: &str) -> Result<Encoded, Refusal> {
    let mut notes: Vec<Note> = Vec::new();
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
    let why = why.map(|entry| told(response, entry, "/error"));
    let whole = body.get("error").filter(|error| error.is_object());
    let why = why.or_else(|| whole.map(|_| told(response, &body, "/error")));
    let pictures: Vec<Image> = entries
        .iter()
        .filter_map(|entry| openai::picture(entry))
        .collect();
    made(request, pictures, why, |why| nothing(response, why))
}

/// Why there is no picture at all. What the request did wrong is said to who sent it.
fn nothing(response: &VendorResponse<'_>, why: Option<VendorError>) -> VendorFailure {
    match why {
        Some(why) if why.code.starts_with("Internal") => VendorFailure::Failed(why),
        Some(why) => VendorFailure::Refused(why),
        None => garbage(response, "an answer without a picture"),
    }
}
