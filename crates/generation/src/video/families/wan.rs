//! Family A: Wan 2.7 on DashScope, four models.
//!
//! The upstream takes a tier and a ratio, not a size. Toward the client the size stays: written as
//! `<width>*<height>` (an `x` is refused with the mended size), `1280*720` where it is left out,
//! and echoed as the caller wrote it.
//!
//! - **text**: `model` and `prompt` are enough. Without `duration` it is five seconds. Every well-formed
//!   size is taken; one that the two tiers have no frame for goes on as the smallest tier with at least
//!   as many pixels (1080P where none has) and the nearest ratio, and is reported `rewritten`.
//! - **image**: `input_reference` is needed and becomes the first frame, whose shape the video follows:
//!   of the size only the tier is sent.
//! - **reference**: `input_reference` is one picture, `images` are several, `video_url` adds a clip. Sent
//!   together, `input_reference` displaces `images`. At least one reference, at most five in all, counted
//!   after that. Seconds of the clip are billed beside those that are made.
//! - **edit**: `video_url` is needed: 2 to 10 seconds of MP4 or MOV. Without `duration` the video is as
//!   long as its source; with one it is cut there. It is billed by what comes out.
//!
//! Image, reference and edit take the sizes of the table only, and fold them into 720P or 1080P; the
//! sizes of 480P have no price and are refused before money moves. `seconds` is never read. Of
//! `metadata` these are read: `watermark` (sent as false unless requested), `seed`,
//! `negative_prompt`, `prompt_extend`; on text also `audio_url`, on edit also `audio_setting`.

mod size;

use std::ops::RangeInclusive;

use trunkline_catalog::{RequestError, Specs};

use super::dashscope::{self, Body, Input, Measures, Media, Parameters, Role};
use super::{Family, PlanContext};
use crate::video::field_reader::FieldReader;
use crate::video::media_facts::{Container, KnownMedia, MediaFacts, ProbeTarget};
use crate::video::plan::{BillableUnits, Outbound, Plan};
use crate::video::resolutions::Frame;
use size::{any_size, sold_size};

pub(super) const FAMILY: Family = Family {
    spec_letter: "a",
    variants: &["text", "image", "reference", "edit"],
    plan,
    bill,
};

/// Seconds of a video where the record does not say.
const SECONDS: RangeInclusive<u64> = 2..=15;
/// The same for references, and for a cut of an edit.
const SHORTER_SECONDS: RangeInclusive<u64> = 2..=10;
/// Pictures and clips together, where the record does not say.
const MAX_REFERENCES: u64 = 5;
/// The longest reference clip that the upstream takes.
const MAX_REFERENCE_SECONDS: u64 = 30;
/// Thousandths of a second that a source may have.
const SOURCE_MILLIS: (u64, u64) = (2_000, 10_000);
const MAX_SOURCE_SECONDS: u64 = 10;
/// The tracks that an edit can keep.
const AUDIO_SETTINGS: [&str; 2] = ["auto", "origin"];
const CLIP_RANGE: &str = "clip_range";

fn plan(context: &PlanContext<'_>) -> Result<Plan, RequestError> {
    let mut reader = FieldReader::new(context.request);
    dashscope::ignore_seconds(&mut reader);
    match context.variant {
        "text" => text(context, reader),
        "image" => image(context, reader),
        "reference" => reference(context, reader),
        "edit" => edit(context, reader),
        other => Err(unknown(other)),
    }
}

fn bill(
    variant: &'static str,
    outbound: &Outbound,
    _specs: &Specs,
    facts: &KnownMedia,
) -> Result<BillableUnits, RequestError> {
    let measures = match variant {
        "text" | "image" => Measures::None,
        "reference" => Measures::Input {
            most: MAX_REFERENCE_SECONDS,
        },
        "edit" => Measures::Source {
            most: MAX_SOURCE_SECONDS,
        },
        other => return Err(unknown(other)),
    };
    dashscope::bill(outbound, measures, facts)
}

fn unknown(variant: &str) -> RequestError {
    RequestError::invalid("model", format!("family A has no variant {variant}"))
}

fn text(context: &PlanContext<'_>, mut reader: FieldReader<'_>) -> Result<Plan, RequestError> {
    let prompt = reader.required("prompt")?;
    let (size, frame) = any_size(&mut reader)?;
    let seconds = dashscope::seconds_or_default(&mut reader, context.specs, &SECONDS)?;
    let mut input = words(&mut reader, Some(prompt))?;
    input.audio_url = reader.filled("metadata.audio_url")?;
    let parameters = parameters(&mut reader, frame, seconds)?;
    let bill = dashscope::units(frame.tier, seconds);
    Ok(finished(reader, &Body { input, parameters }, bill, size))
}

fn image(context: &PlanContext<'_>, mut reader: FieldReader<'_>) -> Result<Plan, RequestError> {
    let first = reader.required("input_reference")?;
    let prompt = reader.filled("prompt")?;
    let (size, frame) = sold_size(&mut reader)?;
    let seconds = dashscope::seconds_or_default(&mut reader, context.specs, &SECONDS)?;
    let mut input = words(&mut reader, prompt)?;
    input.media = vec![Media::new(Role::FirstFrame, first)];
    let mut parameters = parameters(&mut reader, frame, seconds)?;
    // The video has the shape of its first frame; the upstream knows no ratio here.
    parameters.ratio = None;
    let bill = dashscope::units(frame.tier, seconds);
    Ok(finished(reader, &Body { input, parameters }, bill, size))
}

