//! Items of a stream that is read: what was reported of each, and the blocks it is in the canonical form.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::item::{Body, DONE, Item, Part, PartKind, Parts};
use super::items_in::{read_call, read_reasoning};
use super::parts_in::read_part;
use super::stream_blocks::keep;
use super::stream_in::Work;
use super::{FORMAT, MAX_ITEMS, MAX_KEPT_BYTES};
use crate::canonical::{BlockDelta, BlockIndex, BlockKind, BlockStart, Event, Signature, ToolCall};

#[derive(Debug)]
pub(super) struct Tracked {
    pub(super) item: Item,
    /// The item as its end reported it.
    pub(super) whole: Option<Value>,
    /// Open blocks of parts of a message.
    parts: BTreeMap<u64, BlockIndex>,
    /// The open block of a call, or of thoughts of one kind.
    block: Option<(BlockIndex, Option<PartKind>)>,
    closed: bool,
}

impl Tracked {
    pub(super) fn new(index: u64, item: &Map<String, Value>, work: &mut Work<'_>) -> Self {
        let text = |key: &str| item.get(key).and_then(Value::as_str).unwrap_or_default();
        let id = text("id").to_owned();
        let mut map = item.clone();
        let body = match text("type") {
            "message" => Body::Message(Parts::new()),
            "reasoning" => Body::Reasoning(Parts::new(), Parts::new(), None),
            kind @ ("function_call" | "custom_tool_call") => {
                match read_call(&mut map, kind != "function_call") {
                    Some(call) => Body::Call(ToolCall {
                        arguments: String::new(),
                        ..call
                    }),
                    None => Body::Whole(Value::Object(map)),
                }
            }
            _ => Body::Whole(Value::Object(map)),
        };
        let mut tracked = Self::of(index, id, body);
        if let Body::Call(call) = &tracked.item.body {
            let at = work.at();
            work.events
                .push(Event::BlockStart(at, BlockStart::ToolCall(call.clone())));
            tracked.block = Some((at, None));
        }
        tracked
    }

    /// An item without a start event, by the kind of its parts.
    pub(super) const fn untold(index: u64, kind: PartKind) -> Self {
        let body = match kind {
            PartKind::Text | PartKind::Refusal => Body::Message(Parts::new()),
            PartKind::Summary | PartKind::Thought => {
                Body::Reasoning(Parts::new(), Parts::new(), None)
            }
        };
        Self::of(index, String::new(), body)
    }

    const fn of(index: u64, id: String, body: Body) -> Self {
        Self {
            item: Item {
                index,
                id,
                body,
                ended: None,
            },
            whole: None,
            parts: BTreeMap::new(),
            block: None,
            closed: false,
        }
    }

    pub(super) const fn is_call(&self) -> bool {
        match self.item.body {
            Body::Call(_) => true,
            Body::Message(_) | Body::Reasoning(..) | Body::Whole(_) => false,
        }
    }

    pub(super) fn refuses(&self) -> bool {
        match &self.item.body {
            Body::Message(parts) => parts.values().any(|part| part.kind == PartKind::Refusal),
            Body::Call(_) | Body::Reasoning(..) | Body::Whole(_) => false,
        }
    }

    pub(super) fn open_part(&mut self, number: u64, kind: PartKind, work: &mut Work<'_>) {
        if self.closed {
            return;
        }
        let Some(parts) = self.item.parts(kind) else {
            return;
        };
        if parts.contains_key(&number) || parts.len() >= MAX_ITEMS {
            return;
        }
        let before = parts.values().next_back().map(|part| part.text.is_empty());
        parts.insert(number, Part::new(kind));
        match kind {
            PartKind::Text | PartKind::Refusal => {
                let opening = if kind == PartKind::Text {
                    BlockStart::Text
                } else {
                    BlockStart::Refusal
                };
                let at = work.at();
                work.events.push(Event::BlockStart(at, opening));
                self.parts.insert(number, at);
            }
            PartKind::Summary | PartKind::Thought => self.open_thought(kind, before, work),
        }
    }

