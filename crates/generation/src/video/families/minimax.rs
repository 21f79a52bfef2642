//! Family D: one model with sound of its own (`native`) and three with older names (`legacy`,
//! `legacy_fast`, `legacy_oldest`). The first goes to the vendor's second interface (endpoint `v2`),
//! the others to its first (endpoint `v1`).
//!
//! Native reads:
//! - `prompt`: required, at most 7,000 characters.
//! - `image` or `input_reference`: the first frame. `image` wins; the other is then ignored
//!   (`reference_overridden`).
//! - `images`: reference pictures, at most nine (or what the record says). The first five are free.
//! - `video_url`: a reference clip of 2 to 15 seconds. Its seconds, rounded up, cost what those that
//!   are made cost; not measured, it counts as 15.
//! - Frames and references together are refused: the vendor takes one or the other.
//! - `size`: `768P` (filled in) or `2K`. `duration`: 4 to 15, filled in as 5.
//! - `metadata.ratio`: required with text alone, and then not `adaptive` (`ratio_required`).
//!
//! The legacy-named read:
//! - `prompt`: required without a first frame, at most 2,000 characters.
//! - `duration`: 6 (filled in) or 10. `size`: `768P` (filled in), `1080P` with 6 seconds, and on the
//!   oldest with a first frame `512P`.
//! - `metadata.first_frame_image` (the fast one needs it), `metadata.last_frame_image`,
//!   `metadata.subject_reference`, `metadata.prompt_optimizer`, `metadata.fast_pretreatment`.
//! - `image`, `input_reference`, `images` and `video_url` at the top are dropped (`media_dropped`):
//!   the request is made from text, and billed so.
//!
//! All read `metadata.watermark` (or the vendor's name for it, `metadata.aigc_watermark`), `false`
//! unless requested. `seconds` is ignored everywhere. The price of the legacy-named is one for a video,
//! by `resolution` and `duration`; that of native one for a second, by `resolution`.

mod legacy;
mod native;

use trunkline_catalog::{RequestError, Specs};

use super::{Family, PlanContext};
use crate::video::field_reader::{FIELD_IGNORED, FieldReader};
use crate::video::media_facts::KnownMedia;
use crate::video::plan::{BillableUnits, Outbound, Plan};

pub(super) const FAMILY: Family = Family {
    spec_letter: "d",
    variants: &["native", "legacy", "legacy_fast", "legacy_oldest"],
    plan,
    bill,
};

const PROTOCOL: &str = "minimax_video";

/// A legacy-named model, by its variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Legacy {
    Usual,
    /// It generates videos from images only.
    Fast,
    /// It knows one resolution more.
    Oldest,
}

fn plan(context: &PlanContext<'_>) -> Result<Plan, RequestError> {
    match legacy_of(context.variant) {
        Some(which) => legacy::plan(context, which),
        None => native::plan(context),
    }
}

fn bill(
    variant: &'static str,
    outbound: &Outbound,
    _specs: &Specs,
    facts: &KnownMedia,
) -> Result<BillableUnits, RequestError> {
    match legacy_of(variant) {
        Some(_) => legacy::bill(outbound),
        None => native::bill(outbound, facts),
    }
}

fn legacy_of(variant: &str) -> Option<Legacy> {
    match variant {
        "legacy" => Some(Legacy::Usual),
        "legacy_fast" => Some(Legacy::Fast),
        "legacy_oldest" => Some(Legacy::Oldest),
        _ => None,
    }
}

/// Whether the vendor adds a watermark: only if requested.
fn watermark(reader: &mut FieldReader<'_>) -> Result<bool, RequestError> {
    let ours = reader.flag("metadata.watermark")?;
    if let Some(ours) = ours {
        let why = "`metadata.watermark` says the same and wins";
        let fix = "send one of the two";
        reader.ignored("metadata.aigc_watermark", FIELD_IGNORED, why, fix);
        return Ok(ours);
    }
    Ok(reader.flag("metadata.aigc_watermark")?.unwrap_or_default())
}

/// `seconds` is a field of other families.
fn ignore_seconds(reader: &mut FieldReader<'_>) {
    let why = "this model takes its length from `duration`";
    reader.ignored("seconds", FIELD_IGNORED, why, "use `duration`");
}

/// A prompt that is not longer than the vendor takes.
fn prompt<'a>(reader: &mut FieldReader<'a>, most: usize) -> Result<Option<&'a str>, RequestError> {
    let prompt = reader.filled("prompt")?;
    if prompt.is_some_and(|text| text.chars().count() > most) {
        let text = format!("`prompt` has more than {most} characters");
        return Err(RequestError::invalid("prompt", text));
    }
    Ok(prompt)
}

/// A body of ours that cannot be read back.
fn unreadable(param: &str) -> RequestError {
    RequestError::unpriceable(param, format!("`{param}` of the body cannot be priced"))
}
