//! The built-in field lists: one file of `fields/` for each format.

use std::sync::LazyLock;

use crate::{FieldList, Format, PassthroughEndpoint};

static CHAT: LazyLock<FieldList> =
    LazyLock::new(|| read(include_str!("../fields/openai_chat.toml")));
static CLAUDE: LazyLock<FieldList> =
    LazyLock::new(|| read(include_str!("../fields/claude_messages.toml")));
static RESPONSES: LazyLock<FieldList> =
    LazyLock::new(|| read(include_str!("../fields/openai_responses.toml")));
static GEMINI: LazyLock<FieldList> = LazyLock::new(|| read(include_str!("../fields/gemini.toml")));
static EMBEDDINGS: LazyLock<FieldList> =
    LazyLock::new(|| read(include_str!("../fields/embeddings.toml")));
static RERANK: LazyLock<FieldList> = LazyLock::new(|| read(include_str!("../fields/rerank.toml")));
static MODERATIONS: LazyLock<FieldList> =
    LazyLock::new(|| read(include_str!("../fields/moderations.toml")));
static COMPLETIONS: LazyLock<FieldList> =
    LazyLock::new(|| read(include_str!("../fields/completions.toml")));

static REALTIME: LazyLock<FieldList> =
    LazyLock::new(|| read(include_str!("../fields/openai_realtime.toml")));

impl FieldList {
    /// The list of a client's realtime events.
    #[must_use]
    pub fn of_realtime() -> &'static Self {
        &REALTIME
    }

    /// The list of a format.
    #[must_use]
    pub fn of(format: Format) -> &'static Self {
        match format {
            Format::OpenaiChat => &CHAT,
            Format::ClaudeMessages => &CLAUDE,
            Format::OpenaiResponses => &RESPONSES,
            Format::Gemini => &GEMINI,
        }
    }

    /// The list of a pass-through endpoint.
    #[must_use]
    pub fn of_passthrough(endpoint: PassthroughEndpoint) -> &'static Self {
        match endpoint {
            PassthroughEndpoint::Embeddings => &EMBEDDINGS,
            PassthroughEndpoint::Rerank => &RERANK,
            PassthroughEndpoint::Moderations => &MODERATIONS,
            PassthroughEndpoint::Completions => &COMPLETIONS,
        }
    }
}

/// A built-in list. A wrong one lists nothing, so that nothing is sent; a test reads them all.
fn read(text: &str) -> FieldList {
    FieldList::parse(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_list_can_be_read() {
        for text in [
            include_str!("../fields/openai_chat.toml"),
            include_str!("../fields/claude_messages.toml"),
            include_str!("../fields/openai_responses.toml"),
            include_str!("../fields/gemini.toml"),
            include_str!("../fields/embeddings.toml"),
            include_str!("../fields/rerank.toml"),
            include_str!("../fields/moderations.toml"),
            include_str!("../fields/completions.toml"),
        ] {
            let list = FieldList::parse(text).unwrap();
            assert!(list.lists("model"));
        }
        assert!(FieldList::of_realtime().lists("session.model"));
    }

    #[test]
    fn a_beta_flag_is_listed_by_its_word_and_not_by_its_date() {
        let claude = FieldList::of(Format::ClaudeMessages);
        assert!(claude.has_beta("interleaved-thinking-2025-05-14"));
        assert!(!claude.has_beta("mcp-client-2025-04-04"));
        assert!(!FieldList::of(Format::OpenaiChat).has_beta("interleaved-thinking-2025-05-14"));
    }
}