fn reference(context: &PlanContext<'_>, mut reader: FieldReader<'_>) -> Result<Plan, RequestError> {
    let (mut media, clip) = references(&mut reader, context.specs)?;
    let prompt = reader.required("prompt")?;
    let (size, frame) = sold_size(&mut reader)?;
    let seconds = dashscope::seconds_or_default(&mut reader, context.specs, &SHORTER_SECONDS)?;
    let mut bill = dashscope::units(frame.tier, seconds);
    let mut to_probe = Vec::new();
    if let Some(url) = clip {
        media.push(Media::new(Role::ReferenceVideo, url));
        let known = context.facts.of(url);
        if known.is_none() {
            to_probe.push(ProbeTarget::video(url, "video_url"));
        }
        let length = known.and_then(|known| known.seconds());
        if length.is_some_and(|length| length > MAX_REFERENCE_SECONDS) {
            let text = format!("a reference clip has at most {MAX_REFERENCE_SECONDS} seconds");
            return Err(RequestError::new(CLIP_RANGE, "video_url", text));
        }
        bill.input_seconds = length.unwrap_or(MAX_REFERENCE_SECONDS);
        bill.exact = length.is_some();
    }
    let mut input = words(&mut reader, Some(prompt))?;
    input.media = media;
    let parameters = parameters(&mut reader, frame, seconds)?;
    let mut plan = finished(reader, &Body { input, parameters }, bill, size);
    plan.to_probe = to_probe;
    Ok(plan)
}

/// The images that are kept, and the clip.
fn references<'a>(
    reader: &mut FieldReader<'a>,
    specs: &Specs,
) -> Result<(Vec<Media<'a>>, Option<&'a str>), RequestError> {
    let one = reader.filled("input_reference")?;
    let many = reader.images();
    if many.iter().any(|url| url.trim().is_empty()) {
        return Err(RequestError::invalid(
            "images",
            "an address in `images` is empty",
        ));
    }
    let kept = match one {
        Some(url) => {
            if !many.is_empty() {
                let why = "`input_reference` is sent too, and only that one is kept";
                let fix = "put all of them into `images` and leave `input_reference` out";
                reader.ignored("images", "reference_overridden", why, fix);
            }
            vec![url]
        }
        None => many,
    };
    let clip = reader.filled("video_url")?;
    let count = kept.len().saturating_add(usize::from(clip.is_some()));
    if count == 0 {
        let text = "a reference is required: `input_reference`, `images` or `video_url`";
        return Err(RequestError::invalid("input_reference", text));
    }
    let most = specs.max_references.unwrap_or(MAX_REFERENCES);
    if u64::try_from(count).map_or(true, |count| count > most) {
        let text = format!("at most {most} references, pictures and clip together; got {count}");
        return Err(RequestError::new("reference_count", "images", text));
    }
    let pictures = kept.into_iter();
    let pictures = pictures.map(|url| Media::new(Role::ReferenceImage, url));
    Ok((pictures.collect(), clip))
}

fn edit(context: &PlanContext<'_>, mut reader: FieldReader<'_>) -> Result<Plan, RequestError> {
    let source = reader.required("video_url")?;
    let prompt = reader.filled("prompt")?;
    let (size, frame) = sold_size(&mut reader)?;
    let cut = dashscope::seconds(&mut reader, context.specs, &SHORTER_SECONDS)?;
    let known = context.facts.of(source);
    if let Some(known) = known {
        check_source(known)?;
    }
    let length = known.and_then(|known| known.seconds());
    let longest = length.unwrap_or(MAX_SOURCE_SECONDS);
    let seconds = cut.map_or(longest, |cut| cut.min(longest));
    if cut.is_none() {
        let why = "without a duration it is as long as its source";
        reader.defaulted("duration", "source", why);
    }
    let mut bill = dashscope::units(frame.tier, seconds);
    bill.exact = length.is_some();
    let mut input = words(&mut reader, prompt)?;
    input.media = vec![Media::new(Role::Video, source)];
    let audio_setting = reader.one_of("metadata.audio_setting", &AUDIO_SETTINGS)?;
    let mut parameters = parameters(&mut reader, frame, cut.unwrap_or(0))?;
    parameters.audio_setting = audio_setting;
    let mut plan = finished(reader, &Body { input, parameters }, bill, size);
    if known.is_none() {
        plan.to_probe.push(ProbeTarget::video(source, "video_url"));
    }
    Ok(plan)
}

fn check_source(known: MediaFacts) -> Result<(), RequestError> {
    let refused = |text: &str| Err(RequestError::new(CLIP_RANGE, "video_url", text));
    match known.container {
        Some(Container::Other) => return refused("the source clip must be MP4 or MOV"),
        Some(Container::Mp4 | Container::Mov) | None => {}
    }
    let (least, most) = SOURCE_MILLIS;
    match known.millis {
        Some(millis) if !(least..=most).contains(&millis) => {
            refused("the source clip must have 2 to 10 seconds")
        }
        Some(_) | None => Ok(()),
    }
}

/// The texts of the input.
fn words<'a>(
    reader: &mut FieldReader<'a>,
    prompt: Option<&'a str>,
) -> Result<Input<'a>, RequestError> {
    Ok(Input {
        prompt,
        negative_prompt: reader.filled("metadata.negative_prompt")?,
        ..Input::default()
    })
}

fn parameters(
    reader: &mut FieldReader<'_>,
    frame: Frame,
    duration: u64,
) -> Result<Parameters, RequestError> {
    let mut parameters = Parameters::read(reader, frame, duration)?;
    parameters.prompt_extend = reader.flag("metadata.prompt_extend")?;
    Ok(parameters)
}

fn finished(reader: FieldReader<'_>, body: &Body<'_>, bill: BillableUnits, size: String) -> Plan {
    Plan {
        report: reader.finish(),
        bill,
        outbound: body.outbound(),
        to_probe: Vec::new(),
        size: Some(size),
    }
}
