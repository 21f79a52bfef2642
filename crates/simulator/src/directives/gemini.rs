//! What a prompt may ask of Google's models beside the directives that all understand.

use super::{DirectiveError, MAX_TOKENS, number};

/// The further directives of one prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct GeminiDirectives {
    /// After how many results the calls end; one if nothing is said.
    pub(crate) steps: Option<u64>,
    pub(crate) ids: Option<bool>,
    pub(crate) finish: Option<&'static str>,
    pub(crate) block: Option<&'static str>,
    /// More tokens of the prompt, of a kind.
    pub(crate) prompt_details: Vec<(&'static str, u64)>,
    /// More tokens of the answer, of a kind.
    pub(crate) answer_details: Vec<(&'static str, u64)>,
    pub(crate) tool_prompt_tokens: u64,
}

const FINISH_REASONS: [&str; 18] = [
    "STOP",
    "MAX_TOKENS",
    "SAFETY",
    "RECITATION",
    "LANGUAGE",
    "OTHER",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "MALFORMED_FUNCTION_CALL",
    "MALFORMED_RESPONSE",
    "UNEXPECTED_TOOL_CALL",
    "TOO_MANY_TOOL_CALLS",
    "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT",
    "IMAGE_RECITATION",
    "IMAGE_OTHER",
    "NO_IMAGE",
];
/// Why a prompt is not answered at all.
const BLOCK_REASONS: [&str; 7] = [
    "SAFETY",
    "OTHER",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "IMAGE_SAFETY",
    "MODEL_ARMOR",
    "JAILBREAK",
];
pub(crate) const MODALITIES: [&str; 5] = ["TEXT", "IMAGE", "VIDEO", "AUDIO", "DOCUMENT"];
/// Most steps of one turn.
const MAX_STEPS: u64 = 128;
/// Most kinds of tokens a prompt may add to.
const MAX_DETAILS: usize = 16;

// === impl GeminiDirectives ===

impl GeminiDirectives {
    /// Whether the name was one of these.
    pub(crate) fn take(&mut self, name: &str, value: &str) -> Result<bool, DirectiveError> {
        match name {
            "steps" => self.steps = Some(number(name, value, MAX_STEPS)?),
            "ids" => self.ids = Some(word(name, value, &["on", "off"])? == "on"),
            "finish" => self.finish = Some(word(name, value, &FINISH_REASONS)?),
            "block" => self.block = Some(word(name, value, &BLOCK_REASONS)?),
            "prompt_detail" => add_detail(&mut self.prompt_details, name, value)?,
            "answer_detail" => add_detail(&mut self.answer_details, name, value)?,
            "tool_prompt" => self.tool_prompt_tokens = number(name, value, MAX_TOKENS)?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn word(name: &str, value: &str, words: &[&'static str]) -> Result<&'static str, DirectiveError> {
    let found = words.iter().find(|word| **word == value);
    found
        .copied()
        .ok_or_else(|| DirectiveError(format!("[[{name}:…]] takes one of {}", words.join(", "))))
}

/// `IMAGE:258`.
fn add_detail(
    details: &mut Vec<(&'static str, u64)>,
    name: &str,
    value: &str,
) -> Result<(), DirectiveError> {
    let (modality, tokens) = value.split_once(':').unwrap_or((value, ""));
    let modality = word(name, modality, &MODALITIES)?;
    if details.len() >= MAX_DETAILS {
        let text = format!("at most {MAX_DETAILS} [[{name}:…]] in one prompt");
        return Err(DirectiveError(text));
    }
    details.push((modality, number(name, tokens, MAX_TOKENS)?));
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::directives::Directives;

    #[test]
    fn every_directive_is_read_and_is_no_word() {
        let read = Directives::read(
            "one [[steps:2]] [[ids:off]] [[finish:SAFETY]] \
             [[prompt_detail:IMAGE:258]] [[answer_detail:AUDIO:9]] [[tool_prompt:4]] two [[tokens:3]]",
        )
        .unwrap();
        assert_eq!((read.gemini.steps, read.gemini.ids), (Some(2), Some(false)));
        assert_eq!(read.gemini.finish, Some("SAFETY"));
        assert_eq!(read.gemini.prompt_details, [("IMAGE", 258)]);
        assert_eq!(read.gemini.answer_details, [("AUDIO", 9)]);
        assert_eq!(read.gemini.tool_prompt_tokens, 4);
        assert_eq!((read.words, read.tokens), (2, Some(3)));
    }

    #[test]
    fn a_bad_value_behind_our_name_is_refused() {
        for prompt in [
            "[[steps:129]]",
            "[[ids:maybe]]",
            "[[finish:stop]]",
            "[[block:]]",
            "[[prompt_detail:IMAGE]]",
            "[[answer_detail:SMELL:1]]",
            "[[tokens:many]]",
        ] {
            assert!(Directives::read(prompt).is_err(), "{prompt}");
        }
        assert!(Directives::read("[[steps:128]]").is_ok());
    }
}
