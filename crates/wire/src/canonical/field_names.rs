//! Names of fields in the source format, so that a note names the field that the caller wrote.

use crate::Format;

/// What fields are called where a conversation came from, by what the canonical form calls them.
const NAMES: &[(&str, [&str; 4])] = &[
    // In the order of `Format::ALL`.
    (
        "citations",
        [
            "messages.annotations",
            "messages.content.citations",
            "input.content.annotations",
            "contents.parts.citationMetadata",
        ],
    ),
    (
        "frequency_penalty",
        [
            "frequency_penalty",
            "frequency_penalty",
            "frequency_penalty",
            "generationConfig.frequencyPenalty",
        ],
    ),
    (
        "image.detail",
        [
            "messages.content.image_url.detail",
            "messages.content.detail",
            "input.content.detail",
            "contents.parts.mediaResolution",
        ],
    ),
    ("messages", ["messages", "messages", "input", "contents"]),
    (
        "messages.name",
        [
            "messages.name",
            "messages.name",
            "input.name",
            "contents.name",
        ],
    ),
    (
        "messages.role",
        [
            "messages.role",
            "messages.role",
            "input.role",
            "contents.role",
        ],
    ),
    ("n", ["n", "n", "n", "generationConfig.candidateCount"]),
    (
        "presence_penalty",
        [
            "presence_penalty",
            "presence_penalty",
            "presence_penalty",
            "generationConfig.presencePenalty",
        ],
    ),
    (
        "reasoning_adaptive",
        [
            "reasoning_effort",
            "thinking.type",
            "reasoning.effort",
            "generationConfig.thinkingConfig.thinkingBudget",
        ],
    ),
    (
        "reasoning_budget",
        [
            "reasoning_effort",
            "thinking.budget_tokens",
            "reasoning.effort",
            "generationConfig.thinkingConfig.thinkingBudget",
        ],
    ),
    (
        "reasoning_effort",
        [
            "reasoning_effort",
            "output_config.effort",
            "reasoning.effort",
            "generationConfig.thinkingConfig",
        ],
    ),
    (
        "response_format",
        [
            "response_format",
            "output_config.format",
            "text.format",
            "generationConfig.responseMimeType",
        ],
    ),
    ("seed", ["seed", "seed", "seed", "generationConfig.seed"]),
    (
        "stop",
        [
            "stop",
            "stop_sequences",
            "stop",
            "generationConfig.stopSequences",
        ],
    ),
    (
        "temperature",
        [
            "temperature",
            "temperature",
            "temperature",
            "generationConfig.temperature",
        ],
    ),
    (
        "tool_call",
        [
            "messages.tool_calls",
            "messages.content.tool_use",
            "input.function_call",
            "contents.parts.functionCall",
        ],
    ),
    (
        "tool_call.arguments",
        [
            "messages.tool_calls.function.arguments",
            "messages.content.input",
            "input.arguments",
            "contents.parts.functionCall.args",
        ],
    ),
    (
        "service_tier",
        [
            "service_tier",
            "service_tier",
            "service_tier",
            "serviceTier",
        ],
    ),
    (
        "tool_result",
        [
            "messages.tool_call_id",
            "messages.content.tool_result",
            "input.function_call_output",
            "contents.parts.functionResponse",
        ],
    ),
    (
        "tools.strict",
        [
            "tools.function.strict",
            "tools.strict",
            "tools.strict",
            "tools.functionDeclarations.strict",
        ],
    ),
    (
        "top_k",
        ["top_k", "top_k", "top_k", "generationConfig.topK"],
    ),
    (
        "top_p",
        ["top_p", "top_p", "top_p", "generationConfig.topP"],
    ),
    ("user", ["user", "metadata.user_id", "user", "user"]),
    (
        "verbosity",
        ["verbosity", "verbosity", "text.verbosity", "verbosity"],
    ),
];

/// The field that a caller of a format knows something by.
pub(crate) fn named(from: Format, concept: &'static str) -> &'static str {
    word_for(from, concept).unwrap_or(concept)
}

/// The same for any text; none if the canonical form has no such word.
pub(super) fn word_for(from: Format, concept: &str) -> Option<&'static str> {
    let known = NAMES.iter().find(|(name, _)| *name == concept);
    let mut words = known.into_iter().flat_map(|(_, words)| words.iter());
    let place = Format::ALL.iter().position(|format| *format == from);
    place.and_then(|place| words.nth(place)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_names_the_field_in_its_callers_words() {
        assert_eq!(named(Format::OpenaiChat, "stop"), "stop");
        assert_eq!(named(Format::ClaudeMessages, "stop"), "stop_sequences");
        assert_eq!(
            named(Format::OpenaiResponses, "verbosity"),
            "text.verbosity"
        );
        assert_eq!(
            named(Format::Gemini, "n"),
            "generationConfig.candidateCount"
        );
        assert_eq!(named(Format::Gemini, "of nobody"), "of nobody");
    }
}
