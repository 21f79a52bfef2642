//! Sizes as families A and E write them, `<width>*<height>`, and the tiers and ratios that their
//! upstream takes in their place.

use std::fmt;

/// How sharp a video is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// 480P.
    P480,
    /// 720P.
    P720,
    /// 1080P.
    P1080,
}

/// One entry of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// Pixels across.
    pub width: u64,
    /// Pixels down.
    pub height: u64,
    pub tier: Tier,
    /// The shape, as the upstream names it.
    pub ratio: &'static str,
}

/// Every size that the upstream's tiers and ratios stand for.
pub(crate) const FRAMES: [Frame; 13] = [
    frame(832, 480, Tier::P480, "16:9"),
    frame(480, 832, Tier::P480, "9:16"),
    frame(624, 624, Tier::P480, "1:1"),
    frame(1280, 720, Tier::P720, "16:9"),
    frame(720, 1280, Tier::P720, "9:16"),
    frame(960, 960, Tier::P720, "1:1"),
    frame(1088, 832, Tier::P720, "4:3"),
    frame(832, 1088, Tier::P720, "3:4"),
    frame(1920, 1080, Tier::P1080, "16:9"),
    frame(1080, 1920, Tier::P1080, "9:16"),
    frame(1440, 1440, Tier::P1080, "1:1"),
    frame(1632, 1248, Tier::P1080, "4:3"),
    frame(1248, 1632, Tier::P1080, "3:4"),
];

const fn frame(width: u64, height: u64, tier: Tier, ratio: &'static str) -> Frame {
    Frame {
        width,
        height,
        tier,
        ratio,
    }
}

/// The entry of a size.
#[must_use]
pub fn frame_of(width: u64, height: u64) -> Option<Frame> {
    let mut all = FRAMES.into_iter();
    all.find(|frame| (frame.width, frame.height) == (width, height))
}

// === impl Tier ===

impl Tier {
    /// As the upstream writes it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::P480 => "480P",
            Self::P720 => "720P",
            Self::P1080 => "1080P",
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}
