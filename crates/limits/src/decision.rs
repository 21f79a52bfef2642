//! Decisions and states of counters.

use std::time::Duration;

/// What a decision is based on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// The slices that Redis granted.
    Shared,
    /// This node's share of the limit: one of so many nodes.
    Share(u64),
}

/// Whether a counter covers a cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    Yes,
    /// Not before this time has passed.
    No(Duration),
    /// Only Redis can tell.
    AskRedis,
}

/// State of a counter, as a client is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CounterState {
    /// The limit of its window.
    pub limit: u64,
    /// What is left of it, as far as this node knows.
    pub remaining: u64,
    /// Until the oldest part of what was taken leaves the window; zero if nothing was taken.
    pub resets_in: Duration,
    /// The number of the window's newest part on this node.
    pub(crate) turn: u64,
}

// === impl Source ===

impl Source {
    /// The part of a limit that a node may grant by itself.
    pub(crate) fn share(self, limit: u64) -> u64 {
        match self {
            Self::Shared => limit,
            Self::Share(nodes) => limit.checked_div(nodes).unwrap_or(limit).max(1),
        }
    }
}
