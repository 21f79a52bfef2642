//! The guardrail: a service of the operator's that is asked about calls.

use std::time::Duration;

use http::Uri;
use trunkline_account_api::SigningSecret;

#[derive(Debug, Clone)]
pub struct GuardrailSettings {
    pub uri: Uri,
    /// What signs the messages.
    pub secret: SigningSecret,
    /// Longest wait for an answer.
    pub timeout: Duration,
    pub fail: FailMode,
    /// Most bytes of a request or an answer that are shown.
    pub max_bytes: usize,
}

/// What becomes of a call that the guardrail does not answer about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailMode {
    /// It is refused.
    Closed,
    /// It passes.
    Open,
}

impl FailMode {
    /// As the configuration writes it.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        match word {
            "closed" => Some(Self::Closed),
            "open" => Some(Self::Open),
            _ => None,
        }
    }
}
