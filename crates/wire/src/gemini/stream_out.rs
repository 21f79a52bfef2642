//! Writes a stream: each piece a whole GenerateContentResponse. Google's calls come in one piece, so
//! theirs wait until they are complete.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::response_out::add_citations;
use super::stream_end::{last_candidate, last_chunk};
use super::{FORMAT, part_writer, shown_signature};
use crate::canonical::{BlockDelta, BlockIndex, BlockStart, Event, Signature, Stop, ToolCall};
use crate::{ResponseMeta, StreamEnd, event_frame, json_bytes, put_number, put_text};

/// Blocks that are open at once; what is beyond is not written.
const MAX_OPEN: usize = 4_096;
const MAX_CHOICES: usize = 64;
/// Bytes of a call that wait until it is complete; more are not kept.
const MAX_CALL_BYTES: usize = 8_000_000;
/// A piece of words, up to the words.
const WORDS_HEAD: &[u8] =
    b"data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":";
/// Behind words that are thoughts.
const THOUGHT: &[u8] = b",\"thought\":true";

#[derive(Debug)]
pub struct Writer {
    meta: ResponseMeta,
    /// Everything of a piece behind its candidate.
    tail: Vec<u8>,
    open: BTreeMap<BlockIndex, Block>,
    choices: BTreeSet<u32>,
    stops: BTreeMap<u32, Stop>,
}

#[derive(Debug)]
enum Block {
    Text,
    Thinking,
    Call(ToolCall, Option<Signature>),
    /// All that it is; it waits for its signature.
    Whole(Value, Option<Signature>),
    Unsaid,
}

impl Writer {
    pub(crate) fn new(meta: ResponseMeta) -> Self {
        let mut tail = b"}],\"modelVersion\":".to_vec();
        put_text(&meta.model, &mut tail);
        tail.extend_from_slice(b",\"responseId\":");
        put_text(&meta.id, &mut tail);
        tail.extend_from_slice(b"}\n\n");
        Self {
            meta,
            tail,
            open: BTreeMap::new(),
            choices: BTreeSet::new(),
            stops: BTreeMap::new(),
        }
    }

    /// Writes one event; what belongs to the end waits.
    pub(crate) fn write(&mut self, event: &Event, out: &mut Vec<u8>) {
        match event {
            Event::BlockStart(at, opening) => self.opened(*at, opening, out),
            Event::BlockDelta(at, piece) => self.grown(*at, piece, out),
            Event::BlockEnd(at) => self.closed(*at, out),
            Event::Stop(choice, stop) => {
                self.close_all(Some(*choice), out);
                if self.knows(*choice) {
                    self.stops.insert(*choice, stop.clone());
                }
            }
            Event::Start { .. } | Event::Usage(_) | Event::Error(_) | Event::Ping => {}
        }
    }

    /// Whether a response is one that is followed.
    fn knows(&mut self, choice: u32) -> bool {
        if self.choices.len() < MAX_CHOICES {
            self.choices.insert(choice);
        }
        self.choices.contains(&choice)
    }

    fn opened(&mut self, at: BlockIndex, opening: &BlockStart, out: &mut Vec<u8>) {
        if !self.knows(at.choice) || self.open.len() >= MAX_OPEN {
            return;
        }
        // A block whose place is taken anew was never closed; and what may be large waits no longer than
        // it must.
        let is_whole = |place: &BlockIndex, block: &Block| {
            place.choice == at.choice && matches!(block, Block::Whole(..))
        };
        let open = self.open.iter();
        let late = open.filter(|(place, block)| **place == at || is_whole(place, block));
        let late: Vec<BlockIndex> = late.map(|(place, _)| *place).collect();
        late.into_iter().for_each(|place| self.closed(place, out));
        let block = match opening {
            BlockStart::Text | BlockStart::Refusal => Block::Text,
            BlockStart::Thinking(..) => Block::Thinking,
            BlockStart::ToolCall(call) => Block::Call(call.clone(), None),
            BlockStart::Redacted(_, signature) => {
                Block::Whole(part_writer::thought(""), Some(signature.clone()))
            }
            BlockStart::Media(media) => Block::Whole(part_writer::media(media, FORMAT), None),
            BlockStart::Foreign(FORMAT, raw) => Block::Whole(raw.clone(), None),
            BlockStart::Foreign(..) => Block::Unsaid,
        };
        self.open.insert(at, block);
    }

