//! The bytes of each event, as lines or as messages of an AWS event stream.

use serde_json::Value;

use crate::eventstream;
use crate::fault_stage::GARBAGE;
use crate::script::{GAP, Piece};

use super::answer::{Block, Call, Text};
use super::frames::{Frame, Renderer, UsageReporting, Wire};
use super::refusal::Refusal;
use super::signature;
use super::wire_types::{BlockShape, Citation, Delta, End, Event, Message, Metrics, UsageShape};

// === impl Renderer ===

impl Renderer {
    /// The bytes of an event and what they mean for the record.
    pub(super) fn render(&self, frame: Frame) -> Piece {
        match frame {
            Frame::MessageStart => {
                let usage = (self.reports != UsageReporting::Nothing)
                    .then(|| UsageShape::begun(self.reported));
                let end = End::default();
                let message = Message::new(&self.answer, Vec::new(), end, usage);
                self.event(&Event::MessageStart { message })
                    .worth(self.answer.hidden)
            }
            Frame::BlockStart { block } => self.block_start(block),
            Frame::Ping => self.event(&Event::Ping {}),
            Frame::Piece { block, index } => self.piece(block, index).worth(1),
            Frame::NoInput { block } => self.delta(block, Delta::InputJson { partial_json: "" }),
            Frame::Signature { block } => {
                let signature = signature::of_thought(&self.thought(block));
                self.delta(
                    block,
                    Delta::Signature {
                        signature: &signature,
                    },
                )
                .worth(self.unseen(block))
            }
            Frame::Citation { block, index } => {
                let citation = Citation::new(index);
                self.delta(block, Delta::Citation { citation })
            }
            Frame::Filler { words } => self.filled(words),
            Frame::BlockStop { block } => self.event(&Event::ContentBlockStop { index: block }),
            Frame::MessageDelta => self.message_delta(),
            Frame::MessageStop => {
                let metrics = (self.wire == Wire::Aws).then(|| Metrics::of(self.reported));
                self.event(&Event::MessageStop { metrics })
            }
            Frame::Garbage => self.garbage(),
            Frame::Error => match self.wire {
                Wire::Lines { .. } => {
                    let body = Refusal::after_ok().body(None);
                    self.line("error", body.as_bytes())
                }
                Wire::Aws => Piece::new(eventstream::stream_error()),
            },
            Frame::Throttled => Piece::new(eventstream::throttled()),
            Frame::Cut { block } => self.cut(block),
        }
    }

    /// One event with so many filler words. A message of AWS is made whole, since it knows its length
    /// and sums.
    fn filled(&self, words: u64) -> Piece {
        match self.wire {
            Wire::Aws => {
                let text = "sim ".repeat(usize::try_from(words).unwrap_or_default());
                self.delta(0, Delta::Text { text: &text }).worth(words)
            }
            Wire::Lines { .. } => self.delta(0, Delta::Text { text: GAP }).filled(words, true),
        }
    }

    fn block_start(&self, block: usize) -> Piece {
        let (content_block, tokens) = match self.answer.blocks.get(block) {
            Some(Block::Thought { .. }) | None => (
                BlockShape::Thinking {
                    thinking: "",
                    signature: "",
                },
                0,
            ),
            Some(Block::Redacted { data, tokens }) => {
                (BlockShape::RedactedThinking { data }, *tokens)
            }
            Some(Block::Text { citations, .. }) => (
                BlockShape::Text {
                    citations: (*citations > 0).then(Vec::new),
                    text: "",
                },
                0,
            ),
            Some(Block::Call(Call { id, name, .. })) => {
                let input = Value::Object(serde_json::Map::new());
                (BlockShape::ToolUse { id, name, input }, 1)
            }
        };
        self.event(&Event::ContentBlockStart {
            index: block,
            content_block,
        })
        .worth(tokens)
    }

    fn piece(&self, block: usize, index: u64) -> Piece {
        let at = usize::try_from(index).unwrap_or(usize::MAX);
        match self.answer.blocks.get(block) {
            Some(Block::Thought { .. }) => {
                let word = self.word(index);
                self.delta(block, Delta::Thinking { thinking: &word })
            }
            Some(Block::Text {
                text: Text::Document(tokens),
                ..
            }) => {
                let text = tokens.get(at).map_or("", String::as_str);
                self.delta(block, Delta::Text { text })
            }
            Some(Block::Call(call)) => {
                let partial_json = call.pieces.get(at).map_or("", String::as_str);
                self.delta(block, Delta::InputJson { partial_json })
            }
            Some(Block::Text { .. } | Block::Redacted { .. }) | None => {
                let word = self.word(index);
                self.delta(block, Delta::Text { text: &word })
            }
        }
    }

    fn message_delta(&self) -> Piece {
        let delta = if self.tells_stop {
            End::of(&self.answer.stop)
        } else {
            End::default()
        };
        let usage = match self.reports {
            UsageReporting::Everything => Some(UsageShape::ended(self.reported)),
            UsageReporting::Halves => Some(UsageShape::output(self.reported)),
            UsageReporting::Nothing => None,
        };
        let is_told = usage.is_some();
        let piece = self.event(&Event::MessageDelta { delta, usage });
        if is_told {
            let (prompt, completion) = self.told_pair();
            return piece.reporting(prompt, completion);
        }
        piece
    }

    /// A piece of which half is lost. What AWS frames is whole, and the JSON inside is not.
    fn cut(&self, block: usize) -> Piece {
        let delta = match self.answer.blocks.get(block) {
            Some(Block::Call(_)) => Delta::InputJson { partial_json: "" },
            Some(Block::Thought { .. }) => Delta::Thinking { thinking: "" },
            Some(Block::Text { .. } | Block::Redacted { .. }) | None => Delta::Text { text: "" },
        };
        let index = block;
        let event = Event::ContentBlockDelta { index, delta };
        let json = Self::json(&event);
        let half = json.get(..json.len() / 2).unwrap_or_default();
        self.line(event.name(), half)
    }

    fn garbage(&self) -> Piece {
        match self.wire {
            Wire::Lines { .. } => self.line("content_block_delta", GARBAGE),
            Wire::Aws => Piece::new(GARBAGE.to_vec()),
        }
    }

    fn delta(&self, index: usize, delta: Delta<'_>) -> Piece {
        self.event(&Event::ContentBlockDelta { index, delta })
    }

    fn event(&self, event: &Event<'_>) -> Piece {
        self.line(event.name(), &Self::json(event))
    }

    fn json(event: &Event<'_>) -> Vec<u8> {
        // A struct of texts and numbers always has a JSON form.
        serde_json::to_vec(event).unwrap_or_default()
    }

    fn line(&self, name: &str, data: &[u8]) -> Piece {
        let bytes = match self.wire {
            Wire::Lines { is_cr_lf: false } => {
                [b"event: ", name.as_bytes(), b"\ndata: ", data, b"\n\n"].concat()
            }
            Wire::Lines { is_cr_lf: true } => [
                b": keep-alive\r\n\r\nevent: ",
                name.as_bytes(),
                b"\r\ndata: ",
                data,
                b"\r\n\r\n",
            ]
            .concat(),
            Wire::Aws => eventstream::chunk(data),
        };
        Piece::new(bytes)
    }
}
