//! The fields of Responses, and what is done about those that change what a call costs.

use crate::{CostTable, Fields, Treatment};

/// Where a request says how long its response may be.
pub(super) const MAX_OUTPUT_TOKENS: &str = "max_output_tokens";

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
    costs: COSTS,
    aliases: ALIASES,
    cap: MAX_OUTPUT_TOKENS,
};
