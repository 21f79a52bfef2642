//! Canon events into a chat stream. Why it ended, what was used and the last mark wait for the charge.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::answer::{call_of, finish_of, id_of, marked, usage_of};
use super::citation;
use super::reasoning::sealed_call;
use crate::canon::{At, Block, Event, Opening, Piece, Redacted, Signature, Stop, Thinking, What};
use crate::{Ending, Shown, cost_comment, event_frame, priced, put_number, put_text};

/// Blocks that are remembered; beyond that an answer is not one.
const MAX_BLOCKS: usize = 10_000;
/// Bytes of one thought that are kept for its seal, which is worth nothing without them.
const MAX_THOUGHT_BYTES: usize = 1_000_000;

/// Writes a stream of chat chunks.
#[derive(Debug)]
pub struct Writer {
    shown: Shown,
    /// Everything of a chunk before the number of its answer.
    head: Vec<u8>,
    blocks: BTreeMap<At, Kind>,
    /// The words of the thought that is open: its seal comes last, and is sent back with them.
    thought: (Option<At>, String),
    /// Tool calls of each answer so far.
    calls: BTreeMap<u32, u64>,
    begun: BTreeMap<u32, Option<Stop>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Text,
    Refusal,
    Thinking { item: Option<String>, summary: bool },
    Call { number: u64, custom: bool },
    Other,
}

impl Writer {
    pub(crate) fn new(shown: Shown) -> Self {
        let start = json!({
            "id": id_of(&shown),
            "object": "chat.completion.chunk",
            "created": shown.created,
            "model": shown.model,
        });
        let mut head = start.to_string().into_bytes();
        head.pop();
        head.extend_from_slice(b",\"choices\":[{\"index\":");
        Self {
            shown,
            head,
            blocks: BTreeMap::new(),
            thought: (None, String::new()),
            calls: BTreeMap::new(),
            begun: BTreeMap::new(),
        }
    }

    /// Writes one event.
    pub(crate) fn write(&mut self, event: &Event, out: &mut Vec<u8>) {
        match event {
            Event::Begin { .. } => self.begin(0, out),
            Event::Open(at, opening) if self.blocks.len() < MAX_BLOCKS => {
                self.begin(at.choice, out);
                self.open(*at, opening, out);
            }
            Event::Grow(at, piece) => self.grow(*at, piece, out),
            Event::Stop(choice, stop) => {
                self.begin(*choice, out);
                self.begun.insert(*choice, Some(stop.clone()));
            }
            Event::Open(..)
            | Event::Close(_)
            | Event::Counted(_)
            | Event::Failed(_)
            | Event::Ping => {}
        }
    }

    fn begin(&mut self, choice: u32, out: &mut Vec<u8>) {
        if self.begun.contains_key(&choice) || self.begun.len() >= MAX_BLOCKS {
            return;
        }
        self.begun.insert(choice, None);
        let delta = json!({ "role": "assistant", "content": "", "refusal": null });
        self.chunk(choice, &delta, out);
    }

    fn open(&mut self, at: At, opening: &Opening, out: &mut Vec<u8>) {
        let kind = match opening {
            Opening::Text => Kind::Text,
            Opening::Refusal => Kind::Refusal,
            Opening::Thinking(item, summary) => Kind::Thinking {
                item: item.clone(),
                summary: *summary,
            },
            Opening::ToolCall(call) => {
                let next = self.calls.entry(at.choice).or_default();
                let number = *next;
                *next = next.saturating_add(1);
                let mut written = call_of(call, None);
                if let Some(map) = written.as_object_mut() {
                    map.insert("index".to_owned(), json!(number));
                }
                self.chunk(at.choice, &json!({ "tool_calls": [written] }), out);
                Kind::Call {
                    number,
                    custom: call.custom,
                }
            }
            Opening::Redacted(item, seal) => {
                let redacted = Redacted { item: item.clone() };
                self.detail(at, What::Redacted(redacted), seal, out);
                Kind::Other
            }
            Opening::Media(_) | Opening::Foreign(..) => Kind::Other,
        };
        self.blocks.insert(at, kind);
    }

    fn grow(&mut self, at: At, piece: &Piece, out: &mut Vec<u8>) {
        let Some(kind) = self.blocks.get(&at).cloned() else {
            return;
        };
        match (piece, kind) {
            (Piece::Text(text), Kind::Text) => self.word(at, "content", text, out),
            (Piece::Text(text), Kind::Refusal) => self.word(at, "refusal", text, out),
            (Piece::Text(text), Kind::Thinking { .. }) => {
                self.think(at, text);
                self.word(at, "reasoning_content", text, out);
            }
            (Piece::NextPart, Kind::Thinking { .. }) => {
                self.think(at, "\n\n");
                self.word(at, "reasoning_content", "\n\n", out);
            }
            (Piece::Arguments(more), Kind::Call { number, custom }) => {
                self.more_arguments(at, number, custom, more, out);
            }
            (Piece::Citation(crate::Format::OpenaiChat, source), Kind::Text) => {
                self.chunk(at.choice, &json!({ "annotations": [source] }), out);
            }
            (Piece::Signature(seal), Kind::Thinking { item, summary }) => {
                let words = self.thought_at(at);
                if !seal.data.is_empty() && words.len() <= MAX_THOUGHT_BYTES {
                    let thinking = Thinking {
                        item,
                        texts: vec![words],
                        summary,
                    };
                    self.detail(at, What::Thinking(thinking), seal, out);
                }
            }
            (Piece::Signature(seal), Kind::Call { number, custom }) => {
                let seal = marked(seal, self.shown.channel.as_deref());
                // Clients read the inner object of every piece of a call.
                let (inside, field) = if custom {
                    ("custom", "input")
                } else {
                    ("function", "arguments")
                };
                let call = json!({
                    "index": number,
                    inside: { field: "" },
                    "extra_content": sealed_call(&seal),
                });
                self.chunk(at.choice, &json!({ "tool_calls": [call] }), out);
            }
            (Piece::Citation(format, raw), Kind::Text) => {
                if let Some(source) = citation::shown(*format, raw) {
                    self.chunk(at.choice, &json!({ "annotations": [source] }), out);
                }
            }
            // Chat has no word for the rest.
            (
                Piece::Text(_)
                | Piece::NextPart
                | Piece::Arguments(_)
                | Piece::Citation(..)
                | Piece::Signature(_),
                Kind::Text
                | Kind::Refusal
                | Kind::Thinking { .. }
                | Kind::Call { .. }
                | Kind::Other,
            ) => {}
        }
    }

