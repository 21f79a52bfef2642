//! The events of items, each with its number in the stream.

use serde_json::{Map, Value, json};

use super::item::{Body, Item, Part, PartKind};
use crate::{event_frame, json_bytes, put_number, put_text};

/// Writes events and numbers them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct EventWriter {
    /// The number of the next event.
    pub(super) next: u64,
}

/// The events of one kind of part: begun, grown, its words whole, done.
struct Words {
    added: &'static str,
    delta: &'static str,
    whole: &'static str,
    done: &'static str,
    /// The key of its number.
    index: &'static str,
    /// The key of its words when they are whole.
    text: &'static str,
}

const fn words(kind: PartKind) -> Words {
    let (added, done, index) = match kind {
        PartKind::Text | PartKind::Refusal | PartKind::Thought => (
            "response.content_part.added",
            "response.content_part.done",
            "content_index",
        ),
        PartKind::Summary => (
            "response.reasoning_summary_part.added",
            "response.reasoning_summary_part.done",
            "summary_index",
        ),
    };
    let (delta, whole, text) = match kind {
        PartKind::Text => (
            "response.output_text.delta",
            "response.output_text.done",
            "text",
        ),
        PartKind::Refusal => ("response.refusal.delta", "response.refusal.done", "refusal"),
        PartKind::Summary => (
            "response.reasoning_summary_text.delta",
            "response.reasoning_summary_text.done",
            "text",
        ),
        PartKind::Thought => (
            "response.reasoning_text.delta",
            "response.reasoning_text.done",
            "text",
        ),
    };
    Words {
        added,
        delta,
        whole,
        done,
        index,
        text,
    }
}

impl EventWriter {
    pub(super) fn event(&mut self, kind: &str, mut data: Map<String, Value>, out: &mut Vec<u8>) {
        data.insert("type".to_owned(), json!(kind));
        data.insert("sequence_number".to_owned(), json!(self.next));
        self.next = self.next.saturating_add(1);
        let data = json_bytes(&Value::Object(data));
        event_frame(Some(kind), &data, out);
    }

