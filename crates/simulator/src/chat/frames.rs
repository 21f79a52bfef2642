//! The frames of a stream: which there are, in which order, and the bytes of each.

use crate::answer::{Answer, CallPiece, Finish, Says, Usage};
use crate::content_filters::{self, Found};
use crate::refusal::Refusal;
use crate::tokens::count;
use crate::wire_types::{Chunk, ChunkChoice, Completion, Delta, UsageShape};
use crate::wording;

use crate::fault::Fault;
use crate::fault_stage::{self, GARBAGE};
use crate::script::{GAP, Piece};

/// One frame, small enough that a list of a hundred thousand costs little; its bytes are made
/// when it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// What Azure's filters found in the prompt, before everything else.
    PromptFilter,
    /// Role, and for a call its name.
    Open {
        choice: u64,
    },
    Reasoning {
        choice: u64,
        index: u64,
    },
    /// A token of the content or of the arguments.
    Token {
        choice: u64,
        index: u64,
    },
    /// So many words of filler.
    Filler {
        words: u64,
    },
    /// The reason of the end.
    Finish {
        choice: u64,
    },
    Usage,
    /// Half of usage, of a fault.
    PromptUsage,
    CompletionUsage,
    Done,
    /// Neither JSON nor UTF-8.
    Garbage,
    /// An error under status 200.
    Error,
    /// A token's frame, cut in its middle.
    Cut {
        choice: u64,
        index: u64,
    },
}

/// How the frames of one answer are told.
#[derive(Debug)]
pub(super) struct Renderer {
    pub(super) answer: Answer,
    pub(super) asks_usage: bool,
    /// Usage as it is told, which may be a lie.
    pub(super) reported: Usage,
    pub(super) cr_lf: bool,
    /// Whether words carry characters of two bytes, so that a cut can fall inside one.
    pub(super) accents: bool,
}

// === impl Renderer ===

impl Renderer {
    /// The frames before the content.
    pub(super) fn opening(&self) -> Vec<Frame> {
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
            // The name of a call stands in its opening: no reasoning comes between a name and its arguments.
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
    pub(super) fn spoken(&self) -> Vec<Frame> {
        let mut frames = self.opening();
        for index in 0..self.answer.says.pieces() {
            let all = 0..self.answer.choices;
            frames.extend(all.map(|choice| Frame::Token { choice, index }));
        }
        frames
    }

    /// A whole answer. One that is too large to be held has filler for its content.
    pub(super) fn document(&self, fault: Option<Fault>) -> Piece {
        let is_gigantic = fault_stage::is_gigantic(fault);
        let content = if is_gigantic {
            GAP.to_owned()
        } else {
            self.content()
        };
        let reasoning = self.reasoning();
        let is_finish_told = fault != Some(Fault::NoFinishReason);
        let is_usage_told = fault != Some(Fault::NoUsage);
        let completion = Completion::new(
            &self.answer,
            &content,
            reasoning.as_deref(),
            is_finish_told.then(|| self.answer.finish.name()),
            is_usage_told.then_some(self.reported),
        );
        // A struct of texts and numbers always has a JSON form.
        let mut piece = Piece::new(serde_json::to_vec(&completion).unwrap_or_default());
        piece.reports = is_usage_told.then(|| self.told_pair());
        let usage = self.answer.usage;
        if is_gigantic {
            let words = self.answer.says.pieces();
            return piece.worth(usage.reasoning).filled(words, true);
        }
        piece.worth(usage.completion)
    }

    /// The bytes of a frame and what they mean for the record.
    pub(super) fn render(&self, frame: Frame) -> Piece {
        match frame {
            Frame::PromptFilter => self.line(content_filters::prompt_chunk().as_bytes()),
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
            Frame::Filler { words } => self
                .chunk(0, Delta::Content { content: GAP }, None)
                .filled(words, true),
            Frame::Finish { choice } => {
                let reason = self.answer.finish.name();
                self.chunk(choice, Delta::Empty {}, Some(reason))
            }
            Frame::Usage => self
                .usage(UsageShape::whole(self.reported))
                .reporting(self.reported.prompt, self.reported.completion),
            Frame::PromptUsage => self.usage(UsageShape::prompt_half(self.reported)),
            Frame::CompletionUsage => self
                .usage(UsageShape::completion_half(self.reported))
                .reporting(self.reported.prompt, self.reported.completion),
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

    /// All that is said in one text, content or refusal; calls have none.
    pub(super) fn content(&self) -> String {
        match &self.answer.says {
            Says::Words(words) | Says::Refusal(words) => {
                (0..*words).map(|index| self.word(index)).collect()
            }
            Says::Document(tokens) => tokens.concat(),
            Says::Calls { .. } => String::new(),
        }
    }

    /// All reasoning in one text, if this model shows it.
    pub(super) fn reasoning(&self) -> Option<String> {
        let words = self.answer.shown_reasoning;
        (words > 0).then(|| (0..words).map(|index| self.word(index)).collect())
    }

    pub(super) fn told_pair(&self) -> (u64, u64) {
        (self.reported.prompt, self.reported.completion)
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
                        .map_or(Delta::Empty {}, |piece| Delta::call(count(*call), piece)),
                    Some(CallPiece::Arguments { call, text }) => {
                        Delta::arguments(count(*call), text)
                    }
                    None => Delta::Empty {},
                };
                self.chunk(choice, delta, None)
            }
        }
    }

    /// The name of the first call is a token, unless the limit excludes even it.
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
