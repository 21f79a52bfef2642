//! Bare frames one after the other: MPEG audio and ADTS. A frame is believed if others of its kind
//! follow it, so junk before, between and behind them does no harm.

use crate::codecs::mpeg::{ADTS_HEADER_BYTES, Frame, MPEG_HEADER_BYTES, Table};
use crate::length::Sum;
use crate::measurement::{Count, CountResult};
use crate::step::Step;
use crate::tags::{EndTag, Tag, end_tag};
use crate::{Codec, MeasureError};

/// Headers that must follow each other before the first of them is believed.
const SURE_FRAMES: usize = 3;
/// Samples by which a decoder of MPEG audio is late. Players that know what the encoder added take
/// them off the start, so that many never come out at the end.
const DECODER_DELAY: u64 = 529;

/// Frames of one kind, under way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frames {
    is_adts: bool,
    /// The last frame, as long as they follow each other.
    last: Option<Frame>,
    /// Nothing but tags and zeros was seen yet.
    is_at_start: bool,
    counted: Counted,
}

#[derive(Debug, Clone, Copy, Default)]
struct Counted {
    sum: Sum,
    frames: u64,
    is_layer_3: bool,
    table: Option<Table>,
}

/// What stands at a place.
enum Chain {
    Sure(Frame),
    /// The bytes end before it is certain.
    NeedMore,
    No,
}

impl Frames {
    pub(crate) fn mpeg() -> Self {
        Self::new(false)
    }

    pub(crate) fn adts() -> Self {
        Self::new(true)
    }

    fn new(is_adts: bool) -> Self {
        Self {
            is_adts,
            last: None,
            is_at_start: true,
            counted: Counted::default(),
        }
    }

    pub(crate) fn step(&mut self, bytes: &[u8]) -> Step {
        if let Some(last) = self.last {
            if bytes.len() < self.header_bytes() {
                return Step::NeedMore;
            }
            match self.read(bytes) {
                Some(frame) if frame.goes_with(&last) => return self.count(frame, bytes),
                Some(_) | None => self.last = None,
            }
        }
        if self.is_at_start {
            match Tag::at(bytes) {
                Tag::Yes(length) => return Step::Consume(length),
                Tag::NeedMore => return Step::NeedMore,
                Tag::No => {}
            }
        }
        self.search(bytes)
    }

    /// Whether frames surely begin here, in a file of which these are the first bytes or all.
    pub(crate) fn begin_at(mut self, bytes: &[u8], is_at_start: bool) -> bool {
        self.is_at_start = is_at_start;
        match self.chain(bytes) {
            Chain::Sure(_) => true,
            Chain::NeedMore => self.finish(bytes).is_ok(),
            Chain::No => false,
        }
    }

    pub(crate) fn finish(&self, rest: &[u8]) -> CountResult {
        self.counted_with(rest).measured(self.is_adts)
    }

    /// Nothing follows these bytes for now; what comes later begins anew.
    pub(crate) fn end(&mut self, rest: &[u8]) {
        self.counted = self.counted_with(rest);
        self.last = None;
    }

    /// What is counted, with the whole frames of the bytes that are left if they are believed.
    fn counted_with(&self, rest: &[u8]) -> Counted {
        let mut counted = self.counted;
        let whole = self.whole_frames(rest);
        let is_believed = whole > 1 || (whole == 1 && self.is_at_start);
        if self.last.is_some() || !is_believed {
            return counted;
        }
        let mut rest = rest;
        for _ in 0..whole {
            let Some(frame) = self.read(rest) else {
                break;
            };
            let Some((body, later)) = rest.split_at_checked(frame.bytes) else {
                break;
            };
            counted.add(frame, body, self.is_adts);
            rest = later;
        }
        counted
    }

