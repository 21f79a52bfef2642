//! RIFF wave, RF64 and Wave64: chunks, of which `fmt ` declares the layout of samples and `data` holds them. The
//! size of `data` is only believed where the bytes are there: a stream declares 0 or the largest number,
//! and a truncated file its former size.

mod format;

use crate::MeasureError;
use crate::byte_reader::ByteReader;
use crate::measurement::CountResult;
use crate::step::Step;

use format::Format;

/// What begins the file: name, size, `WAVE`.
const HEADER_BYTES: usize = 12;
/// What begins a chunk: name and size.
const CHUNK_HEADER_BYTES: usize = 8;
/// Wave64 has names of 16 bytes and sizes of 8, which count the header of the chunk as well.
const WIDE_HEADER_BYTES: usize = 40;
const WIDE_CHUNK_HEADER_BYTES: usize = 24;
const WIDE_ALIGNMENT: u64 = 8;
/// What is read of a format or of the sizes of RF64; the rest does not affect lengths.
const MAX_READ_BYTES: u64 = 64;
/// A writer that does not know the size yet.
const UNKNOWN_SIZE: u64 = 0xFFFF_FFFF;
/// More than any file has, and far from where numbers end.
const ENDLESS_BYTES: u64 = 1 << 62;

/// The first bytes of a Wave64 file: the name `riff` and what makes it unique.
pub(crate) const WIDE_MAGIC: [u8; 16] = [
    b'r', b'i', b'f', b'f', 0x2E, 0x91, 0xCF, 0x11, 0xA5, 0xD6, 0x28, 0xDB, 0x04, 0xC1, 0, 0,
];

/// A wave file under way.
#[derive(Debug, Default)]
pub(crate) struct Wav {
    place: Place,
    is_wide: bool,
    /// The size of the data that RF64 declares in a chunk of its own.
    long_size: Option<u64>,
    format: Option<Format>,
    /// Bytes of the data chunks, as if all of the last one came.
    data_bytes: u64,
    /// The bytes that fill up the data behind it, if nothing but data was begun last.
    data_filling: Option<u64>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Place {
    #[default]
    Start,
    Chunk,
    /// In data that is read frame by frame, with so many bytes left of it.
    Data(u64),
    /// This is no wave file.
    Lost,
}

impl Wav {
    pub(crate) fn step(&mut self, bytes: &[u8]) -> Step {
        match self.place {
            Place::Start => self.start(bytes),
            Place::Chunk => self.chunk(bytes),
            Place::Data(left) => self.data(bytes, left),
            Place::Lost => Step::Consume(u64::MAX),
        }
    }

    pub(crate) fn finish(&self, rest: &[u8], to_skip: u64) -> CountResult {
        match self.place {
            Place::Start | Place::Lost => return Err(MeasureError::NotAudio),
            Place::Chunk | Place::Data(_) => {}
        }
        let format = self.format.as_ref().ok_or(MeasureError::Broken)?;
        let rest = match self.place {
            Place::Data(left) => {
                let left = usize::try_from(left).unwrap_or(usize::MAX);
                rest.get(..left).unwrap_or(rest)
            }
            Place::Start | Place::Chunk | Place::Lost => &[],
        };
        let missing = match self.data_filling {
            Some(filling) => to_skip.saturating_sub(filling),
            None => 0,
        };
        format.measured(self.data_bytes.saturating_sub(missing), rest)
    }

    fn start(&mut self, bytes: &[u8]) -> Step {
        let Some(header) = bytes.first_chunk::<HEADER_BYTES>() else {
            return Step::NeedMore;
        };
        if let [b'R', b'I', b'F', b'F', .., b'W', b'A', b'V', b'E']
        | [b'R', b'F', b'6', b'4', .., b'W', b'A', b'V', b'E']
        | [b'B', b'W', b'6', b'4', .., b'W', b'A', b'V', b'E'] = header
        {
            self.place = Place::Chunk;
            return Step::consume(HEADER_BYTES);
        }
        let Some(header) = bytes.first_chunk::<WIDE_HEADER_BYTES>() else {
            return Step::NeedMore;
        };
        if header.starts_with(&WIDE_MAGIC) {
            self.place = Place::Chunk;
            self.is_wide = true;
            return Step::consume(WIDE_HEADER_BYTES);
        }
        self.place = Place::Lost;
        Step::consume(WIDE_HEADER_BYTES)
    }

