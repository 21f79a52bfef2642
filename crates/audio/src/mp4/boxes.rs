//! The way through the boxes: into those that lead to packets, past all others.

use crate::Unheard;
use crate::fields::Fields;
use crate::source::{Source, Window};

const HEAD_BYTES: u64 = 8;
const LONG_HEAD_BYTES: u64 = 16;
/// Most boxes that are looked at: ten hours in fragments of a second have a third of it.
const MAX_BOXES: u32 = 1_000_000;
/// Boxes in boxes.
const MAX_DEPTH: usize = 8;
/// Boxes that are gone into.
const INNER: [&[u8; 4]; 9] = [
    b"moov", b"trak", b"edts", b"mdia", b"minf", b"stbl", b"mvex", b"moof", b"traf",
];

/// The head of a box.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
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
        source: &mut Source<'_>,
        window: &mut Window,
    ) -> Result<Option<Head>, Unheard> {
        // Fewer bytes than a head are filling; old QuickTime ends some lists with four zeros.
        while let Some(end) = self.open.last().copied()
            && end.saturating_sub(self.at) < HEAD_BYTES
        {
            self.at = self.at.max(end);
            self.open.pop();
        }
        let limit = self.open.last().copied().unwrap_or(source.bytes());
        let wanted = usize::try_from(LONG_HEAD_BYTES).unwrap_or(usize::MAX);
        let Some(head) = head(window.at(source, self.at, wanted)?, self.at, limit)? else {
            return Ok(None);
        };
        self.boxes = self.boxes.saturating_add(1);
        if self.boxes > MAX_BOXES {
            return Err(Unheard::TooComplex);
        }
        self.at = head.end;
        if INNER.contains(&&head.name) {
            if self.open.len() >= MAX_DEPTH {
                return Err(Unheard::TooComplex);
            }
            self.open.push(head.end);
            self.at = head.body;
        }
        Ok(Some(head))
    }
}

/// The head at a place, none at the end of the file.
pub(super) fn head(bytes: &[u8], start: u64, limit: u64) -> Result<Option<Head>, Unheard> {
    let mut fields = Fields::new(bytes);
    let (Some(short), Some(name)) = (fields.u32(), fields.bytes()) else {
        return Ok(None);
    };
    let (head_bytes, length) = match short {
        0 => (HEAD_BYTES, limit.saturating_sub(start)),
        1 => (LONG_HEAD_BYTES, fields.u64().ok_or(Unheard::Broken)?),
        short => (HEAD_BYTES, u64::from(short)),
    };
    if length < head_bytes {
        return Err(Unheard::Broken);
    }
    Ok(Some(Head {
        name,
        start,
        body: start.saturating_add(head_bytes),
        end: start.saturating_add(length).min(limit),
    }))
}
