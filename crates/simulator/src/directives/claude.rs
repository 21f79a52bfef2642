//! What a prompt may ask of Anthropic's models beside the directives that all understand.

use super::{DirectiveError, MAX_TOKENS, number};

/// The further directives of one prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClaudeDirectives {
    /// Tokens of a thought that is only shown encrypted.
    pub(crate) redacted_tokens: u64,
    pub(crate) citations: u64,
    pub(crate) stop: Option<Stop>,
    /// Tokens written to the cache for five minutes, and for an hour.
    pub(crate) written_5m_tokens: Option<u64>,
    pub(crate) written_1h_tokens: Option<u64>,
}

/// A stop that no request brings about by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    Refusal,
    PauseTurn,
    ContextWindow,
}

/// Most citations of one text.
const MAX_CITATIONS: u64 = 100;

// === impl ClaudeDirectives ===

impl ClaudeDirectives {
    /// Whether the name was one of these.
    pub(crate) fn take(&mut self, name: &str, value: &str) -> Result<bool, DirectiveError> {
        match name {
            "redacted" => self.redacted_tokens = number(name, value, MAX_TOKENS)?,
            "citations" => self.citations = number(name, value, MAX_CITATIONS)?,
            "stop" => self.stop = Some(stop(value)?),
            "written_5m" => self.written_5m_tokens = Some(number(name, value, MAX_TOKENS)?),
            "written_1h" => self.written_1h_tokens = Some(number(name, value, MAX_TOKENS)?),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn stop(value: &str) -> Result<Stop, DirectiveError> {
    match value {
        "refusal" => Ok(Stop::Refusal),
        "pause_turn" => Ok(Stop::PauseTurn),
        "model_context_window_exceeded" => Ok(Stop::ContextWindow),
        _ => Err(DirectiveError(
            "[[stop:…]] takes refusal, pause_turn or model_context_window_exceeded".to_owned(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use crate::directives::Directives;

    use super::*;

    #[test]
    fn every_directive_is_read_and_is_no_word() {
        let read = Directives::read(
            "[[redacted:3]] [[citations:2]] [[stop:pause_turn]] \
             [[written_5m:10]] [[written_1h:20]] word",
        )
        .unwrap();
        assert_eq!(read.words, 1);
        assert_eq!(
            read.claude,
            ClaudeDirectives {
                redacted_tokens: 3,
                citations: 2,
                stop: Some(Stop::PauseTurn),
                written_5m_tokens: Some(10),
                written_1h_tokens: Some(20),
            }
        );
    }

    #[test]
    fn a_bad_value_is_refused() {
        for prompt in ["[[citations:101]]", "[[stop:end]]", "[[written_5m:x]]"] {
            assert!(Directives::read(prompt).is_err(), "{prompt}");
        }
    }
}