    fn chunk(&mut self, bytes: &[u8]) -> Step {
        let Some((name, size, header)) = self.chunk_header(bytes) else {
            return Step::NeedMore;
        };
        let header_bytes = u64::try_from(header).unwrap_or(u64::MAX);
        self.data_filling = None;
        match &name {
            b"data" => {
                let size = self.data_size(size);
                let is_framed = self.format.as_ref().is_some_and(Format::is_framed);
                if is_framed {
                    self.place = Place::Data(size);
                    return Step::Consume(header_bytes);
                }
                self.data_bytes = self.data_bytes.saturating_add(size);
                self.data_filling = Some(self.padded(size).saturating_sub(size));
                Step::Consume(header_bytes.saturating_add(self.padded(size)))
            }
            b"fmt " | b"ds64" => {
                let needed = usize::try_from(size.min(MAX_READ_BYTES)).unwrap_or(usize::MAX);
                let Some(body) = bytes.get(header..header.saturating_add(needed)) else {
                    return Step::NeedMore;
                };
                if &name == b"fmt " {
                    self.format = self.format.take().or_else(|| Format::read(body));
                } else {
                    let mut reader = ByteReader::new(body);
                    self.long_size = reader.skip(8).and_then(|()| reader.u64_le());
                }
                Step::Consume(header_bytes.saturating_add(self.padded(size)))
            }
            _ => Step::Consume(header_bytes.saturating_add(self.padded(size))),
        }
    }

    /// The name of a chunk, the size of its body and that of its header.
    fn chunk_header(&self, bytes: &[u8]) -> Option<([u8; 4], u64, usize)> {
        let mut reader = ByteReader::new(bytes);
        let name = reader.bytes()?;
        if !self.is_wide {
            return Some((name, u64::from(reader.u32_le()?), CHUNK_HEADER_BYTES));
        }
        reader.skip(12)?;
        let header = u64::try_from(WIDE_CHUNK_HEADER_BYTES).unwrap_or(u64::MAX);
        Some((
            name,
            reader.u64_le()?.saturating_sub(header),
            WIDE_CHUNK_HEADER_BYTES,
        ))
    }

    /// How much data there may be: up to the end of the file if the writer did not know.
    fn data_size(&self, claimed: u64) -> u64 {
        match (claimed, self.long_size) {
            (UNKNOWN_SIZE, Some(long @ 1..)) => long.min(ENDLESS_BYTES),
            (0 | UNKNOWN_SIZE, _) => ENDLESS_BYTES,
            (known, _) => known.min(ENDLESS_BYTES),
        }
    }

    const fn padded(&self, size: u64) -> u64 {
        if self.is_wide {
            return match size.checked_next_multiple_of(WIDE_ALIGNMENT) {
                Some(padded) => padded,
                None => u64::MAX,
            };
        }
        size.saturating_add(size & 1)
    }

    fn data(&mut self, bytes: &[u8], left: u64) -> Step {
        let most = usize::try_from(left).unwrap_or(usize::MAX);
        let inside = bytes.get(..most).unwrap_or(bytes);
        let is_all_there = inside.len() == most;
        let Some(format) = &mut self.format else {
            self.place = Place::Lost;
            return Step::Consume(u64::MAX);
        };
        match format.step(inside) {
            Step::Consume(count) => {
                let left = left.saturating_sub(count);
                self.place = if left == 0 {
                    Place::Chunk
                } else {
                    Place::Data(left)
                };
                Step::Consume(count)
            }
            Step::NeedMore if is_all_there => {
                format.end(inside);
                self.place = Place::Chunk;
                Step::Consume(self.padded(left).max(1))
            }
            Step::NeedMore => Step::NeedMore,
        }
    }
}
