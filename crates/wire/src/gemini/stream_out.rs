//! Writes a stream: each piece a whole GenerateContentResponse. Google's calls come in one piece, so
//! theirs wait until they are complete.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::answer_out::add_citations;
use super::last::{last_candidate, last_chunk};
use super::{FORMAT, pieces, shown_seal};
use crate::canon::{At, Event, Opening, Piece, Signature, Stop, ToolCall};
use crate::{Ending, Shown, event_frame, json_bytes, put_number, put_text};

/// Blocks that are open at once; what is beyond is not written.
const MAX_OPEN: usize = 4_096;
/// Answers of one stream.
const MAX_CHOICES: usize = 64;
/// Bytes of a call that wait until it is complete; more are not kept.
const MAX_CALL_BYTES: usize = 8_000_000;
/// A piece of words, up to the words.
const WORDS_HEAD: &[u8] =
    b"data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":";
/// Behind words that are thoughts.
const THOUGHT: &[u8] = b",\"thought\":true";

/// Writes a stream.
#[derive(Debug)]
pub struct Writer {
    shown: Shown,
    /// Everything of a piece behind its candidate.
    tail: Vec<u8>,
    open: BTreeMap<At, Block>,
    choices: BTreeSet<u32>,
    stops: BTreeMap<u32, Stop>,
}

/// A block under way.
#[derive(Debug)]
enum Block {
    Text,
    Thinking,
    Call(ToolCall, Option<Signature>),
    /// All that it is; it waits for its seal.
    Whole(Value, Option<Signature>),
    /// Nothing to write.
    Unsaid,
}

impl Writer {
    /// For one answer.
    pub(crate) fn new(shown: Shown) -> Self {
        let mut tail = b"}],\"modelVersion\":".to_vec();
        put_text(&shown.model, &mut tail);
        tail.extend_from_slice(b",\"responseId\":");
        put_text(&shown.id, &mut tail);
        tail.extend_from_slice(b"}\n\n");
        Self {
            shown,
            tail,
            open: BTreeMap::new(),
            choices: BTreeSet::new(),
            stops: BTreeMap::new(),
        }
    }

    /// Writes one event; what belongs to the end waits.
    pub(crate) fn write(&mut self, event: &Event, out: &mut Vec<u8>) {
        match event {
            Event::Open(at, opening) => self.opened(*at, opening, out),
            Event::Grow(at, piece) => self.grown(*at, piece, out),
            Event::Close(at) => self.closed(*at, out),
            Event::Stop(choice, stop) => {
                self.close_all(Some(*choice), out);
                if self.knows(*choice) {
                    self.stops.insert(*choice, stop.clone());
                }
            }
            Event::Begin { .. } | Event::Counted(_) | Event::Failed(_) | Event::Ping => {}
        }
    }

    /// Whether an answer is one that is followed.
    fn knows(&mut self, choice: u32) -> bool {
        if self.choices.len() < MAX_CHOICES {
            self.choices.insert(choice);
        }
        self.choices.contains(&choice)
    }

    fn opened(&mut self, at: At, opening: &Opening, out: &mut Vec<u8>) {
        if !self.knows(at.choice) || self.open.len() >= MAX_OPEN {
            return;
        }
        // A block whose place is taken anew was never closed; and what may be large waits no longer than
        // it must.
        let is_whole = |place: &At, block: &Block| {
            place.choice == at.choice && matches!(block, Block::Whole(..))
        };
        let open = self.open.iter();
        let late = open.filter(|(place, block)| **place == at || is_whole(place, block));
        let late: Vec<At> = late.map(|(place, _)| *place).collect();
        late.into_iter().for_each(|place| self.closed(place, out));
        let block = match opening {
            Opening::Text | Opening::Refusal => Block::Text,
            Opening::Thinking(..) => Block::Thinking,
            Opening::ToolCall(call) => Block::Call(call.clone(), None),
            Opening::Redacted(_, seal) => Block::Whole(pieces::thought(""), Some(seal.clone())),
            Opening::Media(media) => Block::Whole(pieces::media(media, FORMAT), None),
            Opening::Foreign(FORMAT, raw) => Block::Whole(raw.clone(), None),
            Opening::Foreign(..) => Block::Unsaid,
        };
        self.open.insert(at, block);
    }

