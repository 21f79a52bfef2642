//! The way through the boxes: into those that lead to packets, past all others.

use crate::MeasureError;
use crate::bounded_reader::{BoundedReader, ReadBuffer};
use crate::byte_reader::ByteReader;

const HEADER_BYTES: u64 = 8;
const LONG_HEADER_BYTES: u64 = 16;
/// Most boxes that are looked at: ten hours in fragments of a second have a third of it.
const MAX_BOXES: u32 = 1_000_000;
/// Boxes in boxes.
const MAX_DEPTH: usize = 8;
/// Boxes that are gone into.
const INNER: [&[u8; 4]; 9] = [
    b"moov", b"trak", b"edts", b"mdia", b"minf", b"stbl", b"mvex", b"moof", b"traf",
];

/// The header of a box.
#[derive(Debug, Clone, Copy)]
pub(super) struct Header {
    pub(super) name: [u8; 4],
    pub(super) start: u64,
    pub(super) body: u64,
    /// Where it ends, or the box or the file around it.
    pub(super) end: u64,
}

/// Where the way has come to.
#[derive(Debug)]
pub(super) struct Walk {
    at: u64,
    /// The ends of the boxes that are open.
    open: Vec<u64>,
    boxes: u32,
}

impl Walk {
    pub(super) const fn new(start: u64) -> Self {
        Self {
            at: start,
            open: Vec::new(),
            boxes: 0,
        }
    }

    /// The next box.
    pub(super) fn next(
        &mut self,
        source: &mut BoundedReader<'_>,
        buffer: &mut ReadBuffer,
    ) -> Result<Option<Header>, MeasureError> {
        // Fewer bytes than a header are filling; old QuickTime ends some lists with four zeros.
        while let Some(end) = self.open.last().copied()
            && end.saturating_sub(self.at) < HEADER_BYTES
        {
            self.at = self.at.max(end);
            self.open.pop();
        }
        let limit = self.open.last().copied().unwrap_or(source.bytes());
        let wanted = usize::try_from(LONG_HEADER_BYTES).unwrap_or(usize::MAX);
        let Some(header) = header(buffer.at(source, self.at, wanted)?, self.at, limit)? else {
            return Ok(None);
        };
        self.boxes = self.boxes.saturating_add(1);
        if self.boxes > MAX_BOXES {
            return Err(MeasureError::TooComplex);
        }
        self.at = header.end;
        if INNER.contains(&&header.name) {
            if self.open.len() >= MAX_DEPTH {
                return Err(MeasureError::TooComplex);
            }
            self.open.push(header.end);
            self.at = header.body;
        }
        Ok(Some(header))
    }
}

/// The header at a place, none at the end of the file.
pub(super) fn header(bytes: &[u8], start: u64, limit: u64) -> Result<Option<Header>, MeasureError> {
    let mut reader = ByteReader::new(bytes);
    let (Some(short), Some(name)) = (reader.u32(), reader.bytes()) else {
        return Ok(None);
    };
    let (header_bytes, length) = match short {
        0 => (HEADER_BYTES, limit.saturating_sub(start)),
        1 => (LONG_HEADER_BYTES, reader.u64().ok_or(MeasureError::Broken)?),
        short => (HEADER_BYTES, u64::from(short)),
    };
    if length < header_bytes {
        return Err(MeasureError::Broken);
    }
    Ok(Some(Header {
        name,
        start,
        body: start.saturating_add(header_bytes),
        end: start.saturating_add(length).min(limit),
    }))
}
