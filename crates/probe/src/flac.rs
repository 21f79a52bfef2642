//! Native FLAC. Its frames do not say how many bytes they have, so the next one is searched: a header
//! with a right checksum, which also fits what came before it. The total in the header is not read.

use crate::byte_reader::{ByteReader, count_of};
use crate::codecs::flac::{Found, Frame, stream_rate};
use crate::length::Sum;
use crate::measurement::{Count, CountResult};
use crate::step::Step;
use crate::tags::Tag;
use crate::{Codec, MeasureError};

const BLOCK_HEADER_BYTES: usize = 4;
const INFO_BYTES: usize = 34;
const KIND_INFO: u8 = 0;
const IS_LAST: u8 = 0x80;

/// No frame is longer: 65,536 samples of eight channels with 32 bits, twice. What follows is junk.
const MAX_FRAME_BYTES: u64 = 4 << 20;

/// The checksum of a frame.
static CHECKSUM: crc::Crc<u16> = crc::Crc::<u16>::new(&crc::CRC_16_UMTS);

/// A stream while it is read.
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

    pub(crate) fn finish(&self, rest: &[u8]) -> CountResult {
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
        Ok(Count::new(Codec::Flac, sum.length()))
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
        Step::consume(at)
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
        self.bytes = self.bytes.saturating_add(count_of(bytes));
        if self.bytes > MAX_FRAME_BYTES {
            return;
        }
        for byte in bytes {
            let mut digest = CHECKSUM.digest_with_initial(self.sum);
            digest.update(&[*byte]);
            self.sum = digest.finalize();
            self.was_whole = self.was_whole || self.sum == 0;
        }
    }
}
