//! Estimates of tokens, for responses whose upstream reports no usage.

/// ASCII characters of one token, on average.
const ASCII_PER_TOKEN: u64 = 4;
/// ASCII characters of one token where as few tokens as there may be are counted.
const ASCII_PER_TOKEN_AT_MOST: u64 = 10;
/// The same of other characters.
const WIDE_PER_TOKEN_AT_MOST: u64 = 2;
/// Bytes of a prompt for one token, where as few as there may be are counted.
const PROMPT_BYTES_AT_MOST: u64 = 5;

/// Characters of output so far.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TextCounter {
    ascii: u64,
    wide: u64,
    /// Pieces that had text.
    pieces: u64,
}

impl TextCounter {
    pub(crate) fn add(&mut self, text: &str) {
        let (ascii, wide) = if text.is_ascii() {
            (text.len(), 0)
        } else {
            let ascii = text.bytes().filter(u8::is_ascii).count();
            (ascii, text.chars().count().saturating_sub(ascii))
        };
        let more =
            |sum: u64, count: usize| sum.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
        self.ascii = more(self.ascii, ascii);
        self.wide = more(self.wide, wide);
        self.pieces = more(self.pieces, usize::from(!text.is_empty()));
    }

    pub(crate) const fn plus(self, other: Self) -> Self {
        Self {
            ascii: self.ascii.saturating_add(other.ascii),
            wide: self.wide.saturating_add(other.wide),
            pieces: self.pieces.saturating_add(other.pieces),
        }
    }

    pub(crate) const fn tokens(self) -> u64 {
        estimated_tokens(self.ascii, self.wide)
    }

    /// An estimate in the caller's favour: no upstream writes a piece of less than a token.
    pub(crate) const fn least_tokens(self) -> u64 {
        let ascii = self.ascii.div_euclid(ASCII_PER_TOKEN_AT_MOST);
        let wide = self.wide.div_euclid(WIDE_PER_TOKEN_AT_MOST);
        let of_text = ascii.saturating_add(wide);
        if of_text > self.pieces {
            of_text
        } else {
            self.pieces
        }
    }
}

/// An estimate of a prompt in the caller's favour.
pub(crate) const fn least_prompt_tokens(text_bytes: u64) -> u64 {
    text_bytes.div_euclid(PROMPT_BYTES_AT_MOST)
}

/// An estimate from the number of ASCII characters and of others.
pub(crate) const fn estimated_tokens(ascii: u64, wide: u64) -> u64 {
    ascii.div_ceil(ASCII_PER_TOKEN).saturating_add(wide)
}

/// An estimate from the size of JSON.
pub(crate) fn tokens_of_bytes(bytes: usize) -> u64 {
    estimated_tokens(u64::try_from(bytes).unwrap_or(u64::MAX), 0)
}
