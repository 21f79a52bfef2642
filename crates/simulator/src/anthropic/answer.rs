//! What the model says, as values: blocks, the reason of the end, and the true counts. `decide`
//! makes them.

use crate::tokens::count;

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) id: String,
    pub(crate) model: String,
    pub(crate) blocks: Vec<Block>,
    /// Tokens of thoughts that the client did not ask to see.
    pub(crate) hidden: u64,
    pub(crate) stop: StopReason,
    pub(crate) usage: Usage,
}

/// One block of the content.
#[derive(Debug)]
pub(crate) enum Block {
    /// So many words of thought, or as many that are only signed.
    Thought {
        words: u64,
        is_shown: bool,
    },
    /// A thought that only the vendor can read.
    Redacted {
        tokens: u64,
        data: String,
    },
    Text {
        text: Text,
        citations: u64,
    },
    Call(Call),
}

/// What a text is made of.
#[derive(Debug)]
pub(crate) enum Text {
    Words(u64),
    /// A document, cut into tokens.
    Document(Vec<String>),
}

/// A call of a tool.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) name: String,
    /// The input as JSON, in as many pieces as it has tokens, cut at odd places.
    pub(crate) pieces: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StopReason {
    EndTurn,
    MaxTokens,
    StopSequence(String),
    ToolUse,
    PauseTurn,
    Refusal,
    ContextWindow,
}

/// The true counts. The four of the input are disjoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) input: u64,
    pub(crate) read: u64,
    pub(crate) written_5m: u64,
    pub(crate) written_1h: u64,
    pub(crate) output: u64,
    pub(crate) thinking: u64,
}

// === impl Block ===

impl Block {
    /// How many tokens it costs.
    pub(crate) fn tokens(&self) -> u64 {
        match self {
            Self::Thought { words, .. } => *words,
            Self::Redacted { tokens, .. } => *tokens,
            Self::Text { text, .. } => text.pieces(),
            // The name is a token of its own, and the first to be said.
            Self::Call(call) => count(call.pieces.len()).saturating_add(1),
        }
    }
}

// === impl Text ===

impl Text {
    pub(crate) fn pieces(&self) -> u64 {
        match self {
            Self::Words(words) => *words,
            Self::Document(tokens) => count(tokens.len()),
        }
    }
}

// === impl StopReason ===

impl StopReason {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::EndTurn => "end_turn",
            Self::MaxTokens => "max_tokens",
            Self::StopSequence(_) => "stop_sequence",
            Self::ToolUse => "tool_use",
            Self::PauseTurn => "pause_turn",
            Self::Refusal => "refusal",
            Self::ContextWindow => "model_context_window_exceeded",
        }
    }

    pub(crate) fn sequence(&self) -> Option<&str> {
        match self {
            Self::StopSequence(sequence) => Some(sequence),
            Self::EndTurn
            | Self::MaxTokens
            | Self::ToolUse
            | Self::PauseTurn
            | Self::Refusal
            | Self::ContextWindow => None,
        }
    }
}

// === impl Usage ===

impl Usage {
    pub(crate) fn prompt(self) -> u64 {
        self.input
            .saturating_add(self.read)
            .saturating_add(self.written())
    }

    /// Everything that was written to the cache.
    pub(crate) fn written(self) -> u64 {
        self.written_5m.saturating_add(self.written_1h)
    }

    /// The counts as a liar tells them.
    pub(crate) fn times(self, factor: u64) -> Self {
        Self {
            input: self.input.saturating_mul(factor),
            read: self.read.saturating_mul(factor),
            written_5m: self.written_5m.saturating_mul(factor),
            written_1h: self.written_1h.saturating_mul(factor),
            output: self.output.saturating_mul(factor),
            thinking: self.thinking.saturating_mul(factor),
        }
    }
}
