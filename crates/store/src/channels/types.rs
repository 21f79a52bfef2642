//! Ids and states of channels and their credentials.

use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChannelId(i64);

/// Names a credential of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CredentialId(i64);

/// Whether a channel takes calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChannelState {
    Active,
    /// No new calls; running ones continue.
    Draining,
    Off,
}

// === impl ChannelId, CredentialId ===

impl ChannelId {
    /// The id as the database keeps it.
    #[must_use]
    pub const fn new(number: i64) -> Self {
        Self(number)
    }

    /// The number in the database.
    #[must_use]
    pub const fn number(self) -> i64 {
        self.0
    }
}

impl fmt::Display for ChannelId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.0)
    }
}

impl CredentialId {
    /// The id as the database keeps it.
    #[must_use]
    pub const fn new(number: i64) -> Self {
        Self(number)
    }

    /// The number in the database.
    #[must_use]
    pub const fn number(self) -> i64 {
        self.0
    }
}

impl fmt::Display for CredentialId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.0)
    }
}

// === impl ChannelState ===

impl ChannelState {
    pub const ALL: [Self; 3] = [Self::Active, Self::Draining, Self::Off];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Draining => "draining",
            Self::Off => "off",
        }
    }

    pub(super) fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }
}

impl fmt::Display for ChannelState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}
