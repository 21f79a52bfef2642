//! How a call ended: a closed list of words, and which of them mean that nothing was delivered.

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Answered in full.
    Complete,
    /// The client left while the answer was coming.
    ClientGone,
    /// The money ran out while the answer was coming.
    BalanceExhausted,
    /// A task was taken by the upstream.
    Accepted,
    /// The upstream refused the request.
    Refused,
    /// The upstream failed.
    UpstreamFailed,
    /// The upstream did not answer in time.
    UpstreamTimeout,
    /// There was nothing to deliver.
    NoResult,
    /// Our process died.
    Interrupted,
    /// Nobody resolved the hold in its time.
    Expired,
    /// We stopped before it was done.
    Drained,
    /// We could not write the charge in time.
    DatabaseAway,
    /// The caller took it back.
    Cancelled,
}

// === impl Outcome ===

impl Outcome {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::Complete,
        Self::ClientGone,
        Self::BalanceExhausted,
        Self::Accepted,
        Self::Refused,
        Self::UpstreamFailed,
        Self::UpstreamTimeout,
        Self::NoResult,
        Self::Interrupted,
        Self::Expired,
        Self::Drained,
        Self::DatabaseAway,
        Self::Cancelled,
    ];

    /// The word in the table.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::ClientGone => "client_gone",
            Self::BalanceExhausted => "balance_exhausted",
            Self::Accepted => "accepted",
            Self::Refused => "refused",
            Self::UpstreamFailed => "upstream_failed",
            Self::UpstreamTimeout => "upstream_timeout",
            Self::NoResult => "no_result",
            Self::Interrupted => "interrupted",
            Self::Expired => "expired",
            Self::Drained => "drained",
            Self::DatabaseAway => "database_away",
            Self::Cancelled => "cancelled",
        }
    }

    /// The outcome of a word; none if it is no word of the list.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.word() == word)
    }

    /// Whether it delivered nothing, and so cost nothing. The partial index of failed calls and the
    /// sums of days draw the same line; a test holds them together.
    #[must_use]
    pub const fn is_failed(self) -> bool {
        match self {
            Self::Complete | Self::ClientGone | Self::BalanceExhausted | Self::Accepted => false,
            Self::Refused
            | Self::UpstreamFailed
            | Self::UpstreamTimeout
            | Self::NoResult
            | Self::Interrupted
            | Self::Expired
            | Self::Drained
            | Self::DatabaseAway
            | Self::Cancelled => true,
        }
    }
}
