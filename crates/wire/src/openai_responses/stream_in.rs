//! Reads a stream: the kind of each frame for a relay, and its events.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::error::read_failure;
use super::response_object::cut_by;
use super::response_scan::{Ended, seconds};
use super::stream_items::Tracked;
use crate::borrowed_str::borrowed_str;
use crate::canonical::{BlockIndex, Event, Stop};
use crate::{Frame, FrameKind, ResponseError, UpstreamError, without_data};

#[derive(Debug, Default)]
pub struct Reader {
    /// The response as it began, which its end repeats.
    pub(super) first: Option<Box<RawValue>>,
    pub(super) items: BTreeMap<u64, Tracked>,
    /// The number that an event of ours would have.
    pub(super) next_sequence: u64,
    pub(super) kept: usize,
    begun: bool,
    pub(super) next_block: u32,
    pub(super) last_index: u64,
    pub(super) calls: bool,
    pub(super) refuses: bool,
    ended: bool,
}

/// A frame, as far as it is read.
#[derive(Deserialize)]
pub(super) struct ResponseFacts<'a> {
    #[serde(borrow, rename = "type", default, deserialize_with = "borrowed_str")]
    kind: Option<Cow<'a, str>>,
    #[serde(default)]
    sequence_number: Option<u64>,
    #[serde(default)]
    pub(super) output_index: Option<u64>,
    #[serde(default)]
    pub(super) content_index: Option<u64>,
    #[serde(default)]
    pub(super) summary_index: Option<u64>,
    #[serde(borrow, default)]
    response: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) item: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) part: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) delta: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) text: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) refusal: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) arguments: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) input: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) annotation: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow, default, deserialize_with = "borrowed_str")]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "borrowed_str")]
    model: Option<Cow<'a, str>>,
    #[serde(default)]
    created_at: Option<Value>,
}

/// What is at work on one item: its own state, and what all of them share.
pub(super) struct Work<'a> {
    pub(super) next_block: &'a mut u32,
    pub(super) kept: &'a mut usize,
    pub(super) events: &'a mut Vec<Event>,
}

impl Work<'_> {
    /// The place of a block that opens.
    pub(super) fn at(&mut self) -> BlockIndex {
        let block = *self.next_block;
        *self.next_block = block.saturating_add(1);
        BlockIndex { choice: 0, block }
    }
}

impl Reader {
    pub(crate) fn read(&mut self, frame: &Frame, events: &mut Vec<Event>) -> FrameKind {
        let Some(data) = &frame.data else {
            return without_data(&frame.raw);
        };
        if data.as_ref() == b"[DONE]" {
            return FrameKind::Done;
        }
        if self.ended {
            return FrameKind::Empty;
        }
        let Ok(facts) = serde_json::from_slice::<ResponseFacts<'_>>(data) else {
            return FrameKind::Invalid;
        };
        if let Some(number) = facts.sequence_number {
            self.next_sequence = number.saturating_add(1);
        }
        let kind = facts.kind.as_deref().or(frame.event.as_deref());
        let kind = kind.unwrap_or_default();
        match kind {
            "error" => self.fail(read_failure(data), events),
            "response.failed" | "response.cancelled" => {
                self.fail(failure(facts.response, data), events)
            }
            "response.completed" | "response.incomplete" => {
                let response = facts.response.map_or("{}", RawValue::get);
                self.finish(response.as_bytes(), kind, events)
            }
            "keepalive" | "ping" => {
                events.push(Event::Ping);
                FrameKind::Empty
            }
            "" if facts.error.is_some() => self.fail(read_failure(data), events),
            "" => FrameKind::Invalid,
            kind => {
                self.begin(facts.response, events);
                self.piece(kind, &facts, events);
                FrameKind::Content
            }
        }
    }

    pub(crate) fn end(&mut self, events: &mut Vec<Event>) -> bool {
        self.close_all(events);
        self.ended
    }

    fn fail(&mut self, error: UpstreamError, events: &mut Vec<Event>) -> FrameKind {
        self.ended = false;
        events.push(Event::Error(error.clone()));
        FrameKind::Error(error)
    }

    fn begin(&mut self, response: Option<&RawValue>, events: &mut Vec<Event>) {
        if self.begun {
            return;
        }
        self.begun = true;
        let head = response.and_then(|raw| serde_json::from_str::<Head<'_>>(raw.get()).ok());
        let head = head.as_ref();
        let text = |text: Option<&Cow<'_, str>>| text.map(ToString::to_string).unwrap_or_default();
        events.push(Event::Start {
            id: text(head.and_then(|head| head.id.as_ref())),
            model: text(head.and_then(|head| head.model.as_ref())),
            created: head.and_then(|head| seconds(head.created_at.as_ref()?)),
        });
        self.first = response.map(ToOwned::to_owned);
    }

    fn finish(&mut self, response: &[u8], kind: &str, events: &mut Vec<Event>) -> FrameKind {
        let ended = match Ended::read(response) {
            Ok(ended) => ended,
            Err(ResponseError::Upstream(error)) => return self.fail(error, events),
            Err(ResponseError::Invalid) => return FrameKind::Invalid,
        };
        let raw: Option<&RawValue> = serde_json::from_slice(response).ok();
        self.begin(raw, events);
        for (index, item) in (0..).zip(ended.output.iter().flatten()) {
            // Some upstreams tell items here that they never began.
            if !self.items.contains_key(&index) {
                self.item(index, item, true, events);
            }
        }
        self.close_all(events);
        if let Some(reported) = ended.usage.and_then(|usage| usage.reported()) {
            events.push(Event::Usage(reported));
        }
        let stop = ended.stop(self.calls, self.refuses);
        // The event's own name counts where the response does not say why.
        let cut = kind == "response.incomplete" && cut_by(&stop).is_none();
        let stop = match stop {
            Stop::End | Stop::ToolUse | Stop::Refused if cut => Stop::Length,
            facts @ (Stop::End
            | Stop::Length
            | Stop::ToolUse
            | Stop::Sequence(_)
            | Stop::Filtered
            | Stop::Refused
            | Stop::Paused
            | Stop::ContextFull
            | Stop::Other(_)) => facts,
        };
        events.push(Event::Stop(0, stop));
        self.ended = true;
        FrameKind::Last
    }

    fn close_all(&mut self, events: &mut Vec<Event>) {
        for tracked in self.items.values_mut() {
            tracked.close(&mut Work {
                next_block: &mut self.next_block,
                kept: &mut self.kept,
                events,
            });
        }
    }
}

/// What a response that failed says about it.
fn failure(response: Option<&RawValue>, data: &[u8]) -> UpstreamError {
    #[derive(Deserialize)]
    struct Failed<'a> {
        #[serde(borrow, default)]
        error: Option<&'a RawValue>,
    }
    let failed: Option<Failed<'_>> = response.and_then(|raw| serde_json::from_str(raw.get()).ok());
    let error = failed.and_then(|failed| failed.error);
    error.map_or_else(
        || read_failure(data),
        |error| read_failure(error.get().as_bytes()),
    )
}
