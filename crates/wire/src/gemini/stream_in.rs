//! Reads a stream: every piece is a whole GenerateContentResponse, and the end is where it closes.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::json;

use super::chunk::{Candidate, Chunk};
use super::parts_in::read_part;
use super::stream_end::{last_candidate, last_chunk};
use super::usage::RawUsage;
use super::{FORMAT, made_id};
use crate::canonical::{
    Block, BlockDelta, BlockIndex, BlockKind, BlockStart, Event, ReportedUsage, Signature, Stop,
};
use crate::upstream_error::read_error;
use crate::{Frame, FrameKind, Rewrite, StreamEnd, without_data};

/// Choices of one stream that are followed.
const MAX_CHOICES: usize = 64;

#[derive(Debug, Default)]
pub struct Reader {
    begun: bool,
    id: String,
    model: String,
    choices: BTreeMap<u32, Following>,
    /// The prompt was blocked, or a response said why it ended.
    ended: bool,
    /// Something waits for the charge, so everything behind it does.
    holding: bool,
    reported: Option<ReportedUsage>,
    /// The last usage that was reported.
    last_usage: Option<RawUsage>,
    calls: usize,
}

/// One answer of the stream.
#[derive(Debug, Default)]
struct Following {
    next: u32,
    open: Option<(BlockIndex, Kind)>,
    /// The last block of words, where sources belong.
    words: Option<BlockIndex>,
    called: bool,
    stopped: bool,
}

/// A block that can grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Thinking,
}

// === impl Reader ===

impl Reader {
    pub(crate) fn read(&mut self, frame: &Frame, events: &mut Vec<Event>) -> FrameKind {
        let Some(data) = &frame.data else {
            return without_data(&frame.raw);
        };
        if data.as_ref() == b"[DONE]" {
            return FrameKind::Done;
        }
        let Ok(chunk) = serde_json::from_slice::<Chunk>(data) else {
            return self.no_chunk(data, events);
        };
        if chunk.error.is_some() {
            return Self::failed(data, events);
        }
        if chunk.is_beat() {
            events.push(Event::Ping);
            return FrameKind::Empty;
        }
        self.read_chunk(chunk, events);
        let going = self.choices.values().any(|choice| !choice.stopped);
        if self.ended && !going {
            self.holding = true;
        }
        if self.holding {
            FrameKind::Held
        } else {
            FrameKind::Content
        }
    }

    /// An error may come in a list of one.
    fn no_chunk(&self, data: &[u8], events: &mut Vec<Event>) -> FrameKind {
        let list: Option<Vec<Chunk>> = serde_json::from_slice(data).ok();
        let is_error = |list: &Vec<Chunk>| list.first().is_some_and(|one| one.error.is_some());
        if list.as_ref().is_some_and(is_error) {
            return Self::failed(data, events);
        }
        FrameKind::Invalid
    }

    fn failed(data: &[u8], events: &mut Vec<Event>) -> FrameKind {
        let error = read_error(data);
        events.push(Event::Error(error.clone()));
        FrameKind::Error(error)
    }

    /// Reads what is said, in a piece or in a whole response.
    pub(super) fn read_chunk(&mut self, chunk: Chunk, events: &mut Vec<Event>) {
        let blocked = chunk.blocked().is_some();
        self.begin(&chunk, events);
        for candidate in chunk.candidates.unwrap_or_default() {
            let index = candidate.index.unwrap_or(0);
            if self.choices.contains_key(&index) || self.choices.len() < MAX_CHOICES {
                self.read_candidate(index, candidate, events);
            }
        }
        if blocked && !self.ended {
            self.ended = true;
            let choice = self.choices.entry(0).or_default();
            choice.close(events);
            choice.stopped = true;
            events.push(Event::Stop(0, Stop::Filtered));
        }
        if let Some(usage) = chunk.usage_metadata {
            let usage = usage.behind(self.last_usage.as_ref());
            self.last_usage = Some(usage.clone());
            let reported = usage.reported(self.ended);
            if let Some(reported) = reported.map(|reported| self.whole_count(reported)) {
                self.reported = Some(reported.clone());
                events.push(Event::Usage(reported));
            }
        }
    }

