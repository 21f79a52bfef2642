//! Topics: the closed list of events that customers can subscribe to.

use crate::closed_enum::closed_enum;

/// What an event is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Topic {
    TaskCompleted,
    /// A task failed, and what it cost went back.
    TaskFailed,
    /// A task has come further. Live only: it is not stored and has no number.
    TaskProgress,
    /// Money that was charged went back.
    CallRefunded,
    /// The balance fell below the account's mark.
    BalanceLow,
    /// A budget refused a call for the first time in its period, or is used up.
    BudgetReached,
    KeyRevoked,
    /// A model is not sold for now.
    ModelPaused,
    ModelResumed,
    /// A cell of social data is not sold for now.
    CellPaused,
    CellResumed,
    /// The catalog or its prices changed.
    PriceChanged,
}

// === impl Topic ===

impl Topic {
    pub const ALL: [Self; 12] = [
        Self::TaskCompleted,
        Self::TaskFailed,
        Self::TaskProgress,
        Self::CallRefunded,
        Self::BalanceLow,
        Self::BudgetReached,
        Self::KeyRevoked,
        Self::ModelPaused,
        Self::ModelResumed,
        Self::CellPaused,
        Self::CellResumed,
        Self::PriceChanged,
    ];

    /// Its name in the API.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::TaskCompleted => "task.completed",
            Self::TaskFailed => "task.failed",
            Self::TaskProgress => "task.progress",
            Self::CallRefunded => "call.refunded",
            Self::BalanceLow => "balance.low",
            Self::BudgetReached => "budget.reached",
            Self::KeyRevoked => "key.revoked",
            Self::ModelPaused => "model.paused",
            Self::ModelResumed => "model.resumed",
            Self::CellPaused => "cell.paused",
            Self::CellResumed => "cell.resumed",
            Self::PriceChanged => "price.changed",
        }
    }

    /// Whether its events are stored and numbered.
    #[must_use]
    pub const fn is_stored(self) -> bool {
        match self {
            Self::TaskProgress => false,
            Self::TaskCompleted
            | Self::TaskFailed
            | Self::CallRefunded
            | Self::BalanceLow
            | Self::BudgetReached
            | Self::KeyRevoked
            | Self::ModelPaused
            | Self::ModelResumed
            | Self::CellPaused
            | Self::CellResumed
            | Self::PriceChanged => true,
        }
    }
}

closed_enum!(Topic, "topic");
