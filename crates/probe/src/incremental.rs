//! Feeds pieces of a stream to a reader that needs certain bytes at once. It keeps what is not read yet,
//! and only that, so the result is the same however a stream is cut.

use crate::byte_reader::count_of;
use crate::measurement::CountResult;
use crate::step::Step;
use crate::stream::Stream;

/// So much of a piece is read at once.
const PORTION_BYTES: usize = 8 << 10;
/// No reader waits for so much: the longest wait is for three frames of AAC, 24 KiB.
const MAX_KEPT_BYTES: usize = 32 << 10;

/// A stream while it is read.
#[derive(Debug)]
pub(crate) struct Incremental {
    stream: Stream,
    kept: Vec<u8>,
    /// Bytes to come that no reader needs.
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
        let mut rest = self.skip_in(piece);
        while !rest.is_empty() {
            let (portion, later) = rest.split_at(rest.len().min(PORTION_BYTES));
            self.kept.extend_from_slice(portion);
            self.run();
            rest = self.skip_in(later);
        }
    }

    /// How many of the next bytes no reader needs.
    pub(crate) const fn to_skip(&self) -> u64 {
        self.to_skip
    }

    /// So many of them were skipped in the file.
    pub(crate) const fn skipped(&mut self, bytes: u64) {
        self.to_skip = self.to_skip.saturating_sub(bytes);
    }

    /// What is known if the stream ends here.
    pub(crate) fn finish(&self) -> CountResult {
        self.stream.finish(&self.kept, self.to_skip)
    }

    fn skip_in<'a>(&mut self, piece: &'a [u8]) -> &'a [u8] {
        let skipped = self.to_skip.min(count_of(piece));
        self.to_skip = self.to_skip.saturating_sub(skipped);
        let skipped = usize::try_from(skipped).unwrap_or(usize::MAX);
        piece.get(skipped..).unwrap_or_default()
    }

    fn run(&mut self) {
        let mut at = 0_usize;
        while let Some(bytes) = self.kept.get(at..)
            && !bytes.is_empty()
        {
            let Step::Consume(count @ 1..) = self.stream.step(bytes) else {
                break;
            };
            let there = count_of(bytes);
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