    fn grown(&mut self, at: At, piece: &Piece, out: &mut Vec<u8>) {
        if let Piece::Citation(format, raw) = piece {
            self.cited(at.choice, pieces::citation(*format, raw), out);
            return;
        }
        let Some(block) = self.open.get_mut(&at) else {
            return;
        };
        let part = match (block, piece) {
            (Block::Text, Piece::Text(words)) => {
                self.words(at.choice, words, b"", out);
                return;
            }
            (Block::Thinking, Piece::Text(words)) => {
                self.words(at.choice, words, THOUGHT, out);
                return;
            }
            (Block::Thinking, Piece::NextPart) => {
                self.words(at.choice, "\n\n", THOUGHT, out);
                return;
            }
            (Block::Text, Piece::Signature(seal)) => self.sealed(pieces::text(""), seal),
            (Block::Thinking, Piece::Signature(seal)) => self.sealed(pieces::thought(""), seal),
            (Block::Call(call, _), Piece::Arguments(more)) => {
                if call.arguments.len().saturating_add(more.len()) <= MAX_CALL_BYTES {
                    call.arguments.push_str(more);
                }
                return;
            }
            (Block::Call(_, known) | Block::Whole(_, known), Piece::Signature(seal)) => {
                *known = Some(seal.clone());
                return;
            }
            // A piece that does not fit its block says nothing.
            (
                Block::Text | Block::Thinking | Block::Call(..) | Block::Whole(..) | Block::Unsaid,
                Piece::Text(_)
                | Piece::NextPart
                | Piece::Arguments(_)
                | Piece::Citation(..)
                | Piece::Signature(_),
            ) => return,
        };
        self.part(at.choice, part, out);
    }

    fn closed(&mut self, at: At, out: &mut Vec<u8>) {
        let (part, seal) = match self.open.remove(&at) {
            Some(Block::Call(call, seal)) => (pieces::call(&call, &call.tool.name).0, seal),
            Some(Block::Whole(part, seal)) => (part, seal),
            Some(Block::Text | Block::Thinking | Block::Unsaid) | None => return,
        };
        let part = match &seal {
            Some(seal) => self.sealed(part, seal),
            None => part,
        };
        self.part(at.choice, part, out);
    }

    /// Closes what nobody closed, of one answer or of all.
    fn close_all(&mut self, choice: Option<u32>, out: &mut Vec<u8>) {
        let of_it = |at: &&At| choice.is_none_or(|choice| at.choice == choice);
        let open: Vec<At> = self.open.keys().filter(of_it).copied().collect();
        open.into_iter().for_each(|at| self.closed(at, out));
    }

    fn sealed(&self, part: Value, seal: &Signature) -> Value {
        let shown = shown_seal(seal, self.shown.channel.as_deref());
        pieces::sealed(part, Some(shown))
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
        let content = json!({ "role": "model", "parts": [pieces::text("")] });
        candidate.insert("content".to_owned(), content);
        candidate.insert("index".to_owned(), choice.into());
        add_citations(&mut candidate, cited.into_iter());
        self.candidate(candidate, out);
    }

    fn candidate(&self, candidate: Map<String, Value>, out: &mut Vec<u8>) {
        let chunk = json!({
            "candidates": [candidate],
            "modelVersion": self.shown.model,
            "responseId": self.shown.id,
        });
        event_frame(None, &json_bytes(&chunk), out);
    }

    /// Writes the end, now that the charge is durable. No comment: see the room's first lines.
    pub(crate) fn finish(&mut self, ending: &Ending, out: &mut Vec<u8>) {
        if ending.exhausted {
            // A call that is not complete is none.
            self.open.clear();
        }
        self.close_all(None, out);
        if self.choices.is_empty() {
            self.choices.insert(0);
        }
        let of_choice = |choice: &u32| {
            let said = self.stops.get(choice).cloned().unwrap_or_default();
            let stop = if ending.exhausted { Stop::Length } else { said };
            last_candidate(*choice, &stop)
        };
        let candidates = self.choices.iter().map(of_choice).collect();
        let last = last_chunk(candidates, &self.shown.model, &self.shown.id, ending);
        event_frame(None, &last, out);
    }
}
