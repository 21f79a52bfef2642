//! Clips that go in: they are billed, so their length is checked and counted.

use trunkline_catalog::RequestError;

use super::limits::Limits;
use super::parts::{Part, Placed};
use crate::video::media_facts::{Container, KnownMedia, MediaFacts, ProbeTarget};

/// A clip that goes in is at least so long, at most as long as a video, and so many pixels large.
const LEAST_CLIP_MILLIS: u64 = 2_000;
const CLIP_PIXELS: std::ops::RangeInclusive<u64> = 407_696..=8_295_044;
/// The code of a clip that is too short, too long or of the wrong kind.
const CLIP_RANGE: &str = "clip_range";

/// A clip that goes in: where it is and the field that names it.
pub(super) type Clip<'a> = (&'a str, &'a str);

pub(super) fn clips(placed: &[Placed]) -> Vec<Clip<'_>> {
    let clips = placed.iter().filter_map(|placed| match &placed.part {
        Part::VideoUrl { video_url, .. } => Some((video_url.url.as_str(), placed.param.as_str())),
        Part::Text { .. } | Part::ImageUrl { .. } | Part::AudioUrl { .. } => None,
    });
    clips.collect()
}

/// Seconds of all clips, and whether that is exact.
pub(super) fn clip_seconds(
    clips: &[Clip<'_>],
    facts: &KnownMedia,
    limits: Limits,
) -> Result<(u64, bool), RequestError> {
    let most_millis = limits.most_seconds.saturating_mul(1_000);
    let mut sum = 0_u64;
    let mut is_exact = true;
    for (url, param) in clips {
        let known = facts.of(url).unwrap_or_default();
        check_clip(known, param, most_millis)?;
        sum = sum.saturating_add(known.millis.unwrap_or_default());
        is_exact &= known.millis.is_some();
        if sum > most_millis {
            let most = limits.most_seconds;
            let text = format!("the clips are longer than {most} seconds together");
            return Err(RequestError::new(CLIP_RANGE, *param, text));
        }
    }
    let seconds = if is_exact {
        sum.div_ceil(1_000)
    } else {
        limits.most_seconds
    };
    Ok((seconds, is_exact))
}

fn check_clip(clip: MediaFacts, param: &str, most_millis: u64) -> Result<(), RequestError> {
    let wrong = |text: String| Err(RequestError::new(CLIP_RANGE, param, text));
    if clip.container == Some(Container::Other) {
        return wrong("a clip must be MP4 or MOV".to_owned());
    }
    let is_long = |millis: &u64| (LEAST_CLIP_MILLIS..=most_millis).contains(millis);
    if !clip.millis.as_ref().is_none_or(is_long) {
        let most = most_millis / 1_000;
        return wrong(format!("a clip must be from 2 to {most} seconds long"));
    }
    if let (Some(width), Some(height)) = (clip.width, clip.height) {
        let pixels = width.saturating_mul(height);
        if !CLIP_PIXELS.contains(&pixels) {
            return wrong(format!(
                "a clip must have from {} to {} pixels",
                CLIP_PIXELS.start(),
                CLIP_PIXELS.end()
            ));
        }
    }
    Ok(())
}

/// Clips that were not measured yet, each once.
pub(super) fn to_probe(clips: &[Clip<'_>], facts: &KnownMedia) -> Vec<ProbeTarget> {
    let mut subjects: Vec<ProbeTarget> = Vec::new();
    for (url, param) in clips {
        let is_listed = subjects.iter().any(|probe_target| probe_target.url == *url);
        if !is_listed && facts.of(url).is_none() {
            subjects.push(ProbeTarget::video(url, param));
        }
    }
    subjects
}
