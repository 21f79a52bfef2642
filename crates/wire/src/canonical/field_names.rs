//! Names of fields in the source format, so that a note names the field that the caller wrote.

use crate::Format;

/// The source format's name of a field; none if it is the canonical one.
pub(super) fn name_in(from: Format, concept: &str) -> Option<&'static str> {
    match from {
        Format::OpenaiChat => chat_name(concept),
        Format::ClaudeMessages => claude_name(concept),
        Format::OpenaiResponses => responses_name(concept),
        Format::Gemini => gemini_name(concept),
    }
}

fn chat_name(concept: &str) -> Option<&'static str> {
    Some(match concept {
        "citations" => "messages.annotations",
        "image.detail" => "messages.content.image_url.detail",
        "reasoning_adaptive" | "reasoning_budget" => "reasoning_effort",
        "tool_call" => "messages.tool_calls",
        "tool_call.arguments" => "messages.tool_calls.function.arguments",
        "tool_result" => "messages.tool_call_id",
        "tools.strict" => "tools.function.strict",
        _ => return None,
    })
}

fn claude_name(concept: &str) -> Option<&'static str> {
    Some(match concept {
        "citations" => "messages.content.citations",
        "image.detail" => "messages.content.detail",
        "reasoning_adaptive" => "thinking.type",
        "reasoning_budget" => "thinking.budget_tokens",
        "reasoning_effort" => "output_config.effort",
        "response_format" => "output_config.format",
        "stop" => "stop_sequences",
        "tool_call" => "messages.content.tool_use",
        "tool_call.arguments" => "messages.content.input",
        "tool_result" => "messages.content.tool_result",
        "user" => "metadata.user_id",
        _ => return None,
    })
}

fn responses_name(concept: &str) -> Option<&'static str> {
    Some(match concept {
        "citations" => "input.content.annotations",
        "image.detail" => "input.content.detail",
        "messages" => "input",
        "messages.name" => "input.name",
        "messages.role" => "input.role",
        "reasoning_adaptive" | "reasoning_budget" | "reasoning_effort" => "reasoning.effort",
        "response_format" => "text.format",
        "tool_call" => "input.function_call",
        "tool_call.arguments" => "input.arguments",
        "tool_result" => "input.function_call_output",
        "verbosity" => "text.verbosity",
        _ => return None,
    })
}

fn gemini_name(concept: &str) -> Option<&'static str> {
    Some(match concept {
        "citations" => "contents.parts.citationMetadata",
        "frequency_penalty" => "generationConfig.frequencyPenalty",
        "image.detail" => "contents.parts.mediaResolution",
        "messages" => "contents",
        "messages.name" => "contents.name",
        "messages.role" => "contents.role",
        "n" => "generationConfig.candidateCount",
        "presence_penalty" => "generationConfig.presencePenalty",
        "reasoning_adaptive" | "reasoning_budget" => {
            "generationConfig.thinkingConfig.thinkingBudget"
        }
        "reasoning_effort" => "generationConfig.thinkingConfig",
        "response_format" => "generationConfig.responseMimeType",
        "seed" => "generationConfig.seed",
        "stop" => "generationConfig.stopSequences",
        "temperature" => "generationConfig.temperature",
        "tool_call" => "contents.parts.functionCall",
        "tool_call.arguments" => "contents.parts.functionCall.args",
        "service_tier" => "serviceTier",
        "tool_result" => "contents.parts.functionResponse",
        "tools.strict" => "tools.functionDeclarations.strict",
        "top_k" => "generationConfig.topK",
        "top_p" => "generationConfig.topP",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_names_the_field_in_its_callers_words() {
        assert_eq!(name_in(Format::OpenaiChat, "stop"), None);
        let claude = name_in(Format::ClaudeMessages, "stop");
        assert_eq!(claude, Some("stop_sequences"));
        let responses = name_in(Format::OpenaiResponses, "verbosity");
        assert_eq!(responses, Some("text.verbosity"));
        let gemini = name_in(Format::Gemini, "n");
        assert_eq!(gemini, Some("generationConfig.candidateCount"));
        assert_eq!(name_in(Format::Gemini, "of no format"), None);
    }
}