    fn grown(&mut self, at: BlockIndex, piece: &BlockDelta, out: &mut Vec<u8>) {
        if let BlockDelta::Citation(format, raw) = piece {
            self.cited(at.choice, part_writer::citation(*format, raw), out);
            return;
        }
        let Some(block) = self.open.get_mut(&at) else {
            return;
        };
        let part = match (block, piece) {
            (Block::Text, BlockDelta::Text(words)) => {
                self.words(at.choice, words, b"", out);
                return;
            }
            (Block::Thinking, BlockDelta::Text(words)) => {
                self.words(at.choice, words, THOUGHT, out);
                return;
            }
            (Block::Thinking, BlockDelta::NextPart) => {
                self.words(at.choice, "\n\n", THOUGHT, out);
                return;
            }
            (Block::Text, BlockDelta::Signature(signature)) => {
                self.signed(part_writer::text(""), signature)
            }
            (Block::Thinking, BlockDelta::Signature(signature)) => {
                self.signed(part_writer::thought(""), signature)
            }
            (Block::Call(call, _), BlockDelta::Arguments(more)) => {
                if call.arguments.len().saturating_add(more.len()) <= MAX_CALL_BYTES {
                    call.arguments.push_str(more);
                }
                return;
            }
            (Block::Call(_, known) | Block::Whole(_, known), BlockDelta::Signature(signature)) => {
                *known = Some(signature.clone());
                return;
            }
            // A piece that does not fit its block says nothing.
            (
                Block::Text | Block::Thinking | Block::Call(..) | Block::Whole(..) | Block::Unsaid,
                BlockDelta::Text(_)
                | BlockDelta::NextPart
                | BlockDelta::Arguments(_)
                | BlockDelta::Citation(..)
                | BlockDelta::Signature(_),
            ) => return,
        };
        self.part(at.choice, part, out);
    }

    fn closed(&mut self, at: BlockIndex, out: &mut Vec<u8>) {
        let (part, signature) = match self.open.remove(&at) {
            Some(Block::Call(call, signature)) => {
                (part_writer::call(&call, &call.tool.name).0, signature)
            }
            Some(Block::Whole(part, signature)) => (part, signature),
            Some(Block::Text | Block::Thinking | Block::Unsaid) | None => return,
        };
        let part = match &signature {
            Some(signature) => self.signed(part, signature),
            None => part,
        };
        self.part(at.choice, part, out);
    }

    /// Closes blocks that are still open, of one choice or of all.
    fn close_all(&mut self, choice: Option<u32>, out: &mut Vec<u8>) {
        let of_it = |at: &&BlockIndex| choice.is_none_or(|choice| at.choice == choice);
        let open: Vec<BlockIndex> = self.open.keys().filter(of_it).copied().collect();
        open.into_iter().for_each(|at| self.closed(at, out));
    }

    fn signed(&self, part: Value, signature: &Signature) -> Value {
        let meta = shown_signature(signature, self.meta.channel.as_deref());
        part_writer::signed(part, Some(meta))
    }

    /// The commonest piece of all, written without a tree.
    fn words(&self, choice: u32, text: &str, behind: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(WORDS_HEAD);
        put_text(text, out);
        out.extend_from_slice(behind);
        out.extend_from_slice(b"}]},\"index\":");
        put_number(choice.into(), out);
        out.extend_from_slice(&self.tail);
    }

    fn part(&self, choice: u32, part: Value, out: &mut Vec<u8>) {
        let mut candidate = Map::new();
        let content = json!({ "role": "model", "parts": [part] });
        candidate.insert("content".to_owned(), content);
        candidate.insert("index".to_owned(), choice.into());
        self.candidate(candidate, out);
    }

    fn cited(&self, choice: u32, cited: Option<Value>, out: &mut Vec<u8>) {
        if cited.is_none() || !self.choices.contains(&choice) {
            return;
        }
        let mut candidate = Map::new();
        let content = json!({ "role": "model", "parts": [part_writer::text("")] });
        candidate.insert("content".to_owned(), content);
        candidate.insert("index".to_owned(), choice.into());
        add_citations(&mut candidate, cited.into_iter());
        self.candidate(candidate, out);
    }

    fn candidate(&self, candidate: Map<String, Value>, out: &mut Vec<u8>) {
        let chunk = json!({
            "candidates": [candidate],
            "modelVersion": self.meta.model,
            "responseId": self.meta.id,
        });
        event_frame(None, &json_bytes(&chunk), out);
    }

    /// Writes the end, now that the charge is durable. No comment: see the module's documentation.
    pub(crate) fn finish(&mut self, stream_end: &StreamEnd, out: &mut Vec<u8>) {
        if stream_end.exhausted {
            // A call that is not complete is none.
            self.open.clear();
        }
        self.close_all(None, out);
        if self.choices.is_empty() {
            self.choices.insert(0);
        }
        let of_choice = |choice: &u32| {
            let stop_reason = self.stops.get(choice).cloned().unwrap_or_default();
            let stop = if stream_end.exhausted {
                Stop::Length
            } else {
                stop_reason
            };
            last_candidate(*choice, &stop)
        };
        let candidates = self.choices.iter().map(of_choice).collect();
        let last = last_chunk(candidates, &self.meta.model, &self.meta.id, stream_end);
        event_frame(None, &last, out);
    }
}
