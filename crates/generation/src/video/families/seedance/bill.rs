//! What a body costs that is sent, read from the body alone.

use serde_json::Value;
use trunkline_catalog::{Attributes, RequestError, Scalar, Specs};

use super::limits::Limits;
use crate::video::media_facts::KnownMedia;
use crate::video::plan::{BillableUnits, Outbound};

pub(super) fn bill(
    variant: &'static str,
    outbound: &Outbound,
    specs: &Specs,
    facts: &KnownMedia,
) -> Result<BillableUnits, RequestError> {
    let field = |name: &str| {
        outbound
            .body
            .get(name)
            .ok_or_else(|| RequestError::missing(name))
    };
    let duration = field("duration")?.as_u64();
    let resolution = field("resolution")?.as_str();
    let sound = field("generate_audio")?.as_bool();
    let (Some(duration), Some(resolution), Some(sound)) = (duration, resolution, sound) else {
        let text = "length, resolution or sound of a sent body cannot be read";
        return Err(RequestError::unpriceable("", text));
    };
    let task = outbound.body.get("omni_reference_task_type");
    if matches!(task.and_then(Value::as_str), Some("edit" | "extend")) {
        let text = "edit and extend tasks are billed by the length of their source";
        return Err(RequestError::unpriceable("omni_reference_task_type", text));
    }
    let parts = field("content")?.as_array();
    let clips: Vec<&str> = parts
        .into_iter()
        .flatten()
        .filter_map(|part| part.pointer("/video_url/url").and_then(Value::as_str))
        .collect();
    let total = clips.iter().try_fold(0_u64, |sum, url| {
        let millis = facts.of(url)?.millis?;
        Some(sum.saturating_add(millis))
    });
    let most = Limits::of(variant, specs).most_seconds;
    let input_seconds = total.map_or(most, |millis| millis.div_ceil(1_000));
    Ok(BillableUnits {
        output_seconds: duration,
        input_seconds,
        extra_images: 0,
        attributes: Attributes::none()
            .with("resolution", resolution)
            .with("sound", if sound { "on" } else { "off" })
            .with("reference_video", Scalar::Bool(!clips.is_empty())),
        exact: total.is_some(),
    })
}
