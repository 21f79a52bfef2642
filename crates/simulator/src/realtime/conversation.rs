//! A conversation: its items in order, what of it is the input of a response, and what of that is cached.

use serde_json::Value;

use super::item::{Item, Tokens};
use super::session_config::Truncation;

#[derive(Debug, Default)]
pub(super) struct Conversation {
    items: Vec<Item>,
    /// The input of the last response.
    last_prompt: Vec<PromptPart>,
}

/// A piece of the input that is cached whole or not at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PromptPart {
    pub(super) name: String,
    pub(super) tokens: Tokens,
}

/// The input of a response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PromptTokens {
    pub(super) all: Tokens,
    pub(super) cached: Tokens,
}

/// The conversation does not fit and may not be cut.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLong;

/// What is cached comes in blocks of so many tokens.
const BLOCK_TOKENS: u64 = 64;
const MILLION: u64 = 1_000_000;

// === impl Conversation ===

impl Conversation {
    pub(super) fn find(&self, id: &str) -> Option<&Item> {
        self.items.iter().find(|item| item.id == id)
    }

    pub(super) fn find_mut(&mut self, id: &str) -> Option<&mut Item> {
        self.items.iter_mut().find(|item| item.id == id)
    }

    pub(super) fn remove(&mut self, id: &str) -> bool {
        let before = self.items.len();
        self.items.retain(|item| item.id != id);
        self.items.len() < before
    }

    /// The id of the last item.
    pub(super) fn last_id(&self) -> Option<&str> {
        self.items.last().map(|item| item.id.as_str())
    }

    pub(super) fn push(&mut self, item: Item) {
        self.items.push(item);
    }

    /// Puts an item behind another, `root` before all; whether that other is there.
    pub(super) fn insert(&mut self, behind: &str, item: Item) -> bool {
        let place = if behind == "root" {
            Some(0)
        } else {
            let place = self.items.iter().position(|known| known.id == behind);
            place.map(|place| place.saturating_add(1))
        };
        let Some(place) = place else {
            return false;
        };
        self.items.insert(place.min(self.items.len()), item);
        true
    }

    /// What clients wrote since the model spoke last.
    pub(super) fn recent_text(&self) -> String {
        let recent = self
            .items
            .iter()
            .rev()
            .take_while(|item| !item.is_generated);
        let mut texts: Vec<&str> = recent.map(|item| item.text.as_str()).collect();
        texts.reverse();
        texts.join("\n")
    }

    /// The input of the next response, with `opening` before the items. What does not fit is dropped from
    /// the start.
    pub(super) fn prompt(
        &mut self,
        opening: PromptPart,
        max_tokens: u64,
        truncation: Truncation,
    ) -> Result<PromptTokens, TooLong> {
        let opening_tokens = opening.tokens.total();
        let size = |items: &[Item]| {
            let tokens = items.iter().map(|item| item.tokens.total());
            tokens.fold(opening_tokens, u64::saturating_add)
        };
        match truncation {
            Truncation::Disabled if size(&self.items) > max_tokens => return Err(TooLong),
            Truncation::Disabled => {}
            Truncation::Retain {
                millionths,
                max_tokens: lower,
            } => {
                let lower = lower.map_or(max_tokens, |lower| lower.saturating_add(opening_tokens));
                let limit = max_tokens.min(lower);
                if size(&self.items) > limit {
                    let kept = limit.saturating_mul(millionths) / MILLION;
                    while size(&self.items) > kept && self.items.len() > 1 {
                        self.items.remove(0);
                    }
                }
            }
        }
        let parts = self.items.iter().map(|item| PromptPart {
            name: item.id.clone(),
            tokens: item.tokens,
        });
        let prompt: Vec<PromptPart> = std::iter::once(opening).chain(parts).collect();
        let tokens = PromptTokens {
            all: sum(prompt.iter()),
            cached: cached(&self.last_prompt, &prompt),
        };
        self.last_prompt = prompt;
        Ok(tokens)
    }

    /// Sets the transcript of an audio item.
    pub(super) fn set_transcript(&mut self, id: &str, transcript: &str) {
        let content = self
            .find_mut(id)
            .and_then(|item| item.view.get_mut("content")?.get_mut(0)?.as_object_mut());
        if let Some(part) = content {
            part.insert("transcript".to_owned(), Value::from(transcript));
        }
    }
}

/// What both prompts begin with, in whole blocks of each modality.
fn cached(last: &[PromptPart], prompt: &[PromptPart]) -> Tokens {
    let pairs = last.iter().zip(prompt);
    let same = pairs.take_while(|(last, now)| last == now);
    let tokens = sum(same.map(|(_, now)| now));
    let blocks = |tokens: u64| tokens.saturating_sub(tokens % BLOCK_TOKENS);
    Tokens {
        text: blocks(tokens.text),
        audio: blocks(tokens.audio),
        image: blocks(tokens.image),
    }
}

fn sum<'a>(parts: impl Iterator<Item = &'a PromptPart>) -> Tokens {
    let tokens = parts.map(|part| part.tokens);
    tokens.fold(Tokens::default(), Tokens::plus)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opening() -> PromptPart {
        PromptPart {
            name: "opening".to_owned(),
            tokens: Tokens {
                text: 10,
                ..Tokens::default()
            },
        }
    }

    const AUTO: Truncation = Truncation::Retain {
        millionths: MILLION,
        max_tokens: None,
    };

    #[test]
    fn what_two_prompts_begin_with_is_cached_in_blocks() {
        let mut conversation = Conversation::default();
        conversation.push(Item::voice("a".to_owned(), 10_000));
        let first = conversation.prompt(opening(), 1_000, AUTO).unwrap();
        assert_eq!((first.all.audio, first.cached.audio), (100, 0));
        conversation.push(Item::voice("b".to_owned(), 5_000));
        let second = conversation.prompt(opening(), 1_000, AUTO).unwrap();
        assert_eq!((second.all.audio, second.cached.audio), (150, 64));
        let mut other = opening();
        other.tokens.text = 11;
        let third = conversation.prompt(other, 1_000, AUTO).unwrap();
        assert_eq!(third.cached, Tokens::default());
    }

    #[test]
    fn a_conversation_that_is_too_long_loses_its_oldest_items() {
        let mut conversation = Conversation::default();
        for id in ["a", "b", "c"] {
            conversation.push(Item::voice(id.to_owned(), 10_000));
        }
        let disabled = conversation.prompt(opening(), 300, Truncation::Disabled);
        assert_eq!(disabled, Err(TooLong));
        let prompt = conversation.prompt(opening(), 300, AUTO).unwrap();
        assert_eq!(prompt.all.audio, 200);
        assert!(conversation.find("a").is_none());
        let half = Truncation::Retain {
            millionths: 500_000,
            max_tokens: Some(205),
        };
        let prompt = conversation.prompt(opening(), 300, half).unwrap();
        assert_eq!(prompt.all.audio, 100);
    }
}
