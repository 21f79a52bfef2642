//! The fields of generateContent, and what is done about those that change what a call costs.

use crate::{CostTable, Fields, Treatment};

/// Where the length of a response is written.
pub(super) const CAP: &str = "generationConfig.maxOutputTokens";
const SPEECH: &str = "audio output has a price of its own; use /v1/audio/speech";
const PICTURES: &str = "images have a price of their own; use /v1/images/generations";
const ROUTING: &str = "a call has the price of the model it names; name the model in the path";

/// Every field that the format has, in the one spelling that is used inside.
pub(super) const KNOWN: &[&str] = &[
    "cachedContent",
    "contents",
    "continuationToken",
    "generationConfig",
    "generationConfig._responseJsonSchema",
    "generationConfig.audioTimestamp",
    "generationConfig.audioTranscriptionConfig",
    "generationConfig.candidateCount",
    "generationConfig.enableAffectiveDialog",
    "generationConfig.enableEnhancedCivicAnswers",
    "generationConfig.frequencyPenalty",
    "generationConfig.imageConfig",
    "generationConfig.logprobs",
    CAP,
    "generationConfig.mediaResolution",
    "generationConfig.modelSelectionConfig",
    "generationConfig.presencePenalty",
    "generationConfig.responseFormat",
    "generationConfig.responseJsonSchema",
    "generationConfig.responseLogprobs",
    "generationConfig.responseMimeType",
    "generationConfig.responseModalities",
    "generationConfig.responseSchema",
    "generationConfig.routingConfig",
    "generationConfig.seed",
    "generationConfig.speechConfig",
    "generationConfig.stopSequences",
    "generationConfig.temperature",
    "generationConfig.thinkingConfig",
    "generationConfig.thinkingConfig.includeThoughts",
    "generationConfig.thinkingConfig.thinkingBudget",
    "generationConfig.thinkingConfig.thinkingLevel",
    "generationConfig.topK",
    "generationConfig.topP",
    "generationConfig.translationConfig",
    "generationOutputConfig",
    "labels",
    "model",
    "modelArmorConfig",
    "safetySettings",
    "serviceTier",
    "store",
    "systemInstruction",
    "toolConfig",
    "toolConfig.functionCallingConfig",
    "toolConfig.includeServerSideToolInvocations",
    "toolConfig.retrievalConfig",
    "tools",
];

/// The cost table. What stands inside `tools` and `contents` is looked at where they are read.
const COSTS: CostTable = &[
    ("contents", Treatment::Priced),
    ("systemInstruction", Treatment::Priced),
    ("tools", Treatment::Priced),
    ("toolConfig", Treatment::Priced),
    ("generationConfig.responseSchema", Treatment::Priced),
    ("generationConfig.responseJsonSchema", Treatment::Priced),
    ("generationConfig._responseJsonSchema", Treatment::Priced),
    (CAP, Treatment::Bounded),
    ("generationConfig.candidateCount", Treatment::Bounded),
    ("serviceTier", Treatment::Tier),
    (
        "generationConfig.responseModalities",
        Treatment::Only(
            &["TEXT", "text"],
            "sound and images have prices of their own",
        ),
    ),
    ("generationConfig.speechConfig", Treatment::Refused(SPEECH)),
    ("generationConfig.imageConfig", Treatment::Refused(PICTURES)),
    (
        "generationConfig.responseFormat",
        Treatment::Refused("say it with `responseMimeType` and `responseJsonSchema`"),
    ),
    (
        "generationConfig.routingConfig",
        Treatment::Refused(ROUTING),
    ),
    (
        "generationConfig.modelSelectionConfig",
        Treatment::Refused(ROUTING),
    ),
    (
        "generationOutputConfig",
        Treatment::Refused("answers are sent to you and stored nowhere else; leave it out"),
    ),
    (
        "cachedContent",
        Treatment::Reference(
            "send what it holds in `contents`; repeated beginnings are cached anyway",
        ),
    ),
    (
        "continuationToken",
        Treatment::Reference("send the whole conversation in `contents`"),
    ),
];

/// Chat's names, and where they stand here.
const ALIASES: &[(&str, &str)] = &[
    ("messages", "contents"),
    ("max_completion_tokens", CAP),
    ("temperature", "generationConfig.temperature"),
    ("top_p", "generationConfig.topP"),
    ("top_k", "generationConfig.topK"),
    ("n", "generationConfig.candidateCount"),
    ("stop", "generationConfig.stopSequences"),
    ("seed", "generationConfig.seed"),
    ("presence_penalty", "generationConfig.presencePenalty"),
    ("frequency_penalty", "generationConfig.frequencyPenalty"),
    ("logprobs", "generationConfig.responseLogprobs"),
    ("top_logprobs", "generationConfig.logprobs"),
    (
        "reasoning_effort",
        "generationConfig.thinkingConfig.thinkingLevel",
    ),
    ("response_format", "generationConfig.responseMimeType"),
    ("modalities", "generationConfig.responseModalities"),
    ("service_tier", "serviceTier"),
    ("tool_choice", "toolConfig"),
];

/// What the fields of generateContent are.
pub const TABLE: Fields = Fields {
    costs: COSTS,
    aliases: ALIASES,
    cap: CAP,
};
