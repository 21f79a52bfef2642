//! The vendor's two services, and the fields of their messages.

use std::sync::LazyLock;

use crate::field_check::Schema;

/// Which of the vendor's two services is asked; they differ in a few fields and words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    /// The Gemini API, with an API key.
    Gemini,
    /// Vertex AI, with an access token.
    Vertex,
}

/// The messages of both services.
pub(super) static SCHEMA: LazyLock<Schema> =
    LazyLock::new(|| Schema::read(include_str!("../../vendors/gemini.toml")));

pub(super) const GENERATE: &str = "GenerateContentRequest";
pub(super) const COUNT: &str = "CountTokensRequest";

// === impl Service ===

impl Service {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Gemini => "gemini",
            Self::Vertex => "vertex",
        }
    }
}
