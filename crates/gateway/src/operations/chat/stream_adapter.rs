//! Following an upstream's stream: passed on frame by frame in the caller's own format, or read into
//! events and written anew in it. Either way what belongs to the end waits for the charge.

use std::collections::BTreeMap;

use bytes::Bytes;
use trunkline_types::Usage;
use trunkline_wire::ResponseFacts;
use trunkline_wire::canonical::{Event, Meter, NameRestorer, ReportedUsage};
use trunkline_wire::{
    Assembler, Ending, Format, Frame, FrameKind, Reader, Rewrite, StreamEnd, Tap, ToolCallCounter,
    Writer, heartbeat,
};

use super::Quoted;
use super::execution::Upstream;
use super::served_tier::TierWatch;
use crate::services::Services;

/// Frames that wait for the end at most; an upstream that says more than that goodbye is not followed.
const MAX_HELD: usize = 32;
/// Capacity for what one frame becomes, so that it need not grow while it is written.
const WRITTEN_BYTES: usize = 512;

pub(crate) enum StreamAdapter {
    PassThrough(Box<PassThrough>),
    Translating(Box<Translating>),
}

pub(crate) struct PassThrough {
    format: Format,
    tier: Option<TierWatch>,
    tools: Option<ToolCallCounter>,
    tap: Tap,
    rewrite: Rewrite,
    changes: bool,
    held: Vec<Frame>,
    model: String,
    /// What its frames are assembled to, where nothing of them goes on.
    assembler: Option<Assembler>,
}

pub(crate) struct Translating {
    caller: Format,
    tier: Option<TierWatch>,
    reader: Reader,
    restored: NameRestorer,
    meter: Meter,
    writer: Writer,
    read: Vec<Event>,
    restored_events: Vec<Event>,
    out: Vec<u8>,
}

impl Quoted {
    /// How this turn's stream is followed.
    pub(super) fn adapter(&self, services: &Services, upstream: &Upstream) -> StreamAdapter {
        let caller = self.format();
        if self.is_same(upstream) {
            return self.pass_through(upstream, None);
        }
        StreamAdapter::Translating(Box::new(Translating {
            caller,
            tier: upstream.tier.clone(),
            reader: Reader::new(upstream.to),
            restored: NameRestorer::new(upstream.state.clone()),
            meter: Meter::default(),
            writer: Writer::new(caller, self.response_meta(services, upstream)),
            read: Vec::new(),
            restored_events: Vec::new(),
            out: Vec::new(),
        }))
    }

    /// The same for a stream that a whole answer is assembled from, of so many bytes at most.
    pub(super) fn assembling_adapter(&self, upstream: &Upstream, most: usize) -> StreamAdapter {
        self.pass_through(upstream, Some(Assembler::new(upstream.to, most)))
    }

    fn pass_through(&self, upstream: &Upstream, assembler: Option<Assembler>) -> StreamAdapter {
        let rewrite = self.rewrite(upstream);
        StreamAdapter::PassThrough(Box::new(PassThrough {
            format: upstream.to,
            tier: upstream.tier.clone(),
            tools: upstream.tools.clone(),
            tap: Tap::new(upstream.to),
            changes: rewrite.model.is_some() || upstream.to != Format::OpenaiChat,
            rewrite,
            held: Vec::new(),
            model: self.request.model().to_owned(),
            assembler,
        }))
    }
}

impl StreamAdapter {
    pub(super) fn observe(&mut self, frame: &Frame) -> FrameKind {
        let (seen, tier) = match self {
            Self::PassThrough(same) => (same.tap.observe(frame), &mut same.tier),
            Self::Translating(it) => {
                let seen = it.reader.read(frame, &mut it.read);
                it.pass();
                (seen, &mut it.tier)
            }
        };
        if let Some(tier) = tier {
            tier.observe(frame, &seen);
        }
        if let (Self::PassThrough(same), Some(data)) = (self, frame.data.as_ref())
            && let Some(tools) = &mut same.tools
        {
            tools.read(data);
        }
        seen
    }

    /// The tier that the answer names.
    pub(super) fn served_tier(&self) -> Option<&str> {
        let tier = match self {
            Self::PassThrough(same) => &same.tier,
            Self::Translating(it) => &it.tier,
        };
        tier.as_ref()?.as_str()
    }

    /// Calls of vendor-run tools that are sold, by tool.
    pub(super) fn tool_calls(&self) -> BTreeMap<String, u64> {
        match self {
            Self::PassThrough(same) => {
                let tools = same.tools.as_ref();
                tools.map(ToolCallCounter::calls).unwrap_or_default()
            }
            Self::Translating(_) => BTreeMap::new(),
        }
    }

    /// The upstream's id of the answer, until the caller's is known.
    pub(super) fn unnamed(&self) -> Option<&str> {
        match self {
            Self::PassThrough(same) if same.rewrite.id.is_none() => {
                Some(same.tap.id()).filter(|id| !id.is_empty())
            }
            Self::PassThrough(_) | Self::Translating(_) => None,
        }
    }

    /// The caller's id of the answer.
    pub(super) fn name(&mut self, id: Option<String>) {
        if let Self::PassThrough(same) = self {
            same.rewrite.id = id;
        }
    }

