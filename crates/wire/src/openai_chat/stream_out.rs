//! Canonical events into a chat stream. Why it ended, what was used and the last mark wait for the charge.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::citation;
use super::reasoning::signed_call;
use super::response_out::{call_of, finish_of, id_of, tagged, usage_of};
use crate::canonical::{
    Block, BlockDelta, BlockIndex, BlockKind, BlockStart, Event, Redacted, Signature, Stop,
    Thinking,
};
use crate::{ResponseMeta, StreamEnd, cost_comment, event_frame, priced, put_number, put_text};

/// Blocks that are remembered; beyond that a response is not one.
const MAX_BLOCKS: usize = 10_000;
/// Bytes of one thought that are kept for its signature, which is worth nothing without them.
const MAX_THOUGHT_BYTES: usize = 1_000_000;

/// Writes a stream of chat chunks.
#[derive(Debug)]
pub struct Writer {
    meta: ResponseMeta,
    /// Everything of a chunk before the number of its response.
    head: Vec<u8>,
    blocks: BTreeMap<BlockIndex, Kind>,
    /// The words of the thought that is open: its signature comes last, and is sent back with them.
    thought: (Option<BlockIndex>, String),
    /// Tool calls of each response so far.
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
    pub(crate) fn new(meta: ResponseMeta) -> Self {
        let start = json!({
            "id": id_of(&meta),
            "object": "chat.completion.chunk",
            "created": meta.created,
            "model": meta.model,
        });
        let mut head = start.to_string().into_bytes();
        head.pop();
        head.extend_from_slice(b",\"choices\":[{\"index\":");
        Self {
            meta,
            head,
            blocks: BTreeMap::new(),
            thought: (None, String::new()),
            calls: BTreeMap::new(),
            begun: BTreeMap::new(),
        }
    }

