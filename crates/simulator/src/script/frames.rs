//! The frames of a stream: which there are, in which order, and the bytes of each.

use bytes::Bytes;

use crate::answer::{Answer, CallPiece, Finish, Says, Usage};
use crate::azure::{self, Found};
use crate::refusal::Refusal;
use crate::tokens::count;
use crate::wire_types::{Chunk, ChunkChoice, Delta, UsageShape};
use crate::wording;

use super::Piece;

/// One frame, small enough that a list of a hundred thousand costs little; its bytes are made
/// when it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    /// What Azure's filters found in the prompt, before everything else.
    PromptFilter,
    /// Role, and for a call its name.
    Open { choice: u64 },
    /// A word of reasoning.
    Reasoning { choice: u64, index: u64 },
    /// A token of the content or of the arguments.
    Token { choice: u64, index: u64 },
    /// The reason of the end.
    Finish { choice: u64 },
    /// Usage.
    Usage,
    /// Half of usage, of a fault.
    PromptUsage,
    /// The other half.
    CompletionUsage,
    /// The end mark.
    Done,
    /// Neither JSON nor UTF-8.
    Garbage,
    /// An error under status 200.
    Error,
    /// A token's frame, cut in its middle.
    Cut { choice: u64, index: u64 },
}

/// How the frames of one answer are told.
#[derive(Debug)]
pub(crate) struct Renderer {
    pub(crate) answer: Answer,
    pub(crate) asks_usage: bool,
    /// Usage as it is told, which may be a lie.
    pub(crate) told: Usage,
    pub(crate) cr_lf: bool,
    /// Whether words carry letters of two bytes, so that a cut can fall inside one.
    pub(crate) accents: bool,
}

/// Bytes no JSON parser and no UTF-8 decoder accepts.
pub(crate) const GARBAGE: &[u8] = b"{\"id\": \xff\xfe\x00 <html> not json";
/// Stands in a rendered frame where filler is to be put.
pub(crate) const GAP: &str = "@@";

// === impl Renderer ===

impl Renderer {
    /// The frames before the content.
    pub(crate) fn opening(&self) -> Vec<Frame> {
        let choices = 0..self.answer.choices;
        let mut frames = Vec::new();
        if self.answer.is_filtered {
            frames.push(Frame::PromptFilter);
        }
        let mut thoughts = Vec::new();
        for index in 0..self.answer.shown_reasoning {
            let all = choices.clone();
            thoughts.extend(all.map(|choice| Frame::Reasoning { choice, index }));
        }
        let opens = choices.map(|choice| Frame::Open { choice });
        match &self.answer.says {
            // The name of a call stands in its opening: nobody thinks between a name and its arguments.
            Says::Calls { .. } => {
                frames.extend(thoughts);
                frames.extend(opens);
            }
            Says::Words(_) | Says::Document(_) | Says::Refusal(_) => {
                frames.extend(opens);
                frames.extend(thoughts);
            }
        }
        frames
    }

    /// The frames up to the end of the content.
    pub(crate) fn spoken(&self) -> Vec<Frame> {
        let mut frames = self.opening();
        for index in 0..self.answer.says.pieces() {
            let all = 0..self.answer.choices;
            frames.extend(all.map(|choice| Frame::Token { choice, index }));
        }
        frames
    }

    /// The frames that say why each choice ended.
    pub(crate) fn finishing(&self) -> impl Iterator<Item = Frame> + use<> {
        (0..self.answer.choices).map(|choice| Frame::Finish { choice })
    }

    /// The bytes of a frame and what they mean for the record.
    pub(crate) fn render(&self, frame: Frame) -> Piece {
        match frame {
            Frame::PromptFilter => self.line(azure::prompt_chunk().as_bytes()),
            Frame::Open { choice } => {
                let opening = Delta::opening(&self.answer.says);
                let name = match &self.answer.says {
                    Says::Calls { .. } => self.name_tokens(),
                    Says::Words(_) | Says::Document(_) | Says::Refusal(_) => 0,
                };
                let tokens = self.answer.hidden_reasoning().saturating_add(name);
                self.chunk(choice, opening, None).worth(tokens)
            }
            Frame::Reasoning { choice, index } => {
                let word = self.word(index);
                let reasoning_content = word.as_str();
                self.chunk(choice, Delta::Reasoning { reasoning_content }, None)
                    .worth(1)
            }
            Frame::Token { choice, index } => self.token(choice, index).worth(1),
            Frame::Finish { choice } => {
                let reason = self.answer.finish.name();
                self.chunk(choice, Delta::Empty {}, Some(reason))
            }
            Frame::Usage => self
                .usage(UsageShape::whole(self.told))
                .reporting(self.told_pair()),
            Frame::PromptUsage => self.usage(UsageShape::prompt_half(self.told)),
            Frame::CompletionUsage => self
                .usage(UsageShape::completion_half(self.told))
                .reporting(self.told_pair()),
            Frame::Done => self.line(b"[DONE]"),
            Frame::Garbage => self.line(GARBAGE),
            Frame::Error => self.line(Refusal::after_ok().body().as_bytes()),
            Frame::Cut { choice, index } => {
                let whole = self.token(choice, index).bytes;
                let half = whole.slice(..whole.len() / 2);
                let ending: &[u8] = if self.cr_lf { b"\r\n\r\n" } else { b"\n\n" };
                Piece::new([&half, ending].concat())
            }
        }
    }

