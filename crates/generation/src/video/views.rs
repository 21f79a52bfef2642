//! What customers see of a task: the OpenAI shape and the legacy shape, both made of the same row.

mod legacy;
mod openai;

use serde_json::Value;

pub use legacy::{legacy, legacy_error};
pub use openai::{openai, openai_list};

/// What a task is, for whoever asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VideoView {
    /// Our name of it.
    pub id: String,
    /// The model that was asked for.
    pub model: String,
    /// How far it is.
    pub state: State,
    /// From 0 to 100.
    pub progress: u8,
    /// Nobody told the progress: it is guessed from how long others took.
    pub estimated: bool,
    /// When it was made, in unix seconds.
    pub created_at: i64,
    /// When it ended.
    pub completed_at: Option<i64>,
    /// When its link ends.
    pub expires_at: Option<i64>,
    /// Seconds that are asked for.
    pub seconds: Option<u64>,
    /// The size as it is shown.
    pub size: Option<String>,
    /// What there is to say about its fields, each a note of the report.
    pub warnings: Vec<Value>,
    /// What was charged for it, as decimal text.
    pub cost_usd: Option<String>,
}

/// How far a task is, as customers see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// It waits.
    Queued {
        /// Whether an upstream has it.
        submitted: bool,
    },
    /// It left, and whether an upstream has it is not known yet.
    Sent,
    /// It is being made.
    InProgress,
    /// It is done, and here is its file.
    Completed {
        /// Our signed link.
        url: String,
    },
    /// It failed, and the charge was given back.
    Failed {
        /// The upstream's code, or ours.
        code: String,
        /// The upstream's text, or ours.
        message: String,
    },
}
