//! The fields of chat completions, and what is done about those that change what a call costs.

use crate::{CostTable, Fields, Treatment};

/// The service tier, at vendors that sell several.
pub const SERVICE_TIER: &str = "service_tier";

/// Every field that the format has. Other fields are passed on unchanged, without
/// a promise that they are read.
const KNOWN: &[&str] = &[
    "audio",
    "background",
    "conversation",
    "container",
    "frequency_penalty",
    "function_call",
    "functions",
    "logit_bias",
    "logprobs",
    "max_completion_tokens",
    "max_tokens",
    "messages",
    "metadata",
    "modalities",
    "model",
    "n",
    "parallel_tool_calls",
    "prediction",
    "presence_penalty",
    "prompt",
    "prompt_cache_key",
    "prompt_cache_retention",
    "reasoning_effort",
    "response_format",
    "safety_identifier",
    "seed",
    "service_tier",
    "stop",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "user",
    "verbosity",
    "web_search_options",
];

/// The cost table of chat completions.
const COSTS: CostTable = &[
    ("messages", Treatment::Priced),
    ("tools", Treatment::Priced),
    ("functions", Treatment::Priced),
    ("response_format", Treatment::Priced),
    ("prediction", Treatment::Priced),
    ("max_tokens", Treatment::Bounded),
    ("max_completion_tokens", Treatment::Bounded),
    ("n", Treatment::Bounded),
    (SERVICE_TIER, Treatment::Tier),
    (
        "modalities",
        Treatment::Only(
            &["text"],
            "audio output has a price of its own; use /v1/audio/speech",
        ),
    ),
    (
        "audio",
        Treatment::Refused("audio output has a price of its own; use /v1/audio/speech"),
    ),
    (
        "web_search_options",
        Treatment::Refused("searches are billed by the call and have no price here; leave it out"),
    ),
    (
        "background",
        Treatment::Reference("background responses cannot be charged; leave `background` out"),
    ),
    (
        "conversation",
        Treatment::Reference("chat completions carry their whole conversation in `messages`"),
    ),
    (
        "prompt",
        Treatment::Reference("write the prompt into `messages`"),
    ),
    (
        "container",
        Treatment::Reference("containers are stored at an upstream account; leave `container` out"),
    ),
];

/// What the fields of chat completions are. Its words are those that records and rules use.
pub const TABLE: Fields = Fields {
    known: KNOWN,
    costs: COSTS,
    aliases: &[],
    cap: super::request_scan::MAX_COMPLETION_TOKENS,
};
