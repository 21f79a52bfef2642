//! What a prompt may ask of the simulator: `[[name:value]]` in the last user message.
//!
//! A name that is not ours is left alone, since a prompt may contain such brackets for its own
//! reasons. A bad value behind one of our names is refused, since a test that misspells a fault
//! would otherwise pass.

mod claude;
mod gemini;
mod openai;

use crate::fault::{Fault, FaultTextError};
use crate::tool_calls::{self, WantedCall};

pub(crate) use claude::{ClaudeDirectives, Stop};
pub(crate) use gemini::GeminiDirectives;
pub(crate) use openai::{CATEGORIES, Filter, OpenAiDirectives};

/// The longest marker and tool name that is kept.
const MAX_NAME_BYTES: usize = 200;
/// The longest directive, name and brackets included.
const MAX_DIRECTIVE_BYTES: usize = 256;
/// Most tokens a prompt may ask for; the model's own limit is below.
pub(crate) const MAX_TOKENS: u64 = 1_000_000_000;
/// Longest pause between two frames.
const MAX_PACE_MILLIS: u64 = 60_000;

/// The directives of one prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Directives {
    pub(crate) marker: Option<String>,
    pub(crate) tokens: Option<u64>,
    pub(crate) pace_millis: u64,
    pub(crate) fault: Option<Fault>,
    /// Every call that is asked for, in order.
    pub(crate) calls: Vec<WantedCall>,
    pub(crate) cached_tokens: u64,
    pub(crate) reasoning_tokens: u64,
    /// The model says no, in so many words.
    pub(crate) refusal_tokens: Option<u64>,
    /// Those that only Anthropic's models understand.
    pub(crate) claude: ClaudeDirectives,
    /// What only the APIs of OpenAI's family understand.
    pub(crate) openai: OpenAiDirectives,
    /// What only Google's models understand.
    pub(crate) gemini: GeminiDirectives,
    /// Words of the prompt that are not directives.
    pub(crate) words: u64,
}

/// A directive of ours with a value that makes no sense; the text says which.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DirectiveError(pub(crate) String);

// === impl Directives ===

impl Directives {
    pub(crate) fn read(prompt: &str) -> Result<Self, DirectiveError> {
        let mut directives = Self::default();
        let mut rest = prompt;
        let mut plain = String::new();
        while let Some((before, after)) = rest.split_once("[[") {
            plain.push_str(before);
            if let Some((call, behind)) = tool_calls::read(after)? {
                tool_calls::add(&mut directives.calls, call)?;
                plain.push(' ');
                rest = behind;
                continue;
            }
            let taken = match near_brackets(after) {
                Some((inside, behind)) if directives.take(inside)? => Some(behind),
                Some(_) | None => None,
            };
            match taken {
                Some(behind) => {
                    plain.push(' ');
                    rest = behind;
                }
                None => {
                    plain.push_str("[[");
                    rest = after;
                }
            }
        }
        plain.push_str(rest);
        directives.words = crate::tokens::count(plain.split_whitespace().count());
        Ok(directives)
    }

    /// Asks for a call with made-up arguments; `directive` is how.
    fn want(&mut self, tool: &str, directive: &str) -> Result<(), DirectiveError> {
        let call = WantedCall {
            name: short(directive, tool)?,
            arguments: None,
        };
        tool_calls::add(&mut self.calls, call)
    }

    /// Whether the inside of a pair of brackets was a directive.
    fn take(&mut self, inside: &str) -> Result<bool, DirectiveError> {
        let Some((name, value)) = inside.split_once(':') else {
            return Ok(false);
        };
        match name {
            "id" => self.marker = Some(short(name, value)?),
            "tool" => self.want(value, name)?,
            "tools" => {
                for one in value.split(',') {
                    self.want(one, name)?;
                }
            }
            "tokens" => self.tokens = Some(number(name, value, MAX_TOKENS)?),
            "pace" => self.pace_millis = number(name, value, MAX_PACE_MILLIS)?,
            "cached" => self.cached_tokens = number(name, value, MAX_TOKENS)?,
            "reasoning" => self.reasoning_tokens = number(name, value, MAX_TOKENS)?,
            "refusal" => self.refusal_tokens = Some(number(name, value, MAX_TOKENS)?.max(1)),
            "fault" => self.fault = Some(fault(value)?),
            _ => {
                return Ok(self.claude.take(name, value)?
                    || self.openai.take(name, value)?
                    || self.gemini.take(name, value)?);
            }
        }
        Ok(true)
    }
}

