//! The fields of Responses, and what is done about those that change what a call costs.

use crate::{CostTable, Fields, Treatment};

/// Where a request says how long its response may be.
pub(super) const MAX_OUTPUT_TOKENS: &str = "max_output_tokens";

/// Tools that the vendor runs and bills by the call, which has no price here. Clients send some of
/// them in every request, so they are left out and reported instead of refused.
pub const SERVER_TOOLS: &[&str] = &[
    "code_interpreter",
    "file_search",
    "image_generation",
    "web_search",
    "web_search_2025_08_26",
    "web_search_preview",
    "web_search_preview_2025_03_11",
];

/// Every field that the format has. Other fields are passed on unchanged, without
/// a promise that they are read.
const KNOWN: &[&str] = &[
    "background",
    "client_metadata",
    "context_management",
    "conversation",
    "include",
    "input",
    "instructions",
    MAX_OUTPUT_TOKENS,
    "max_tool_calls",
    "metadata",
    "model",
    "parallel_tool_calls",
    "previous_response_id",
    "prompt",
    "prompt_cache_key",
    "prompt_cache_retention",
    "reasoning",
    "reasoning.effort",
    "reasoning.generate_summary",
    "reasoning.summary",
    "safety_identifier",
    "service_tier",
    "store",
    "stream",
    "stream_options",
    "stream_options.include_obfuscation",
    "temperature",
    "text",
    "text.format",
    "text.verbosity",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "truncation",
    "user",
];

/// The cost table of Responses. `background` is not here because it may say `false`: reading the
/// request refuses the other word.
const COSTS: CostTable = &[
    ("input", Treatment::Priced),
    ("instructions", Treatment::Priced),
    ("tools", Treatment::Priced),
    ("text", Treatment::Priced),
    (MAX_OUTPUT_TOKENS, Treatment::Bounded),
    ("service_tier", Treatment::Tier),
    (
        "conversation",
        Treatment::Reference(
            "send the whole conversation in `input`, or continue a response of ours by `previous_response_id`",
        ),
    ),
    (
        "prompt",
        Treatment::Reference("write the prompt into `instructions` and `input`"),
    ),
];

/// Chat's name for a field, and the path it has here.
const ALIASES: &[(&str, &str)] = &[
    ("messages", "input"),
    ("max_completion_tokens", MAX_OUTPUT_TOKENS),
    ("max_tokens", MAX_OUTPUT_TOKENS),
    ("reasoning_effort", "reasoning.effort"),
    ("response_format", "text.format"),
    ("verbosity", "text.verbosity"),
];

/// What the fields of Responses are.
pub const TABLE: Fields = Fields {
    known: KNOWN,
    costs: COSTS,
    aliases: ALIASES,
    cap: MAX_OUTPUT_TOKENS,
};
