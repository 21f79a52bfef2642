//! What a call used, in tokens.

/// Tokens in and out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tokens {
    pub input: u64,
    pub output: u64,
}

// === impl Tokens ===

impl Tokens {
    pub(crate) const fn total(self) -> u64 {
        self.input.saturating_add(self.output)
    }
}