    /// The two ends of a content frame, with room for filler between them.
    pub(crate) fn around_filler(&self) -> (Bytes, Bytes) {
        let whole = self.chunk(0, Delta::Content { content: GAP }, None).bytes;
        // Both sides of the gap are ASCII or whole characters, since the gap itself is ASCII.
        match std::str::from_utf8(&whole)
            .ok()
            .and_then(|text| text.rsplit_once(GAP))
        {
            Some((before, after)) => (
                Bytes::copy_from_slice(before.as_bytes()),
                Bytes::copy_from_slice(after.as_bytes()),
            ),
            None => (whole, Bytes::new()),
        }
    }

    /// All that is said in one text, content or refusal; calls have none.
    pub(crate) fn content(&self) -> String {
        match &self.answer.says {
            Says::Words(words) | Says::Refusal(words) => {
                (0..*words).map(|index| self.word(index)).collect()
            }
            Says::Document(tokens) => tokens.concat(),
            Says::Calls { .. } => String::new(),
        }
    }

    /// All reasoning in one text, if this model shows it.
    pub(crate) fn reasoning(&self) -> Option<String> {
        let words = self.answer.shown_reasoning;
        (words > 0).then(|| (0..words).map(|index| self.word(index)).collect())
    }

    pub(crate) fn told_pair(&self) -> (u64, u64) {
        (self.told.prompt, self.told.completion)
    }

    fn token(&self, choice: u64, index: u64) -> Piece {
        let at = usize::try_from(index).unwrap_or(usize::MAX);
        match &self.answer.says {
            Says::Words(_) => {
                let word = self.word(index);
                self.chunk(choice, Delta::Content { content: &word }, None)
            }
            Says::Refusal(_) => {
                let refusal = self.word(index);
                self.chunk(choice, Delta::Refusal { refusal: &refusal }, None)
            }
            Says::Document(tokens) => {
                let content = tokens.get(at).map_or("", String::as_str);
                self.chunk(choice, Delta::Content { content }, None)
            }
            Says::Calls { calls, pieces } => {
                let delta = match pieces.get(at) {
                    Some(CallPiece::Name { call }) => calls
                        .get(*call)
                        .map_or(Delta::Empty {}, |said| Delta::call(count(*call), said)),
                    Some(CallPiece::Arguments { call, text }) => {
                        Delta::arguments(count(*call), text)
                    }
                    None => Delta::Empty {},
                };
                self.chunk(choice, delta, None)
            }
        }
    }

    /// The name of the first call is a token, unless the limit left no room even for it.
    fn name_tokens(&self) -> u64 {
        let each = self
            .answer
            .usage
            .completion
            .checked_div(self.answer.choices);
        let each_reasoning = self.answer.usage.reasoning.checked_div(self.answer.choices);
        each.unwrap_or_default()
            .saturating_sub(each_reasoning.unwrap_or_default())
            .saturating_sub(self.answer.says.pieces())
    }

    fn word(&self, index: u64) -> String {
        wording::word(&self.answer.model, index, self.accents)
    }

    fn chunk(&self, index: u64, delta: Delta<'_>, finish_reason: Option<&'static str>) -> Piece {
        let found = match (&delta, finish_reason) {
            (Delta::Content { .. }, _) => Found::content(false),
            (_, Some(_)) if self.answer.finish == Finish::ContentFilter => Found::content(true),
            (_, _) => Found::Nothing {},
        };
        let choices = [ChunkChoice {
            index,
            delta,
            logprobs: None,
            finish_reason,
            content_filter_results: self.answer.is_filtered.then_some(found),
        }];
        let usage = self.asks_usage.then_some(None);
        self.json(&Chunk::new(&self.answer, &choices, usage))
    }

    fn usage(&self, usage: UsageShape) -> Piece {
        self.json(&Chunk::new(&self.answer, &[], Some(Some(usage))))
    }

    fn json(&self, chunk: &Chunk<'_>) -> Piece {
        // A struct of texts and numbers always has a JSON form.
        self.line(&serde_json::to_vec(chunk).unwrap_or_default())
    }

    fn line(&self, data: &[u8]) -> Piece {
        let (before, after): (&[u8], &[u8]) = if self.cr_lf {
            (b": keep-alive\r\n\r\ndata: ", b"\r\n\r\n")
        } else {
            (b"data: ", b"\n\n")
        };
        Piece::new([before, data, after].concat())
    }
}
