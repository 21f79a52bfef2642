//! `MiniMax`'s images, at `/image_generation` for both endpoints: an image to edit is sent as the character
//! to draw (`subject_reference`), the nearest field that the vendor has.
//!
//! A size is `width` and `height`, or a ratio such as `16:9` in `aspect_ratio`. Errors come under status 200
//! with a number in `base_resp`. Counts are texts. Images that its own moderation holds back are missing;
//! where all are, only the counts report it.

use serde_json::{Map, Value, json};
use trunkline_catalog::{FieldNote, FieldTreatment, RequestError};

use super::{FOREIGN, decoded, linked, made, skip_quality_and_mask};
use crate::encoding::put;
use crate::error_mapping::{self, garbage, minimax_number};
use crate::field_policy::{carried, not_sent, shortened};
use crate::images::input_images::as_text;
use crate::images::{GeneratedImages, Image, ImageRequest, Protocol};
use crate::vendor_failure::VendorFailure;
use crate::vendor_http::{Encoded, VendorError, VendorRequest, VendorResponse, text_at};

pub(super) const PROTOCOL: Protocol = Protocol {
    format: "minimax_images",
    encode,
    decode,
};

const AUTO: &str = "auto";

fn encode(request: &ImageRequest, model: &str) -> Result<Encoded, RequestError> {
    let mut notes: Vec<FieldNote> = Vec::new();
    let foreign: Vec<&str> = FOREIGN.iter().copied().chain(["output_format"]).collect();
    let mut body = carried(&request.extras, &foreign, &mut notes);
    put(&mut body, "model", model);
    put(&mut body, "prompt", request.prompt.as_str());
    put(&mut body, "n", request.count);
    let form = if request.wants_base64 {
        "base64"
    } else {
        "url"
    };
    put(&mut body, "response_format", form);
    if let Some(size) = &request.size {
        say_size(size, &mut body, &mut notes)?;
    }
    skip_quality_and_mask(request, &mut notes);
    if !request.images.is_empty() {
        let subject = |text: String| json!({ "type": "character", "image_file": text });
        let subjects: Vec<Value> = request.images.iter().map(as_text).map(subject).collect();
        put(&mut body, "subject_reference", subjects);
        let why = "this vendor draws a new picture with the character of the one that is sent";
        notes.push(FieldNote::new(
            "image",
            FieldTreatment::Rewritten,
            "image_as_subject",
            why,
        ));
    }
    Ok(Encoded {
        request: VendorRequest::post("/image_generation", &body),
        notes,
    })
}

fn say_size(
    size: &str,
    body: &mut Map<String, Value>,
    notes: &mut Vec<FieldNote>,
) -> Result<(), RequestError> {
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
        let text = format!("{:?} is no size of this vendor", shortened(size));
        let refusal = RequestError::new("size_unsupported", "size", text);
        return Err(
            refusal.with_fix("say it in pixels, such as 1024x1024, or as a ratio, such as 16:9")
        );
    }
    Ok(())
}

fn decode(
    request: &ImageRequest,
    response: &VendorResponse<'_>,
) -> Result<GeneratedImages, VendorFailure> {
    let body = response.json();
    if !response.is_success() || minimax_number(&body).is_some() {
        return Err(error_mapping::minimax(response));
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
        VendorError::new(400, "output_sensitive", text)
    });
    made(request, pictures, why, |why| match why {
        Some(why) => VendorFailure::Refused(why),
        None => garbage(response, "an answer without a picture"),
    })
}
