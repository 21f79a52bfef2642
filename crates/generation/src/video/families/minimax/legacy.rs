//! The three models with older names, through the vendor's first interface.

use serde::Serialize;
use serde_json::Value;
use trunkline_catalog::{Attributes, RequestError, Scalar};

use super::{Legacy, PROTOCOL, ignore_seconds, prompt, unreadable, watermark};
use crate::video::families::PlanContext;
use crate::video::field_reader::FieldReader;
use crate::video::plan::{BillableUnits, Outbound, Plan};

const MAX_PROMPT: usize = 2_000;
/// Seconds of a video whose length was left out.
const DEFAULT_DURATION: i64 = 6;
/// The longer of the two lengths.
const LONG_DURATION: i64 = 10;
/// The default resolution.
const DEFAULT_SIZE: &str = "768P";
/// Sharper, and for the shorter length only.
const SHARP: &str = "1080P";
/// Less sharp: the oldest, from a first frame only.
const SOFT: &str = "512P";
/// Subjects of one video, and pictures of one subject.
const MAX_SUBJECTS: usize = 1;
/// Media at the top, which these models do not look at.
const DROPPED: [&str; 4] = ["image", "input_reference", "images", "video_url"];
/// The first frame's field.
const FIRST_FRAME: &str = "metadata.first_frame_image";
/// The field of a subject.
const SUBJECT: &str = "metadata.subject_reference";

#[derive(Debug, Serialize)]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<&'a str>,
    duration: i64,
    resolution: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_frame_image: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_frame_image: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    subject_reference: Vec<Subject<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_optimizer: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fast_pretreatment: Option<bool>,
    aigc_watermark: bool,
}

/// A character that the video shows.
#[derive(Debug, Serialize)]
struct Subject<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    image: [&'a str; MAX_SUBJECTS],
}

pub(super) fn plan(context: &PlanContext<'_>, which: Legacy) -> Result<Plan, RequestError> {
    let mut reader = FieldReader::new(context.request);
    for field in DROPPED {
        let why = "this model reads no media at the top: the video is made from text";
        let fix = "use metadata.first_frame_image, metadata.last_frame_image or \
                   metadata.subject_reference";
        reader.ignored(field, "media_dropped", why, fix);
    }
    let first_frame = reader.filled(FIRST_FRAME)?;
    let text = prompt(&mut reader, MAX_PROMPT)?;
    if which == Legacy::Fast && first_frame.is_none() {
        return Err(RequestError::missing(FIRST_FRAME));
    }
    if text.is_none() && first_frame.is_none() {
        return Err(RequestError::missing("prompt"));
    }
    let duration = duration(&mut reader)?;
    let resolution = size(&mut reader, which, first_frame.is_some(), duration)?;
    let body = Body {
        prompt: text,
        duration,
        resolution,
        first_frame_image: first_frame,
        last_frame_image: reader.filled("metadata.last_frame_image")?,
        subject_reference: subjects(&mut reader)?,
        prompt_optimizer: reader.flag("metadata.prompt_optimizer")?,
        fast_pretreatment: reader.flag("metadata.fast_pretreatment")?,
        aigc_watermark: watermark(&mut reader)?,
    };
    ignore_seconds(&mut reader);
    Ok(Plan {
        report: reader.finish(),
        bill: BillableUnits::seconds(duration.unsigned_abs(), attributes(resolution, duration)),
        outbound: Outbound::new(PROTOCOL, "v1", &body),
        to_probe: Vec::new(),
        size: Some(resolution.to_owned()),
    })
}

/// Prices a body: the vendor's list knows how long and how sharp, and nothing else.
pub(super) fn bill(outbound: &Outbound) -> Result<BillableUnits, RequestError> {
    let resolution = outbound.body.get("resolution").and_then(Value::as_str);
    let resolution = resolution.ok_or_else(|| unreadable("resolution"))?;
    let duration = outbound.body.get("duration").and_then(Value::as_i64);
    let duration = duration.ok_or_else(|| unreadable("duration"))?;
    let seconds = u64::try_from(duration).map_err(|_| unreadable("duration"))?;
    Ok(BillableUnits::seconds(
        seconds,
        attributes(resolution, duration),
    ))
}

fn attributes(resolution: &str, duration: i64) -> Attributes {
    Attributes::none()
        .with("resolution", resolution)
        .with("duration", Scalar::Integer(duration))
}

fn duration(reader: &mut FieldReader<'_>) -> Result<i64, RequestError> {
    match reader.whole("duration")? {
        Some(requested @ (DEFAULT_DURATION | LONG_DURATION)) => Ok(requested),
        Some(_) => {
            let text = format!("`duration` must be {DEFAULT_DURATION} or {LONG_DURATION}");
            Err(RequestError::invalid("duration", text))
        }
        None => {
            let why = "no length was asked for";
            reader.defaulted("duration", DEFAULT_DURATION.to_string(), why);
            Ok(DEFAULT_DURATION)
        }
    }
}

fn size(
    reader: &mut FieldReader<'_>,
    which: Legacy,
    has_first_frame: bool,
    duration: i64,
) -> Result<&'static str, RequestError> {
    let known = match which {
        Legacy::Oldest => [DEFAULT_SIZE, SHARP, SOFT].as_slice(),
        Legacy::Usual | Legacy::Fast => [DEFAULT_SIZE, SHARP].as_slice(),
    };
    match reader.one_of("size", known)? {
        Some(SHARP) if duration != DEFAULT_DURATION => {
            let text = format!("`{SHARP}` is made with {DEFAULT_DURATION} seconds only");
            Err(RequestError::invalid("size", text))
        }
        Some(SOFT) if !has_first_frame => {
            let text = format!("`{SOFT}` needs `{FIRST_FRAME}`");
            Err(RequestError::invalid("size", text))
        }
        Some(size) => Ok(size),
        None => {
            reader.defaulted("size", DEFAULT_SIZE, "no size was asked for");
            Ok(DEFAULT_SIZE)
        }
    }
}

/// The vendor's own shape: `[{"type": "character", "image": ["https://…"]}]`.
fn subjects<'a>(reader: &mut FieldReader<'a>) -> Result<Vec<Subject<'a>>, RequestError> {
    let Some(written) = reader.get(SUBJECT) else {
        return Ok(Vec::new());
    };
    let wrong = || {
        let text = format!(
            "`{SUBJECT}` must be a list of one {{\"type\": \"character\", \"image\": [address]}}"
        );
        RequestError::invalid(SUBJECT, text)
    };
    let list = written.as_array().ok_or_else(wrong)?;
    if list.len() > MAX_SUBJECTS {
        return Err(wrong());
    }
    let read = |entry: &'a Value| {
        let fields = entry.as_object()?;
        let is_known = |name: &String| name == "type" || name == "image";
        let kind = fields.get("type").and_then(Value::as_str);
        let [image] = fields.get("image")?.as_array()?.as_slice() else {
            return None;
        };
        let image = image.as_str().filter(|url| !url.trim().is_empty())?;
        let is_whole = kind == Some("character") && fields.keys().all(is_known);
        is_whole.then_some(Subject {
            kind: "character",
            image: [image],
        })
    };
    list.iter()
        .map(|entry| read(entry).ok_or_else(wrong))
        .collect()
}