    /// What goes to the caller now for a frame that was seen. False if too much waits for the end.
    pub(super) fn out(&mut self, frame: &Frame, seen: &FrameKind) -> Option<Bytes> {
        if let Self::PassThrough(same) = self
            && let Some(assembler) = &mut same.assembler
        {
            assembler.push(frame);
            return None;
        }
        match (self, seen) {
            (Self::Translating(it), FrameKind::Empty) if it.out.is_empty() => {
                Some(Bytes::from_static(heartbeat(it.caller)))
            }
            (Self::Translating(it), _) => {
                (!it.out.is_empty()).then(|| Bytes::from(std::mem::take(&mut it.out)))
            }
            // What stands in a comment is the upstream's own business; that it lives is not.
            (Self::PassThrough(same), FrameKind::Empty) => {
                Some(Bytes::from_static(heartbeat(same.format)))
            }
            (Self::PassThrough(same), FrameKind::Content) if same.changes => {
                Some(same.tap.rewrite(frame, &same.rewrite))
            }
            (Self::PassThrough(_), FrameKind::Content) => Some(frame.raw.clone()),
            (Self::PassThrough(same), FrameKind::Held | FrameKind::Last) => {
                same.held.push(frame.clone());
                None
            }
            (Self::PassThrough(_), FrameKind::Done | FrameKind::Error(_) | FrameKind::Invalid) => {
                None
            }
        }
    }

    /// Whether more waits for the end than any upstream has to say there.
    pub(super) fn is_overfull(&self) -> bool {
        match self {
            Self::PassThrough(same) => {
                let assembler = same.assembler.as_ref();
                same.held.len() > MAX_HELD || assembler.is_some_and(Assembler::is_overfull)
            }
            Self::Translating(_) => false,
        }
    }

    /// The whole answer, where one is assembled.
    pub(super) fn assembled(&mut self, ending: Ending) -> Option<Bytes> {
        match self {
            Self::PassThrough(same) => same.assembler.take()?.finish(ending),
            Self::Translating(_) => None,
        }
    }

    /// Whether the stream may end here without another frame, and what is left to send.
    pub(super) fn may_end(&mut self) -> (bool, Bytes) {
        match self {
            Self::PassThrough(same) => (same.tap.may_end(), Bytes::new()),
            Self::Translating(it) => {
                let fine = it.reader.end(&mut it.read);
                it.pass();
                (fine, Bytes::from(std::mem::take(&mut it.out)))
            }
        }
    }

    /// Everything after the last piece, now that the charge is durable.
    pub(super) fn write_end(&mut self, ending: &StreamEnd) -> Vec<u8> {
        match self {
            Self::PassThrough(same) => {
                let held = std::mem::take(&mut same.held);
                same.tap
                    .write_end(&held, ending, &same.model, &same.rewrite)
            }
            Self::Translating(it) => {
                let mut last = std::mem::take(&mut it.out);
                it.writer.finish(ending, &mut last);
                last
            }
        }
    }

    pub(super) const fn caller(&self) -> Format {
        match self {
            Self::PassThrough(same) => same.format,
            Self::Translating(it) => it.caller,
        }
    }

    /// What the upstream told, if it told of input and output.
    pub(super) fn reported(&self) -> Option<ReportedUsage> {
        match self {
            Self::PassThrough(same) => same.tap.reported(),
            Self::Translating(it) => it.meter.reported().cloned(),
        }
    }

    /// The input in its buckets, where the upstream told it.
    pub(super) fn reported_input(&self) -> Option<Usage> {
        match self {
            Self::PassThrough(same) => same.tap.reported_input(),
            Self::Translating(it) => it.meter.reported_input(),
        }
    }

    /// Output tokens counted by us.
    pub(super) fn written(&self) -> u64 {
        match self {
            Self::PassThrough(same) => same.tap.written(),
            Self::Translating(it) => it.meter.written(),
        }
    }

    /// The same, in the caller's favour.
    pub(super) fn least_written(&self) -> u64 {
        match self {
            Self::PassThrough(same) => same.tap.least_written(),
            Self::Translating(it) => it.meter.least_written(),
        }
    }

    /// Whether the upstream has said why it stopped.
    pub(super) fn is_finished(&self) -> bool {
        match self {
            Self::PassThrough(same) => same.tap.finished(),
            Self::Translating(it) => it.meter.finished(),
        }
    }

    /// What the answer says about itself, for traces.
    pub(super) fn facts(&self) -> ResponseFacts {
        match self {
            Self::PassThrough(same) => same.tap.facts(),
            Self::Translating(it) => it.meter.facts(),
        }
    }
}

impl Translating {
    /// From what was read to what is written.
    fn pass(&mut self) {
        if self.out.capacity() == 0 && !self.read.is_empty() {
            self.out.reserve_exact(WRITTEN_BYTES);
        }
        for event in self.read.drain(..) {
            self.meter.observe(&event);
            self.restored.pass(event, &mut self.restored_events);
        }
        for event in self.restored_events.drain(..) {
            self.writer.write(&event, &mut self.out);
        }
    }
}
