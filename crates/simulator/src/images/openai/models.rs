//! What the models take: sizes, qualities, fields. Names that begin with `sim-` stand for relays and
//! behave as `gpt-image-2` does.

use crate::images::request::{is_within, pixels, sides};
use crate::refusal::Refusal;
use crate::request::fields::wrong_value;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    DallE2,
    DallE3,
    Gpt1,
    Gpt2,
    /// The same with two qualities more.
    Gpt25,
}

/// Models as a refusal lists them.
const LISTED: &[&str] = &[
    "gpt-image-1",
    "gpt-image-1-mini",
    "gpt-image-1.5",
    "gpt-image-2",
    "gpt-image-2.5-sunburst",
    "gpt-image-2.5-flare",
    "gpt-image-2.6-sunburst",
    "gpt-image-2.6-flare",
    "chatgpt-image-latest",
    "dall-e-2",
    "dall-e-3",
];
const FIXED: &[&str] = &["1024x1024", "1024x1536", "1536x1024", "auto"];
/// What a size that is left out or `auto` becomes.
const USUAL: (u32, u32) = (1024, 1024);
/// Sides of free sizes are multiples of this.
const STEP: u32 = 16;
const MAX_RATIO: u32 = 3;
const MAX_SIDE: u32 = 3_840;
const MAX_PIXELS: u64 = 3_840 * 2_160;
/// Fewer make no picture; the vendor has such a limit and does not write it down.
const MIN_PIXELS: u64 = 512 * 512;

pub(super) fn is_dalle(model: &str) -> bool {
    model.starts_with("dall-e-")
}

/// Whether the answer tells the prompt as the model rewrote it.
pub(super) fn rewrites(model: &str) -> bool {
    model == "dall-e-3"
}

// === impl Kind ===

impl Kind {
    pub(super) fn named(model: &str) -> Result<Self, Refusal> {
        let begins = |start: &str| model.starts_with(start);
        if model == "dall-e-2" {
            return Ok(Self::DallE2);
        }
        if model == "dall-e-3" {
            return Ok(Self::DallE3);
        }
        if begins("gpt-image-2.5") || begins("gpt-image-2.6") {
            return Ok(Self::Gpt25);
        }
        if begins("gpt-image-2") || begins("sim-") {
            return Ok(Self::Gpt2);
        }
        if begins("gpt-image-1") || model == "chatgpt-image-latest" {
            return Ok(Self::Gpt1);
        }
        Err(wrong_value("model", model, LISTED))
    }

    pub(super) fn is_dalle(self) -> bool {
        match self {
            Self::DallE2 | Self::DallE3 => true,
            Self::Gpt1 | Self::Gpt2 | Self::Gpt25 => false,
        }
    }

    pub(super) fn max_prompt(self) -> usize {
        match self {
            Self::DallE2 => 1_000,
            Self::DallE3 => 4_000,
            Self::Gpt1 | Self::Gpt2 | Self::Gpt25 => 32_000,
        }
    }

    pub(super) fn max_sources(self) -> usize {
        match self {
            Self::DallE2 | Self::DallE3 => 1,
            Self::Gpt1 | Self::Gpt2 | Self::Gpt25 => 16,
        }
    }

    pub(super) fn qualities(self) -> &'static [&'static str] {
        match self {
            Self::DallE2 => &["standard", "auto"],
            Self::DallE3 => &["standard", "hd", "auto"],
            Self::Gpt1 | Self::Gpt2 => &["low", "medium", "high", "auto"],
            Self::Gpt25 => &["low", "medium", "high", "xhigh", "max", "auto"],
        }
    }

    /// What `auto` and nothing mean.
    pub(super) fn usual_quality(self) -> &'static str {
        match self {
            Self::DallE2 | Self::DallE3 => "standard",
            Self::Gpt1 | Self::Gpt2 | Self::Gpt25 => "medium",
        }
    }

    /// The pixels of a size, or why it is refused.
    pub(super) fn size(self, text: Option<&str>) -> Result<(u32, u32), Refusal> {
        let Some(text) = text else {
            return Ok(USUAL);
        };
        let known = match self {
            Self::DallE2 => &["256x256", "512x512", "1024x1024"],
            Self::DallE3 => &["1024x1024", "1792x1024", "1024x1792"],
            Self::Gpt1 => FIXED,
            Self::Gpt2 | Self::Gpt25 => return free(text),
        };
        if !known.contains(&text) {
            return Err(wrong_value("size", text, known));
        }
        Ok(sides(text, 'x').unwrap_or(USUAL))
    }
}

fn free(text: &str) -> Result<(u32, u32), Refusal> {
    if text == "auto" {
        return Ok(USUAL);
    }
    let wrong = |why: &str| {
        let text_start = crate::refusal::shortened(text);
        let message = format!("Invalid size '{text_start}'. {why}");
        Refusal::invalid("size", Some("invalid_value"), message)
    };
    let Some((width, height)) = sides(text, 'x') else {
        return Err(wrong("Expected 'WIDTHxHEIGHT' or 'auto'."));
    };
    if !width.is_multiple_of(STEP) || !height.is_multiple_of(STEP) {
        return Err(wrong("Width and height must both be divisible by 16."));
    }
    if !is_within(width, height, MAX_RATIO) {
        return Err(wrong("The aspect ratio must be between 1:3 and 3:1."));
    }
    let fits = width.max(height) <= MAX_SIDE && pixels(width, height) <= MAX_PIXELS;
    if !fits {
        return Err(wrong("The maximum supported resolution is 3840x2160."));
    }
    if pixels(width, height) < MIN_PIXELS {
        return Err(wrong("The resolution is below the minimum pixel budget."));
    }
    Ok((width, height))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_free_size_has_edges_on_every_side() {
        for good in [
            "auto",
            "1536x864",
            "3840x2160",
            "2160x3840",
            "1536x512",
            "512x512",
        ] {
            assert!(Kind::Gpt2.size(Some(good)).is_ok(), "{good}");
        }
        for wrong in [
            "1024",
            "1030x1024",
            "1552x512",
            "3856x2160",
            "3840x2176",
            "496x512",
        ] {
            assert!(Kind::Gpt2.size(Some(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_line_of_models_is_found_by_its_name() {
        for (name, kind) in [
            ("dall-e-2", Kind::DallE2),
            ("dall-e-3", Kind::DallE3),
            ("gpt-image-1-mini", Kind::Gpt1),
            ("gpt-image-1.5", Kind::Gpt1),
            ("gpt-image-2-2026-04-21", Kind::Gpt2),
            ("gpt-image-2.5-flare", Kind::Gpt25),
            ("sim-image", Kind::Gpt2),
        ] {
            assert_eq!(Kind::named(name).unwrap(), kind, "{name}");
        }
        assert!(Kind::named("gpt-4").is_err());
    }
}
