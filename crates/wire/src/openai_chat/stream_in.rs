//! A chat stream into the canonical form. Chat opens and closes nothing: a block begins with its first piece and ends
//! where another kind begins. Tools of one response are distinguished by their number.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::reasoning::{self, call_signature};
use super::response_out::stop_of;
use super::response_scan::RawUsage;
use super::tap::{Head, write_end};
use crate::borrowed_str::borrowed_str;
use crate::canonical::{
    BlockDelta, BlockIndex, BlockKind, BlockStart, Event, Signature, ToolCall, ToolName,
};
use crate::response_facts::cut_model;
use crate::upstream_error::{BaseResponse, read_error};
use crate::{Format, Frame, FrameKind, Rewrite, StreamEnd, without_data};

/// Choices of one stream at most.
const MAX_CHOICES: u32 = 128;
/// Tool calls of one response at most.
const MAX_CALLS: u64 = 1_024;

/// Reads a stream of chat chunks.
#[derive(Debug, Default)]
pub struct Reader {
    head: Option<Head>,
    choices: BTreeMap<u32, Lane>,
    usage: RawUsage,
}

/// One answer of the stream.
#[derive(Debug, Default)]
struct Lane {
    next: u32,
    open: Option<(Kind, BlockIndex)>,
    /// Tools that were called, by their numbers.
    calls: BTreeSet<u64>,
    /// The model said why it does not answer.
    refuses: bool,
    stopped: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Refusal,
    Thinking,
    Call(u64),
}

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow, default, deserialize_with = "borrowed_str")]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "borrowed_str")]
    model: Option<Cow<'a, str>>,
    #[serde(default)]
    created: Option<i64>,
    #[serde(borrow, default)]
    choices: Option<Vec<ChunkChoice<'a>>>,
    #[serde(default)]
    usage: Option<RawUsage>,
    #[serde(default)]
    x_groq: Option<GroqPart>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    #[serde(default)]
    base_resp: Option<BaseResponse>,
}

#[derive(Deserialize)]
struct GroqPart {
    #[serde(default)]
    usage: Option<RawUsage>,
}

#[derive(Deserialize)]
struct ChunkChoice<'a> {
    #[serde(default)]
    index: Option<u32>,
    #[serde(borrow, default)]
    delta: Option<Delta<'a>>,
    #[serde(borrow, default, deserialize_with = "borrowed_str")]
    finish_reason: Option<Cow<'a, str>>,
    #[serde(default)]
    usage: Option<RawUsage>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow, default, deserialize_with = "borrowed_str")]
    content: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "borrowed_str")]
    reasoning_content: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "borrowed_str")]
    reasoning: Option<Cow<'a, str>>,
    #[serde(default)]
    reasoning_details: Option<Vec<Value>>,
    #[serde(borrow, default, deserialize_with = "borrowed_str")]
    refusal: Option<Cow<'a, str>>,
    #[serde(default)]
    annotations: Option<Vec<Value>>,
    #[serde(borrow, default)]
    tool_calls: Option<&'a RawValue>,
}

/// More arguments of a call, and nothing besides.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct More<'a> {
    index: u64,
    #[serde(borrow)]
    function: MoreArguments<'a>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MoreArguments<'a> {
    #[serde(borrow)]
    arguments: Cow<'a, str>,
}

