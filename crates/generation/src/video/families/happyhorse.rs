//! Family E: HappyHorse 1.1 on DashScope, three models.
//!
//! Fields are those of family A: `prompt`, `input_reference`, `size` with an asterisk (`1280*720` where
//! it is left out), `duration` (five where it is left out). 480P has a price here, so all sizes of the
//! table are taken, and no others.
//!
//! - **text**: `prompt` is needed.
//! - **image**: `input_reference` is needed and becomes the first frame, whose shape the video follows:
//!   of the size only the tier is sent.
//! - **reference**: `prompt` and at least one reference are needed. `input_reference` is one; several go
//!   in `metadata.input.media`, a list of `{"type": "reference_image", "url": …}`. Both are kept, in
//!   this order, and counted together: at most nine.
//!
//! `images` is never assembled here: it is ignored and reported `references_not_assembled`. `seconds` is
//! never read. Of `metadata` these are read: `watermark` (always sent, since the upstream's own default
//! is true), `seed`, and on reference `input.media`. The upstream refuses `negative_prompt` and
//! `prompt_extend`, so they are not sent on.

use std::ops::RangeInclusive;

use serde_json::Value;
use trunkline_catalog::{FieldNote, FieldTreatment, RequestError, Specs};

use super::dashscope::{
    self, Body, DEFAULT_FRAME, DEFAULT_SIZE, Input, Measures, Media, Parameters, Role,
};
use super::{Family, PlanContext};
use crate::video::field_reader::{FieldReader, METADATA_IGNORED};
use crate::video::media_facts::KnownMedia;
use crate::video::plan::{BillableUnits, Outbound, Plan};
use crate::video::resolutions::{Frame, Tier, frame_of};

pub(super) const FAMILY: Family = Family {
    spec_letter: "e",
    variants: &["text", "image", "reference"],
    plan,
    bill,
};

/// Seconds of a video where the record does not say.
const SECONDS: RangeInclusive<u64> = 3..=15;
/// Reference pictures, where the record does not say.
const MAX_REFERENCES: u64 = 9;
const MEDIA: &str = "metadata.input.media";

fn plan(context: &PlanContext<'_>) -> Result<Plan, RequestError> {
    let mut reader = FieldReader::new(context.request);
    dashscope::ignore_seconds(&mut reader);
    let why = "this model does not assemble references from `images`";
    let fix = "put them into `metadata.input.media` of the reference-to-video model";
    reader.ignored("images", "references_not_assembled", why, fix);
    let follows_frame = match context.variant {
        "text" | "reference" => false,
        "image" => true,
        other => return Err(unknown(other)),
    };
    let media = match context.variant {
        "image" => {
            let first = reader.required("input_reference")?;
            vec![Media::new(Role::FirstFrame, first)]
        }
        "reference" => references(&mut reader, context.specs)?,
        _ => Vec::new(),
    };
    let prompt = if follows_frame {
        reader.filled("prompt")?
    } else {
        Some(reader.required("prompt")?)
    };
    let (size, frame) = size(&mut reader)?;
    let seconds = dashscope::seconds_or_default(&mut reader, context.specs, &SECONDS)?;
    let mut parameters = Parameters::read(&mut reader, frame, seconds)?;
    if follows_frame {
        parameters.ratio = None;
        dashscope::say_folded(&mut reader, frame);
    }
    let input = Input {
        prompt,
        media,
        ..Input::default()
    };
    Ok(Plan {
        report: reader.finish(),
        bill: dashscope::units(frame.tier, seconds),
        outbound: Body { input, parameters }.outbound(),
        to_probe: Vec::new(),
        size: Some(size),
    })
}

fn bill(
    variant: &'static str,
    outbound: &Outbound,
    _specs: &Specs,
    facts: &KnownMedia,
) -> Result<BillableUnits, RequestError> {
    match variant {
        "text" | "image" | "reference" => dashscope::bill(outbound, Measures::None, facts),
        other => Err(unknown(other)),
    }
}

fn unknown(variant: &str) -> RequestError {
    RequestError::invalid("model", format!("family E has no variant {variant}"))
}

fn size(reader: &mut FieldReader<'_>) -> Result<(String, Frame), RequestError> {
    let Some((text, width, height)) = dashscope::size_or_default(reader)? else {
        return Ok((DEFAULT_SIZE.to_owned(), DEFAULT_FRAME));
    };
    let frame = frame_of(width, height).ok_or_else(|| dashscope::not_in_table(text, Tier::P480))?;
    Ok((text.to_owned(), frame))
}

/// The reference pictures of both fields.
fn references<'a>(
    reader: &mut FieldReader<'a>,
    specs: &Specs,
) -> Result<Vec<Media<'a>>, RequestError> {
    let one = reader.filled("input_reference")?;
    let mut media: Vec<Media<'a>> = Vec::new();
    media.extend(one.map(|url| Media::new(Role::ReferenceImage, url)));
    if let Some(input) = reader.get("metadata.input") {
        media.extend(listed(reader, input)?);
    }
    if media.is_empty() {
        let text = "a reference is required: `input_reference` or `metadata.input.media`";
        return Err(RequestError::invalid("input_reference", text));
    }
    let most = specs.max_reference_images.unwrap_or(MAX_REFERENCES);
    let count = media.len();
    if u64::try_from(count).map_or(true, |count| count > most) {
        let text = format!("at most {most} reference pictures; got {count}");
        return Err(RequestError::new("reference_count", MEDIA, text));
    }
    Ok(media)
}

/// The entries of `metadata.input.media`. Everything beside them is named in the report.
fn listed<'a>(
    reader: &mut FieldReader<'a>,
    input: &'a Value,
) -> Result<Vec<Media<'a>>, RequestError> {
    let input = input.as_object();
    let wrong = || RequestError::invalid("metadata.input", "`metadata.input` must be an object");
    let input = input.ok_or_else(wrong)?;
    for name in input.keys().filter(|name| *name != "media") {
        leave(reader, &format!("metadata.input.{name}"));
    }
    let entries = match input.get("media") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(entries)) => entries,
        Some(_) => {
            return Err(RequestError::invalid(
                MEDIA,
                format!("`{MEDIA}` must be a list"),
            ));
        }
    };
    let mut media = Vec::new();
    for (place, entry) in entries.iter().enumerate() {
        let at = format!("{MEDIA}[{place}]");
        let field = |name: &str| entry.get(name).and_then(Value::as_str);
        if field("type") != Some("reference_image") {
            let text = format!("`{at}.type` must be reference_image");
            return Err(RequestError::invalid(format!("{at}.type"), text));
        }
        let url = field("url").filter(|url| !url.trim().is_empty());
        let url = url.ok_or_else(|| RequestError::missing(&format!("{at}.url")))?;
        let names = entry.as_object().into_iter().flat_map(|entry| entry.keys());
        for name in names.filter(|name| !["type", "url"].contains(&name.as_str())) {
            leave(reader, &format!("{at}.{name}"));
        }
        media.push(Media::new(Role::ReferenceImage, url));
    }
    Ok(media)
}

fn leave(reader: &mut FieldReader<'_>, path: &str) {
    let why = "this model does not read it";
    let note = FieldNote::new(path, FieldTreatment::Ignored, METADATA_IGNORED, why);
    reader.say(note.with_fix("leave it out"));
}
