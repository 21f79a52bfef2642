//! How a vendor counts what is not text, as an upper bound: images by their size, audio and video by their
//! length, and the window of a model, which no input passes. docs/dev/bounds.md has the sources.

use crate::document::Entry;

/// Input tokens of a model whose record does not say how many it takes.
const DEFAULT_WINDOW: u64 = 2_097_152;
const MILLIS: u64 = 1_000;

/// The rules of one model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InputRules {
    image: ImageRule,
    /// Tokens of a second of audio.
    audio: u64,
    /// Tokens of a frame of a video, and the frames of a second that are looked at unless the request says
    /// how many; none where nothing but the window bounds a video.
    video: Option<(u64, u64)>,
    /// Tokens of instructions that the vendor adds to a request with tools.
    tools: u64,
    /// Tokens of input at most, as far as the record says.
    window: Option<u64>,
}

/// An image is so many cells, and each cell so many tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ImageRule {
    cells: Cells,
    /// Tokens of a hundred cells.
    per_hundred: u64,
    least: u64,
    most: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cells {
    /// Squares of so many pixels a side.
    Squares(u32),
    /// Squares of two thirds of the shorter side, from 256 to 768 pixels.
    TwoThirds,
}

impl Entry {
    /// How the vendor of this model, by its public name, counts what is not text.
    #[must_use]
    pub fn input_rules(&self, model: &str) -> InputRules {
        let vendor = self.vendor.as_deref().unwrap_or_default();
        let specs = &self.specs;
        InputRules {
            image: image_rule(vendor, model),
            audio: match vendor {
                "openai" => 10,
                "mistral" => 13,
                "alibaba" => 25,
                "google" => 32,
                _ => 50,
            },
            video: match vendor {
                "google" => Some((288, 1)),
                "alibaba" => Some((768, 2)),
                "bytedance" => Some((640, 5)),
                _ => None,
            },
            tools: match vendor {
                "anthropic" => 1_024,
                _ => 64,
            },
            window: specs.context_window.max(specs.max_input_tokens),
        }
    }
}

fn image_rule(vendor: &str, model: &str) -> ImageRule {
    match vendor {
        "openai" => openai_image(model),
        // Width × height / 750, scaled down to 4,784.
        "anthropic" => ImageRule::new(Cells::Squares(27), 100, 0, 4_800),
        // 258 a crop, at most 24 of them at 3,072 pixels; later models a budget of up to 2,240.
        "google" => ImageRule::new(Cells::TwoThirds, 25_800, 2_240, 6_192),
        // Six tiles and the whole, 256 each.
        "xai" => ImageRule::fixed(1_792),
        // Sixteen tiles and the whole, 144 each and separators.
        "meta" => ImageRule::fixed(2_500),
        // Twelve tiles and the whole, 256 each and separators.
        "cohere" => ImageRule::fixed(3_400),
        // 16 pixels a side and a separator for each row, scaled down to 1,024 pixels.
        "mistral" => ImageRule::new(Cells::Squares(16), 107, 0, 4_400),
        "alibaba" | "moonshot" | "zhipu" | "bytedance" => {
            ImageRule::new(Cells::Squares(28), 101, 16, 16_400)
        }
        _ => ImageRule::new(Cells::Squares(16), 100, 2_240, 16_400),
    }
}

fn openai_image(model: &str) -> ImageRule {
    let is = |name: &str| model.starts_with(name);
    let is_small = model.contains("-mini") || model.contains("-nano");
    if is("gpt-4o-mini") {
        // 2,833 and 5,667 for each of at most eight tiles.
        return ImageRule::fixed(48_169);
    }
    let tiled = ["gpt-4o", "gpt-4.1", "gpt-4.5", "o1", "o3"];
    if !is_small && (model == "gpt-5" || tiled.into_iter().any(is)) {
        // 85 and 170 for each of at most eight tiles.
        return ImageRule::fixed(1_445);
    }
    // Patches of 32 pixels, at most 10,000 at full detail, times a factor of the model.
    let per_hundred = match (model.contains("-nano"), is_small) {
        (true, _) => 246,
        (false, true) => 172,
        (false, false) => 120,
    };
    ImageRule::new(
        Cells::Squares(32),
        per_hundred,
        85,
        per_hundred.saturating_mul(100),
    )
}

// === impl ImageRule ===

impl ImageRule {
    const fn new(cells: Cells, per_hundred: u64, least: u64, most: u64) -> Self {
        Self {
            cells,
            per_hundred,
            least,
            most,
        }
    }

    /// As many tokens whatever the size.
    const fn fixed(tokens: u64) -> Self {
        Self::new(Cells::Squares(1), 100, tokens, tokens)
    }

    fn tokens(&self, size: Option<(u32, u32)>) -> u64 {
        let Some((width, height)) = size else {
            return self.most;
        };
        let side = match self.cells {
            Cells::Squares(side) => side.max(1),
            Cells::TwoThirds => {
                let shorter = u64::from(width.min(height));
                let side = shorter.saturating_mul(2).div_euclid(3).clamp(256, 768);
                u32::try_from(side).unwrap_or(256)
            }
        };
        let across = |pixels: u32| u64::from(pixels.div_ceil(side));
        let cells = across(width).saturating_mul(across(height));
        let tokens = cells.saturating_mul(self.per_hundred).div_ceil(100);
        tokens.clamp(self.least, self.most)
    }
}

// === impl InputRules ===

impl InputRules {
    /// Tokens of an image at most: by its width and height, or the most that an image can be.
    #[must_use]
    pub fn image(&self, size: Option<(u32, u32)>) -> u64 {
        self.image.tokens(size)
    }

    /// Tokens of a recording at most.
    #[must_use]
    pub fn audio(&self, length_ms: Option<u64>) -> u64 {
        match length_ms {
            Some(length) => seconds(length).saturating_mul(self.audio),
            None => self.document(),
        }
    }

    /// Tokens of a video at most, its sound included.
    #[must_use]
    pub fn video(&self, length_ms: Option<u64>, frames_per_second: Option<u64>) -> u64 {
        match (length_ms, self.video) {
            (Some(length), Some((frame, usual))) => {
                let frames = frames_per_second.unwrap_or(usual);
                let second = frames.saturating_mul(frame).saturating_add(self.audio);
                seconds(length).saturating_mul(second)
            }
            (_, None) | (None, _) => self.document(),
        }
    }

    /// Tokens of a file whose text the vendor's reader alone sees: it may fill the window.
    #[must_use]
    pub fn document(&self) -> u64 {
        self.window.unwrap_or(DEFAULT_WINDOW)
    }

    /// Tokens of instructions that the vendor adds to a request with tools, some of which it defines.
    #[must_use]
    pub const fn tools(&self, of_vendor: u64) -> u64 {
        self.tools.saturating_mul(of_vendor.saturating_add(1))
    }

    /// A sum of input as far as the model takes it: what is longer is refused by its vendor.
    #[must_use]
    pub fn within_window(&self, tokens: u64) -> u64 {
        self.window.map_or(tokens, |window| tokens.min(window))
    }
}

/// Seconds that have begun, and one for what a vendor rounds.
const fn seconds(length_ms: u64) -> u64 {
    length_ms.div_ceil(MILLIS).saturating_add(1)
}

#[cfg(test)]
#[path = "input_rules_tests.rs"]
mod tests;