impl Reader {
    pub(crate) fn read(&mut self, frame: &Frame, events: &mut Vec<Event>) -> FrameKind {
        let Some(data) = &frame.data else {
            return without_data(&frame.raw);
        };
        if data.as_ref() == b"[DONE]" {
            return FrameKind::Done;
        }
        let Ok(chunk) = serde_json::from_slice::<Chunk<'_>>(data) else {
            return FrameKind::Invalid;
        };
        let failed = chunk.base_resp.is_some_and(|base| base.failed());
        if failed || chunk.error.is_some_and(|error| error.get() != "null") {
            return FrameKind::Error(read_error(data));
        }
        if self.head.is_none() {
            let head = Head {
                id: chunk.id.unwrap_or_default().into_owned(),
                model: cut_model(&chunk.model.unwrap_or_default()),
                created: chunk.created.unwrap_or(0),
            };
            events.push(Event::Start {
                id: head.id.clone(),
                model: head.model.clone(),
                created: chunk.created,
            });
            self.head = Some(head);
        }
        let has_usage = chunk.usage.is_some();
        let groq = chunk.x_groq.and_then(|part| part.usage);
        let choices = chunk.choices.unwrap_or_default();
        let inside = choices.iter().find_map(|choice| choice.usage);
        for choice in &choices {
            if !self.choice(choice, events) {
                return FrameKind::Invalid;
            }
        }
        if let Some(usage) = chunk.usage.or(groq).or(inside) {
            self.usage.merge(usage);
            events.extend(self.usage.reported().map(Event::Usage));
        }
        if choices.is_empty() && has_usage {
            FrameKind::Held
        } else {
            FrameKind::Content
        }
    }

    /// False for what cannot be written in order.
    fn choice(&mut self, choice: &ChunkChoice<'_>, events: &mut Vec<Event>) -> bool {
        let number = choice.index.unwrap_or(0);
        if number >= MAX_CHOICES {
            return false;
        }
        let lane = self.choices.entry(number).or_default();
        let mut lane = Telling {
            lane,
            number,
            events,
        };
        let fine = choice.delta.as_ref().is_none_or(|delta| lane.delta(delta));
        if let Some(reason) = &choice.finish_reason {
            lane.close();
            if !lane.lane.stopped {
                lane.lane.stopped = true;
                let calls = !lane.lane.calls.is_empty();
                let stop = stop_of(reason, calls, lane.lane.refuses);
                lane.events.push(Event::Stop(number, stop));
            }
        }
        fine
    }

    /// The stream has ended. Some upstreams end without a word; a reason to stop is as good.
    pub(crate) fn end(&mut self, events: &mut Vec<Event>) -> bool {
        for (number, lane) in &mut self.choices {
            let number = *number;
            Telling {
                lane,
                number,
                events,
            }
            .close();
        }
        self.choices.values().any(|lane| lane.stopped)
    }

    /// The end of a stream that was passed on.
    pub(crate) fn write_end(
        &self,
        held: &[Frame],
        stream_end: &StreamEnd,
        rewrite: &Rewrite,
    ) -> Vec<u8> {
        let head = self.head.as_ref();
        let model = rewrite.model.as_deref();
        let model = model.or(head.map(|head| head.model.as_str()));
        write_end(head, held, stream_end, model.unwrap_or_default())
    }
}

/// One choice while a chunk of it is read.
struct Telling<'a> {
    lane: &'a mut Lane,
    number: u32,
    events: &'a mut Vec<Event>,
}

