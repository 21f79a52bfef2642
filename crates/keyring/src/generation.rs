//! The number of a root key, and the facts about it that may be shown.
//!
//! Nothing here is secret.

use std::fmt;

use trunkline_types::Timestamp;

/// Names one root key; it stands in every token. Numbers only grow and are never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GenerationId(u16);

/// What may be shown of a generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Generation {
    pub id: GenerationId,
    /// When it was made; unknown where it was given in the one-line form.
    pub created_at: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Generations {
    pub current: Generation,
    /// Only opens.
    pub previous: Option<Generation>,
}

// === impl GenerationId ===

impl GenerationId {
    pub(crate) const FIRST: Self = Self(1);

    /// The generation of a number; zero names none.
    pub(crate) fn new(number: u16) -> Option<Self> {
        (number > 0).then_some(Self(number))
    }

    pub(crate) fn next(self) -> Option<Self> {
        self.0.checked_add(1).map(Self)
    }

    #[must_use]
    pub const fn number(self) -> u16 {
        self.0
    }
}

impl fmt::Display for GenerationId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.0)
    }
}