    /// Looks for frames that follow each other.
    fn search(&mut self, bytes: &[u8]) -> Step {
        // Zeros alone, so that a tag behind them is seen however the stream is cut.
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
        if zeros > 0 && self.is_at_start {
            return Step::consume(zeros);
        }
        let junk = memchr::memchr(0xFF, bytes).unwrap_or(bytes.len());
        if junk > 0 {
            self.is_at_start = false;
            return Step::consume(junk);
        }
        match self.chain(bytes) {
            Chain::Sure(frame) => self.count(frame, bytes),
            Chain::NeedMore => Step::NeedMore,
            Chain::No => {
                self.is_at_start = false;
                Step::Consume(1)
            }
        }
    }

    fn count(&mut self, frame: Frame, bytes: &[u8]) -> Step {
        let Some(body) = bytes.get(..frame.bytes) else {
            return Step::NeedMore;
        };
        self.counted.add(frame, body, self.is_adts);
        self.last = Some(frame);
        self.is_at_start = false;
        Step::consume(frame.bytes)
    }

    fn chain(&self, bytes: &[u8]) -> Chain {
        if bytes.len() < self.header_bytes() {
            return Chain::NeedMore;
        }
        let Some(first) = self.read(bytes) else {
            return Chain::No;
        };
        let mut rest = bytes;
        let mut at = first;
        for seen in 1..SURE_FRAMES {
            let Some(later) = rest.get(at.bytes..) else {
                return Chain::NeedMore;
            };
            rest = later;
            if rest.len() < self.header_bytes() {
                return Chain::NeedMore;
            }
            match self.read(rest) {
                Some(next) if next.goes_with(&first) => at = next,
                Some(_) | None if self.is_at_start || seen > 1 => match end_tag(rest) {
                    EndTag::Yes => break,
                    EndTag::NeedMore => return Chain::NeedMore,
                    EndTag::No => return Chain::No,
                },
                Some(_) | None => return Chain::No,
            }
        }
        Chain::Sure(first)
    }

    /// Frames of one kind that are whole, up to the end of these bytes.
    fn whole_frames(&self, bytes: &[u8]) -> u64 {
        let mut rest = bytes;
        let mut whole = 0_u64;
        let mut before: Option<Frame> = None;
        while let Some(frame) = self.read(rest)
            && before.is_none_or(|before| frame.goes_with(&before))
            && let Some(later) = rest.get(frame.bytes..)
        {
            whole = whole.saturating_add(1);
            before = Some(frame);
            rest = later;
        }
        whole
    }

    fn read(&self, bytes: &[u8]) -> Option<Frame> {
        if self.is_adts {
            Frame::adts(bytes)
        } else {
            Frame::mpeg(bytes)
        }
    }

    const fn header_bytes(&self) -> usize {
        if self.is_adts {
            ADTS_HEADER_BYTES
        } else {
            MPEG_HEADER_BYTES
        }
    }
}

impl Counted {
    fn add(&mut self, frame: Frame, body: &[u8], is_adts: bool) {
        let is_first = self.frames == 0 && self.table.is_none();
        if is_first && !is_adts {
            self.is_layer_3 = frame.is_layer_3;
            self.table = Table::read(body);
            if self.table.is_some() {
                return;
            }
        }
        self.frames = self.frames.saturating_add(1);
        self.sum.add(frame.samples, frame.rate);
    }

    fn measured(mut self, is_adts: bool) -> CountResult {
        if self.frames == 0 && self.table.is_none() {
            return Err(MeasureError::NotAudio);
        }
        if let Some(table) = self.table
            && let Some((delay, padding)) = table.added
        {
            // Padding is at the end, so it is there only if the end is.
            let is_whole = table.frames == Some(self.frames);
            let padding = if is_whole { padding } else { 0 };
            self.sum
                .take(delay.saturating_add(padding.max(DECODER_DELAY)));
        }
        let codec = match (is_adts, self.is_layer_3) {
            (true, _) => Codec::Aac,
            (false, true) => Codec::Mp3,
            (false, false) => Codec::Other,
        };
        // A bare stream of AAC has no place to declare it.
        let count = Count::new(codec, self.sum.length());
        Ok(count.without_declared_delay(self.sum.rate()))
    }
}
