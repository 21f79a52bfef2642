//! Facts of a response for traces, without effect on the charge: the model that wrote it and why it
//! stopped. A whole response is parsed for them only when tracing is on.

use std::borrow::Cow;

use serde::Deserialize;

use crate::borrowed_str::borrowed_str;

/// Choices whose end is remembered.
pub(crate) const MAX_FINISHES: usize = 16;
/// Characters of a model's name that are remembered.
const MAX_MODEL_CHARACTERS: usize = 128;

/// What a response says about itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ResponseFacts {
    /// The model, in the upstream's words; empty if it does not say.
    pub model: String,
    /// Why each choice ended, in the words of the format.
    pub finishes: Vec<&'static str>,
}

#[derive(Deserialize)]
struct Whole<'a> {
    #[serde(borrow, default, deserialize_with = "borrowed_str")]
    model: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    choices: Vec<Choice<'a>>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow, default, deserialize_with = "borrowed_str")]
    finish_reason: Option<Cow<'a, str>>,
}

/// Looks through a whole response. What cannot be read says nothing.
#[must_use]
pub fn read_response_facts(body: &[u8]) -> ResponseFacts {
    let Ok(whole) = serde_json::from_slice::<Whole<'_>>(body) else {
        return ResponseFacts::default();
    };
    let reasons = whole.choices.iter().take(MAX_FINISHES);
    ResponseFacts {
        model: cut_model(&whole.model.unwrap_or_default()),
        finishes: reasons
            .filter_map(|choice| choice.finish_reason.as_deref().map(finish_word))
            .collect(),
    }
}

/// The format's words are a closed list: a text of an upstream goes no further than here.
pub(crate) fn finish_word(text: &str) -> &'static str {
    match text {
        "stop" => "stop",
        "length" => "length",
        "tool_calls" => "tool_calls",
        "content_filter" => "content_filter",
        "function_call" => "function_call",
        _ => "other",
    }
}

pub(crate) fn cut_model(text: &str) -> String {
    text.chars().take(MAX_MODEL_CHARACTERS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_answer_tells_its_model_and_why_each_choice_ended() {
        let body = br#"{"model":"m-1","choices":[{"finish_reason":"stop","message":{}},{"finish_reason":"made up"},{"finish_reason":null}]}"#;
        let facts = read_response_facts(body);
        assert_eq!(facts.model, "m-1");
        assert_eq!(facts.finishes, ["stop", "other"]);
        assert_eq!(read_response_facts(b"<html>"), ResponseFacts::default());
        let long = format!(r#"{{"model":"{}","choices":[]}}"#, "x".repeat(999));
        assert_eq!(
            read_response_facts(long.as_bytes()).model.len(),
            MAX_MODEL_CHARACTERS
        );
    }
}