    fn begin(&mut self, chunk: &Chunk, events: &mut Vec<Event>) {
        if self.begun {
            return;
        }
        self.begun = true;
        self.id = chunk.response_id.clone().unwrap_or_default();
        self.model = chunk.model_version.clone().unwrap_or_default();
        events.push(Event::Start {
            id: self.id.clone(),
            model: self.model.clone(),
            created: None,
        });
    }

    /// Each count is of all so far: a bucket that is not reported any more is empty.
    fn whole_count(&self, mut reported: ReportedUsage) -> ReportedUsage {
        let before = self.reported.as_ref().map(|before| &before.usage);
        for bucket in super::response_scan::BUCKETS {
            let was_reported = before.is_some_and(|before| before.reported(bucket).is_some());
            if was_reported && reported.usage.reported(bucket).is_none() {
                reported.usage = reported.usage.with(bucket, 0);
            }
        }
        reported
    }

    fn read_candidate(&mut self, index: u32, mut candidate: Candidate, events: &mut Vec<Event>) {
        let parts = candidate.content.take().and_then(|content| content.parts);
        let choice = self.choices.entry(index).or_default();
        for part in parts.unwrap_or_default() {
            let place = self.calls;
            let id = self.id.as_str();
            let read = read_part(part, &mut |_| made_id(id, place));
            let Some(read) = read else { continue };
            if matches!(read.block.kind, BlockKind::ToolCall(_)) {
                self.calls = self.calls.saturating_add(1);
            }
            choice.read(index, read.block, events);
        }
        let cited = candidate.citation_metadata.take();
        let cited = cited.and_then(|cited| cited.citations).unwrap_or_default();
        let grounds = candidate.grounding_metadata.take();
        let grounds =
            grounds.filter(|grounds| grounds.as_object().is_some_and(|it| !it.is_empty()));
        let grounds = grounds.map(|grounds| json!({ "groundingMetadata": grounds }));
        if let Some(at) = choice.words {
            for raw in cited.into_iter().chain(grounds) {
                events.push(Event::BlockDelta(at, BlockDelta::Citation(FORMAT, raw)));
            }
        }
        if let Some(stop) = candidate.stop(choice.called)
            && !choice.stopped
        {
            choice.close(events);
            choice.stopped = true;
            self.ended = true;
            events.push(Event::Stop(index, stop));
        }
    }

    pub(crate) fn end(&mut self, events: &mut Vec<Event>) -> bool {
        for choice in self.choices.values_mut() {
            choice.close(events);
        }
        let all = self.choices.values().all(|choice| choice.stopped);
        self.ended && all
    }

    /// The end: what was held, with what it cost. No comment: see the module's documentation.
    pub(crate) fn write_end(
        &mut self,
        held: &[Frame],
        stream_end: &StreamEnd,
        rewrite: &Rewrite,
    ) -> Vec<u8> {
        let mut out = Vec::new();
        if stream_end.exhausted || held.is_empty() {
            out.extend_from_slice(&self.last_frame(stream_end, rewrite));
            return out;
        }
        let (last, before) = match held.split_last() {
            Some((last, before)) => (Some(last), before),
            None => (None, held),
        };
        for frame in before {
            out.extend_from_slice(&super::rewrite::rewrite_frame(frame, rewrite));
        }
        if let Some(last) = last {
            out.extend_from_slice(&super::rewrite::priced_frame(last, stream_end, rewrite));
        }
        out
    }

    /// A last frame of our own: for want of money, or because the upstream sent none.
    fn last_frame(&self, stream_end: &StreamEnd, rewrite: &Rewrite) -> Bytes {
        let stop = if stream_end.exhausted {
            Stop::Length
        } else {
            Stop::End
        };
        let open = self.choices.iter().filter(|(_, choice)| !choice.stopped);
        let mut open: Vec<u32> = open.map(|(index, _)| *index).collect();
        if open.is_empty() {
            open.push(0);
        }
        let model = rewrite.model.as_deref().unwrap_or(&self.model);
        let candidates = open.iter().map(|index| last_candidate(*index, &stop));
        let frame = last_chunk(candidates.collect(), model, &self.id, stream_end);
        Frame::of_data(&frame).raw
    }
}

// === impl Following ===

