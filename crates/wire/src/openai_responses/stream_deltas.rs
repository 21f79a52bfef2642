//! Pieces of a stream: which item of which answer each is about.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::item::PartKind;
use super::stream_in::{Reader, ResponseFacts, Work};
use super::stream_items::Tracked;
use crate::canonical::Event;

impl Reader {
    /// Reads a frame that is a piece of a response.
    pub(super) fn piece(&mut self, kind: &str, facts: &ResponseFacts<'_>, events: &mut Vec<Event>) {
        let index = facts.output_index.unwrap_or(self.last_index);
        self.last_index = index;
        let part = facts.content_index.unwrap_or(0);
        let thought = facts.summary_index.unwrap_or(0);
        let delta = || text_of(facts.delta);
        match kind {
            "response.output_item.added" => self.begin_item(index, facts.item, false, events),
            "response.output_item.done" => self.begin_item(index, facts.item, true, events),
            "response.content_part.added" => {
                if let Some(kind) = part_kind(facts.part) {
                    self.open_part(index, part, kind, events);
                }
            }
            "response.content_part.done" => self.part_done(index, part, PartKind::Text, events),
            "response.reasoning_summary_part.done" => {
                self.part_done(index, thought, PartKind::Summary, events);
            }
            "response.output_text.delta" => self.grow(index, part, PartKind::Text, delta(), events),
            "response.refusal.delta" => self.grow(index, part, PartKind::Refusal, delta(), events),
            "response.reasoning_text.delta" => {
                self.grow(index, part, PartKind::Thought, delta(), events);
            }
            "response.reasoning_summary_text.delta" => {
                self.grow(index, thought, PartKind::Summary, delta(), events);
            }
            "response.reasoning_summary_part.added" => {
                self.open_part(index, thought, PartKind::Summary, events);
            }
            "response.output_text.done" => {
                self.fill(index, part, PartKind::Text, text_of(facts.text), events);
            }
            "response.refusal.done" => {
                self.fill(
                    index,
                    part,
                    PartKind::Refusal,
                    text_of(facts.refusal),
                    events,
                );
            }
            "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta" => {
                self.arguments(index, delta(), false, events);
            }
            "response.function_call_arguments.done" => {
                self.arguments(index, text_of(facts.arguments), true, events);
            }
            "response.custom_tool_call_input.done" => {
                self.arguments(index, text_of(facts.input), true, events);
            }
            "response.output_text.annotation.added" => {
                let raw = facts
                    .annotation
                    .and_then(|raw| serde_json::from_str(raw.get()).ok());
                self.cite(index, part, raw, events);
            }
            // Everything else is of items that one format alone has; they come whole.
            _ => {}
        }
    }

    fn begin_item(
        &mut self,
        index: u64,
        item: Option<&RawValue>,
        done: bool,
        events: &mut Vec<Event>,
    ) {
        if let Some(item) = item {
            self.item(index, item, done, events);
        }
    }

    /// An item that begins, or is complete.
    pub(super) fn item(
        &mut self,
        index: u64,
        item: &RawValue,
        done: bool,
        events: &mut Vec<Event>,
    ) {
        let Ok(Value::Object(item)) = serde_json::from_str(item.get()) else {
            return;
        };
        let is_new = !self.items.contains_key(&index);
        if is_new && self.items.len() >= super::MAX_ITEMS {
            return;
        }
        let mut work = Work {
            next_block: &mut self.next_block,
            kept: &mut self.kept,
            events,
        };
        let tracked = self.items.entry(index);
        let tracked = tracked.or_insert_with(|| Tracked::new(index, &item, &mut work));
        self.calls = self.calls || tracked.is_call();
        if done {
            tracked.done(item, &mut work);
        }
        self.refuses = self.refuses || tracked.refuses();
    }

    /// The state of an item, which is created if no start event came.
    fn with_item(
        &mut self,
        index: u64,
        kind: PartKind,
        events: &mut Vec<Event>,
        work: impl FnOnce(&mut Tracked, &mut Work<'_>),
    ) {
        if !self.items.contains_key(&index) && self.items.len() >= super::MAX_ITEMS {
            return;
        }
        let tracked = self.items.entry(index);
        let tracked = tracked.or_insert_with(|| Tracked::untold(index, kind));
        let mut shared = Work {
            next_block: &mut self.next_block,
            kept: &mut self.kept,
            events,
        };
        work(tracked, &mut shared);
        self.refuses = self.refuses || tracked.refuses();
    }

    fn open_part(&mut self, index: u64, number: u64, kind: PartKind, events: &mut Vec<Event>) {
        self.with_item(index, kind, events, |item, work| {
            item.open_part(number, kind, work);
        });
    }

    fn grow(
        &mut self,
        index: u64,
        number: u64,
        kind: PartKind,
        more: Option<String>,
        events: &mut Vec<Event>,
    ) {
        let Some(more) = more else {
            return;
        };
        self.with_item(index, kind, events, |item, work| {
            item.grow(number, kind, &more, work);
        });
    }

    /// The whole words of a part: said now, if no piece of them was.
    fn fill(
        &mut self,
        index: u64,
        number: u64,
        kind: PartKind,
        whole: Option<String>,
        events: &mut Vec<Event>,
    ) {
        let Some(whole) = whole else {
            return;
        };
        self.with_item(index, kind, events, |item, work| {
            item.fill(number, kind, &whole, work);
        });
    }

    fn part_done(&mut self, index: u64, number: u64, kind: PartKind, events: &mut Vec<Event>) {
        if self.items.contains_key(&index) {
            self.with_item(index, kind, events, |item, work| {
                item.close_part(number, kind, work);
            });
        }
    }

    fn cite(&mut self, index: u64, number: u64, raw: Option<Value>, events: &mut Vec<Event>) {
        if let Some(raw) = raw {
            self.with_item(index, PartKind::Text, events, |item, work| {
                item.cite(number, raw, work);
            });
        }
    }

    fn arguments(
        &mut self,
        index: u64,
        words: Option<String>,
        whole: bool,
        events: &mut Vec<Event>,
    ) {
        let Some(tracked) = self.items.get_mut(&index) else {
            return;
        };
        let mut work = Work {
            next_block: &mut self.next_block,
            kept: &mut self.kept,
            events,
        };
        tracked.arguments(&words.unwrap_or_default(), whole, &mut work);
    }
}

fn text_of(raw: Option<&RawValue>) -> Option<String> {
    serde_json::from_str(raw?.get()).ok()
}

fn part_kind(part: Option<&RawValue>) -> Option<PartKind> {
    #[derive(Deserialize)]
    struct Kind<'a> {
        #[serde(borrow, rename = "type")]
        kind: Cow<'a, str>,
    }
    let read: Kind<'_> = serde_json::from_str(part?.get()).ok()?;
    match read.kind.as_ref() {
        "output_text" => Some(PartKind::Text),
        "refusal" => Some(PartKind::Refusal),
        "reasoning_text" => Some(PartKind::Thought),
        _ => None,
    }
}
