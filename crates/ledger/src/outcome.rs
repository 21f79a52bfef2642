//! Outcomes of calls, and which of them mean that nothing was delivered.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Complete,
    /// The client disconnected during the response.
    ClientGone,
    /// The balance ran out during the response.
    BalanceExhausted,
    /// A task was taken by the upstream.
    Accepted,
    /// The upstream refused the request.
    Refused,
    UpstreamFailed,
    /// The upstream did not answer in time.
    UpstreamTimeout,
    /// There was nothing to deliver.
    NoResult,
    /// The process of the node ended.
    Interrupted,
    /// The hold was not resolved before its deadline.
    Expired,
    /// The node drained before it was done.
    Drained,
    /// The charge could not be written in time.
    DatabaseAway,
    Cancelled,
}

// === impl Outcome ===

impl Outcome {
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

    #[must_use]
    pub const fn as_str(self) -> &'static str {
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

    /// The outcome of a name; none if it is unknown.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == word)
    }

    /// Whether it delivered nothing, and so cost nothing. The partial index of failed calls and the
    /// daily sums use the same definition; a test compares them.
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
