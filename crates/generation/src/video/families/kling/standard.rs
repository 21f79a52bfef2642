//! C standard: a text, or a first and a closing frame, in the older design.

use std::ops::RangeInclusive;

use serde::Serialize;
use serde_json::{Map, Number, Value};
use trunkline_catalog::{Attributes, FieldNote, FieldTreatment, RequestError};

use super::{
    DEFAULT_SECONDS, MODES, PROTOCOL, RATIOS, Watermark, ignore_seconds, lengths, overruled, sound,
    strangers, watermark,
};
use crate::video::families::PlanContext;
use crate::video::field_reader::{FIELD_IGNORED, FieldReader, METADATA_IGNORED};
use crate::video::plan::{BillableUnits, Outbound, Plan};

/// Sizes that are known, and the ratio that each stands for.
const SIZES: [(&str, &str); 6] = [
    ("1280x720", "16:9"),
    ("1920x1080", "16:9"),
    ("720x1280", "9:16"),
    ("1080x1920", "9:16"),
    ("1024x1024", "1:1"),
    ("512x512", "1:1"),
];
/// The ratio of every other size, and of none.
const SQUARE: &str = "1:1";
const MOVES: [&str; 5] = [
    "simple",
    "down_back",
    "forward_up",
    "right_turn_forward",
    "left_turn_forward",
];
const AXES: [&str; 6] = ["horizontal", "vertical", "pan", "tilt", "roll", "zoom"];
/// How far an axis goes, either way.
const MAX_AXIS: f64 = 10.0;

#[derive(Serialize)]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    negative_prompt: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    image: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    image_tail: Option<&'a str>,
    mode: &'static str,
    sound: &'static str,
    /// A text, as the vendor wants it.
    duration: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    aspect_ratio: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cfg_scale: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    camera_control: Option<Camera>,
    watermark_info: Watermark,
}

#[derive(Serialize)]
struct Camera {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Map::is_empty")]
    config: Map<String, Value>,
}

pub(super) fn plan(context: &PlanContext<'_>) -> Result<Plan, RequestError> {
    let mut reader = FieldReader::new(context.request);
    let prompt = reader.filled("prompt")?;
    let image = reader.filled("image")?;
    let image_tail = reader.filled("metadata.image_tail")?;
    let has_frame = image.is_some() || image_tail.is_some();
    if prompt.is_none() && !has_frame {
        return Err(RequestError::missing("prompt"));
    }
    let mode = mode(&mut reader)?;
    let seconds = duration(&mut reader, &lengths(context.specs))?;
    ignore_seconds(context, &mut reader, "duration");
    let sound = sound(&mut reader)?;
    let (aspect_ratio, size) = if has_frame {
        let why = "the frame decides the shape";
        overruled(&mut reader, "size", FIELD_IGNORED, why);
        overruled(&mut reader, "metadata.aspect_ratio", METADATA_IGNORED, why);
        (None, None)
    } else {
        let size = context.request.text("size").map(str::to_owned);
        (Some(ratio(&mut reader)?), size)
    };
    let body = Body {
        prompt,
        negative_prompt: reader.filled("metadata.negative_prompt")?,
        image,
        image_tail,
        mode,
        sound,
        duration: seconds.to_string(),
        aspect_ratio,
        cfg_scale: cfg_scale(&mut reader)?,
        camera_control: camera(&mut reader)?,
        watermark_info: watermark(&mut reader)?,
    };
    let endpoint = if has_frame {
        "image2video"
    } else {
        "text2video"
    };
    let why = "this model takes its first frame from `image`; without it the job is made of the text alone";
    let fix = "move it to `image`";
    reader.ignored("input_reference", "frame_field_unread", why, fix);
    Ok(Plan {
        bill: BillableUnits::seconds(
            seconds.unsigned_abs(),
            Attributes::none().with("mode", mode).with("sound", sound),
        ),
        outbound: Outbound::new(PROTOCOL, endpoint, &body),
        to_probe: Vec::new(),
        size,
        report: reader.finish(),
    })
}

