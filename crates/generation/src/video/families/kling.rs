//! Family C, Kling. Three variants, each with one or two upstream endpoints of its own.
//!
//! `standard` (endpoints `text2video`, `image2video`):
//! - The first frame is `image`; `input_reference` is never read, which is the trap
//!   `frame_field_unread`. `metadata.image_tail` is the closing frame; either frame makes it
//!   `image2video`. Without frames `prompt` must be there.
//! - `mode` is read at the top, then in `metadata.mode`: `std` (default), `pro`, `4k`. `duration` is 5
//!   where it is missing, and within what the record says. `metadata.sound` is `off` (default) or `on`.
//!   The price goes by mode and sound.
//! - `metadata.negative_prompt`, `metadata.cfg_scale` (0 to 1) and `metadata.camera_control` go on.
//! - The ratio of a text job is `metadata.aspect_ratio`, else what a table makes of x-spelled sizes;
//!   any other `size`, the asterisk spelling included, becomes `1:1` without an error: the trap
//!   `size_table_miss`. Without either it is `1:1`, defaulted. With a frame no ratio is sent, and
//!   `size` and `metadata.aspect_ratio` are ignored.
//!
//! `value` (endpoints `text-to-video`, `image-to-video`):
//! - `prompt` alone goes as `prompt`; with `image` both go as `contents`, which is built here.
//! - `metadata.settings`: `resolution` `720p` (default) or `1080p`; `duration` 3 to 15, else the top-level
//!   `duration`, else 5; `aspect_ratio` `16:9` (default), `9:16`, `1:1`, for text alone.
//! - Sound is always there and has no switch: a switch that is sent is the trap `audio_forced`.
//!
//! `multi` (endpoint `omni-video`):
//! - Of the top level only `prompt` is read, else `metadata.prompt`. All else is in `metadata`; there is
//!   no `resolution`.
//! - `image_list`: objects with `image_url` and perhaps `type`, `first_frame` or `end_frame`, each once, the
//!   latter only beside the former. At most 7, at most 4 beside a clip. One that is too small passes
//!   here and fails upstream (`image_too_small` where it was measured).
//! - `video_list`: one clip with `refer_type` `feature`. `base`, and none, which means `base` upstream, are
//!   billed by a length that is unknown before: `unpriceable`. With a clip no sound.
//! - `mode` `std`, `pro` (default, 1.33 times: `mode_default_pro`), `4k` (5 times). `sound` is `off` by
//!   default. `duration` is a text, `3` to `15`, default `5`; a number is refused, `type_string`.
//! - `aspect_ratio` is required without a first frame (`ratio_required`) and not sent with one.
//!
//! `seconds` is a field of other families and has no effect: `duration` is what works, in the `multi` variant
//! `metadata.duration`.
//!
//! `metadata.watermark` is false unless requested. Seconds that come out are billed and nothing
//! else, so every bill is exact; a clip is measured for its limits only.

mod bill;
mod multi;
mod standard;
mod value;

use std::ops::RangeInclusive;

use serde::Serialize;
use serde_json::{Map, Value};
use trunkline_catalog::{FieldNote, FieldTreatment, RequestError, Specs};

use super::{Family, PlanContext};
use crate::video::field_reader::{FIELD_IGNORED, FieldReader, METADATA_IGNORED};
use crate::video::plan::Plan;

pub(super) const FAMILY: Family = Family {
    spec_letter: "c",
    variants: &["standard", "value", "multi"],
    plan,
    bill: bill::bill,
};

/// The protocol's name in provider files.
const PROTOCOL: &str = "kling_video";
/// Ratios that every variant takes.
const RATIOS: [&str; 3] = ["16:9", "9:16", "1:1"];
/// Modes of the older design.
const MODES: [&str; 3] = ["std", "pro", "4k"];
const SWITCH: [&str; 2] = ["off", "on"];
/// Seconds of a request that names none.
const DEFAULT_SECONDS: i64 = 5;
/// Lengths where the record names none.
const MIN_SECONDS: u64 = 3;
const MAX_SECONDS: u64 = 15;

/// Whether a second file with a mark in it is made.
#[derive(Serialize)]
struct Watermark {
    enabled: bool,
}

fn plan(context: &PlanContext<'_>) -> Result<Plan, RequestError> {
    match context.variant {
        "value" => value::plan(context),
        "multi" => multi::plan(context),
        _ => standard::plan(context),
    }
}

/// The lengths that a model makes.
fn lengths(specs: &Specs) -> RangeInclusive<i64> {
    let least = specs.min_duration_seconds.unwrap_or(MIN_SECONDS);
    let most = specs.max_duration_seconds.unwrap_or(MAX_SECONDS);
    let whole = |seconds: u64| i64::try_from(seconds).unwrap_or(i64::MAX);
    whole(least)..=whole(most)
}

/// A switch of `metadata` that is `off` where it is missing.
fn sound(reader: &mut FieldReader<'_>) -> Result<&'static str, RequestError> {
    let why = "the upstream's own default";
    reader.one_of_or("metadata.sound", &SWITCH, "off", why)
}

fn watermark(reader: &mut FieldReader<'_>) -> Result<Watermark, RequestError> {
    let enabled = reader.flag("metadata.watermark")?.unwrap_or(false);
    Ok(Watermark { enabled })
}

/// Reports every unknown key as ignored.
fn strangers(
    reader: &mut FieldReader<'_>,
    path: &str,
    object: &Map<String, Value>,
    known: &[&str],
) {
    for key in object.keys().filter(|key| !known.contains(&key.as_str())) {
        let why = "this model does not read it";
        let note = FieldNote::new(
            format!("{path}.{key}"),
            FieldTreatment::Ignored,
            METADATA_IGNORED,
            why,
        );
        reader.say(note.with_fix("leave it out"));
    }
}

/// The length stands in another field here, and the advice writes it as that field takes it.
fn ignore_seconds(context: &PlanContext<'_>, reader: &mut FieldReader<'_>, field: &str) {
    let why = format!("this model takes its length from `{field}`");
    let requested = match context.request.get("seconds") {
        Some(Value::String(text)) => text.parse::<u64>().ok(),
        Some(value) => value.as_u64(),
        None => None,
    };
    let fix = match requested {
        // The one field that is a text.
        Some(seconds) if field == multi::DURATION => format!("use `{field}: \"{seconds}\"`"),
        Some(seconds) => format!("use `{field}: {seconds}`"),
        None => format!("use `{field}`"),
    };
    reader.ignored("seconds", FIELD_IGNORED, &why, &fix);
}

/// Reports a field as ignored, in place of its note as read.
fn overruled(reader: &mut FieldReader<'_>, field: &str, code: &'static str, why: &str) {
    reader.ignored(field, code, why, "leave it out");
}
