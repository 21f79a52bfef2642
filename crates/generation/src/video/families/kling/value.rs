//! C value tier: a text, or a text and a first frame, in the newer design.

use std::ops::RangeInclusive;

use serde::Serialize;
use serde_json::Value;
use trunkline_catalog::{Attributes, RequestError};

use super::{
    DEFAULT_SECONDS, PROTOCOL, RATIOS, Watermark, ignore_seconds, lengths, overruled, strangers,
    watermark,
};
use crate::video::families::PlanContext;
use crate::video::field_reader::{FIELD_IGNORED, FieldReader, METADATA_IGNORED};
use crate::video::plan::{BillableUnits, Outbound, Plan};

const RESOLUTIONS: [&str; 2] = ["720p", "1080p"];
/// Where people look for a switch of the sound.
const SWITCHES: [&str; 6] = [
    "metadata.sound",
    "metadata.audio",
    "metadata.generate_audio",
    "metadata.settings.sound",
    "metadata.settings.audio",
    "metadata.settings.generate_audio",
];
/// What `metadata.settings` may hold; the switches are reported on their own.
const SETTINGS: [&str; 6] = [
    "resolution",
    "duration",
    "aspect_ratio",
    "sound",
    "audio",
    "generate_audio",
];

#[derive(Serialize)]
#[serde(untagged)]
enum Body<'a> {
    Text {
        prompt: &'a str,
        settings: Settings,
        options: Options,
    },
    Image {
        contents: [Content<'a>; 2],
        settings: Settings,
        options: Options,
    },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Content<'a> {
    Prompt { text: &'a str },
    FirstFrame { url: &'a str },
}

#[derive(Serialize)]
struct Settings {
    resolution: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    aspect_ratio: Option<&'static str>,
    duration: i64,
}

#[derive(Serialize)]
struct Options {
    watermark_info: Watermark,
}

pub(super) fn plan(context: &PlanContext<'_>) -> Result<Plan, RequestError> {
    let mut reader = FieldReader::new(context.request);
    let prompt = reader.filled("prompt")?;
    let prompt = prompt.ok_or_else(|| RequestError::missing("prompt"))?;
    let image = reader.filled("image")?;
    check_settings(&mut reader)?;
    let resolution = resolution(&mut reader)?;
    let seconds = duration(&mut reader, &lengths(context.specs))?;
    ignore_seconds(context, &mut reader, "duration");
    let aspect_ratio = match image {
        Some(_) => {
            let path = "metadata.settings.aspect_ratio";
            overruled(&mut reader, path, METADATA_IGNORED, "the frame decides it");
            None
        }
        None => Some(ratio(&mut reader)?),
    };
    for switch in SWITCHES {
        let why = "sound is always included and paid for; there is no switch";
        overruled(&mut reader, switch, "audio_forced", why);
    }
    let settings = Settings {
        resolution,
        aspect_ratio,
        duration: seconds,
    };
    let options = Options {
        watermark_info: watermark(&mut reader)?,
    };
    let (endpoint, body) = match image {
        None => (
            "text-to-video",
            Body::Text {
                prompt,
                settings,
                options,
            },
        ),
        Some(url) => (
            "image-to-video",
            Body::Image {
                contents: [
                    Content::Prompt { text: prompt },
                    Content::FirstFrame { url },
                ],
                settings,
                options,
            },
        ),
    };
    Ok(Plan {
        bill: BillableUnits::seconds(
            seconds.unsigned_abs(),
            Attributes::none().with("resolution", resolution),
        ),
        outbound: Outbound::new(PROTOCOL, endpoint, &body),
        to_probe: Vec::new(),
        size: None,
        report: reader.finish(),
    })
}

/// That the settings are an object, and which of them go nowhere.
fn check_settings(reader: &mut FieldReader<'_>) -> Result<(), RequestError> {
    let path = "metadata.settings";
    match reader.get(path) {
        None => Ok(()),
        Some(Value::Object(settings)) => {
            strangers(reader, path, settings, &SETTINGS);
            Ok(())
        }
        Some(_) => Err(RequestError::invalid(
            path,
            "`metadata.settings` must be an object",
        )),
    }
}

fn resolution(reader: &mut FieldReader<'_>) -> Result<&'static str, RequestError> {
    let path = "metadata.settings.resolution";
    let resolution = known(reader, path, &RESOLUTIONS)?;
    Ok(resolution.unwrap_or_else(|| {
        reader.defaulted(path, "720p", "the upstream's own default");
        "720p"
    }))
}

fn ratio(reader: &mut FieldReader<'_>) -> Result<&'static str, RequestError> {
    let path = "metadata.settings.aspect_ratio";
    let ratio = known(reader, path, &RATIOS)?;
    Ok(ratio.unwrap_or_else(|| {
        reader.defaulted(path, "16:9", "the upstream's own default");
        "16:9"
    }))
}

fn duration(
    reader: &mut FieldReader<'_>,
    lengths: &RangeInclusive<i64>,
) -> Result<i64, RequestError> {
    let path = "metadata.settings.duration";
    let inside = match is_there(reader, path) {
        true => reader.within(path, lengths)?,
        false => None,
    };
    if let Some(seconds) = inside {
        let top = reader.get("duration");
        if top.is_some_and(|top| top.as_i64() != Some(seconds)) {
            let why = "`metadata.settings.duration` wins";
            overruled(reader, "duration", FIELD_IGNORED, why);
        }
        return Ok(seconds);
    }
    let top = reader.within("duration", lengths)?;
    Ok(top.unwrap_or_else(|| {
        let text = DEFAULT_SECONDS.to_string();
        reader.defaulted(path, text, "the upstream's own default");
        DEFAULT_SECONDS
    }))
}

/// One of the settings; null is as good as none, as it is at the top.
fn known(
    reader: &mut FieldReader<'_>,
    path: &str,
    words: &[&'static str],
) -> Result<Option<&'static str>, RequestError> {
    match is_there(reader, path) {
        true => reader.one_of(path, words),
        false => Ok(None),
    }
}

fn is_there(reader: &mut FieldReader<'_>, path: &str) -> bool {
    reader.has(path) && reader.get(path).is_some_and(|value| !value.is_null())
}
