//! What Azure's content filters tell of a prompt and of an answer.

use serde::Serialize;

use crate::ordered_json::OrderedJson;

/// What the filters found in one text.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Found {
    Nothing {},
    Content {
        hate: Severity,
        self_harm: Severity,
        sexual: Severity,
        violence: Severity,
    },
}

/// What they found in the prompt.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct PromptFound {
    prompt_index: u64,
    content_filter_results: Found,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Severity {
    filtered: bool,
    severity: &'static str,
}

const SAFE: Severity = Severity {
    filtered: false,
    severity: "safe",
};
const HIGH: Severity = Severity {
    filtered: true,
    severity: "high",
};

/// The first chunk of a stream: no choice, only what was found in the prompt.
pub(crate) fn prompt_chunk() -> String {
    OrderedJson::new()
        .raw("choices", "[]")
        .with("created", &0)
        .with("id", "")
        .with("model", "")
        .with("object", "")
        .with("prompt_filter_results", &[PromptFound::nothing()])
        .done()
}

// === impl Found ===

impl Found {
    pub(crate) fn content(is_stopped: bool) -> Self {
        Self::Content {
            hate: if is_stopped { HIGH } else { SAFE },
            self_harm: SAFE,
            sexual: SAFE,
            violence: SAFE,
        }
    }
}

// === impl PromptFound ===

impl PromptFound {
    pub(crate) fn nothing() -> Self {
        Self {
            prompt_index: 0,
            content_filter_results: Found::content(false),
        }
    }
}
