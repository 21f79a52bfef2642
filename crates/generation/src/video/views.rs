//! A task as customers see it: the OpenAI format and the legacy format, both of the same row.

mod legacy;
mod openai;

use serde_json::Value;

pub use legacy::{legacy, legacy_error};
pub use openai::{openai, openai_list};

/// A task as customers see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VideoView {
    pub id: String,
    /// The requested model.
    pub model: String,
    pub state: State,
    /// From 0 to 100.
    pub progress: u8,
    /// The vendor reported no progress: it is estimated from the duration of other tasks.
    pub estimated: bool,
    /// When it was made, in unix seconds.
    pub created_at: i64,
    /// When it ended.
    pub completed_at: Option<i64>,
    /// When its link ends.
    pub expires_at: Option<i64>,
    /// The requested length in seconds.
    pub seconds: Option<u64>,
    /// The size as it is shown.
    pub size: Option<String>,
    /// The notes of the field report.
    pub warnings: Vec<Value>,
    /// What was charged for it, as decimal text.
    pub cost_usd: Option<String>,
}

/// The state of a task, as customers see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    Queued {
        /// Whether an upstream has it.
        submitted: bool,
    },
    /// It was sent, and whether an upstream has it is not known yet.
    Sent,
    InProgress,
    /// It is done, and here is its file.
    Completed {
        /// Our signed link.
        url: String,
    },
    /// It failed, and the charge was refunded.
    Failed {
        /// The upstream's code, or ours.
        code: String,
        /// The upstream's text, or ours.
        message: String,
    },
}
