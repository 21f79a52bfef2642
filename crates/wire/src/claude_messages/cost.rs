//! The fields of Anthropic messages, and what is done about those that change what a call costs.

use crate::{CostTable, Fields, Treatment};

/// Where a request says how long its response may be.
pub(super) const MAX_TOKENS: &str = "max_tokens";

/// The cost table of Anthropic messages. What stands inside lists is looked at by `parts`: files that
/// are stored elsewhere, tools that are billed by the call, edits that call a model once more.
const COSTS: CostTable = &[
    ("messages", Treatment::Priced),
    ("system", Treatment::Priced),
    ("tools", Treatment::Priced),
    ("output_config", Treatment::Priced),
    ("output_format", Treatment::Priced),
    (MAX_TOKENS, Treatment::Bounded),
    // Thoughts are part of the output, which the cap bounds.
    ("thinking", Treatment::Bounded),
    // Cache writes have prices of their own; usage distinguishes them.
    ("cache_control", Treatment::Bounded),
    ("context_management", Treatment::Bounded),
    ("service_tier", Treatment::Tier),
    (
        "speed",
        Treatment::Only(
            &["standard"],
            "faster answers have a price of their own; leave it out",
        ),
    ),
    (
        "inference_geo",
        Treatment::Only(
            &["global"],
            "answers bound to a region have a price of their own; leave it out",
        ),
    ),
    (
        "container",
        Treatment::Reference("containers are stored at an upstream account; leave `container` out"),
    ),
    (
        "user_profile_id",
        Treatment::Reference("name the end user in `metadata.user_id`"),
    ),
];

/// What the fields of Anthropic messages are.
pub const TABLE: Fields = Fields {
    costs: COSTS,
    aliases: &[
        ("max_completion_tokens", MAX_TOKENS),
        ("stop", "stop_sequences"),
        ("reasoning_effort", "output_config.effort"),
        ("response_format", "output_config.format"),
        (
            "parallel_tool_calls",
            "tool_choice.disable_parallel_tool_use",
        ),
        ("user", "metadata.user_id"),
    ],
    cap: MAX_TOKENS,
};
