//! C multi-image reference: pictures, frames and a clip, all in `metadata`.

mod lists;

use std::ops::RangeInclusive;

use serde::Serialize;
use serde_json::Value;
use trunkline_catalog::{Attributes, FieldNote, FieldTreatment, RequestError, Scalar};

use self::lists::{CLIPS, Clip, IMAGES, Picture, check_clip, clips, pictures, warn_of_small};
use super::{
    MODES, PROTOCOL, RATIOS, Watermark, ignore_seconds, lengths, overruled, sound, watermark,
};
use crate::video::families::PlanContext;
use crate::video::field_reader::{FIELD_IGNORED, FieldReader, METADATA_IGNORED};
use crate::video::media_facts::ProbeTarget;
use crate::video::plan::{BillableUnits, Outbound, Plan};

/// Pictures where the record names no number.
const MAX_IMAGES: u64 = 7;
const DEFAULT_DURATION: &str = "5";
/// The length, as a text.
pub(super) const DURATION: &str = "metadata.duration";
/// Fields of the top level that stand in `metadata` for this model.
const MOVED: [(&str, &str); 7] = [
    ("image", IMAGES),
    ("images", IMAGES),
    ("input_reference", IMAGES),
    ("video_url", CLIPS),
    ("duration", DURATION),
    ("size", "metadata.aspect_ratio"),
    ("mode", "metadata.mode"),
];

#[derive(Serialize)]
struct Body<'a> {
    prompt: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    image_list: Vec<Picture<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    video_list: Vec<Clip<'a>>,
    mode: &'static str,
    sound: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    aspect_ratio: Option<&'static str>,
    duration: &'a str,
    watermark_info: Watermark,
}

pub(super) fn plan(context: &PlanContext<'_>) -> Result<Plan, RequestError> {
    let mut reader = FieldReader::new(context.request);
    let prompt = prompt(&mut reader)?;
    let clips = clips(&mut reader)?;
    let most = context.specs.max_reference_images.unwrap_or(MAX_IMAGES);
    let image_list = pictures(&mut reader, most, !clips.is_empty())?;
    let mode = mode(&mut reader)?;
    let sound = sound(&mut reader)?;
    if sound == "on" && !clips.is_empty() {
        let text = "`metadata.sound` must be `off` beside a clip";
        return Err(RequestError::invalid("metadata.sound", text));
    }
    let has_first = image_list
        .iter()
        .any(|picture| picture.kind == Some("first_frame"));
    let aspect_ratio = ratio(&mut reader, has_first)?;
    let (duration, seconds) = duration(&mut reader, &lengths(context.specs))?;
    ignore_seconds(context, &mut reader, DURATION);
    for (number, picture) in image_list.iter().enumerate() {
        if let Some(facts) = context.facts.of(picture.image_url) {
            warn_of_small(&mut reader, number, facts);
        }
    }
    let mut to_probe = Vec::new();
    for (number, clip) in clips.iter().enumerate() {
        let param = format!("{CLIPS}.{number}.video_url");
        match context.facts.of(clip.video_url) {
            Some(facts) => check_clip(&param, facts)?,
            None => to_probe.push(ProbeTarget::video(clip.video_url, &param)),
        }
    }
    for (field, place) in MOVED {
        let why = "every parameter of this model stands in `metadata`";
        reader.ignored(field, FIELD_IGNORED, why, &format!("use `{place}`"));
    }
    let has_clip = Scalar::Bool(!clips.is_empty());
    let attributes = Attributes::none()
        .with("mode", mode)
        .with("sound", sound)
        .with("reference_video", has_clip);
    let body = Body {
        prompt,
        image_list,
        video_list: clips,
        mode,
        sound,
        aspect_ratio,
        duration,
        watermark_info: watermark(&mut reader)?,
    };
    Ok(Plan {
        bill: BillableUnits::seconds(seconds, attributes),
        outbound: Outbound::new(PROTOCOL, "omni-video", &body),
        to_probe,
        size: None,
        report: reader.finish(),
    })
}

fn prompt<'a>(reader: &mut FieldReader<'a>) -> Result<&'a str, RequestError> {
    let Some(top) = reader.filled("prompt")? else {
        let inside = reader.filled("metadata.prompt")?;
        return inside.ok_or_else(|| RequestError::missing("prompt"));
    };
    let inside = reader.get("metadata.prompt");
    if inside.is_some_and(|inside| inside.as_str() != Some(top)) {
        let why = "`prompt` at the top level wins";
        overruled(reader, "metadata.prompt", METADATA_IGNORED, why);
    }
    Ok(top)
}

fn mode(reader: &mut FieldReader<'_>) -> Result<&'static str, RequestError> {
    let path = "metadata.mode";
    let mode = reader.one_of(path, &MODES)?;
    Ok(mode.unwrap_or_else(|| {
        let why = "the upstream's own default is `pro`, at 1.33 times the listed price";
        let note = FieldNote::new(path, FieldTreatment::Defaulted, "mode_default_pro", why);
        let fix = "set it to `std` for the listed price";
        reader.say(note.with_value("pro").with_fix(fix));
        "pro"
    }))
}

fn ratio(
    reader: &mut FieldReader<'_>,
    has_first: bool,
) -> Result<Option<&'static str>, RequestError> {
    let path = "metadata.aspect_ratio";
    if has_first {
        overruled(reader, path, METADATA_IGNORED, "the first frame decides it");
        return Ok(None);
    }
    let ratio = reader.one_of(path, &RATIOS)?;
    ratio.map(Some).ok_or_else(|| {
        let text = "`metadata.aspect_ratio` is required without a first frame";
        RequestError::new("ratio_required", path, text).with_fix("set it to 16:9, 9:16 or 1:1")
    })
}

fn duration<'a>(
    reader: &mut FieldReader<'a>,
    lengths: &RangeInclusive<i64>,
) -> Result<(&'a str, u64), RequestError> {
    let path = DURATION;
    let (least, most) = (lengths.start(), lengths.end());
    let text = match reader.get(path) {
        None => {
            let why = "the upstream's own default";
            reader.defaulted(path, DEFAULT_DURATION, why);
            DEFAULT_DURATION
        }
        Some(Value::String(text)) => text,
        Some(_) => {
            let text = format!("`{path}` must be a text from \"{least}\" to \"{most}\"");
            return Err(RequestError::new("type_string", path, text).with_fix("put it in quotes"));
        }
    };
    // Only digits as they are counted: neither a sign nor a zero before them.
    let seconds = text.parse::<u64>().ok();
    let seconds = seconds.filter(|seconds| seconds.to_string() == text);
    let fits = |seconds: &u64| {
        let seconds = i64::try_from(*seconds).unwrap_or(i64::MAX);
        lengths.contains(&seconds)
    };
    let seconds = seconds.filter(fits).ok_or_else(|| {
        RequestError::invalid(
            path,
            format!("`{path}` must be from \"{least}\" to \"{most}\""),
        )
    })?;
    Ok((text, seconds))
}
