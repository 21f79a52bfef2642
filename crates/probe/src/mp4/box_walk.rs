//! The position in a tree of boxes. It reads no input: its users give it the bytes of a header, and
//! decide which boxes to enter and which to skip.

use super::MAX_DEPTH;
use crate::byte_reader::ByteReader;

/// The header of a box, and of one with a length of 64 bits.
pub(super) const HEADER_BYTES: u64 = 8;
pub(super) const LONG_HEADER_BYTES: u64 = 16;

pub(super) type BoxName = [u8; 4];

#[derive(Debug, Clone, Copy)]
pub(super) struct BoxHeader {
    pub(super) name: BoxName,
    pub(super) start: u64,
    pub(super) body: u64,
    /// None: the end of the box or the file around it.
    pub(super) end: Option<u64>,
}

/// A position between two boxes.
#[derive(Debug, Default)]
pub(super) struct BoxWalk {
    at: u64,
    open: Vec<OpenBox>,
    boxes: u32,
}

/// A box around the position.
#[derive(Debug)]
struct OpenBox {
    name: BoxName,
    /// None: the end of the file, which is not known.
    end: Option<u64>,
}

// === impl BoxHeader ===

impl BoxHeader {
    /// How long a header is that begins with these bytes.
    pub(super) fn length(bytes: &[u8]) -> u64 {
        match ByteReader::new(bytes).u32() {
            Some(1) => LONG_HEADER_BYTES,
            Some(_) | None => HEADER_BYTES,
        }
    }

    /// None: the bytes are too few, or the box would end before its header or beyond all numbers.
    pub(super) fn read(bytes: &[u8], start: u64) -> Option<Self> {
        let mut reader = ByteReader::new(bytes);
        let short = reader.u32()?;
        let name = reader.bytes()?;
        let length = match short {
            0 => None,
            1 => Some(reader.u64()?),
            short => Some(u64::from(short)),
        };
        let body = start.checked_add(Self::length(bytes))?;
        let end = match length {
            None => None,
            Some(length) => Some(start.checked_add(length).filter(|end| *end >= body)?),
        };
        Some(Self {
            name,
            start,
            body,
            end,
        })
    }
}

// === impl BoxWalk ===

impl BoxWalk {
    pub(super) fn new(start: u64) -> Self {
        Self {
            at: start,
            ..Self::default()
        }
    }

    /// Where the next box begins.
    pub(super) const fn at(&self) -> u64 {
        self.at
    }

    /// The box around the position; none at the top level.
    pub(super) fn parent(&self) -> Option<&BoxName> {
        self.open.last().map(|open| &open.name)
    }

    /// Where the box around the position ends.
    pub(super) fn limit(&self) -> Option<u64> {
        self.open.last()?.end
    }

    /// Leaves the box around the position if no further box fits into it. Fewer bytes than a header are
    /// padding; old QuickTime ends some lists with four zeros.
    pub(super) fn leave(&mut self, total: Option<u64>) -> Option<BoxName> {
        let end = self.open.last()?.end.or(total)?;
        if end.saturating_sub(self.at) >= HEADER_BYTES {
            return None;
        }
        self.at = self.at.max(end);
        self.open.pop().map(|open| open.name)
    }

    /// Goes into a box whose boxes begin at `first`. None: too deep.
    pub(super) fn enter(&mut self, name: BoxName, first: u64, end: Option<u64>) -> Option<()> {
        if self.open.len() >= MAX_DEPTH {
            return None;
        }
        self.open.push(OpenBox { name, end });
        self.at = first;
        Some(())
    }

    pub(super) const fn skip_to(&mut self, at: u64) {
        self.at = at;
    }

    /// Counts a box. None: there are more than `most`.
    pub(super) fn count(&mut self, most: u32) -> Option<()> {
        self.boxes = self.boxes.saturating_add(1);
        (self.boxes <= most).then_some(())
    }
}
