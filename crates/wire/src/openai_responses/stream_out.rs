//! A stream, written: items that begin, grow and end, each event numbered.

use std::collections::BTreeMap;

use serde_json::Value;

use super::item::{Body, CUT, DONE, Item, Part, PartKind, Parts};
use super::item_events::EventWriter;
use super::parts_in::is_part;
use super::response_object::{begun, cut_of, end, item_id};
use super::response_out::picture;
use super::stream_end::with_cost;
use super::{FORMAT, MAX_ITEMS, reasoning};
use crate::canonical::{BlockIndex, BlockStart, Event, Signature, Stop, ToolCall};
use crate::{ResponseMeta, StreamEnd, cost_comment, json_bytes};

#[derive(Debug)]
pub struct Writer {
    pub(super) meta: ResponseMeta,
    pub(super) writer: EventWriter,
    begun: bool,
    pub(super) items: Vec<Item>,
    pub(super) places: BTreeMap<BlockIndex, Place>,
    /// The message that further texts join.
    message: Option<usize>,
    /// Signatures of texts and calls, which have no place for them: by item, until it is complete.
    pub(super) signatures: BTreeMap<usize, Signature>,
    stop: Option<Stop>,
    pub(super) kept: usize,
}

/// Where a block is written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) item: usize,
    pub(super) kind: Kind,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    /// A part of a message.
    Part(PartKind, u64),
    Thoughts(PartKind),
    Call,
}

impl Writer {
    pub(crate) const fn new(meta: ResponseMeta) -> Self {
        Self {
            meta,
            writer: EventWriter { next: 0 },
            begun: false,
            items: Vec::new(),
            places: BTreeMap::new(),
            message: None,
            signatures: BTreeMap::new(),
            stop: None,
            kept: 0,
        }
    }

    pub(crate) fn write(&mut self, event: &Event, out: &mut Vec<u8>) {
        match event {
            Event::Start { .. } => self.begin(out),
            Event::BlockStart(at, opening) if at.choice == 0 => self.open(*at, opening, out),
            Event::BlockDelta(at, piece) => self.grow(*at, piece, out),
            Event::BlockEnd(at) => self.close(*at, DONE, out),
            Event::Stop(0, stop) => {
                self.close_all(DONE, out);
                self.stop = Some(stop.clone());
            }
            // Usage is written at the end; the caller of the writer writes failures.
            Event::BlockStart(..)
            | Event::Stop(..)
            | Event::Usage(_)
            | Event::Error(_)
            | Event::Ping => {}
        }
    }

    pub(crate) fn finish(&mut self, stream_end: &StreamEnd, out: &mut Vec<u8>) {
        self.begin(out);
        self.close_all(if stream_end.exhausted { CUT } else { DONE }, out);
        let items: Vec<Value> = self.items.iter().map(Item::ended).collect();
        let cut = if stream_end.exhausted {
            Some("max_output_tokens")
        } else {
            self.stop.as_ref().and_then(|stop| cut_of(stop, &items))
        };
        let mut response = begun(&self.meta);
        let kind = end(&mut response, items, Some(&stream_end.reported), cut);
        let response = with_cost(&json_bytes(&Value::Object(response)), stream_end);
        out.extend_from_slice(cost_comment(&stream_end.cost).as_bytes());
        self.writer.lifecycle(kind, &response, out);
    }

    fn begin(&mut self, out: &mut Vec<u8>) {
        if self.begun {
            return;
        }
        self.begun = true;
        let response = json_bytes(&Value::Object(begun(&self.meta)));
        for kind in ["response.created", "response.in_progress"] {
            self.writer.lifecycle(kind, &response, out);
        }
    }

    fn open(&mut self, at: BlockIndex, opening: &BlockStart, out: &mut Vec<u8>) {
        self.begin(out);
        if self.items.len() >= MAX_ITEMS || self.places.len() >= MAX_ITEMS {
            return;
        }
        self.close(at, DONE, out);
        match opening {
            BlockStart::Text => self.open_part(at, PartKind::Text, out),
            BlockStart::Refusal => self.open_part(at, PartKind::Refusal, out),
            BlockStart::Thinking(_, summary) => {
                let kind = if *summary {
                    PartKind::Summary
                } else {
                    PartKind::Thought
                };
                let body = Body::Reasoning(Parts::new(), Parts::new(), None);
                let item = self.add("rs", body, out);
                self.place(at, item, Kind::Thoughts(kind));
            }
            BlockStart::Redacted(_, signature) => {
                self.settle_message(out);
                self.signed(signature, out);
            }
            BlockStart::ToolCall(call) => {
                let prefix = if call.custom { "ctc" } else { "fc" };
                let begun = ToolCall {
                    arguments: String::new(),
                    ..call.clone()
                };
                let item = self.add(prefix, Body::Call(begun), out);
                self.place(at, item, Kind::Call);
                self.arguments(item, &call.arguments, out);
            }
            BlockStart::Media(media) => {
                if let Some(picture) = picture(media) {
                    self.whole("ig", picture, out);
                }
            }
            BlockStart::Foreign(FORMAT, raw) if !is_part(raw) => self.whole("it", raw.clone(), out),
            BlockStart::Foreign(..) => {}
        }
    }

