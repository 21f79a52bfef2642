//! The public formats.

use serde::{Deserialize, Serialize};

/// A format that clients and upstreams speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Format {
    /// OpenAI's chat completions.
    Chat,
    /// Anthropic's messages.
    Messages,
    /// OpenAI's Responses.
    Responses,
    /// Google's generateContent.
    Gemini,
}

// === impl Format ===

impl Format {
    pub(crate) const ALL: [Self; 4] = [Self::Chat, Self::Messages, Self::Responses, Self::Gemini];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Messages => "messages",
            Self::Responses => "responses",
            Self::Gemini => "gemini",
        }
    }

    /// Where the vendor answers it; `{model}` and `{method}` are put in.
    pub(crate) const fn usual_path(self) -> &'static str {
        match self {
            Self::Chat => "/v1/chat/completions",
            Self::Messages => "/v1/messages",
            Self::Responses => "/v1/responses",
            Self::Gemini => "/v1beta/models/{model}:{method}",
        }
    }

    /// Where a request to the upstream ends, by which the format is known that a gateway asked in.
    pub(crate) fn asked_at(path: &str) -> Option<Self> {
        let ends = |end: &str| path.ends_with(end);
        match () {
            () if ends("/chat/completions") => Some(Self::Chat),
            () if ends("/messages") => Some(Self::Messages),
            () if ends("/responses") => Some(Self::Responses),
            () if ends("enerateContent") => Some(Self::Gemini),
            () => None,
        }
    }
}