    /// Thoughts are one block; a further part of it is said to begin.
    fn open_thought(&mut self, kind: PartKind, before_is_empty: Option<bool>, work: &mut Work<'_>) {
        let at = match self.block {
            Some((at, Some(open))) if open == kind => at,
            Some(_) | None => {
                self.close_block(work);
                let at = work.at();
                let id = Some(self.item.id.clone()).filter(|id| !id.is_empty());
                let opening = BlockStart::Thinking(id, kind == PartKind::Summary);
                work.events.push(Event::BlockStart(at, opening));
                self.block = Some((at, Some(kind)));
                return;
            }
        };
        if before_is_empty == Some(true) {
            work.events
                .push(Event::BlockDelta(at, BlockDelta::Text(String::new())));
        }
        work.events
            .push(Event::BlockDelta(at, BlockDelta::NextPart));
    }

    pub(super) fn grow(&mut self, number: u64, kind: PartKind, more: &str, work: &mut Work<'_>) {
        if self.closed {
            return;
        }
        self.open_part(number, kind, work);
        let at = match kind {
            PartKind::Text | PartKind::Refusal => self.parts.get(&number).copied(),
            PartKind::Summary | PartKind::Thought => self.block.map(|(at, _)| at),
        };
        let part = self
            .item
            .parts(kind)
            .and_then(|parts| parts.get_mut(&number));
        let (Some(at), Some(part)) = (at, part) else {
            return;
        };
        keep(work.kept, &mut part.text, more);
        work.events
            .push(Event::BlockDelta(at, BlockDelta::Text(more.to_owned())));
    }

    /// The whole words of a part, if no piece of them was reported.
    pub(super) fn fill(&mut self, number: u64, kind: PartKind, whole: &str, work: &mut Work<'_>) {
        if self.closed {
            return;
        }
        self.open_part(number, kind, work);
        let part = self.item.parts(kind).and_then(|parts| parts.get(&number));
        if part.is_some_and(|part| part.text.is_empty()) && !whole.is_empty() {
            self.grow(number, kind, whole, work);
        }
    }

    pub(super) fn cite(&mut self, number: u64, raw: Value, work: &mut Work<'_>) {
        if self.closed {
            return;
        }
        self.open_part(number, PartKind::Text, work);
        let parts = self.item.parts(PartKind::Text);
        let part = parts.and_then(|parts| parts.get_mut(&number));
        let part = part.filter(|part| part.annotations.len() < MAX_ITEMS);
        if let (Some(part), Some(at)) = (part, self.parts.get(&number)) {
            part.annotations.push(raw.clone());
            work.events
                .push(Event::BlockDelta(*at, BlockDelta::Citation(FORMAT, raw)));
        }
    }

    /// A part is complete. That of a message is a block of its own, and one of thoughts is not.
    pub(super) fn close_part(&mut self, number: u64, kind: PartKind, work: &mut Work<'_>) {
        if kind == PartKind::Text
            && let Some(at) = self.parts.remove(&number)
        {
            work.events.push(Event::BlockEnd(at));
        }
        let is_thought = matches!(self.item.body, Body::Reasoning(..)) && kind == PartKind::Text;
        let kind = if is_thought { PartKind::Thought } else { kind };
        let parts = self.item.parts(kind);
        if let Some(part) = parts.and_then(|parts| parts.get_mut(&number)) {
            part.open = false;
        }
    }

    /// Arguments of a call: a piece of them, or all of them if no piece was reported.
    pub(super) fn arguments(&mut self, words: &str, whole: bool, work: &mut Work<'_>) {
        let (Body::Call(call), Some((at, _))) = (&mut self.item.body, self.block) else {
            return;
        };
        if words.is_empty() || (whole && !call.arguments.is_empty()) {
            return;
        }
        keep(work.kept, &mut call.arguments, words);
        let piece = BlockDelta::Arguments(words.to_owned());
        work.events.push(Event::BlockDelta(at, piece));
    }

