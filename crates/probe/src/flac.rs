//! Native FLAC. Its frames do not say how many bytes they have, so the next one is looked for: a header
//! with a right checksum, which also fits what came before it. The total in the header is not read.

use crate::byte_reader::ByteReader;
use crate::codecs::flac::{Found, Frame, stream_rate};
use crate::incremental::Step;
use crate::length::Sum;
use crate::tags::Tag;
use crate::{Codec, Length, MeasureError};

const BLOCK_HEADER_BYTES: usize = 4;
const INFO_BYTES: usize = 34;
const KIND_INFO: u8 = 0;
const IS_LAST: u8 = 0x80;

/// No frame is longer: 65,536 samples of eight channels with 32 bits, twice. What follows is junk.
const MAX_FRAME_BYTES: u64 = 4 << 20;

/// A stream under way.
#[derive(Debug, Default)]
pub(crate) struct Flac {
    place: Place,
    rate: u32,
    sum: Sum,
    open: Option<Open>,
}

#[derive(Debug, Default, Clone, Copy)]
enum Place {
    #[default]
    Start,
    Metadata,
    Frames,
    Lost,
}

/// A frame whose end is not known yet.
#[derive(Debug, Clone, Copy)]
struct Open {
    frame: Frame,
    sum: u16,
    bytes: u64,
    /// The checksum came out right somewhere, so it may have ended there.
    was_whole: bool,
}

impl Flac {
    pub(crate) fn step(&mut self, bytes: &[u8]) -> Step {
        match self.place {
            Place::Start => self.start(bytes),
            Place::Metadata => self.metadata(bytes),
            Place::Frames => self.frames(bytes),
            Place::Lost => Step::Consume(u64::MAX),
        }
    }

    pub(crate) fn finish(&self, rest: &[u8]) -> Result<(Codec, Length), MeasureError> {
        match self.place {
            Place::Start | Place::Lost => return Err(MeasureError::NotAudio),
            Place::Metadata if self.rate == 0 => return Err(MeasureError::Broken),
            Place::Metadata | Place::Frames => {}
        }
        let mut sum = self.sum;
        if let Some(mut open) = self.open {
            open.take(rest);
            if open.was_whole {
                sum.add(open.frame.samples, open.frame.rate.unwrap_or(self.rate));
            }
        }
        Ok((Codec::Flac, sum.length()))
    }

    fn start(&mut self, bytes: &[u8]) -> Step {
        match Tag::at(bytes) {
            Tag::Yes(length) => return Step::Consume(length),
            Tag::NeedMore => return Step::NeedMore,
            Tag::No => {}
        }
        match bytes.first_chunk() {
            None => Step::NeedMore,
            Some(b"fLaC") => {
                self.place = Place::Metadata;
                Step::Consume(4)
            }
            Some(_) => {
                self.place = Place::Lost;
                Step::Consume(4)
            }
        }
    }

    fn metadata(&mut self, bytes: &[u8]) -> Step {
        let Some([kind, first, second, third]) = bytes.first_chunk::<BLOCK_HEADER_BYTES>().copied()
        else {
            return Step::NeedMore;
        };
        // Some writers forget to mark the last block: where a frame begins, no block does.
        if kind == 0xFF {
            self.place = Place::Frames;
            return self.frames(bytes);
        }
        if kind & !IS_LAST == KIND_INFO {
            let mut reader = ByteReader::new(bytes);
            let info = reader
                .skip(BLOCK_HEADER_BYTES)
                .and_then(|()| reader.bytes::<INFO_BYTES>());
            let Some(info) = info else {
                return Step::NeedMore;
            };
            self.rate = stream_rate(&info).unwrap_or(self.rate);
        }
        if kind & IS_LAST != 0 {
            self.place = Place::Frames;
        }
        let size = u64::from(u32::from_be_bytes([0, first, second, third]));
        Step::Consume(size.saturating_add(4))
    }

    /// Goes up to the next place where a frame begins, or to the end of what is there.
    fn frames(&mut self, bytes: &[u8]) -> Step {
        let mut at = 0_usize;
        while let Some(rest) = bytes.get(at..)
            && !rest.is_empty()
        {
            let before = memchr::memchr(0xFF, rest).unwrap_or(rest.len());
            if let Some(open) = &mut self.open {
                open.take(rest.get(..before).unwrap_or_default());
            }
            at = at.saturating_add(before);
            let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) else {
                break;
            };
            match Frame::read(rest) {
                Found::NeedMore if at == 0 => return Step::NeedMore,
                Found::NeedMore => break,
                Found::Yes(frame) if self.is_next(&frame) => self.begin(frame),
                Found::Yes(_) | Found::No => {}
            }
            if let Some(open) = &mut self.open {
                open.take(rest.get(..1).unwrap_or_default());
            }
            at = at.saturating_add(1);
        }
        Step::Consume(u64::try_from(at).unwrap_or(u64::MAX))
    }

    /// Whether a header whose checksum is right is one: sound contains such bytes by chance as well.
    fn is_next(&self, frame: &Frame) -> bool {
        let Some(open) = &self.open else {
            return true;
        };
        let step = if frame.counts_samples {
            open.frame.samples
        } else {
            1
        };
        let is_expected = frame.number == open.frame.number.saturating_add(step);
        let is_alike = frame.samples == open.frame.samples && frame.shape == open.frame.shape;
        open.sum == 0 || is_expected || is_alike
    }

    fn begin(&mut self, frame: Frame) {
        if let Some(open) = self.open.take() {
            self.sum
                .add(open.frame.samples, open.frame.rate.unwrap_or(self.rate));
        }
        self.open = Some(Open {
            frame,
            sum: 0,
            bytes: 0,
            was_whole: false,
        });
    }
}

impl Open {
    /// The checksum of a frame and of itself is zero.
    fn take(&mut self, bytes: &[u8]) {
        let count = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.bytes = self.bytes.saturating_add(count);
        if self.bytes > MAX_FRAME_BYTES {
            return;
        }
        for byte in bytes {
            let [high, low] = self.sum.to_be_bytes();
            let over = SUMS.get(usize::from(high ^ byte)).copied().unwrap_or(0);
            self.sum = u16::from_be_bytes([low, 0]) ^ over;
            self.was_whole = self.was_whole || self.sum == 0;
        }
    }
}

static SUMS: [u16; 256] = sums();

/// CRC-16 with the polynomial of FLAC, for every byte.
const fn sums() -> [u16; 256] {
    let mut sums = [0; 256];
    let mut rest: &mut [u16] = &mut sums;
    let mut byte = 0_u8;
    while let Some((first, later)) = rest.split_first_mut() {
        let mut sum = u16::from_be_bytes([byte, 0]);
        let mut bit = 0_u8;
        while bit < 8 {
            let over = if sum & 0x8000 == 0 { 0 } else { 0x8005 };
            sum = sum.wrapping_shl(1) ^ over;
            bit = bit.wrapping_add(1);
        }
        *first = sum;
        byte = byte.wrapping_add(1);
        rest = later;
    }
    sums
}
