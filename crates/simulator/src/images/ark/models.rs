//! What the lines of models take: sizes and formats.

use crate::ark_error::ArkError;
use crate::images::request::{is_within, pixels, sides};
use crate::picture::Format;
use crate::refusal::shortened;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    V40,
    V45,
    V50,
}

const MAX_RATIO: u32 = 16;
const MAX_PIXELS: u64 = 4096 * 4096;

impl Kind {
    pub(super) fn named(model: &str) -> Result<Self, ArkError> {
        let line = model.strip_prefix("doubao-").unwrap_or(model);
        let begins = |start: &str| line.starts_with(start);
        if begins("seedream-5-0") {
            return Ok(Self::V50);
        }
        if begins("seedream-4-5") {
            return Ok(Self::V45);
        }
        if begins("seedream-4-0") {
            return Ok(Self::V40);
        }
        let model = shortened(model);
        let text = format!(
            "The model or endpoint {model} does not exist or you do not have access to it."
        );
        Err(ArkError::new(
            404,
            "InvalidEndpointOrModel.NotFound",
            text.to_owned(),
        ))
    }

    /// A word such as `2K`, or both sides. Without either it is 2K.
    pub(super) fn size(self, text: Option<&str>) -> Result<(u32, u32), ArkError> {
        let wrong = |why: &str| Err(ArkError::invalid("size", why));
        let text = text.unwrap_or("2K");
        let side = match (self, text) {
            (Self::V40, "1K") => Some(1024),
            (Self::V40 | Self::V45 | Self::V50, "2K") => Some(2048),
            (Self::V50, "3K") => Some(3072),
            (Self::V40 | Self::V45, "4K") => Some(4096),
            (Self::V40 | Self::V45 | Self::V50, _) => None,
        };
        if let Some(side) = side {
            return Ok((side, side));
        }
        let Some((width, height)) = sides(text, 'x') else {
            return wrong("it must be a word such as 2K, or WIDTHxHEIGHT");
        };
        let least = match self {
            Self::V40 => 1280 * 720,
            Self::V45 | Self::V50 => 2560 * 1440,
        };
        if !is_within(width, height, MAX_RATIO) {
            return wrong("the aspect ratio must be between 1/16 and 16");
        }
        if !(least..=MAX_PIXELS).contains(&pixels(width, height)) {
            return wrong(&format!("image size must be at least {least} pixels"));
        }
        Ok((width, height))
    }

    /// Only the newest writes anything but JPEG.
    pub(super) fn format(self, text: Option<&str>) -> Result<Format, ArkError> {
        match (self, text) {
            (Self::V40 | Self::V45 | Self::V50, None) | (Self::V50, Some("jpeg")) => {
                Ok(Format::Jpeg)
            }
            (Self::V50, Some("png")) => Ok(Format::Png),
            (Self::V40 | Self::V45 | Self::V50, Some(_)) => {
                let why = "it is not supported by this model";
                Err(ArkError::invalid("output_format", why))
            }
        }
    }
}