fn mode(reader: &mut FieldReader<'_>) -> Result<&'static str, RequestError> {
    let Some(top) = reader.one_of("mode", &MODES)? else {
        let inside = reader.one_of("metadata.mode", &MODES)?;
        return Ok(inside.unwrap_or_else(|| {
            reader.defaulted("mode", "std", "the upstream's own default");
            "std"
        }));
    };
    // The same value twice is not ambiguous.
    let inside = reader.get("metadata.mode");
    if inside.is_some_and(|inside| inside.as_str() != Some(top)) {
        let why = "`mode` at the top level wins";
        overruled(reader, "metadata.mode", METADATA_IGNORED, why);
    }
    Ok(top)
}

fn duration(
    reader: &mut FieldReader<'_>,
    lengths: &RangeInclusive<i64>,
) -> Result<i64, RequestError> {
    let seconds = reader.within("duration", lengths)?;
    Ok(seconds.unwrap_or_else(|| {
        let text = DEFAULT_SECONDS.to_string();
        reader.defaulted("duration", text, "the upstream's own default");
        DEFAULT_SECONDS
    }))
}

/// The ratio of a job that has no frame.
fn ratio(reader: &mut FieldReader<'_>) -> Result<&'static str, RequestError> {
    let requested = reader.one_of("metadata.aspect_ratio", &RATIOS)?;
    let size = reader.text("size")?;
    let tabled = size.and_then(|size| {
        let known = SIZES.into_iter().find(|(known, _)| *known == size);
        known.map(|(_, ratio)| ratio)
    });
    match (requested, size, tabled) {
        (Some(ratio), None, _) => Ok(ratio),
        (Some(ratio), Some(_), tabled) => {
            if tabled != Some(ratio) {
                let why = "`metadata.aspect_ratio` wins";
                overruled(reader, "size", FIELD_IGNORED, why);
            }
            Ok(ratio)
        }
        (None, Some(_), Some(ratio)) => Ok(ratio),
        (None, Some(_), None) => {
            let known = SIZES.map(|(size, _)| size).join(", ");
            let why = format!("the output will be square: only {known} are known");
            let note = FieldNote::new("size", FieldTreatment::Rewritten, "size_table_miss", why);
            let fix = "set `metadata.aspect_ratio` to 16:9, 9:16 or 1:1";
            reader.say(note.with_value(SQUARE).with_fix(fix));
            Ok(SQUARE)
        }
        (None, None, _) => {
            let why = "without `size` the output is square";
            reader.defaulted("metadata.aspect_ratio", SQUARE, why);
            Ok(SQUARE)
        }
    }
}

fn cfg_scale(reader: &mut FieldReader<'_>) -> Result<Option<Number>, RequestError> {
    let path = "metadata.cfg_scale";
    let Some(value) = reader.get(path) else {
        return Ok(None);
    };
    let number = value.as_number().filter(|number| {
        let scale = number.as_f64();
        scale.is_some_and(|scale| (0.0..=1.0).contains(&scale))
    });
    let wrong = || RequestError::invalid(path, format!("`{path}` must be a number from 0 to 1"));
    number.cloned().map(Some).ok_or_else(wrong)
}

fn camera(reader: &mut FieldReader<'_>) -> Result<Option<Camera>, RequestError> {
    let path = "metadata.camera_control";
    let Some(value) = reader.get(path) else {
        return Ok(None);
    };
    let wrong = |text: &str| RequestError::invalid(path, text);
    let control = value
        .as_object()
        .ok_or_else(|| wrong("`metadata.camera_control` must be an object"))?;
    let kind = reader.one_of("metadata.camera_control.type", &MOVES)?;
    let kind = kind.ok_or_else(|| RequestError::missing("metadata.camera_control.type"))?;
    strangers(reader, path, control, &["type", "config"]);
    let config = axes(reader, control.get("config"))?;
    let moving = config.values().filter(|value| !is_still(value)).count();
    match (kind, moving) {
        ("simple", 1) => Ok(Some(Camera { kind, config })),
        ("simple", _) => Err(wrong(
            "a `simple` movement has exactly one axis in `config` that is not 0",
        )),
        (_, 0) => Ok(Some(Camera {
            kind,
            config: Map::new(),
        })),
        (_, _) => Err(wrong("only a `simple` movement has a `config`")),
    }
}

/// The axes of a movement that are named.
fn axes(
    reader: &mut FieldReader<'_>,
    config: Option<&Value>,
) -> Result<Map<String, Value>, RequestError> {
    let path = "metadata.camera_control.config";
    let config = match config {
        None | Some(Value::Null) => return Ok(Map::new()),
        Some(config) => config.as_object(),
    };
    let config = config.ok_or_else(|| RequestError::invalid(path, "`config` must be an object"))?;
    strangers(reader, path, config, &AXES);
    let mut axes = Map::new();
    for axis in AXES {
        let Some(value) = config.get(axis).filter(|value| !value.is_null()) else {
            continue;
        };
        let far = value.as_f64();
        if !far.is_some_and(|far| far.abs() <= MAX_AXIS) {
            let text = format!("`{axis}` must be a number from -10 to 10");
            return Err(RequestError::invalid(format!("{path}.{axis}"), text));
        }
        axes.insert(axis.to_owned(), value.clone());
    }
    Ok(axes)
}

fn is_still(value: &Value) -> bool {
    // Minus zero is zero too.
    value.as_f64().is_some_and(|far| far.abs() <= 0.0)
}
