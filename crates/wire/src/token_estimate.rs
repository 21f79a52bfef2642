//! Estimates of tokens, for responses whose upstream reports no usage.

/// ASCII characters of one token, on average.
const ASCII_PER_TOKEN: u64 = 4;

/// Characters of output so far.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TextCounter {
    ascii: u64,
    wide: u64,
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
    }

    pub(crate) const fn tokens(self) -> u64 {
        estimated_tokens(self.ascii, self.wide)
    }
}

/// An estimate from the number of ASCII characters and of others.
pub(crate) const fn estimated_tokens(ascii: u64, wide: u64) -> u64 {
    ascii.div_ceil(ASCII_PER_TOKEN).saturating_add(wide)
}

/// An estimate from the size of JSON.
pub(crate) fn tokens_of_bytes(bytes: usize) -> u64 {
    estimated_tokens(u64::try_from(bytes).unwrap_or(u64::MAX), 0)
}
