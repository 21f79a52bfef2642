//! A stream of this format, read into events.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::OWN;
use super::blocks_in::{Place, Reading};
use super::response_out::stop_in;
use super::usage::{RawUsage, Side};
use crate::borrowed_str::borrowed_str;
use crate::canonical::{BlockDelta, BlockIndex, BlockKind, BlockStart, Event, Stop, ToolCall};
use crate::upstream_error::read_error;
use crate::{Frame, FrameKind, without_data};

/// Blocks that are open at once; the format opens one after the other.
const MAX_OPEN: usize = 256;
/// Bytes of a block that is reported only when it is whole.
const MAX_HELD_BYTES: usize = 8_000_000;

#[derive(Debug, Default)]
pub struct Reader {
    pub(super) begun: bool,
    /// Blocks that are open, by the upstream's numbers.
    pub(super) open: BTreeMap<u32, Open>,
    next: u32,
    usage: RawUsage,
    pub(super) stop: Option<Stop>,
    pub(super) ended: bool,
}

/// A block that is open.
#[derive(Debug)]
pub(super) enum Open {
    Growing(BlockIndex),
    /// A call of a tool; its arguments as they stood at its beginning, until others come.
    Call(BlockIndex, Option<String>),
    /// One that only this format has, and the JSON of its input so far.
    Foreign(Map<String, Value>, String),
}

#[derive(Deserialize)]
struct StreamEvent<'a> {
    #[serde(rename = "type", borrow, default, deserialize_with = "borrowed_str")]
    kind: Option<Cow<'a, str>>,
    #[serde(default)]
    index: Option<u32>,
    #[serde(borrow, default)]
    message: Option<Message<'a>>,
    #[serde(borrow, default)]
    content_block: Option<&'a RawValue>,
    #[serde(borrow, default)]
    delta: Option<&'a RawValue>,
    #[serde(default)]
    usage: Option<RawUsage>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default, deserialize_with = "borrowed_str")]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "borrowed_str")]
    model: Option<Cow<'a, str>>,
    #[serde(default)]
    usage: Option<RawUsage>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(rename = "type", borrow, default, deserialize_with = "borrowed_str")]
    kind: Option<Cow<'a, str>>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    partial_json: Option<String>,
    #[serde(default)]
    thinking: Option<String>,
    #[serde(default)]
    signature: Option<String>,
    #[serde(default)]
    citation: Option<Value>,
}

#[derive(Deserialize)]
struct EndDelta<'a> {
    #[serde(borrow, default, deserialize_with = "borrowed_str")]
    stop_reason: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "borrowed_str")]
    stop_sequence: Option<Cow<'a, str>>,
}

