//! From a request to the one body that is sent.

use serde::Serialize;
use serde_json::Value;
use trunkline_catalog::{Attributes, FieldNote, FieldTreatment, RequestError, Scalar};

use super::PROTOCOL;
use super::clips::{clip_seconds, clips, to_probe};
use super::limits::{Limits, NEWEST};
use super::parts::{self, Part, Placed};
use crate::video::families::PlanContext;
use crate::video::field_reader::{FIELD_IGNORED, FieldReader, METADATA_IGNORED};
use crate::video::plan::{BillableUnits, Outbound, Plan};
use crate::video::request::VideoRequest;

/// The body but for the model. What moves the price is never left to the vendor's defaults.
#[derive(Debug, Serialize)]
struct Body {
    content: Vec<Part>,
    resolution: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio: Option<&'static str>,
    duration: u64,
    generate_audio: bool,
    watermark: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    return_last_frame: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_format: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    omni_reference_task_type: Option<&'static str>,
}

const RESOLUTIONS: [&str; 2] = ["480p", "720p"];
const DEFAULT_RESOLUTION: &str = "720p";
const ADAPTIVE: &str = "adaptive";
const RATIOS: [&str; 7] = ["16:9", "4:3", "1:1", "3:4", "9:16", "21:9", ADAPTIVE];
const DEFAULT_SECONDS: u64 = 5;
const TASK_TYPE: &str = "metadata.omni_reference_task_type";
const REFERENCE: &str = "reference";

pub(super) fn plan(context: &PlanContext<'_>) -> Result<Plan, RequestError> {
    let limits = Limits::of(context.variant, context.specs);
    let is_newest = context.variant == NEWEST;
    let mut whole = FieldReader::new(context.request);
    let reader = &mut whole;
    let placed = parts::read(reader)?;
    check_parts(&placed, limits, is_newest)?;
    let duration = length(reader, limits)?;
    let resolution = resolution(reader)?;
    let ratio = ratio(reader, &placed)?;
    let generate_audio = sound(reader)?;
    let clips = clips(&placed);
    refuse_other_tasks(context.request)?;
    let task_type = task_type(reader, is_newest, !clips.is_empty())?;
    let (input_seconds, exact) = clip_seconds(&clips, context.facts, limits)?;
    let body = Body {
        resolution,
        ratio,
        duration,
        generate_audio,
        watermark: reader.flag("metadata.watermark")?.unwrap_or(false),
        return_last_frame: reader.flag("metadata.return_last_frame")?,
        output_format: output_format(reader, is_newest)?,
        omni_reference_task_type: task_type,
        content: placed.iter().map(|placed| placed.part.clone()).collect(),
    };
    say_ignored(reader);
    let attributes = Attributes::none()
        .with("resolution", resolution)
        .with("sound", if generate_audio { "on" } else { "off" })
        .with("reference_video", Scalar::Bool(!clips.is_empty()));
    Ok(Plan {
        report: whole.finish(),
        bill: BillableUnits {
            output_seconds: duration,
            input_seconds,
            extra_images: 0,
            attributes,
            exact,
        },
        outbound: Outbound::new(PROTOCOL, "", &body),
        to_probe: to_probe(&clips, context.facts),
        size: Some(resolution.to_owned()),
    })
}

fn check_parts(placed: &[Placed], limits: Limits, is_newest: bool) -> Result<(), RequestError> {
    if placed.is_empty() {
        return Err(RequestError::missing("prompt"));
    }
    let (mut images, mut videos, mut audios) = (0_u64, 0_u64, 0_u64);
    for Placed { part, param } in placed {
        let (count, most, what) = match part {
            Part::Text { .. } => continue,
            Part::ImageUrl { .. } => (&mut images, limits.images, "images"),
            Part::VideoUrl { .. } => (&mut videos, limits.videos, "clips"),
            Part::AudioUrl { .. } => (&mut audios, limits.audios, "recordings"),
        };
        *count = count.saturating_add(1);
        if *count > most {
            let text = format!("this model takes at most {most} {what}");
            return Err(RequestError::new("reference_count", param, text));
        }
    }
    if audios > 0 && images == 0 && videos == 0 && !is_newest {
        let text = "this model takes recordings only beside an image or a clip";
        let refusal = RequestError::new("reference_required", "metadata.content", text);
        return Err(refusal.with_fix("add an image or a clip with a role"));
    }
    Ok(())
}

