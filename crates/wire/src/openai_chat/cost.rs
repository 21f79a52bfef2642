//! The fields of chat completions, and what is done about those that change what a call costs.

use crate::{CostTable, Fields, Treatment};

/// The service tier, at vendors that sell several.
pub const SERVICE_TIER: &str = "service_tier";

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
    costs: COSTS,
    aliases: &[],
    cap: super::request_scan::MAX_COMPLETION_TOKENS,
};