    /// Writes an event about the whole response, whose JSON is given.
    pub(super) fn lifecycle(&mut self, kind: &str, response: &[u8], out: &mut Vec<u8>) {
        let head = json!({ "type": kind, "sequence_number": self.next }).to_string();
        self.next = self.next.saturating_add(1);
        let open = head.strip_suffix('}').unwrap_or(&head).as_bytes();
        let data = [open, br#","response":"#, response, b"}"].concat();
        event_frame(Some(kind), &data, out);
    }

    pub(super) fn item_added(&mut self, item: &Item, out: &mut Vec<u8>) {
        let mut data = Map::new();
        data.insert("output_index".to_owned(), json!(item.index));
        data.insert("item".to_owned(), item.begun());
        self.event("response.output_item.added", data, out);
    }

    pub(super) fn item_done(&mut self, index: u64, item: Value, out: &mut Vec<u8>) {
        let mut data = Map::new();
        data.insert("output_index".to_owned(), json!(index));
        data.insert("item".to_owned(), item);
        self.event("response.output_item.done", data, out);
    }

    pub(super) fn part_added(
        &mut self,
        item: &Item,
        number: u64,
        kind: PartKind,
        out: &mut Vec<u8>,
    ) {
        let words = words(kind);
        let mut data = of_part(item, number, words.index);
        data.insert("part".to_owned(), Part::new(kind).value());
        self.event(words.added, data, out);
    }

    pub(super) fn part_grown(
        &mut self,
        item: &Item,
        number: u64,
        kind: PartKind,
        more: &str,
        out: &mut Vec<u8>,
    ) {
        let words = words(kind);
        self.grown(words.delta, item, out);
        out.extend_from_slice(b",\"");
        out.extend_from_slice(words.index.as_bytes());
        out.extend_from_slice(b"\":");
        put_number(number, out);
        out.extend_from_slice(b",\"delta\":");
        put_text(more, out);
        if kind == PartKind::Text {
            out.extend_from_slice(b",\"logprobs\":[]");
        }
        out.extend_from_slice(b"}\n\n");
    }

    /// The commonest events of all, up to what they add, without a tree.
    fn grown(&mut self, kind: &str, item: &Item, out: &mut Vec<u8>) {
        for (before, word) in [("event: ", kind), ("\ndata: {\"type\":\"", kind)] {
            out.extend_from_slice(before.as_bytes());
            out.extend_from_slice(word.as_bytes());
        }
        out.extend_from_slice(b"\",\"sequence_number\":");
        put_number(self.next, out);
        self.next = self.next.saturating_add(1);
        out.extend_from_slice(b",\"item_id\":");
        put_text(&item.id, out);
        out.extend_from_slice(b",\"output_index\":");
        put_number(item.index, out);
    }

    /// A citation of a part.
    pub(super) fn cited(
        &mut self,
        item: &Item,
        number: u64,
        place: usize,
        annotation: &Value,
        out: &mut Vec<u8>,
    ) {
        let mut data = of_part(item, number, words(PartKind::Text).index);
        data.insert("annotation_index".to_owned(), json!(place));
        data.insert("annotation".to_owned(), annotation.clone());
        self.event("response.output_text.annotation.added", data, out);
    }

    pub(super) fn part_done(&mut self, item: &Item, number: u64, part: &Part, out: &mut Vec<u8>) {
        let words = words(part.kind);
        let mut data = of_part(item, number, words.index);
        data.insert(words.text.to_owned(), json!(part.text));
        if part.kind == PartKind::Text {
            data.insert("logprobs".to_owned(), json!([]));
        }
        self.event(words.whole, data, out);
        let mut data = of_part(item, number, words.index);
        data.insert("part".to_owned(), part.value());
        self.event(words.done, data, out);
    }

    /// Arguments of a call grow.
    pub(super) fn arguments_grown(
        &mut self,
        item: &Item,
        custom: bool,
        more: &str,
        out: &mut Vec<u8>,
    ) {
        let kind = if custom {
            "response.custom_tool_call_input.delta"
        } else {
            "response.function_call_arguments.delta"
        };
        self.grown(kind, item, out);
        out.extend_from_slice(b",\"delta\":");
        put_text(more, out);
        out.extend_from_slice(b"}\n\n");
    }

    /// Closes what is open in an item, and the item.
    pub(super) fn close(&mut self, item: &mut Item, status: &'static str, out: &mut Vec<u8>) {
        if item.ended.is_some() {
            return;
        }
        for kind in [PartKind::Summary, PartKind::Thought, PartKind::Text] {
            self.close_parts(item, kind, out);
        }
        if let Body::Call(call) = &item.body {
            let (kind, key) = if call.custom {
                ("response.custom_tool_call_input.done", "input")
            } else {
                ("response.function_call_arguments.done", "arguments")
            };
            let whole = item.value(status);
            let mut data = of_item(item);
            data.insert(key.to_owned(), whole.get(key).cloned().unwrap_or_default());
            if !call.custom {
                data.insert("name".to_owned(), json!(call.tool.name));
            }
            self.event(kind, data, out);
        }
        item.ended = Some(status);
        let whole = item.value(status);
        self.item_done(item.index, whole, out);
    }

    /// Closes the open parts of a list of an item.
    pub(super) fn close_parts(&mut self, item: &mut Item, kind: PartKind, out: &mut Vec<u8>) {
        let open = item.parts(kind).map(|parts| {
            let open = parts.iter_mut().filter(|(_, part)| part.open);
            let closed = open.map(|(number, part)| {
                part.open = false;
                (*number, part.clone())
            });
            closed.collect::<Vec<_>>()
        });
        for (number, part) in open.unwrap_or_default() {
            self.part_done(item, number, &part, out);
        }
    }
}

fn of_item(item: &Item) -> Map<String, Value> {
    let mut data = Map::new();
    data.insert("item_id".to_owned(), json!(item.id));
    data.insert("output_index".to_owned(), json!(item.index));
    data
}

fn of_part(item: &Item, number: u64, index: &str) -> Map<String, Value> {
    let mut data = of_item(item);
    data.insert(index.to_owned(), json!(number));
    data
}
