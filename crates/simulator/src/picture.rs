//! What is seen: a gradient of tiles with a pattern in its middle, both made of the prompt and the
//! place of the picture in its answer, so that two pictures of one answer differ and the same
//! question is answered by the same bytes.

pub(crate) mod jpeg;
pub(crate) mod png;

use sha2::{Digest, Sha256};

/// A picture that can be made again at any time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Picture {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) format: Format,
    /// Whether the vendor's mark stands in its corner.
    pub(crate) is_marked: bool,
    pub(crate) is_transparent: bool,
    seed: [u8; 32],
}

/// How the file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Png,
    Jpeg,
}

/// The colours of one picture.
pub(crate) struct Palette {
    from: [u8; 3],
    to: [u8; 3],
}

/// Pixels of a tile's side.
pub(crate) const TILE: u32 = 16;
/// Cells of the pattern's grid on each side; those at the rim stay empty.
const GRID: u32 = 8;
const PATTERN: std::ops::Range<u32> = 2..6;
/// The gradient ends here, so that the pattern stands out.
const GRADIENT: u32 = 96;
const PATTERN_COLOUR: u8 = 230;
const MARK_COLOUR: u8 = 255;

// === impl Format ===

impl Format {
    pub(crate) fn ending(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Jpeg => "jpeg",
        }
    }

    pub(crate) fn kind(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
        }
    }
}

// === impl Picture ===

impl Picture {
    pub(crate) fn new(width: u32, height: u32, format: Format, words: &str) -> Self {
        Self {
            width,
            height,
            format,
            is_marked: false,
            is_transparent: false,
            seed: Sha256::digest(words).into(),
        }
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        match self.format {
            Format::Png => png::bytes(self),
            Format::Jpeg => jpeg::bytes(self),
        }
    }

    /// Columns and rows of tiles; the last ones may be narrower.
    pub(crate) fn tiles(&self) -> (u32, u32) {
        (self.width.div_ceil(TILE), self.height.div_ceil(TILE))
    }

    /// The colour of a tile.
    pub(crate) fn tile(&self, column: u32, row: u32) -> u8 {
        let (columns, rows) = self.tiles();
        let is_last = column.saturating_add(1) >= columns && row.saturating_add(1) >= rows;
        if self.is_marked && is_last {
            return MARK_COLOUR;
        }
        let part = |at: u32, of: u32, steps: u32| {
            let part = at.saturating_mul(steps).checked_div(of);
            part.unwrap_or_default()
        };
        let (across, down) = (part(column, columns, GRID), part(row, rows, GRID));
        if PATTERN.contains(&across) && PATTERN.contains(&down) && self.is_set(across, down) {
            return PATTERN_COLOUR;
        }
        let shade = part(column, columns, GRADIENT).saturating_add(part(row, rows, GRADIENT));
        u8::try_from(shade).unwrap_or(u8::MAX)
    }

    /// One bit of the seed for each cell of the pattern.
    fn is_set(&self, across: u32, down: u32) -> bool {
        let byte = usize::try_from(down).unwrap_or_default();
        let byte = self.seed.get(byte).copied().unwrap_or_default();
        byte & 1u8.checked_shl(across).unwrap_or_default() != 0
    }
}

// === impl Palette ===

impl Palette {
    pub(crate) fn of(picture: &Picture) -> Self {
        let [.., a, b, c, d, e, f] = picture.seed;
        Self {
            from: [a, b, c],
            to: [d, e, f],
        }
    }

    /// Between the two ends of the gradient; the brightest is white.
    pub(crate) fn colour(&self, at: u8) -> [u8; 3] {
        if at == MARK_COLOUR {
            return [u8::MAX; 3];
        }
        let part = u32::from(at);
        let mix = |from: u8, to: u8| {
            let rest = 255u32.saturating_sub(part);
            let from = u32::from(from).saturating_mul(rest);
            let sum = from.saturating_add(u32::from(to).saturating_mul(part));
            u8::try_from(sum / 255).unwrap_or(u8::MAX)
        };
        let [a, b, c] = self.from;
        let [d, e, f] = self.to;
        [mix(a, d), mix(b, e), mix(c, f)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(format: Format, words: &str) -> Picture {
        Picture::new(100, 50, format, words)
    }

    /// The size in the frame of a JPEG file.
    fn jpeg_size(file: &[u8]) -> (u16, u16) {
        let at = file.windows(2).position(|two| two == [0xff, 0xc0]).unwrap();
        let side = |from: usize| u16::from_be_bytes([file[from], file[from + 1]]);
        (side(at + 7), side(at + 5))
    }

    #[test]
    fn a_file_tells_the_size_that_was_asked_for() {
        for (width, height) in [(1, 1), (16, 16), (17, 15), (1024, 1536), (4096, 4096)] {
            let file = Picture::new(width, height, Format::Png, "a").bytes();
            assert_eq!(png::size(&file), Some((width, height)));
            let file = Picture::new(width, height, Format::Jpeg, "a").bytes();
            let (across, down) = jpeg_size(&file);
            assert_eq!((u32::from(across), u32::from(down)), (width, height));
        }
    }

    #[test]
    fn the_same_words_make_the_same_bytes_and_others_make_others() {
        for format in [Format::Png, Format::Jpeg] {
            let first = picture(format, "a fox 0").bytes();
            assert_eq!(first, picture(format, "a fox 0").bytes());
            assert_ne!(first, picture(format, "a fox 1").bytes());
            let mut marked = picture(format, "a fox 0");
            marked.is_marked = true;
            assert_ne!(first, marked.bytes());
        }
    }

    #[test]
    fn a_large_picture_is_a_small_file() {
        for (format, most) in [(Format::Png, 400_000), (Format::Jpeg, 400_000)] {
            let file = Picture::new(4096, 4096, format, "a").bytes();
            assert!(file.len() < most, "{format:?}: {}", file.len());
        }
    }
}
