//! An request: what a vendor understood of a request that it takes.

use serde_json::Value;

use super::directives::ImageDirectives;
use crate::fault_stage::UpstreamError;
use crate::picture::{Format, Picture};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Vendor {
    OpenAi,
    MiniMax,
    DashScope,
    Ark,
}

/// How pictures are handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delivery {
    /// As links that live so long.
    Link {
        seconds: u64,
    },
    Base64,
}

/// What is to be made.
#[derive(Clone, Debug)]
pub(super) struct ImageRequest {
    pub(super) vendor: Vendor,
    pub(super) model: String,
    pub(super) prompt: String,
    pub(super) directives: ImageDirectives,
    pub(super) count: u32,
    pub(super) size: (u32, u32),
    pub(super) format: Format,
    pub(super) delivery: Delivery,
    pub(super) is_edit: bool,
    /// Pictures that came with the request.
    pub(super) sources: u32,
    pub(super) has_mask: bool,
    pub(super) is_marked: bool,
    pub(super) is_transparent: bool,
    pub(super) quality: Option<String>,
    pub(super) seed: Option<u64>,
    pub(super) tokens: Tokens,
    /// What was asked, as it is kept.
    pub(super) fields: Value,
    /// Hashes of the pictures that came as bytes, the mask last.
    pub(super) files: Vec<String>,
}

/// Tokens as the vendor counts them; none where it counts pictures alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tokens {
    pub(super) text_in: u64,
    pub(super) images_in: u64,
    /// For each picture that is made.
    pub(super) out: u64,
}

/// One place of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// A link or base64, as it was ordered.
    Made(String),
    Failed,
}

/// What comes instead of pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ImageError {
    Upstream(UpstreamError),
    /// The prompt is not allowed.
    Blocked,
    /// What was made is not allowed, all of it.
    AllFailed,
}

/// What an answer says of its own size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReportedCounts {
    pub(super) made: u64,
    pub(super) failed: u64,
    /// What true counts are multiplied by; `None` if they are not told at all.
    pub(super) factor: Option<u64>,
}

// === impl Vendor ===

impl Vendor {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::MiniMax => "minimax",
            Self::DashScope => "dashscope",
            Self::Ark => "ark",
        }
    }
}

// === impl ImageRequest ===

impl ImageRequest {
    /// An request with nothing but its defaults.
    pub(super) fn new(
        vendor: Vendor,
        model: &str,
        prompt: &str,
        directives: ImageDirectives,
    ) -> Self {
        Self {
            vendor,
            model: model.to_owned(),
            prompt: prompt.to_owned(),
            directives,
            count: 1,
            size: (1024, 1024),
            format: Format::Png,
            delivery: Delivery::Base64,
            is_edit: false,
            sources: 0,
            has_mask: false,
            is_marked: false,
            is_transparent: false,
            quality: None,
            seed: None,
            tokens: Tokens::default(),
            fields: Value::Null,
            files: Vec::new(),
        }
    }

    /// The picture at a place of the answer.
    pub(super) fn picture(&self, index: u32) -> Picture {
        let seed = self.seed.map(|seed| seed.to_string()).unwrap_or_default();
        let words = format!("{}\n{}\n{seed}\n{index}", self.model, self.prompt);
        let (width, height) = self.size;
        let mut picture = Picture::new(width, height, self.format, &words);
        picture.is_marked = self.is_marked;
        picture.is_transparent = self.is_transparent;
        picture
    }

    /// How many pixels each picture has.
    pub(super) fn pixels(&self) -> u64 {
        let (width, height) = self.size;
        pixels(width, height)
    }

    /// The size as most vendors write it.
    pub(super) fn size_text(&self) -> String {
        let (width, height) = self.size;
        format!("{width}x{height}")
    }
}

// === impl ReportedCounts ===

impl ReportedCounts {
    /// A count as it is told.
    pub(super) fn times(self, count: u64) -> u64 {
        count.saturating_mul(self.factor.unwrap_or(1))
    }
}

/// `WxH` or `W*H`, without leading zeros and of a sane length.
pub(super) fn sides(text: &str, between: char) -> Option<(u32, u32)> {
    let (width, height) = text.split_once(between)?;
    let side = |digits: &str| {
        let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
        digits.parse::<u32>().ok().filter(|_| is_plain)
    };
    Some((side(width)?, side(height)?))
}

/// How many pixels a picture has.
pub(super) fn pixels(width: u32, height: u32) -> u64 {
    u64::from(width).saturating_mul(height.into())
}

/// Whether the longer side is at most so many times the shorter.
pub(super) fn is_within(width: u32, height: u32, ratio: u32) -> bool {
    width <= height.saturating_mul(ratio) && height <= width.saturating_mul(ratio)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_two_plain_numbers() {
        assert_eq!(sides("1024x768", 'x'), Some((1024, 768)));
        assert_eq!(sides("1024*768", '*'), Some((1024, 768)));
        for wrong in ["1024", "x1024", "1024x", "0x1", "01x1", "+1x1", "1x1x1"] {
            assert_eq!(sides(wrong, 'x'), None, "{wrong}");
        }
        assert!(is_within(300, 100, 3) && !is_within(301, 100, 3));
        assert_eq!(pixels(2, 3), 6);
    }
}