    /// The item is complete: says what was not said of it, and closes it.
    pub(super) fn done(&mut self, item: Map<String, Value>, work: &mut Work<'_>) {
        if self.closed {
            return;
        }
        match &self.item.body {
            Body::Message(_) => self.fill_message(&item, work),
            Body::Call(_) => {
                let text = |key: &str| item.get(key).and_then(Value::as_str);
                let words = text("arguments").or_else(|| text("input"));
                self.arguments(words.unwrap_or_default(), true, work);
            }
            Body::Reasoning(..) => self.fill_thoughts(item.clone(), work),
            Body::Whole(_) => {
                let at = work.at();
                let raw = Value::Object(item.clone());
                work.events
                    .push(Event::BlockStart(at, BlockStart::Foreign(FORMAT, raw)));
                work.events.push(Event::BlockEnd(at));
            }
        }
        self.close(work);
        self.item.ended = Some(DONE);
        let whole = Value::Object(item);
        let size = whole.to_string().len();
        let total = work.kept.saturating_add(size);
        if total <= MAX_KEPT_BYTES {
            *work.kept = total;
            self.whole = Some(whole);
        }
    }

    fn fill_message(&mut self, item: &Map<String, Value>, work: &mut Work<'_>) {
        let parts = item.get("content").and_then(Value::as_array);
        for (number, part) in (0..).zip(parts.into_iter().flatten()) {
            match read_part(part.clone()).0.kind {
                BlockKind::Text(text) => {
                    self.fill(number, PartKind::Text, &text.text, work);
                    let known = self.item.parts(PartKind::Text);
                    let known = known.and_then(|parts| parts.get(&number));
                    let known = known.map_or(0, |part| part.annotations.len());
                    for (_, raw) in text.citations.into_iter().skip(known) {
                        self.cite(number, raw, work);
                    }
                }
                BlockKind::Refusal(text) => self.fill(number, PartKind::Refusal, &text, work),
                BlockKind::Foreign(_, raw) => {
                    let at = work.at();
                    work.events
                        .push(Event::BlockStart(at, BlockStart::Foreign(FORMAT, raw)));
                    work.events.push(Event::BlockEnd(at));
                }
                // Choices hold no media in messages.
                BlockKind::Media(_)
                | BlockKind::ToolCall(_)
                | BlockKind::ToolResult(_)
                | BlockKind::Thinking(_)
                | BlockKind::Redacted(_) => {}
            }
            self.close_part(number, PartKind::Text, work);
        }
    }

    fn fill_thoughts(&mut self, mut item: Map<String, Value>, work: &mut Work<'_>) {
        for block in read_reasoning(&mut item).unwrap_or_default() {
            match block.kind {
                BlockKind::Thinking(thinking) => {
                    let kind = if thinking.summary {
                        PartKind::Summary
                    } else {
                        PartKind::Thought
                    };
                    for (number, text) in (0..).zip(&thinking.texts) {
                        self.fill(number, kind, text, work);
                    }
                    if let Some(signature) = block.signature {
                        self.signature(signature, work);
                    }
                }
                BlockKind::Redacted(redacted) => {
                    // Words may have been told that the end does not repeat.
                    let Some(signature) = block.signature else {
                        continue;
                    };
                    if self.block.is_some() {
                        self.signature(signature, work);
                        continue;
                    }
                    let at = work.at();
                    let opening = BlockStart::Redacted(redacted.item, signature);
                    work.events.push(Event::BlockStart(at, opening));
                    work.events.push(Event::BlockEnd(at));
                }
                BlockKind::Text(_)
                | BlockKind::Media(_)
                | BlockKind::ToolCall(_)
                | BlockKind::ToolResult(_)
                | BlockKind::Refusal(_)
                | BlockKind::Foreign(..) => {}
            }
        }
    }

    fn signature(&self, signature: Signature, work: &mut Work<'_>) {
        if let Some((at, _)) = self.block {
            work.events
                .push(Event::BlockDelta(at, BlockDelta::Signature(signature)));
        }
    }

    fn close_block(&mut self, work: &mut Work<'_>) {
        if let Some((at, _)) = self.block.take() {
            work.events.push(Event::BlockEnd(at));
        }
    }

    pub(super) fn close(&mut self, work: &mut Work<'_>) {
        self.closed = true;
        for at in std::mem::take(&mut self.parts).into_values() {
            work.events.push(Event::BlockEnd(at));
        }
        self.close_block(work);
    }
}
