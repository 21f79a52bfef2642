//! What families A and E share: both are served by one upstream, which takes a tier and a ratio in
//! place of a size, seconds as a whole number, and media as a list. How the body is written is here;
//! which fields a variant reads is in the family's own file.

mod bill;
mod size;

use std::ops::RangeInclusive;

use serde::Serialize;
use trunkline_catalog::{Attributes, FieldNote, FieldTreatment, RequestError, Specs};

use crate::video::field_reader::{FIELD_IGNORED, FieldReader};
use crate::video::plan::{BillableUnits, Outbound};
use crate::video::resolutions::{FRAMES, Frame, Tier};

pub(super) use bill::{Measures, bill};
pub(super) use size::covering;

use size::{read_size, shortened};

/// The protocol's name in provider files.
pub(super) const PROTOCOL: &str = "dashscope_video";
/// The size that is written in where there is none.
pub(super) const DEFAULT_SIZE: &str = "1280*720";
/// The entry of the table that stands for it.
pub(super) const DEFAULT_FRAME: Frame = Frame {
    width: 1280,
    height: 720,
    tier: Tier::P720,
    ratio: "16:9",
};
/// The seconds that are written in where there are none.
const DEFAULT_SECONDS: u64 = 5;
/// What the upstream takes as a seed.
const SEEDS: RangeInclusive<i64> = 0..=2_147_483_647;

/// The body, but for the model. What moves the price is always written.
#[derive(Debug, Serialize)]
pub(super) struct Body<'a> {
    pub(super) input: Input<'a>,
    pub(super) parameters: Parameters,
}

/// What the video is made of.
#[derive(Debug, Default, Serialize)]
pub(super) struct Input<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) prompt: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) negative_prompt: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) audio_url: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) media: Vec<Media<'a>>,
}

#[derive(Debug, Serialize)]
pub(super) struct Media<'a> {
    #[serde(rename = "type")]
    pub(super) role: Role,
    pub(super) url: &'a str,
}

/// What a piece of media is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Role {
    FirstFrame,
    ReferenceImage,
    ReferenceVideo,
    Video,
}

#[derive(Debug, Serialize)]
pub(super) struct Parameters {
    /// Left out it would be 1080P.
    pub(super) resolution: &'static str,
    /// None where the upstream follows the first frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ratio: Option<&'static str>,
    /// 0 on a video-edit means as long as its source.
    pub(super) duration: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) prompt_extend: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) audio_setting: Option<&'static str>,
    pub(super) watermark: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) seed: Option<i64>,
}

// === impl Body ===

impl Body<'_> {
    /// As it is stored and sent.
    pub(super) fn outbound(&self) -> Outbound {
        Outbound::new(PROTOCOL, "", self)
    }
}

// === impl Media ===

impl<'a> Media<'a> {
    pub(super) const fn new(role: Role, url: &'a str) -> Self {
        Self { role, url }
    }
}

// === impl Parameters ===

impl Parameters {
    /// What every variant of both families writes.
    pub(super) fn read(
        reader: &mut FieldReader<'_>,
        frame: Frame,
        duration: u64,
    ) -> Result<Self, RequestError> {
        Ok(Self {
            resolution: frame.tier.as_str(),
            ratio: Some(frame.ratio),
            duration,
            prompt_extend: None,
            audio_setting: None,
            // The upstream adds a watermark for some models by default.
            watermark: reader.flag("metadata.watermark")?.unwrap_or(false),
            seed: reader.within("metadata.seed", &SEEDS)?,
        })
    }
}

/// The size and its entry of the table; `1280*720` where there is none.
pub(super) fn size_or_default<'a>(
    reader: &mut FieldReader<'a>,
) -> Result<Option<(&'a str, u64, u64)>, RequestError> {
    let Some(text) = reader.filled("size")? else {
        reader.defaulted("size", DEFAULT_SIZE, "without a size it is 1280*720");
        return Ok(None);
    };
    let (width, height) = read_size(text)?;
    Ok(Some((text, width, height)))
}

/// The seconds, within what the record says; five where there are none.
pub(super) fn seconds_or_default(
    reader: &mut FieldReader<'_>,
    specs: &Specs,
    fallback: &RangeInclusive<u64>,
) -> Result<u64, RequestError> {
    match seconds(reader, specs, fallback)? {
        Some(seconds) => Ok(seconds),
        None => {
            let why = "without a duration it is five seconds";
            reader.defaulted("duration", DEFAULT_SECONDS.to_string(), why);
            Ok(DEFAULT_SECONDS)
        }
    }
}

/// The seconds, within what the record says.
pub(super) fn seconds(
    reader: &mut FieldReader<'_>,
    specs: &Specs,
    fallback: &RangeInclusive<u64>,
) -> Result<Option<u64>, RequestError> {
    let bound = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let least = bound(specs.min_duration_seconds.unwrap_or(*fallback.start()));
    let most = bound(specs.max_duration_seconds.unwrap_or(*fallback.end()));
    let seconds = reader.within("duration", &(least..=most))?;
    // A record that allowed less than nothing would be refused before it got here.
    Ok(seconds.map(|seconds| u64::try_from(seconds).unwrap_or_default()))
}

/// The length has one name here.
pub(super) fn ignore_seconds(reader: &mut FieldReader<'_>) {
    let why = "this model reads the length from `duration` alone";
    reader.ignored("seconds", FIELD_IGNORED, why, "use `duration`");
}

/// Says that a size became a tier, and what is billed by it.
pub(super) fn say_folded(reader: &mut FieldReader<'_>, frame: Frame) {
    if reader.has("size") {
        let why = format!("the size is made and billed as the tier {}", frame.tier);
        let note = FieldNote::new("size", FieldTreatment::Read, SIZE_FOLDED, why);
        reader.say(note.with_value(frame.tier.as_str()));
    }
}

/// A size that is well formed and stands for no frame.
pub(super) fn not_in_table(size: &str, smallest: Tier) -> RequestError {
    let sold = FRAMES.into_iter().filter(|frame| frame.tier >= smallest);
    let sold = sold.map(|frame| format!("{}*{}", frame.width, frame.height));
    let sold = sold.collect::<Vec<_>>().join(", ");
    let text = format!(
        "`size` cannot be {}: it must be one of {sold}",
        shortened(size)
    );
    RequestError::invalid("size", text)
}

/// A size that became a tier.
pub(super) const SIZE_FOLDED: &str = "size_folded";

/// The units of a video of so many seconds.
pub(super) fn units(tier: Tier, output_seconds: u64) -> BillableUnits {
    let attributes = Attributes::none().with("resolution", tier.as_str());
    BillableUnits::seconds(output_seconds, attributes)
}