impl Following {
    fn close(&mut self, events: &mut Vec<Event>) {
        let Some((at, kind)) = self.open.take() else {
            return;
        };
        let signed = matches!(events.last(), Some(Event::BlockDelta(last, BlockDelta::Signature(_))) if *last == at);
        if kind == Kind::Thinking && !signed {
            // An empty signature: it only says where the thoughts belong.
            let signature = Signature::of(FORMAT, String::new());
            events.push(Event::BlockDelta(at, BlockDelta::Signature(signature)));
        }
        events.push(Event::BlockEnd(at));
    }

    fn open(&mut self, index: u32, opening: BlockStart, events: &mut Vec<Event>) -> BlockIndex {
        self.close(events);
        let at = BlockIndex {
            choice: index,
            block: self.next,
        };
        self.next = self.next.saturating_add(1);
        events.push(Event::BlockStart(at, opening));
        at
    }

    fn read(&mut self, index: u32, block: Block, events: &mut Vec<Event>) {
        let signature = block.signature;
        let whole = match block.kind {
            BlockKind::Text(words) => {
                // A piece without words or a signature is a heartbeat.
                if !words.text.is_empty() || signature.is_some() {
                    let at = self.grow(index, Kind::Text, words.text, events);
                    self.words = Some(at);
                    self.signature_and_close(at, signature, events);
                }
                return;
            }
            BlockKind::Thinking(thinking) => {
                let text = thinking.texts.concat();
                if !text.is_empty() || signature.is_some() {
                    let at = self.grow(index, Kind::Thinking, text, events);
                    self.signature_and_close(at, signature, events);
                }
                return;
            }
            BlockKind::ToolCall(mut call) => {
                self.called = true;
                let arguments = std::mem::take(&mut call.arguments);
                let at = self.open(index, BlockStart::ToolCall(call), events);
                events.push(Event::BlockDelta(at, BlockDelta::Arguments(arguments)));
                signature_with(at, signature, events);
                events.push(Event::BlockEnd(at));
                return;
            }
            // The signature of another format comes behind the thoughts that it signs.
            BlockKind::Redacted(_) if self.open.is_some_and(|(_, kind)| kind == Kind::Thinking) => {
                let at = self.grow(index, Kind::Thinking, String::new(), events);
                self.signature_and_close(at, signature, events);
                return;
            }
            BlockKind::Redacted(redacted) => match signature.clone() {
                Some(signature) => BlockStart::Redacted(redacted.item, signature),
                None => return,
            },
            BlockKind::Media(media) => BlockStart::Media(media),
            BlockKind::Foreign(format, raw) => BlockStart::Foreign(format, raw),
            BlockKind::ToolResult(_) | BlockKind::Refusal(_) => return,
        };
        let is_media = matches!(whole, BlockStart::Media(_));
        let at = self.open(index, whole, events);
        if is_media {
            signature_with(at, signature, events);
        }
        events.push(Event::BlockEnd(at));
    }

    /// The open block of this kind, or a new one, with more words.
    fn grow(
        &mut self,
        index: u32,
        kind: Kind,
        text: String,
        events: &mut Vec<Event>,
    ) -> BlockIndex {
        let known = self.open.filter(|(_, open)| *open == kind);
        let at = match known {
            Some((at, _)) => at,
            None => {
                let opening = match kind {
                    Kind::Text => BlockStart::Text,
                    Kind::Thinking => BlockStart::Thinking(None, true),
                };
                let at = self.open(index, opening, events);
                self.open = Some((at, kind));
                at
            }
        };
        if !text.is_empty() {
            events.push(Event::BlockDelta(at, BlockDelta::Text(text)));
        }
        at
    }

    /// Behind its signature a block is whole: what is signed is sent back as it came.
    fn signature_and_close(
        &mut self,
        at: BlockIndex,
        signature: Option<Signature>,
        events: &mut Vec<Event>,
    ) {
        if signature.is_some() {
            signature_with(at, signature, events);
            self.close(events);
        }
    }
}

fn signature_with(at: BlockIndex, signature: Option<Signature>, events: &mut Vec<Event>) {
    let signature =
        signature.map(|signature| Event::BlockDelta(at, BlockDelta::Signature(signature)));
    events.extend(signature);
}
