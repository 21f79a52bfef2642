//! The model with sound of its own, through the vendor's second interface.

use std::ops::RangeInclusive;

use serde::Serialize;
use serde_json::Value;
use trunkline_catalog::{Attributes, RequestError};

use super::{PROTOCOL, ignore_seconds, prompt, unreadable, watermark};
use crate::video::families::PlanContext;
use crate::video::field_reader::FieldReader;
use crate::video::media_facts::{KnownMedia, ProbeTarget};
use crate::video::plan::{BillableUnits, Outbound, Plan};

const MAX_PROMPT: usize = 7_000;
/// Seconds of a video.
const DURATION: RangeInclusive<i64> = 4..=15;
/// Seconds of a video whose length was left out.
const DEFAULT_DURATION: i64 = 5;
/// How sharp it can be; the first is filled in.
const SIZES: [&str; 2] = ["768P", "2K"];
/// The shape that follows the pictures.
const ADAPTIVE: &str = "adaptive";
const RATIOS: [&str; 7] = ["21:9", "16:9", "4:3", "1:1", "3:4", "9:16", ADAPTIVE];
/// Reference pictures, where the record does not say.
const MAX_IMAGES: u64 = 9;
const FREE_IMAGES: u64 = 5;
/// Length of a reference clip in thousandths of a second.
const CLIP_MILLIS: (u64, u64) = (2_000, 15_000);
/// Seconds that a clip counts for which could not be measured: the longest that is taken.
const MOST_CLIP_SECONDS: u64 = 15;

#[derive(Debug, Serialize)]
struct Body<'a> {
    content: Vec<Part<'a>>,
    resolution: &'static str,
    duration: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio: Option<&'static str>,
    aigc_watermark: bool,
}

/// One part of what a video is made from.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    Text {
        text: &'a str,
    },
    ImageUrl {
        image_url: Address<'a>,
        role: &'static str,
    },
    VideoUrl {
        video_url: Address<'a>,
        role: &'static str,
    },
}

#[derive(Debug, Serialize)]
struct Address<'a> {
    url: &'a str,
}

/// The media of a request.
struct Media<'a> {
    frame: Option<&'a str>,
    images: Vec<&'a str>,
    clip: Option<&'a str>,
}

pub(super) fn plan(context: &PlanContext<'_>) -> Result<Plan, RequestError> {
    let mut reader = FieldReader::new(context.request);
    let text = prompt(&mut reader, MAX_PROMPT)?;
    let text = text.ok_or_else(|| RequestError::missing("prompt"))?;
    let most = context.specs.max_reference_images.unwrap_or(MAX_IMAGES);
    let media = media(&mut reader, most)?;
    let resolution = size(&mut reader)?;
    let duration = duration(&mut reader)?;
    let ratio = ratio(&mut reader, media.is_none())?;
    let aigc_watermark = watermark(&mut reader)?;
    ignore_seconds(&mut reader);

    let mut to_probe = Vec::new();
    let mut input_seconds = 0;
    if let Some(url) = media.clip {
        let millis = context.facts.of(url).and_then(|known| known.millis);
        input_seconds = match millis {
            Some(millis) => clip_seconds(millis)?,
            None => MOST_CLIP_SECONDS,
        };
        if millis.is_none() {
            to_probe.push(ProbeTarget::video(url, "video_url"));
        }
    }
    let bill = BillableUnits {
        output_seconds: u64::try_from(duration).unwrap_or_default(),
        input_seconds,
        extra_images: count(media.images.len()).saturating_sub(FREE_IMAGES),
        attributes: Attributes::none().with("resolution", resolution),
        exact: to_probe.is_empty(),
    };
    let body = Body {
        content: media.parts(text),
        resolution,
        duration,
        ratio,
        aigc_watermark,
    };
    Ok(Plan {
        report: reader.finish(),
        bill,
        outbound: Outbound::new(PROTOCOL, "v2", &body),
        to_probe,
        size: Some(resolution.to_owned()),
    })
}

