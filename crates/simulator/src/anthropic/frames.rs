//! The events of a stream, which there are and in which order, and the whole answer as a document.
//! The bytes of each event are made in `render`.

use bytes::Bytes;
use serde_json::Value;

use crate::script::GAP;
use crate::wording;

use super::answer::{Answer, Block, Call, Text, Usage};
use super::signature;
use super::wire_types::{BlockShape, Citation, End, Message, UsageShape};

/// One event, small enough that a list of a hundred thousand costs little; its bytes are made when
/// it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    MessageStart,
    BlockStart {
        block: usize,
    },
    Ping,
    /// A piece of a thought, a text or an input.
    Piece {
        block: usize,
        index: u64,
    },
    /// The empty piece that the vendor sends before an input.
    NoInput {
        block: usize,
    },
    Signature {
        block: usize,
    },
    Citation {
        block: usize,
        index: u64,
    },
    /// So many words of filler.
    Filler {
        words: u64,
    },
    BlockStop {
        block: usize,
    },
    MessageDelta,
    MessageStop,
    /// Neither an event nor UTF-8.
    Garbage,
    /// An error under status 200.
    Error,
    /// The same as the first thing that comes: a limit that was seen late.
    Throttled,
    /// A piece, cut in its middle.
    Cut {
        block: usize,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wire {
    Lines { is_cr_lf: bool },
    Aws,
}

/// How much is told of usage in a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UsageReporting {
    /// The input at the start, all sums at the end.
    Everything,
    /// The input at the start alone, the output at the end alone.
    Halves,
    Nothing,
}

/// How one answer is told.
#[derive(Debug)]
pub(super) struct Renderer {
    pub(super) answer: Answer,
    /// Usage as it is told, which may be a lie.
    pub(super) reported: Usage,
    pub(super) reports: UsageReporting,
    pub(super) tells_stop: bool,
    pub(super) wire: Wire,
    /// Whether words carry characters of two bytes, so that a cut can fall inside one.
    pub(super) accents: bool,
}

// === impl Renderer ===

impl Renderer {
    /// The events up to the end of the content.
    pub(super) fn spoken(&self) -> Vec<Frame> {
        let mut frames = vec![Frame::MessageStart];
        for (block, spoken) in self.answer.blocks.iter().enumerate() {
            frames.push(Frame::BlockStart { block });
            if block == 0 && self.wire != Wire::Aws {
                frames.push(Frame::Ping);
            }
            match spoken {
                Block::Thought { words, is_shown } => {
                    let visible = if *is_shown { *words } else { 0 };
                    frames.extend((0..visible).map(|index| Frame::Piece { block, index }));
                    frames.push(Frame::Signature { block });
                }
                Block::Redacted { .. } => {}
                Block::Text { text, citations } => {
                    let pieces = 0..text.pieces();
                    frames.extend(pieces.map(|index| Frame::Piece { block, index }));
                    let all = 0..*citations;
                    frames.extend(all.map(|index| Frame::Citation { block, index }));
                }
                Block::Call(call) => {
                    frames.push(Frame::NoInput { block });
                    let pieces = 0..crate::tokens::count(call.pieces.len());
                    frames.extend(pieces.map(|index| Frame::Piece { block, index }));
                }
            }
            frames.push(Frame::BlockStop { block });
        }
        frames
    }

    /// The whole answer as JSON. A text of filler is a gap.
    pub(super) fn document(&self, is_gap: bool) -> Bytes {
        let texts: Vec<(String, String)> = (0..self.answer.blocks.len())
            .map(|block| self.texts(block, is_gap))
            .collect();
        let content = self.answer.blocks.iter().zip(&texts);
        let content = content
            .map(|(block, (text, signature))| shape(block, text, signature))
            .collect();
        let end = if self.tells_stop {
            End::of(&self.answer.stop)
        } else {
            End::default()
        };
        let usage =
            (self.reports != UsageReporting::Nothing).then(|| UsageShape::whole(self.reported));
        let message = Message::new(&self.answer, content, end, usage);
        // A struct of texts and numbers always has a JSON form.
        serde_json::to_vec(&message).unwrap_or_default().into()
    }

    pub(super) fn told_pair(&self) -> (u64, u64) {
        (self.reported.prompt(), self.reported.output)
    }

    /// Text and signature of a block.
    fn texts(&self, block: usize, is_gap: bool) -> (String, String) {
        match self.answer.blocks.get(block) {
            Some(Block::Thought { .. }) => {
                let thought = self.thought(block);
                let signature = signature::of_thought(&thought);
                (thought, signature)
            }
            Some(Block::Text { .. }) if is_gap => (GAP.to_owned(), String::new()),
            Some(Block::Text { text, .. }) => {
                let text = match text {
                    Text::Words(words) => self.words(*words),
                    Text::Document(tokens) => tokens.concat(),
                };
                (text, String::new())
            }
            Some(Block::Call(call)) => (call.pieces.concat(), String::new()),
            Some(Block::Redacted { .. }) | None => (String::new(), String::new()),
        }
    }

    pub(super) fn thought(&self, block: usize) -> String {
        match self.answer.blocks.get(block) {
            Some(Block::Thought {
                words,
                is_shown: true,
            }) => self.words(*words),
            Some(_) | None => String::new(),
        }
    }

    /// Tokens of a thought that is only signed.
    pub(super) fn unseen(&self, block: usize) -> u64 {
        match self.answer.blocks.get(block) {
            Some(Block::Thought {
                words,
                is_shown: false,
            }) => *words,
            Some(_) | None => 0,
        }
    }

    fn words(&self, words: u64) -> String {
        (0..words).map(|index| self.word(index)).collect()
    }

    pub(super) fn word(&self, index: u64) -> String {
        wording::word(&self.answer.model, index, self.accents)
    }
}

/// A block of a whole answer.
fn shape<'a>(block: &'a Block, text: &'a str, signature: &'a str) -> BlockShape<'a> {
    match block {
        Block::Thought { .. } => BlockShape::Thinking {
            thinking: text,
            signature,
        },
        Block::Redacted { data, .. } => BlockShape::RedactedThinking { data },
        Block::Text { citations, .. } => BlockShape::Text {
            citations: (*citations > 0).then(|| (0..*citations).map(Citation::new).collect()),
            text,
        },
        Block::Call(Call { id, name, .. }) => BlockShape::ToolUse {
            id,
            name,
            // An input that was cut is no JSON; the vendor then shows an empty one.
            input: serde_json::from_str(text)
                .unwrap_or_else(|_| Value::Object(serde_json::Map::new())),
        },
    }
}