/// Splits at the closing brackets, if they are near: a prompt full of opening ones must not be
/// read to its end for each.
fn near_brackets(after: &str) -> Option<(&str, &str)> {
    let window = after.get(..after.floor_char_boundary(MAX_DIRECTIVE_BYTES))?;
    let (inside, _) = window.split_once("]]")?;
    let behind = after.get(inside.len().saturating_add("]]".len())..)?;
    Some((inside, behind))
}

/// What stands in each pair of brackets of a text.
pub(crate) fn bracketed(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (_, after) = rest.split_once("[[")?;
        let (inside, behind) = after.split_once("]]")?;
        rest = behind;
        Some(inside)
    })
}

pub(crate) fn short(name: &str, value: &str) -> Result<String, DirectiveError> {
    if value.is_empty() || value.len() > MAX_NAME_BYTES {
        return Err(DirectiveError(format!(
            "[[{name}:…]] takes 1 to {MAX_NAME_BYTES} bytes"
        )));
    }
    Ok(value.to_owned())
}

pub(crate) fn number(name: &str, value: &str, limit: u64) -> Result<u64, DirectiveError> {
    match value.parse() {
        Ok(number) if number <= limit => Ok(number),
        Ok(_) | Err(_) => Err(DirectiveError(format!(
            "[[{name}:…]] takes a whole number up to {limit}"
        ))),
    }
}

fn fault(value: &str) -> Result<Fault, DirectiveError> {
    Fault::from_text(value).map_err(|error| {
        DirectiveError(match error {
            FaultTextError::UnknownName => "[[fault:…]] names no fault".to_owned(),
            FaultTextError::NotANumber => {
                "[[fault:name:number]] takes a number of this fault's range".to_owned()
            }
            FaultTextError::TakesNoNumber => "this fault takes no number".to_owned(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_directive_is_read_and_the_other_words_are_counted() {
        let recorded = Directives::read(
            "one [[id:abc]][[tokens:200]] two [[pace:20]] [[fault:status:503]] \
             [[tool:get_weather]] [[cached:7]] [[call:RecordedRequest {\"a\": [[1]]}]] [[reasoning:9]] [[refusal:0]] three",
        );
        assert_eq!(
            recorded,
            Ok(Directives {
                marker: Some("abc".to_owned()),
                tokens: Some(200),
                pace_millis: 20,
                fault: Some(Fault::Status(503)),
                calls: vec![
                    WantedCall {
                        name: "get_weather".to_owned(),
                        arguments: None,
                    },
                    WantedCall {
                        name: "RecordedRequest".to_owned(),
                        arguments: Some("{\"a\": [[1]]}".to_owned()),
                    },
                ],
                cached_tokens: 7,
                reasoning_tokens: 9,
                refusal_tokens: Some(1),
                claude: ClaudeDirectives::default(),
                openai: OpenAiDirectives::default(),
                gemini: GeminiDirectives::default(),
                words: 3,
            })
        );
    }

    #[test]
    fn brackets_that_are_not_ours_are_words() {
        for (prompt, words) in [
            ("[[link]]", 1),
            ("[[link:target]] b", 2),
            ("[[", 1),
            ("[[id:never closed", 2),
            ("[[ [[id:a]] b", 2),
        ] {
            let recorded = Directives::read(prompt).expect(prompt);
            assert_eq!(recorded.words, words, "{prompt}");
        }
    }

    #[test]
    fn a_bad_value_behind_our_name_is_refused() {
        for prompt in [
            "[[id:]]",
            "[[call:RecordedRequest]]",
            "[[tools:]]",
            "[[tools:a,,b]]",
            "[[tokens:many]]",
            "[[tokens:-1]]",
            "[[refusal:no]]",
            "[[pace:60001]]",
            "[[fault:nonsense]]",
            "[[fault:no_usage:1]]",
        ] {
            assert!(Directives::read(prompt).is_err(), "{prompt}");
        }
        assert!(Directives::read("[[pace:60000]]").is_ok());
    }
}