/// Prices a body: its length and that of its clips, and its pictures beyond the free ones.
pub(super) fn bill(outbound: &Outbound, facts: &KnownMedia) -> Result<BillableUnits, RequestError> {
    let resolution = outbound.body.get("resolution").and_then(Value::as_str);
    let resolution = resolution.ok_or_else(|| unreadable("resolution"))?;
    let duration = outbound.body.get("duration").and_then(Value::as_u64);
    let output_seconds = duration.ok_or_else(|| unreadable("duration"))?;
    let parts = outbound.body.get("content").and_then(Value::as_array);
    let parts = parts.ok_or_else(|| unreadable("content"))?;
    let mut pictures: u64 = 0;
    let mut input_seconds: u64 = 0;
    let mut exact = true;
    for part in parts {
        match part.get("type").and_then(Value::as_str) {
            Some("image_url") => pictures = pictures.saturating_add(1),
            Some("video_url") => {
                let url = part.pointer("/video_url/url").and_then(Value::as_str);
                let url = url.ok_or_else(|| unreadable("content"))?;
                let known = facts.of(url).and_then(|known| known.seconds());
                exact &= known.is_some();
                let seconds = known.unwrap_or(MOST_CLIP_SECONDS);
                input_seconds = input_seconds.saturating_add(seconds);
            }
            Some("text") => {}
            Some(_) | None => return Err(unreadable("content")),
        }
    }
    Ok(BillableUnits {
        output_seconds,
        input_seconds,
        extra_images: pictures.saturating_sub(FREE_IMAGES),
        attributes: Attributes::none().with("resolution", resolution),
        exact,
    })
}

fn media<'a>(reader: &mut FieldReader<'a>, most: u64) -> Result<Media<'a>, RequestError> {
    let image = reader.filled("image")?;
    let frame = match image {
        Some(image) => {
            let why = "`image` is the first frame, and there is one only";
            let fix = "send `image` or `input_reference`";
            reader.ignored("input_reference", "reference_overridden", why, fix);
            Some(image)
        }
        None => reader.filled("input_reference")?,
    };
    let images = reader.images();
    if images.iter().any(|url| url.trim().is_empty()) {
        return Err(RequestError::invalid(
            "images",
            "`images` has an empty address",
        ));
    }
    if count(images.len()) > most {
        let text = format!("`images` takes at most {most} reference images");
        return Err(RequestError::new("reference_count", "images", text));
    }
    let clip = reader.filled("video_url")?;
    let beside = if images.is_empty() {
        clip.map(|_| "video_url")
    } else {
        Some("images")
    };
    match (frame, beside) {
        (Some(_), Some(param)) => {
            let text = format!("a first frame and references (`{param}`) exclude each other");
            let fix = "send the first frame alone, or move it into `images`";
            Err(RequestError::invalid(param, text).with_fix(fix))
        }
        (Some(_) | None, _) => Ok(Media {
            frame,
            images,
            clip,
        }),
    }
}

fn size(reader: &mut FieldReader<'_>) -> Result<&'static str, RequestError> {
    let [usual, _] = SIZES;
    reader.one_of_or("size", &SIZES, usual, "no size was asked for")
}

fn duration(reader: &mut FieldReader<'_>) -> Result<i64, RequestError> {
    if let Some(duration) = reader.within("duration", &DURATION)? {
        return Ok(duration);
    }
    let why = "no length was asked for";
    reader.defaulted("duration", DEFAULT_DURATION.to_string(), why);
    Ok(DEFAULT_DURATION)
}

fn ratio(
    reader: &mut FieldReader<'_>,
    is_text_only: bool,
) -> Result<Option<&'static str>, RequestError> {
    let ratio = reader.one_of("metadata.ratio", &RATIOS)?;
    if is_text_only && ratio.is_none_or(|ratio| ratio == ADAPTIVE) {
        let text = "text alone needs `metadata.ratio`, and not `adaptive`";
        let refusal = RequestError::new("ratio_required", "metadata.ratio", text);
        return Err(refusal.with_fix("set `metadata.ratio`, for example to 16:9"));
    }
    Ok(ratio)
}

fn clip_seconds(millis: u64) -> Result<u64, RequestError> {
    let (least, most) = CLIP_MILLIS;
    if (least..=most).contains(&millis) {
        return Ok(millis.div_ceil(1_000));
    }
    let text = "the clip of `video_url` must be from 2 to 15 seconds long";
    Err(RequestError::new("clip_range", "video_url", text))
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

// === impl Media ===

impl<'a> Media<'a> {
    fn is_none(&self) -> bool {
        self.frame.is_none() && self.images.is_empty() && self.clip.is_none()
    }

    fn parts(&self, text: &'a str) -> Vec<Part<'a>> {
        let image = |url: &'a str, role| Part::ImageUrl {
            image_url: Address { url },
            role,
        };
        let mut parts = vec![Part::Text { text }];
        parts.extend(self.frame.map(|url| image(url, "first_frame")));
        let references = self.images.iter();
        parts.extend(references.map(|url| image(url, "reference_image")));
        parts.extend(self.clip.map(|url| Part::VideoUrl {
            video_url: Address { url },
            role: "reference_video",
        }));
        parts
    }
}
