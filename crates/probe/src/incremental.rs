//! Bytes in any pieces on one side, a reader that wants certain bytes at once on the other. It keeps
//! what is not read yet, and only that, so that the outcome is the same however a stream is cut.

use crate::stream::Stream;
use crate::{Codec, Length, MeasureError};

/// So much of a piece is looked at in one go.
const PORTION_BYTES: usize = 8 << 10;
/// No reader waits for so much: the longest wish is three frames of AAC, 24 KiB.
const MAX_KEPT_BYTES: usize = 32 << 10;

/// What a reader says about the bytes that begin at its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// So many of them are done with, even beyond those that are there. At least one.
    Consume(u64),
    /// It must see more of them to say anything.
    NeedMore,
}

/// A stream under way.
#[derive(Debug)]
pub(crate) struct Incremental {
    stream: Stream,
    kept: Vec<u8>,
    /// Bytes to come that nobody will look at.
    to_skip: u64,
}

impl Incremental {
    pub(crate) const fn new(stream: Stream) -> Self {
        Self {
            stream,
            kept: Vec::new(),
            to_skip: 0,
        }
    }

    /// The next bytes.
    pub(crate) fn push(&mut self, piece: &[u8]) {
        let mut rest = self.pay(piece);
        while !rest.is_empty() {
            let (portion, later) = rest.split_at(rest.len().min(PORTION_BYTES));
            self.kept.extend_from_slice(portion);
            self.walk();
            rest = self.pay(later);
        }
    }

    /// How many of the next bytes nobody will look at.
    pub(crate) const fn to_skip(&self) -> u64 {
        self.to_skip
    }

    /// So many of the to_skip bytes went by unseen.
    pub(crate) const fn skipped(&mut self, bytes: u64) {
        self.to_skip = self.to_skip.saturating_sub(bytes);
    }

    /// What is known if the stream ends here.
    pub(crate) fn finish(&self) -> Result<(Codec, Length), MeasureError> {
        self.stream.finish(&self.kept, self.to_skip)
    }

    fn pay<'a>(&mut self, piece: &'a [u8]) -> &'a [u8] {
        let there = u64::try_from(piece.len()).unwrap_or(u64::MAX);
        let paid = self.to_skip.min(there);
        self.to_skip = self.to_skip.saturating_sub(paid);
        let paid = usize::try_from(paid).unwrap_or(usize::MAX);
        piece.get(paid..).unwrap_or_default()
    }

    fn walk(&mut self) {
        let mut at = 0_usize;
        while let Some(bytes) = self.kept.get(at..)
            && !bytes.is_empty()
        {
            let Step::Consume(count @ 1..) = self.stream.step(bytes) else {
                break;
            };
            let there = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
            self.to_skip = count.saturating_sub(there);
            let passed = usize::try_from(count.min(there)).unwrap_or(usize::MAX);
            at = at.saturating_add(passed);
        }
        self.kept.drain(..at.min(self.kept.len()));
        if self.kept.len() > MAX_KEPT_BYTES {
            self.kept.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adts_mpeg::Frames;

    /// What a meter may hold in all.
    const MAX_HELD_BYTES: usize = 64 << 10;

    #[test]
    fn little_is_held_of_streams_that_never_make_sense() {
        let streams = [
            Stream::Wav(Box::default()),
            Stream::Frames(Box::new(Frames::mpeg())),
            Stream::Frames(Box::new(Frames::adts())),
            Stream::Flac(Box::default()),
            Stream::Ogg(Box::default()),
        ];
        // The longest frames of AAC, headers of FLAC and pages of Ogg that never end.
        let pieces: [&[u8]; 5] = [
            b"\xFF\xF1\x50\x43\xFF\xFF\xFC",
            b"\xFF\xF8",
            b"OggS\0",
            b"RIFF",
            b"\0",
        ];
        for stream in streams {
            let mut incremental = Incremental::new(stream);
            for piece in pieces {
                incremental.push(&piece.repeat(200_000));
                assert!(incremental.kept.capacity() <= MAX_HELD_BYTES);
            }
        }
    }
}
