//! What the lines of models take: how many pictures in and out, and which sizes.

use std::ops::RangeInclusive;

use serde_json::Value;

use crate::dashscope_error::DashScopeError;
use crate::images::request::{is_within, pixels, sides};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// `qwen-image`, `-plus`, `-max`: one picture of five sizes.
    Qwen,
    /// `qwen-image-2.0…`: up to six of any size, from text or from pictures.
    Qwen2,
    /// `qwen-image-edit`: one picture from others, as large as it comes.
    Edit,
    /// `qwen-image-edit-plus`, `-max`: up to six of any size.
    EditPlus,
    /// `wan…-t2i`, `wan…-image`: four unless it is said otherwise.
    Wan,
    /// `z-image-…`.
    Z,
}

const FIVE: [&str; 5] = [
    "1664*928",
    "1472*1104",
    "1328*1328",
    "1104*1472",
    "928*1664",
];
const MAX_RATIO: u32 = 8;

// === impl Kind ===

impl Kind {
    pub(super) fn named(model: &str) -> Option<Self> {
        let begins = |start: &str| model.starts_with(start);
        if begins("qwen-image-2.0") {
            return Some(Self::Qwen2);
        }
        if begins("qwen-image-edit-plus") || begins("qwen-image-edit-max") {
            return Some(Self::EditPlus);
        }
        if begins("qwen-image-edit") {
            return Some(Self::Edit);
        }
        if begins("qwen-image") {
            return Some(Self::Qwen);
        }
        if begins("wan") && (model.contains("-t2i") || model.contains("-image")) {
            return Some(Self::Wan);
        }
        begins("z-image").then_some(Self::Z)
    }

    pub(super) fn sources(self) -> RangeInclusive<u32> {
        match self {
            Self::Qwen | Self::Z => 0..=0,
            Self::Qwen2 => 0..=3,
            Self::Wan => 0..=4,
            Self::Edit | Self::EditPlus => 1..=3,
        }
    }

    pub(super) fn max_count(self) -> u32 {
        match self {
            Self::Qwen | Self::Edit | Self::Z => 1,
            Self::Wan => 4,
            Self::Qwen2 | Self::EditPlus => 6,
        }
    }

    pub(super) fn usual_count(self) -> u32 {
        match self {
            Self::Qwen | Self::Edit | Self::Z | Self::Qwen2 | Self::EditPlus => 1,
            Self::Wan => 4,
        }
    }

    pub(super) fn wrong_count(self) -> DashScopeError {
        let most = self.max_count();
        let text = match most {
            1 => "num_images_per_prompt must be 1".to_owned(),
            most => format!("num_images_per_prompt must be in [1, {most}]"),
        };
        DashScopeError::invalid(&text)
    }

    /// The pixels of `W*H`, or those that come if nothing is said.
    pub(super) fn size(
        self,
        given: Option<&Value>,
        is_edit: bool,
    ) -> Result<(u32, u32), DashScopeError> {
        let Some(given) = given else {
            return Ok(self.usual_size(is_edit));
        };
        let text = given.as_str().unwrap_or_default();
        let wrong =
            || DashScopeError::invalid("The size is not match the allowed sizes of the model.");
        let (width, height) = sides(text, '*').ok_or_else(wrong)?;
        let is_right = match self {
            Self::Qwen => FIVE.contains(&text),
            // It has no such parameter.
            Self::Edit => return Ok(self.usual_size(is_edit)),
            Self::Qwen2 | Self::EditPlus | Self::Z => {
                (512 * 512..=2048 * 2048).contains(&pixels(width, height))
            }
            Self::Wan => (768 * 768..=4096 * 4096).contains(&pixels(width, height)),
        };
        if is_right && is_within(width, height, MAX_RATIO) {
            return Ok((width, height));
        }
        Err(wrong())
    }

    /// A changed picture is as large as its source; what is behind an address is not known here.
    fn usual_size(self, is_edit: bool) -> (u32, u32) {
        match self {
            Self::Qwen => (1664, 928),
            Self::Qwen2 if is_edit => (1024, 1024),
            Self::Qwen2 => (2048, 2048),
            Self::Edit | Self::EditPlus => (1024, 1024),
            Self::Wan => (1280, 1280),
            Self::Z => (1024, 1536),
        }
    }
}