    fn think(&mut self, at: At, words: &str) {
        if self.thought.0 != Some(at) {
            self.thought = (Some(at), String::new());
        }
        // One byte too many says that it was too long.
        if self.thought.1.len() <= MAX_THOUGHT_BYTES {
            self.thought.1.push_str(words);
        }
    }

    fn thought_at(&mut self, at: At) -> String {
        let (of, words) = std::mem::take(&mut self.thought);
        if of == Some(at) { words } else { String::new() }
    }

    fn detail(&self, at: At, what: What, seal: &Signature, out: &mut Vec<u8>) {
        let block = Block {
            signature: Some(seal.clone()),
            ..Block::of(what)
        };
        let detail = super::reasoning::shown(&block, self.shown.channel.as_deref());
        if let Some(detail) = detail {
            self.chunk(at.choice, &json!({ "reasoning_details": [detail] }), out);
        }
    }

    /// The commonest chunk of all, written without a tree.
    fn word(&self, at: At, field: &str, text: &str, out: &mut Vec<u8>) {
        out.extend_from_slice(b"data: ");
        out.extend_from_slice(&self.head);
        put_number(at.choice.into(), out);
        out.extend_from_slice(b",\"delta\":{\"");
        out.extend_from_slice(field.as_bytes());
        out.extend_from_slice(b"\":");
        put_text(text, out);
        out.extend_from_slice(b"},\"logprobs\":null,\"finish_reason\":null}]}\n\n");
    }

    /// Arguments come in as many pieces as words do.
    fn more_arguments(&self, at: At, number: u64, custom: bool, more: &str, out: &mut Vec<u8>) {
        out.extend_from_slice(b"data: ");
        out.extend_from_slice(&self.head);
        put_number(at.choice.into(), out);
        out.extend_from_slice(b",\"delta\":{\"tool_calls\":[{\"index\":");
        put_number(number, out);
        out.extend_from_slice(if custom {
            b",\"custom\":{\"input\":".as_slice()
        } else {
            b",\"function\":{\"arguments\":".as_slice()
        });
        put_text(more, out);
        out.extend_from_slice(b"}}]},\"logprobs\":null,\"finish_reason\":null}]}\n\n");
    }

    fn chunk(&self, choice: u32, delta: &Value, out: &mut Vec<u8>) {
        let tail =
            format!("{choice},\"delta\":{delta},\"logprobs\":null,\"finish_reason\":null}}]}}");
        event_frame(None, &[self.head.as_slice(), tail.as_bytes()].concat(), out);
    }

    fn refuses(&self, choice: u32) -> bool {
        let mut blocks = self.blocks.iter();
        blocks.any(|(at, kind)| at.choice == choice && *kind == Kind::Refusal)
    }

    /// Writes the end.
    pub(crate) fn finish(&mut self, ending: &Ending, out: &mut Vec<u8>) {
        self.begin(0, out);
        for (choice, stop) in &self.begun {
            let word = match stop {
                _ if ending.exhausted => "length",
                Some(stop) => finish_of(stop, self.refuses(*choice)),
                None => "stop",
            };
            let tail = format!(
                "{choice},\"delta\":{{}},\"logprobs\":null,\"finish_reason\":\"{word}\"}}]}}"
            );
            event_frame(None, &[self.head.as_slice(), tail.as_bytes()].concat(), out);
        }
        if ending.wants_usage {
            let usage = usage_of(&ending.counted).to_string();
            let usage = priced(usage.as_bytes(), &ending.cost);
            let usage = usage.and_then(|usage| {
                serde_json::from_slice::<Box<serde_json::value::RawValue>>(&usage).ok()
            });
            let start = json!({
                "id": id_of(&self.shown),
                "object": "chat.completion.chunk",
                "created": self.shown.created,
                "model": self.shown.model,
                "choices": [],
            });
            if let Some(usage) = usage {
                let mut frame = start.to_string();
                frame.pop();
                frame.push_str(",\"usage\":");
                frame.push_str(usage.get());
                frame.push('}');
                event_frame(None, frame.as_bytes(), out);
            }
        }
        out.extend_from_slice(cost_comment(&ending.cost).as_bytes());
        event_frame(None, b"[DONE]", out);
    }
}