    /// Another item begins, so that the message before it ends.
    fn add(&mut self, prefix: &str, body: Body, out: &mut Vec<u8>) -> usize {
        self.settle_message(out);
        let number = self.items.len();
        let item = Item {
            index: u64::try_from(number).unwrap_or(u64::MAX),
            id: item_id(&self.meta, prefix, number),
            body,
            ended: None,
        };
        self.writer.item_added(&item, out);
        self.items.push(item);
        number
    }

    fn whole(&mut self, prefix: &str, raw: Value, out: &mut Vec<u8>) {
        let item = self.add(prefix, Body::Whole(raw), out);
        self.item_ends(item, DONE, out);
    }

    fn signed(&mut self, signature: &Signature, out: &mut Vec<u8>) {
        let text = reasoning::signature_text(signature, self.meta.channel.as_deref(), false);
        let body = Body::Reasoning(Parts::new(), Parts::new(), Some(text));
        let item = self.add("rs", body, out);
        self.item_ends(item, DONE, out);
    }

    fn place(&mut self, at: BlockIndex, item: usize, kind: Kind) {
        self.places.insert(at, Place { item, kind });
    }

    fn open_part(&mut self, at: BlockIndex, kind: PartKind, out: &mut Vec<u8>) {
        let item = match self.message {
            Some(item) => item,
            None => self.add("msg", Body::Message(Parts::new()), out),
        };
        self.message = Some(item);
        if let Some(number) = self.new_part(item, kind, out) {
            self.place(at, item, Kind::Part(kind, number));
        }
    }

    /// Begins another part of an item.
    pub(super) fn new_part(
        &mut self,
        item: usize,
        kind: PartKind,
        out: &mut Vec<u8>,
    ) -> Option<u64> {
        let item = self.items.get_mut(item)?;
        let parts = item.parts(kind)?;
        let number = u64::try_from(parts.len()).ok()?;
        if parts.len() >= MAX_ITEMS {
            return None;
        }
        parts.insert(number, Part::new(kind));
        self.writer.part_added(item, number, kind, out);
        Some(number)
    }

    fn close(&mut self, at: BlockIndex, status: &'static str, out: &mut Vec<u8>) {
        let Some(Place { item, kind }) = self.places.remove(&at) else {
            return;
        };
        match kind {
            Kind::Part(kind, number) => {
                self.close_part(item, kind, number, out);
                // A message that others follow waits only for its own parts.
                if self.message != Some(item) && !self.waits(item) {
                    self.item_ends(item, status, out);
                }
            }
            Kind::Thoughts(_) => self.item_ends(item, status, out),
            Kind::Call => {
                // Clients read arguments as JSON, and nothing is none.
                let empty = self.items.get(item).is_some_and(|item| match &item.body {
                    Body::Call(call) => !call.custom && call.arguments.is_empty(),
                    Body::Message(_) | Body::Reasoning(..) | Body::Whole(_) => false,
                });
                if empty && status == DONE {
                    self.arguments(item, "{}", out);
                }
                self.item_ends(item, status, out);
            }
        }
    }

    fn close_part(&mut self, item: usize, kind: PartKind, number: u64, out: &mut Vec<u8>) {
        let Some(item) = self.items.get_mut(item) else {
            return;
        };
        let part = item.parts(kind).and_then(|parts| parts.get_mut(&number));
        let Some(part) = part.filter(|part| part.open) else {
            return;
        };
        part.open = false;
        let part = part.clone();
        self.writer.part_done(item, number, &part, out);
    }

    fn item_ends(&mut self, number: usize, status: &'static str, out: &mut Vec<u8>) {
        let Some(item) = self
            .items
            .get_mut(number)
            .filter(|item| item.ended.is_none())
        else {
            return;
        };
        self.writer.close(item, status, out);
        if let Some(signature) = self.signatures.remove(&number) {
            self.signed(&signature, out);
        }
    }

    /// No further text joins the message; it ends as soon as its parts have.
    fn settle_message(&mut self, out: &mut Vec<u8>) {
        let Some(message) = self.message.take() else {
            return;
        };
        if !self.waits(message) {
            self.item_ends(message, DONE, out);
        }
    }

    /// Whether something in an item is still open.
    fn waits(&self, item: usize) -> bool {
        self.places.values().any(|place| place.item == item)
    }

    fn close_all(&mut self, status: &'static str, out: &mut Vec<u8>) {
        // A message that is cut off in the middle of a part is not finished.
        let cut = self.message.filter(|message| self.waits(*message));
        let open: Vec<BlockIndex> = self.places.keys().copied().collect();
        for at in open {
            self.close(at, status, out);
        }
        if let Some(message) = cut {
            self.message = None;
            self.item_ends(message, status, out);
        }
        self.settle_message(out);
    }
}