impl Reader {
    pub(crate) fn read(&mut self, frame: &Frame, events: &mut Vec<Event>) -> FrameKind {
        let Some(data) = &frame.data else {
            return without_data(&frame.raw);
        };
        // Some compatible vendors end as chat does.
        if data.as_ref() == b"[DONE]" {
            return FrameKind::Empty;
        }
        let Ok(mut event) = serde_json::from_slice::<StreamEvent<'_>>(data) else {
            return FrameKind::Invalid;
        };
        let kind = event.kind.take();
        let kind = kind.as_deref().or(frame.event.as_deref());
        let kind = kind.unwrap_or_default();
        if kind == "error" || event.error.is_some() {
            let error = read_error(data);
            events.push(Event::Error(error.clone()));
            return FrameKind::Error(error);
        }
        match kind {
            "ping" => {
                events.push(Event::Ping);
                FrameKind::Empty
            }
            "message_start" => self.begin(event.message, events),
            "content_block_start" => self.open_block(&event, events),
            "content_block_delta" => self.grow(&event, events),
            "content_block_stop" => {
                if let Some(index) = event.index {
                    self.close(index, events);
                }
                FrameKind::Content
            }
            "message_delta" => self.turn_to_end(event, events),
            "message_stop" => {
                self.stop_with(Stop::End, events);
                self.ended = true;
                FrameKind::Done
            }
            "" => FrameKind::Invalid,
            // An event type that is newer than this code: passed on, since the caller may know it.
            _ => FrameKind::Content,
        }
    }

    pub(crate) fn end(&mut self, events: &mut Vec<Event>) -> bool {
        self.close_all(events);
        self.ended || self.stop.is_some()
    }

    fn begin(&mut self, message: Option<Message<'_>>, events: &mut Vec<Event>) -> FrameKind {
        let Some(message) = message else {
            return FrameKind::Invalid;
        };
        if self.begun {
            return FrameKind::Content;
        }
        self.begun = true;
        events.push(Event::Start {
            id: message.id.unwrap_or_default().into_owned(),
            model: message.model.unwrap_or_default().into_owned(),
            created: None,
        });
        if let Some(usage) = message.usage {
            self.usage.merge(usage);
            // What it says of output here is no count: a stream that breaks off would seem short.
            events.push(Event::Usage(self.usage.reported(Side::Input)));
        }
        FrameKind::Content
    }

    fn ensure_begun(&mut self, events: &mut Vec<Event>) {
        if !self.begun {
            self.begun = true;
            events.push(Event::Start {
                id: String::new(),
                model: String::new(),
                created: None,
            });
        }
    }

    fn open_block(&mut self, event: &StreamEvent<'_>, events: &mut Vec<Event>) -> FrameKind {
        let (Some(index), Some(raw)) = (event.index, event.content_block) else {
            return FrameKind::Invalid;
        };
        let raw = serde_json::from_str(raw.get()).unwrap_or_default();
        let mut reading = Reading::of_upstream();
        let number = usize::try_from(index).unwrap_or(usize::MAX);
        let Ok(block) = reading.block(raw, &Place::of("content", &[number])) else {
            return FrameKind::Invalid;
        };
        self.ensure_begun(events);
        // A number that is used again closes what had it.
        self.close(index, events);
        if self.open.len() >= MAX_OPEN {
            return FrameKind::Content;
        }
        let signature = block.signature;
        let (opening, words) = match block.kind {
            BlockKind::Text(text) => {
                let at = self.announce(index, BlockStart::Text, events);
                grow_text(at, text.text, events);
                let cited = text.citations.into_iter();
                events.extend(
                    cited.map(|(of, raw)| Event::BlockDelta(at, BlockDelta::Citation(of, raw))),
                );
                return FrameKind::Content;
            }
            BlockKind::Thinking(thinking) => {
                (BlockStart::Thinking(None, false), thinking.texts.concat())
            }
            BlockKind::Redacted(_) => match signature {
                Some(signature) => {
                    self.announce(index, BlockStart::Redacted(None, signature), events);
                    return FrameKind::Content;
                }
                None => return FrameKind::Content,
            },
            BlockKind::ToolCall(call) => {
                self.open_call(index, call, events);
                return FrameKind::Content;
            }
            BlockKind::Foreign(_, Value::Object(raw)) => {
                self.open.insert(index, Open::Foreign(raw, String::new()));
                return FrameKind::Content;
            }
            BlockKind::Media(media) => (BlockStart::Media(media), String::new()),
            // No answer has these.
            BlockKind::ToolResult(_) | BlockKind::Refusal(_) | BlockKind::Foreign(..) => {
                return FrameKind::Content;
            }
        };
        let at = self.announce(index, opening, events);
        grow_text(at, words, events);
        events.extend(
            signature.map(|signature| Event::BlockDelta(at, BlockDelta::Signature(signature))),
        );
        FrameKind::Content
    }

    fn announce(&mut self, index: u32, opening: BlockStart, events: &mut Vec<Event>) -> BlockIndex {
        let at = self.next_place();
        self.open.insert(index, Open::Growing(at));
        events.push(Event::BlockStart(at, opening));
        at
    }

    const fn next_place(&mut self) -> BlockIndex {
        let at = BlockIndex {
            choice: 0,
            block: self.next,
        };
        self.next = self.next.saturating_add(1);
        at
    }

    fn open_call(&mut self, index: u32, mut call: ToolCall, events: &mut Vec<Event>) {
        // Arguments come in deltas; those at the beginning count if none do.
        let whole = std::mem::take(&mut call.arguments);
        let at = self.next_place();
        self.open.insert(index, Open::Call(at, Some(whole)));
        events.push(Event::BlockStart(at, BlockStart::ToolCall(call)));
    }

    fn grow(&mut self, event: &StreamEvent<'_>, events: &mut Vec<Event>) -> FrameKind {
        let (Some(index), Some(raw)) = (event.index, event.delta) else {
            return FrameKind::Invalid;
        };
        let Ok(delta) = serde_json::from_str::<Delta<'_>>(raw.get()) else {
            return FrameKind::Invalid;
        };
        let at = match self.open.get_mut(&index) {
            Some(Open::Foreign(block, input)) => {
                grow_foreign(block, input, &delta, raw);
                return FrameKind::Content;
            }
            Some(Open::Call(at, whole)) => {
                let at = *at;
                if let Some(more) = delta.partial_json.filter(|more| !more.is_empty()) {
                    *whole = None;
                    events.push(Event::BlockDelta(at, BlockDelta::Arguments(more)));
                }
                return FrameKind::Content;
            }
            Some(Open::Growing(at)) => *at,
            None => return FrameKind::Content,
        };
        match delta.kind.as_deref().unwrap_or_default() {
            "text_delta" => grow_text(at, delta.text.unwrap_or_default(), events),
            "thinking_delta" => grow_text(at, delta.thinking.unwrap_or_default(), events),
            "signature_delta" => {
                let signature = delta.signature.unwrap_or_default();
                let signature = Reading::of_upstream().signature(&signature);
                events.extend(
                    signature
                        .map(|signature| Event::BlockDelta(at, BlockDelta::Signature(signature))),
                );
            }
            "citations_delta" => {
                let cited = delta.citation.map(|raw| BlockDelta::Citation(OWN, raw));
                events.extend(cited.map(|piece| Event::BlockDelta(at, piece)));
            }
            _ => {}
        }
        FrameKind::Content
    }

    fn close(&mut self, index: u32, events: &mut Vec<Event>) {
        match self.open.remove(&index) {
            Some(Open::Growing(at)) => events.push(Event::BlockEnd(at)),
            Some(Open::Call(at, whole)) => {
                let whole = whole.map(BlockDelta::Arguments);
                events.extend(whole.map(|whole| Event::BlockDelta(at, whole)));
                events.push(Event::BlockEnd(at));
            }
            Some(Open::Foreign(mut block, input)) => {
                if let Ok(input) = serde_json::from_str(&input) {
                    block.insert("input".to_owned(), input);
                }
                let at = self.next_place();
                let opening = BlockStart::Foreign(OWN, Value::Object(block));
                events.push(Event::BlockStart(at, opening));
                events.push(Event::BlockEnd(at));
            }
            None => {}
        }
    }

    fn close_all(&mut self, events: &mut Vec<Event>) {
        while let Some(index) = self.open.keys().next().copied() {
            self.close(index, events);
        }
    }

    /// The frame that says why it stopped and what was used, in numbers of the whole.
    fn turn_to_end(&mut self, event: StreamEvent<'_>, events: &mut Vec<Event>) -> FrameKind {
        self.ensure_begun(events);
        if let Some(usage) = event.usage {
            self.usage.merge(usage);
            events.push(Event::Usage(self.usage.reported(Side::Both)));
        }
        let delta = event.delta.map(RawValue::get).unwrap_or("{}");
        let Ok(delta) = serde_json::from_str::<EndDelta<'_>>(delta) else {
            return FrameKind::Invalid;
        };
        if let Some(reason) = &delta.stop_reason {
            let stop = stop_in(Some(reason), delta.stop_sequence.as_deref());
            self.stop_with(stop, events);
        }
        FrameKind::Held
    }

    fn stop_with(&mut self, stop: Stop, events: &mut Vec<Event>) {
        self.ensure_begun(events);
        self.close_all(events);
        if self.stop.is_none() {
            events.push(Event::Stop(0, stop.clone()));
            self.stop = Some(stop);
        }
    }
}

fn grow_text(at: BlockIndex, text: String, events: &mut Vec<Event>) {
    if !text.is_empty() {
        events.push(Event::BlockDelta(at, BlockDelta::Text(text)));
    }
}

/// Pieces of a block that only this format has: its input, or a text of it.
fn grow_foreign(
    block: &mut Map<String, Value>,
    input: &mut String,
    delta: &Delta<'_>,
    raw: &RawValue,
) {
    if let Some(more) = &delta.partial_json {
        if input.len().saturating_add(more.len()) <= MAX_HELD_BYTES {
            input.push_str(more);
        }
        return;
    }
    let Ok(Value::Object(delta)) = serde_json::from_str(raw.get()) else {
        return;
    };
    for (key, more) in delta.into_iter().filter(|(key, _)| key != "type") {
        match (block.get_mut(&key), more) {
            (Some(Value::String(text)), Value::String(more)) => {
                if text.len().saturating_add(more.len()) <= MAX_HELD_BYTES {
                    text.push_str(&more);
                }
            }
            (_, more) => {
                block.insert(key, more);
            }
        }
    }
}
