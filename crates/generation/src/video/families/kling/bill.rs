//! What the upstream bills for a body, read from the body alone, with the upstream's own defaults for
//! what is not in it.

use serde_json::Value;
use trunkline_catalog::{Attributes, RequestError, Scalar, Specs};

use crate::video::media_facts::KnownMedia;
use crate::video::plan::{BillableUnits, Outbound};

/// Seconds of a body that names none.
const UNSAID_SECONDS: u64 = 5;

pub(super) fn bill(
    variant: &'static str,
    outbound: &Outbound,
    _specs: &Specs,
    _measured: &KnownMedia,
) -> Result<BillableUnits, RequestError> {
    let body = Value::Object(outbound.body.clone());
    let (seconds, attributes) = match (variant, outbound.endpoint.as_str()) {
        ("standard", "text2video" | "image2video") => (
            seconds(&body, "/duration")?,
            Attributes::none()
                .with("mode", word(&body, "/mode", "std")?)
                .with("sound", word(&body, "/sound", "off")?),
        ),
        ("value", "text-to-video" | "image-to-video") => (
            seconds(&body, "/settings/duration")?,
            Attributes::none().with("resolution", word(&body, "/settings/resolution", "720p")?),
        ),
        ("multi", "omni-video") => (
            seconds(&body, "/duration")?,
            Attributes::none()
                .with("mode", word(&body, "/mode", "pro")?)
                .with("sound", word(&body, "/sound", "off")?)
                .with("reference_video", Scalar::Bool(has_clip(&body)?)),
        ),
        (_, endpoint) => {
            let text = format!("this model has no endpoint {endpoint:?}");
            return Err(RequestError::unpriceable("", text));
        }
    };
    Ok(BillableUnits::seconds(seconds, attributes))
}

/// A length, which the older design writes as a text and the newer as a number.
fn seconds(body: &Value, pointer: &str) -> Result<u64, RequestError> {
    let reported = match body.pointer(pointer) {
        None => Some(UNSAID_SECONDS),
        Some(Value::String(text)) => text.parse().ok(),
        Some(value) => value.as_u64(),
    };
    reported.ok_or_else(|| {
        RequestError::unpriceable(pointer, "the body has no length that can be read")
    })
}

fn word<'a>(body: &'a Value, pointer: &str, unsaid: &'a str) -> Result<&'a str, RequestError> {
    match body.pointer(pointer) {
        None => Ok(unsaid),
        Some(value) => value.as_str().ok_or_else(|| {
            RequestError::unpriceable(pointer, "the body has no word that can be read")
        }),
    }
}

/// Whether a clip goes along. One that is edited is billed by its own length.
fn has_clip(body: &Value) -> Result<bool, RequestError> {
    let clips = body.pointer("/video_list").and_then(Value::as_array);
    let clips = clips.map(Vec::as_slice).unwrap_or_default();
    let is_feature = |clip: &Value| clip.pointer("/refer_type") == Some(&Value::from("feature"));
    if clips.iter().all(is_feature) {
        Ok(!clips.is_empty())
    } else {
        let text = "a clip that is edited is billed by its own length";
        Err(RequestError::unpriceable("video_list", text))
    }
}
