//! What keeps a node from serving calls although it runs.

use std::sync::atomic::{AtomicBool, Ordering};

/// A reason why a node is not ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Obstacle {
    /// The database did not answer the last time it was asked.
    DatabaseAway,
    /// Another node seals with a newer generation of keys than this one has.
    KeyringLags,
    /// There are channels, and none of their credentials can be opened.
    NoCredentialOpens,
}

/// The obstacles that there are now.
#[derive(Debug, Default)]
pub struct Obstacles {
    found: [AtomicBool; Obstacle::ALL.len()],
}

// === impl Obstacle ===

impl Obstacle {
    pub const ALL: [Self; 3] = [
        Self::DatabaseAway,
        Self::KeyringLags,
        Self::NoCredentialOpens,
    ];

    /// For the one who asks why a node is not ready.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::DatabaseAway => "the database does not answer",
            Self::KeyringLags => "the keyring of this node is older than the one in use",
            Self::NoCredentialOpens => "no credential of a channel can be opened with this keyring",
        }
    }

    const fn place(self) -> usize {
        match self {
            Self::DatabaseAway => 0,
            Self::KeyringLags => 1,
            Self::NoCredentialOpens => 2,
        }
    }
}

// === impl Obstacles ===

impl Obstacles {
    /// Says whether an obstacle is there. True if that is new.
    pub fn set(&self, obstacle: Obstacle, is_there: bool) -> bool {
        let found = self.found.get(obstacle.place());
        found.is_some_and(|found| found.swap(is_there, Ordering::Relaxed) != is_there)
    }

    #[must_use]
    pub fn has(&self, obstacle: Obstacle) -> bool {
        let found = self.found.get(obstacle.place());
        found.is_some_and(|found| found.load(Ordering::Relaxed))
    }

    /// The first one that there is.
    #[must_use]
    pub fn first(&self) -> Option<Obstacle> {
        Obstacle::ALL.into_iter().find(|one| self.has(*one))
    }
}