    pub(crate) fn write(&mut self, event: &Event, out: &mut Vec<u8>) {
        match event {
            Event::Start { .. } => self.begin(0, out),
            Event::BlockStart(at, opening) if self.blocks.len() < MAX_BLOCKS => {
                self.begin(at.choice, out);
                self.open(*at, opening, out);
            }
            Event::BlockDelta(at, piece) => self.grow(*at, piece, out),
            Event::Stop(choice, stop) => {
                self.begin(*choice, out);
                self.begun.insert(*choice, Some(stop.clone()));
            }
            Event::BlockStart(..)
            | Event::BlockEnd(_)
            | Event::Usage(_)
            | Event::Error(_)
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

    fn open(&mut self, at: BlockIndex, opening: &BlockStart, out: &mut Vec<u8>) {
        let kind = match opening {
            BlockStart::Text => Kind::Text,
            BlockStart::Refusal => Kind::Refusal,
            BlockStart::Thinking(item, summary) => Kind::Thinking {
                item: item.clone(),
                summary: *summary,
            },
            BlockStart::ToolCall(call) => {
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
            BlockStart::Redacted(item, signature) => {
                let redacted = Redacted { item: item.clone() };
                self.detail(at, BlockKind::Redacted(redacted), signature, out);
                Kind::Other
            }
            BlockStart::Media(_) | BlockStart::Foreign(..) => Kind::Other,
        };
        self.blocks.insert(at, kind);
    }

    fn grow(&mut self, at: BlockIndex, piece: &BlockDelta, out: &mut Vec<u8>) {
        let Some(kind) = self.blocks.get(&at).cloned() else {
            return;
        };
        match (piece, kind) {
            (BlockDelta::Text(text), Kind::Text) => self.word(at, "content", text, out),
            (BlockDelta::Text(text), Kind::Refusal) => self.word(at, "refusal", text, out),
            (BlockDelta::Text(text), Kind::Thinking { .. }) => {
                self.think(at, text);
                self.word(at, "reasoning_content", text, out);
            }
            (BlockDelta::NextPart, Kind::Thinking { .. }) => {
                self.think(at, "\n\n");
                self.word(at, "reasoning_content", "\n\n", out);
            }
            (BlockDelta::Arguments(more), Kind::Call { number, custom }) => {
                self.more_arguments(at, number, custom, more, out);
            }
            (BlockDelta::Citation(crate::Format::OpenaiChat, source), Kind::Text) => {
                self.chunk(at.choice, &json!({ "annotations": [source] }), out);
            }
            (BlockDelta::Signature(signature), Kind::Thinking { item, summary }) => {
                let words = self.thought_at(at);
                if !signature.data.is_empty() && words.len() <= MAX_THOUGHT_BYTES {
                    let thinking = Thinking {
                        item,
                        texts: vec![words],
                        summary,
                    };
                    self.detail(at, BlockKind::Thinking(thinking), signature, out);
                }
            }
            (BlockDelta::Signature(signature), Kind::Call { number, custom }) => {
                let signature = tagged(signature, self.meta.channel.as_deref());
                // Clients read the inner object of every piece of a call.
                let (inside, field) = if custom {
                    ("custom", "input")
                } else {
                    ("function", "arguments")
                };
                let call = json!({
                    "index": number,
                    inside: { field: "" },
                    "extra_content": signed_call(&signature),
                });
                self.chunk(at.choice, &json!({ "tool_calls": [call] }), out);
            }
            (BlockDelta::Citation(format, raw), Kind::Text) => {
                if let Some(source) = citation::annotation(*format, raw) {
                    self.chunk(at.choice, &json!({ "annotations": [source] }), out);
                }
            }
            // Chat has no field for the rest.
            (
                BlockDelta::Text(_)
                | BlockDelta::NextPart
                | BlockDelta::Arguments(_)
                | BlockDelta::Citation(..)
                | BlockDelta::Signature(_),
                Kind::Text
                | Kind::Refusal
                | Kind::Thinking { .. }
                | Kind::Call { .. }
                | Kind::Other,
            ) => {}
        }
    }

    fn think(&mut self, at: BlockIndex, words: &str) {
        if self.thought.0 != Some(at) {
            self.thought = (Some(at), String::new());
        }
        // One byte too many says that it was too long.
        if self.thought.1.len() <= MAX_THOUGHT_BYTES {
            self.thought.1.push_str(words);
        }
    }

    fn thought_at(&mut self, at: BlockIndex) -> String {
        let (of, words) = std::mem::take(&mut self.thought);
        if of == Some(at) { words } else { String::new() }
    }

    fn detail(&self, at: BlockIndex, what: BlockKind, signature: &Signature, out: &mut Vec<u8>) {
        let block = Block {
            signature: Some(signature.clone()),
            ..Block::of(what)
        };
        let detail = super::reasoning::detail_of(&block, self.meta.channel.as_deref());
        if let Some(detail) = detail {
            self.chunk(at.choice, &json!({ "reasoning_details": [detail] }), out);
        }
    }

    /// The commonest chunk of all, written without a tree.
    fn word(&self, at: BlockIndex, field: &str, text: &str, out: &mut Vec<u8>) {
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
    fn more_arguments(
        &self,
        at: BlockIndex,
        number: u64,
        custom: bool,
        more: &str,
        out: &mut Vec<u8>,
    ) {
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

    pub(crate) fn finish(&mut self, stream_end: &StreamEnd, out: &mut Vec<u8>) {
        self.begin(0, out);
        for (choice, stop) in &self.begun {
            let word = match stop {
                _ if stream_end.exhausted => "length",
                Some(stop) => finish_of(stop, self.refuses(*choice)),
                None => "stop",
            };
            let tail = format!(
                "{choice},\"delta\":{{}},\"logprobs\":null,\"finish_reason\":\"{word}\"}}]}}"
            );
            event_frame(None, &[self.head.as_slice(), tail.as_bytes()].concat(), out);
        }
        if stream_end.wants_usage {
            let usage = usage_of(&stream_end.reported).to_string();
            let usage = priced(usage.as_bytes(), &stream_end.cost);
            let usage = usage.and_then(|usage| {
                serde_json::from_slice::<Box<serde_json::value::RawValue>>(&usage).ok()
            });
            let start = json!({
                "id": id_of(&self.meta),
                "object": "chat.completion.chunk",
                "created": self.meta.created,
                "model": self.meta.model,
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
        out.extend_from_slice(cost_comment(&stream_end.cost).as_bytes());
        event_frame(None, b"[DONE]", out);
    }
}
