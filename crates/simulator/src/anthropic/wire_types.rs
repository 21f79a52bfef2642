//! JSON as this vendor writes it: the message, its blocks, and the events of a stream.

use serde::Serialize;
use serde_json::Value;

use super::answer::{Answer, StopReason, Usage};

/// A message, whole or just begun.
#[derive(Serialize)]
pub(super) struct Message<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    role: &'static str,
    model: &'a str,
    content: Vec<BlockShape<'a>>,
    #[serde(flatten)]
    end: End<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<UsageShape>,
}

#[derive(Default, Serialize)]
pub(super) struct End<'a> {
    stop_reason: Option<&'static str>,
    stop_sequence: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stop_details: Option<StopDetails>,
}

#[derive(Serialize)]
struct StopDetails {
    #[serde(rename = "type")]
    kind: &'static str,
    category: Option<()>,
    explanation: Option<()>,
}

/// A block of a message, or the empty one that opens it in a stream.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum BlockShape<'a> {
    Thinking {
        thinking: &'a str,
        signature: &'a str,
    },
    RedactedThinking {
        data: &'a str,
    },
    Text {
        #[serde(skip_serializing_if = "Option::is_none")]
        citations: Option<Vec<Citation>>,
        text: &'a str,
    },
    ToolUse {
        id: &'a str,
        name: &'a str,
        input: Value,
    },
}

/// A place in the first document of the prompt.
#[derive(Serialize)]
pub(super) struct Citation {
    #[serde(rename = "type")]
    kind: &'static str,
    cited_text: &'static str,
    document_index: u64,
    document_title: Option<()>,
    start_char_index: u64,
    end_char_index: u64,
}

/// An event of a stream.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Event<'a> {
    MessageStart {
        message: Message<'a>,
    },
    ContentBlockStart {
        index: usize,
        content_block: BlockShape<'a>,
    },
    Ping {},
    ContentBlockDelta {
        index: usize,
        delta: Delta<'a>,
    },
    ContentBlockStop {
        index: usize,
    },
    MessageDelta {
        delta: End<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        usage: Option<UsageShape>,
    },
    MessageStop {
        #[serde(
            rename = "amazon-bedrock-invocationMetrics",
            skip_serializing_if = "Option::is_none"
        )]
        metrics: Option<Metrics>,
    },
}

/// What an event adds to a block.
#[derive(Serialize)]
#[serde(tag = "type")]
pub(super) enum Delta<'a> {
    #[serde(rename = "text_delta")]
    Text { text: &'a str },
    #[serde(rename = "input_json_delta")]
    InputJson { partial_json: &'a str },
    #[serde(rename = "thinking_delta")]
    Thinking { thinking: &'a str },
    #[serde(rename = "signature_delta")]
    Signature { signature: &'a str },
    #[serde(rename = "citations_delta")]
    Citation { citation: Citation },
}

/// Usage, whole or a part of it.
#[derive(Clone, Default, Serialize)]
pub(super) struct UsageShape {
    #[serde(skip_serializing_if = "Option::is_none")]
    input_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_creation_input_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_read_input_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_creation: Option<CacheCreation>,
    output_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_tokens_details: Option<OutputDetails>,
    #[serde(skip_serializing_if = "Option::is_none")]
    service_tier: Option<&'static str>,
}

#[derive(Clone, Serialize)]
struct CacheCreation {
    ephemeral_5m_input_tokens: u64,
    ephemeral_1h_input_tokens: u64,
}

#[derive(Clone, Serialize)]
struct OutputDetails {
    thinking_tokens: u64,
}

/// What Bedrock adds to the last event.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Metrics {
    input_token_count: u64,
    output_token_count: u64,
    invocation_latency: u64,
    first_byte_latency: u64,
    cache_read_input_token_count: u64,
    cache_write_input_token_count: u64,
}

/// Milliseconds that Bedrock tells; constants, so that two answers are equal.
const FIRST_BYTE_MILLIS: u64 = 120;
const INVOCATION_MILLIS: u64 = 900;

// === impl Message ===

impl<'a> Message<'a> {
    pub(super) fn new(
        answer: &'a Answer,
        content: Vec<BlockShape<'a>>,
        end: End<'a>,
        usage: Option<UsageShape>,
    ) -> Self {
        Self {
            id: &answer.id,
            kind: "message",
            role: "assistant",
            model: &answer.model,
            content,
            end,
            usage,
        }
    }
}

// === impl End ===

impl<'a> End<'a> {
    pub(super) fn of(stop: &'a StopReason) -> Self {
        Self {
            stop_reason: Some(stop.name()),
            stop_sequence: stop.sequence(),
            stop_details: (*stop == StopReason::Refusal).then_some(StopDetails {
                kind: "refusal",
                category: None,
                explanation: None,
            }),
        }
    }
}

// === impl Citation ===

impl Citation {
    /// Each cites the next three characters.
    pub(super) fn new(index: u64) -> Self {
        let start_char_index = index.saturating_mul(3);
        Self {
            kind: "char_location",
            cited_text: "sim",
            document_index: 0,
            document_title: None,
            start_char_index,
            end_char_index: start_char_index.saturating_add(3),
        }
    }
}

// === impl Event ===

impl Event<'_> {
    /// The name on the `event:` line, the same as its type.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::MessageStart { .. } => "message_start",
            Self::ContentBlockStart { .. } => "content_block_start",
            Self::Ping {} => "ping",
            Self::ContentBlockDelta { .. } => "content_block_delta",
            Self::ContentBlockStop { .. } => "content_block_stop",
            Self::MessageDelta { .. } => "message_delta",
            Self::MessageStop { .. } => "message_stop",
        }
    }
}

// === impl UsageShape ===

impl UsageShape {
    /// All of it, at the end of a whole answer.
    pub(super) fn whole(usage: Usage) -> Self {
        Self {
            output_tokens_details: Some(OutputDetails {
                thinking_tokens: usage.thinking,
            }),
            output_tokens: usage.output,
            ..Self::begun(usage)
        }
    }

    /// At the start of a stream: the input, and a first token of the output.
    pub(super) fn begun(usage: Usage) -> Self {
        Self {
            cache_creation: Some(CacheCreation {
                ephemeral_5m_input_tokens: usage.written_5m,
                ephemeral_1h_input_tokens: usage.written_1h,
            }),
            output_tokens: 1,
            output_tokens_details: None,
            service_tier: Some("standard"),
            ..Self::ended(usage)
        }
    }

    /// At the end of a stream: the sums so far, without the times of the cache.
    pub(super) fn ended(usage: Usage) -> Self {
        Self {
            input_tokens: Some(usage.input),
            cache_creation_input_tokens: Some(usage.written()),
            cache_read_input_tokens: Some(usage.read),
            cache_creation: None,
            output_tokens: usage.output,
            output_tokens_details: Some(OutputDetails {
                thinking_tokens: usage.thinking,
            }),
            service_tier: None,
        }
    }

    /// The output alone, as the vendor once told it at the end.
    pub(super) fn output(usage: Usage) -> Self {
        Self {
            output_tokens: usage.output,
            ..Self::default()
        }
    }
}

// === impl Metrics ===

impl Metrics {
    pub(super) fn of(usage: Usage) -> Self {
        Self {
            input_token_count: usage.input,
            output_token_count: usage.output,
            invocation_latency: INVOCATION_MILLIS,
            first_byte_latency: FIRST_BYTE_MILLIS,
            cache_read_input_token_count: usage.read,
            cache_write_input_token_count: usage.written(),
        }
    }
}