impl Telling<'_> {
    fn delta(&mut self, delta: &Delta<'_>) -> bool {
        let details = delta.reasoning_details.as_deref().unwrap_or_default();
        if details.is_empty() {
            let thought = delta
                .reasoning_content
                .as_ref()
                .or(delta.reasoning.as_ref());
            self.words(Kind::Thinking, thought);
        } else {
            self.details(details);
        }
        self.words(Kind::Text, delta.content.as_ref());
        self.words(Kind::Refusal, delta.refusal.as_ref());
        if let Some((Kind::Text, at)) = self.lane.open {
            for source in delta.annotations.iter().flatten() {
                let piece = BlockDelta::Citation(Format::OpenaiChat, source.clone());
                self.events.push(Event::BlockDelta(at, piece));
            }
        }
        delta.tool_calls.is_none_or(|calls| self.calls(calls.get()))
    }

    fn calls(&mut self, calls: &str) -> bool {
        // Nearly all pieces of a call are this, and are read without a tree.
        if let Ok([More { index, function }]) = serde_json::from_str::<[More<'_>; 1]>(calls)
            && let Some((Kind::Call(open), at)) = self.lane.open
            && open == index
        {
            if !function.arguments.is_empty() {
                let piece = BlockDelta::Arguments(function.arguments.into_owned());
                self.events.push(Event::BlockDelta(at, piece));
            }
            return true;
        }
        let Ok(calls) = serde_json::from_str::<Vec<Value>>(calls) else {
            return false;
        };
        let mut calls = calls.iter().enumerate();
        calls.all(|(place, call)| self.call(call, place))
    }

    fn words(&mut self, kind: Kind, text: Option<&Cow<'_, str>>) {
        let Some(text) = text.filter(|text| !text.is_empty()) else {
            return;
        };
        let at = self.open(kind);
        let piece = BlockDelta::Text(text.as_ref().to_owned());
        self.events.push(Event::BlockDelta(at, piece));
    }

    /// Reasoning with the signatures of its upstream, as gateways such as this one write it.
    fn details(&mut self, details: &[Value]) {
        let mut map = serde_json::Map::new();
        map.insert(
            "reasoning_details".to_owned(),
            Value::Array(details.to_vec()),
        );
        for block in reasoning::read(&map) {
            match block.kind {
                BlockKind::Redacted(redacted) => {
                    self.close();
                    let at = self.place();
                    let signature = block.signature;
                    let signature = signature
                        .unwrap_or_else(|| Signature::of(Format::OpenaiChat, String::new()));
                    let opening = BlockStart::Redacted(redacted.item, signature);
                    self.events
                        .extend([Event::BlockStart(at, opening), Event::BlockEnd(at)]);
                }
                BlockKind::Thinking(thinking) => {
                    let at = self.open(Kind::Thinking);
                    let texts = thinking.texts.into_iter().filter(|text| !text.is_empty());
                    let pieces = texts.map(|text| Event::BlockDelta(at, BlockDelta::Text(text)));
                    self.events.extend(pieces);
                    let signature = block
                        .signature
                        .filter(|signature| !signature.data.is_empty());
                    let signature = signature
                        .map(|signature| Event::BlockDelta(at, BlockDelta::Signature(signature)));
                    self.events.extend(signature);
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

    fn call(&mut self, call: &Value, place: usize) -> bool {
        let place = u64::try_from(place).unwrap_or(MAX_CALLS);
        let number = call.get("index").and_then(Value::as_u64).unwrap_or(place);
        let text = |at: &str| call.pointer(at).and_then(Value::as_str);
        let custom = text("/type") == Some("custom") || call.get("custom").is_some();
        let (name, arguments) = if custom {
            (text("/custom/name"), text("/custom/input"))
        } else {
            (text("/function/name"), text("/function/arguments"))
        };
        let at = match self.lane.open {
            Some((Kind::Call(open), at)) if open == number => at,
            // A closed block takes no more deltas: these would have no block.
            Some(_) | None if self.lane.calls.contains(&number) => {
                return arguments.is_none_or(str::is_empty);
            }
            Some(_) | None if number >= MAX_CALLS => return false,
            Some(_) | None => {
                self.close();
                let at = self.place();
                let id = text("/id").filter(|id| !id.is_empty()).map(str::to_owned);
                let call = ToolCall {
                    id: id.unwrap_or_else(|| format!("call_{}_{number}", self.number)),
                    tool: ToolName::plain(name.unwrap_or_default()),
                    custom,
                    ..ToolCall::default()
                };
                self.lane.calls.insert(number);
                self.lane.open = Some((Kind::Call(number), at));
                self.events
                    .push(Event::BlockStart(at, BlockStart::ToolCall(call)));
                at
            }
        };
        let signature = call_signature(call)
            .map(|signature| Event::BlockDelta(at, BlockDelta::Signature(signature)));
        self.events.extend(signature);
        if let Some(more) = arguments.filter(|more| !more.is_empty()) {
            let piece = BlockDelta::Arguments(more.to_owned());
            self.events.push(Event::BlockDelta(at, piece));
        }
        true
    }

    /// The open block of this kind; another one is closed for it.
    fn open(&mut self, kind: Kind) -> BlockIndex {
        if let Some((open, at)) = self.lane.open
            && open == kind
        {
            return at;
        }
        self.close();
        let at = self.place();
        self.lane.refuses |= kind == Kind::Refusal;
        let opening = match kind {
            Kind::Text | Kind::Call(_) => BlockStart::Text,
            Kind::Refusal => BlockStart::Refusal,
            Kind::Thinking => BlockStart::Thinking(None, false),
        };
        self.events.push(Event::BlockStart(at, opening));
        self.lane.open = Some((kind, at));
        at
    }

    fn place(&mut self) -> BlockIndex {
        let block = self.lane.next;
        self.lane.next = block.saturating_add(1);
        BlockIndex {
            choice: self.number,
            block,
        }
    }

    fn close(&mut self) {
        let Some((kind, at)) = self.lane.open.take() else {
            return;
        };
        if kind == Kind::Thinking {
            // An empty signature: it only says where the thoughts belong.
            let signature = Signature::of(Format::OpenaiChat, String::new());
            let has_one = matches!(self.events.last(), Some(Event::BlockDelta(last, BlockDelta::Signature(_))) if *last == at);
            if !has_one {
                self.events
                    .push(Event::BlockDelta(at, BlockDelta::Signature(signature)));
            }
        }
        self.events.push(Event::BlockEnd(at));
    }
}
