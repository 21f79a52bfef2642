//! A GenerateContentResponse: a whole response, or one piece of a stream.

use serde::Deserialize;
use serde_json::Value;

use super::usage::RawUsage;
use crate::canonical::Stop;

/// What is read of it.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Chunk {
    pub(super) candidates: Option<Vec<Candidate>>,
    pub(super) prompt_feedback: Option<Feedback>,
    pub(super) usage_metadata: Option<RawUsage>,
    pub(super) model_version: Option<String>,
    pub(super) response_id: Option<String>,
    pub(super) error: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Candidate {
    pub(super) content: Option<Content>,
    pub(super) finish_reason: Option<String>,
    pub(super) index: Option<u32>,
    pub(super) citation_metadata: Option<Citations>,
    pub(super) grounding_metadata: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Content {
    pub(super) parts: Option<Vec<Value>>,
}

/// Where it was taken from.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Citations {
    /// Vertex calls them `citations`, the other API `citationSources`.
    #[serde(alias = "citationSources")]
    pub(super) citations: Option<Vec<Value>>,
}

/// What was thought of the prompt.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Feedback {
    pub(super) block_reason: Option<String>,
}

const NO_REASON: [&str; 2] = ["FINISH_REASON_UNSPECIFIED", ""];
const FILTERED: [&str; 10] = [
    "SAFETY",
    "RECITATION",
    "LANGUAGE",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT",
    "IMAGE_RECITATION",
    "MODEL_ARMOR",
];
/// Words of Google's that no other format has.
const OTHERS: [&str; 7] = [
    "MALFORMED_FUNCTION_CALL",
    "UNEXPECTED_TOOL_CALL",
    "TOO_MANY_TOOL_CALLS",
    "MALFORMED_RESPONSE",
    "NO_IMAGE",
    "IMAGE_OTHER",
    "OTHER",
];

impl Chunk {
    /// Why the prompt was not answered at all.
    pub(super) fn blocked(&self) -> Option<&str> {
        let reason = self.prompt_feedback.as_ref()?.block_reason.as_deref()?;
        (reason != "BLOCKED_REASON_UNSPECIFIED").then_some(reason)
    }
}

impl Chunk {
    /// Whether it is a heartbeat: a piece of no words, and nothing about anything.
    pub(super) fn is_beat(&self) -> bool {
        let candidates = self.candidates.as_deref().unwrap_or_default();
        let nameless = self.response_id.is_none() && self.model_version.is_none();
        let silent = self.usage_metadata.is_none() && self.prompt_feedback.is_none();
        nameless && silent && candidates.iter().all(Candidate::is_silent)
    }
}

impl Candidate {
    fn is_silent(&self) -> bool {
        let parts = self
            .content
            .as_ref()
            .and_then(|content| content.parts.as_ref());
        let has_text = parts.is_some_and(|parts| parts.iter().any(|part| !is_no_words(part)));
        let cited = self.citation_metadata.is_some() || self.grounding_metadata.is_some();
        !has_text && !cited && self.finish_reason.is_none()
    }

    /// Why it ended, if it did; `called` says that it wants tools to be used.
    pub(super) fn stop(&self, called: bool) -> Option<Stop> {
        let word = self.finish_reason.as_deref()?;
        if NO_REASON.contains(&word) {
            return None;
        }
        Some(match word {
            "STOP" if called => Stop::ToolUse,
            "STOP" => Stop::End,
            "MAX_TOKENS" => Stop::Length,
            "CONTINUATION" => Stop::Paused,
            word if FILTERED.contains(&word) => Stop::Filtered,
            word => Stop::Other(word.chars().take(64).collect()),
        })
    }
}

fn is_no_words(part: &Value) -> bool {
    let part = part.as_object();
    part.is_some_and(|part| part.len() == 1 && part.get("text").is_some_and(|text| text == ""))
}

/// Google's name for why a response ended.
pub(super) fn finish_word(stop: &Stop) -> &str {
    match stop {
        Stop::End | Stop::ToolUse | Stop::Sequence(_) => "STOP",
        Stop::Length | Stop::ContextFull => "MAX_TOKENS",
        Stop::Filtered | Stop::Refused => "SAFETY",
        // Google's own reason for a pause makes its clients ask again with a token that does not exist.
        Stop::Paused => "OTHER",
        Stop::Other(word) if OTHERS.contains(&word.as_str()) => word,
        Stop::Other(_) => "OTHER",
    }
}