/// The length: `seconds`, else `duration`, else the usual one.
fn length(reader: &mut FieldReader<'_>, limits: Limits) -> Result<u64, RequestError> {
    let seconds = reader.text("seconds")?.map(whole_seconds).transpose()?;
    let duration = reader.whole("duration")?;
    let (length, param) = match (seconds, duration) {
        (Some(seconds), Some(duration)) if seconds != duration => {
            let why = "`seconds` says otherwise, and wins";
            reader.ignored("duration", "seconds_wins", why, "leave one of the two out");
            (seconds, "seconds")
        }
        (Some(seconds), _) => (seconds, "seconds"),
        (None, Some(duration)) => (duration, "duration"),
        (None, None) => {
            let why = "neither `seconds` nor `duration` is given";
            reader.defaulted("seconds", DEFAULT_SECONDS.to_string(), why);
            return Ok(DEFAULT_SECONDS);
        }
    };
    if length == -1 {
        let text = "-1 lets the vendor choose the length, which cannot be priced before";
        return Err(RequestError::unpriceable(param, text).with_fix("give the length in seconds"));
    }
    let Limits {
        least_seconds: least,
        most_seconds: most,
        ..
    } = limits;
    let wrong =
        || RequestError::invalid(param, format!("`{param}` must be from {least} to {most}"));
    let length = u64::try_from(length).map_err(|_| wrong())?;
    if (least..=most).contains(&length) {
        Ok(length)
    } else {
        Err(wrong())
    }
}

fn whole_seconds(text: &str) -> Result<i64, RequestError> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|_| is_plain);
    number.ok_or_else(|| {
        let text = "`seconds` must be a whole number of seconds, written as a text";
        RequestError::invalid("seconds", text)
    })
}

fn resolution(reader: &mut FieldReader<'_>) -> Result<&'static str, RequestError> {
    let field = "metadata.resolution";
    reader.one_of_or(field, &RESOLUTIONS, DEFAULT_RESOLUTION, "none is given")
}

fn ratio(
    reader: &mut FieldReader<'_>,
    placed: &[Placed],
) -> Result<Option<&'static str>, RequestError> {
    let field = "metadata.ratio";
    let ratio = reader.one_of(field, &RATIOS)?;
    let frame = placed.iter().find(|placed| placed.part.lacks_role());
    match (ratio, frame) {
        (Some(word), Some(frame)) if word != ADAPTIVE => {
            let code = "InvalidParameter.TaskTypeConstraint";
            let text = format!(
                "`{}` has no role and is the first frame: the video has its shape, and `{field}` \
                 cannot be given",
                frame.param
            );
            let fix = format!("leave `{field}` out, or give every part of metadata.content a role");
            Err(RequestError::new(code, field, text).with_fix(fix))
        }
        (ratio, _) => Ok(ratio),
    }
}

fn sound(reader: &mut FieldReader<'_>) -> Result<bool, RequestError> {
    let field = "metadata.generate_audio";
    let flag = reader.flag(field)?;
    if flag.is_none() {
        let why = "the vendor makes sound unless it is told not to";
        let note = FieldNote::new(field, FieldTreatment::Defaulted, "audio_default_on", why);
        reader.say(
            note.with_value("true")
                .with_fix("set it to false for a silent video"),
        );
    }
    Ok(flag.unwrap_or(true))
}

fn output_format(
    reader: &mut FieldReader<'_>,
    is_newest: bool,
) -> Result<Option<&'static str>, RequestError> {
    if is_newest {
        reader.one_of("metadata.output_format", &["mp4", "mov"])
    } else {
        Ok(None)
    }
}

/// Tasks that cannot be priced are refused on every version, also where the field is not known.
fn refuse_other_tasks(request: &VideoRequest) -> Result<(), RequestError> {
    let word = request.get(TASK_TYPE).and_then(Value::as_str);
    if matches!(word, Some("edit" | "extend")) {
        let text = "edit and extend tasks are billed by the length of their source";
        let refusal = RequestError::unpriceable(TASK_TYPE, text);
        return Err(refusal.with_fix("leave it out: the clip is a reference then"));
    }
    Ok(())
}

/// The task type that is sent to 2.5. Without it the vendor may read an edit out of the prompt, which is
/// billed by its source.
fn task_type(
    reader: &mut FieldReader<'_>,
    is_newest: bool,
    has_clip: bool,
) -> Result<Option<&'static str>, RequestError> {
    if !is_newest {
        return Ok(None);
    }
    match reader.one_of(TASK_TYPE, &["auto", REFERENCE])? {
        None if has_clip => {
            reader.defaulted(TASK_TYPE, REFERENCE, "a clip goes in as a reference");
            Ok(Some(REFERENCE))
        }
        Some("auto") if has_clip => {
            let why = "beside a clip the vendor could read an edit out of the prompt";
            reader.rewritten(TASK_TYPE, "task_type_stated", REFERENCE, why);
            Ok(Some(REFERENCE))
        }
        word => Ok(word),
    }
}

/// Fields at the top that other families read, with where their content belongs here.
fn say_ignored(reader: &mut FieldReader<'_>) {
    let why = "this model does not read it";
    for (field, fix) in [
        ("size", "use `metadata.resolution` and `metadata.ratio`"),
        ("image", "use `input_reference` or `images`"),
        (
            "video_url",
            "write it into `metadata.content` with the role reference_video",
        ),
    ] {
        reader.ignored(field, FIELD_IGNORED, why, fix);
    }
    reader.ignored("metadata.duration", METADATA_IGNORED, why, "use `seconds`");
}
