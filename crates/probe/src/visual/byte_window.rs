//! The bytes that are held: one range of the file, which moves forward and never back.

use crate::byte_reader::count_of;

use super::{MAX_BYTES, MAX_NEED_BYTES, Need, ProbeError};

/// Bytes that are requested at the start: most headers of videos and images fit.
const FIRST_BYTES: u64 = 64 << 10;
/// Bytes that are requested later, if less is needed: the next header and a small table.
const NEXT_BYTES: u64 = 16 << 10;

/// A range of the file.
#[derive(Debug)]
pub(crate) struct ByteWindow {
    start: u64,
    bytes: Vec<u8>,
    total: Option<u64>,
    taken: u64,
    demand: Option<Demand>,
}

/// Bytes that are needed, and from where on those that are held are still of use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Demand {
    keep: u64,
    need: Need,
}

/// Why reading does not go on.
#[derive(Debug)]
pub(crate) enum Pause {
    Need(Demand),
    Stop(ProbeError),
}

impl From<ProbeError> for Pause {
    fn from(reason: ProbeError) -> Self {
        Self::Stop(reason)
    }
}

impl ByteWindow {
    pub(crate) const fn new(total: Option<u64>) -> Self {
        Self {
            start: 0,
            bytes: Vec::new(),
            total,
            taken: 0,
            demand: None,
        }
    }

    pub(crate) const fn total(&self) -> Option<u64> {
        self.total
    }

    pub(crate) const fn taken(&self) -> u64 {
        self.taken
    }

    /// The first length holds: one that changes while a file is read is no help.
    pub(crate) const fn set_total(&mut self, total: u64) {
        if self.total.is_none() {
            self.total = Some(total);
        }
    }

    /// So many bytes at a position, or what has to happen first.
    pub(crate) fn read(&self, at: u64, length: u64) -> Result<&[u8], Pause> {
        self.read_from(at, at, length)
    }

    /// The same for a reader that has to wait and then begins again at `keep`, so bytes from there on must
    /// still be held.
    pub(crate) fn read_from(&self, keep: u64, at: u64, length: u64) -> Result<&[u8], Pause> {
        let end = at.checked_add(length).ok_or(ProbeError::Malformed)?;
        if self.total.is_some_and(|total| end > total) {
            return Err(ProbeError::Truncated.into());
        }
        if length > MAX_NEED_BYTES {
            return Err(ProbeError::TooLarge.into());
        }
        if let Some(found) = self.held(at, length) {
            return Ok(found);
        }
        let is_inside = self.start <= keep && keep <= self.end();
        let start = if is_inside { self.end() } else { keep };
        let ahead = if start == 0 { FIRST_BYTES } else { NEXT_BYTES };
        let least = end.saturating_sub(start);
        let most = MAX_BYTES.saturating_sub(self.taken);
        let most = match self.total {
            Some(total) => most.min(total.saturating_sub(start)),
            None => most,
        };
        let length = least.max(ahead).min(most);
        let need = Need { start, length };
        Err(Pause::Need(Demand { keep, need }))
    }

    /// Remembers what is needed, and returns it.
    pub(crate) const fn want(&mut self, demand: Demand) -> Need {
        self.demand = Some(demand);
        demand.need
    }

    pub(crate) fn push(&mut self, start: u64, bytes: &[u8]) {
        let Some(demand) = self.demand else { return };
        let need = demand.need;
        if bytes.is_empty() && start == need.start {
            let known = self.total.unwrap_or(start);
            self.total = Some(known.min(start));
            self.demand = None;
            return;
        }
        let Some(fresh) = part(bytes, start, need.start, self.capacity(need)) else {
            return;
        };
        self.keep_from(demand.keep, need.start);
        self.bytes.extend_from_slice(fresh);
        let count = count_of(fresh);
        self.taken = self.taken.saturating_add(count);
        let left = need.length.saturating_sub(count);
        let need = Need {
            start: need.start.saturating_add(count),
            length: left,
        };
        let keep = demand.keep;
        self.demand = (left > 0).then_some(Demand { keep, need });
    }

    /// How much is taken at once. More than is needed is welcome, up to a bound: a caller that reads from
    /// the start cannot go back for the rest of a piece.
    fn capacity(&self, need: Need) -> u64 {
        let left = MAX_BYTES.saturating_sub(self.taken);
        need.length.max(MAX_NEED_BYTES).min(left)
    }

    /// Drops what lies before `keep`; the next bytes come at `next`.
    fn keep_from(&mut self, keep: u64, next: u64) {
        if next == self.end() && keep >= self.start {
            let gone = usize::try_from(keep.saturating_sub(self.start)).unwrap_or(usize::MAX);
            self.bytes.drain(..gone.min(self.bytes.len()));
            self.start = keep;
        } else {
            self.bytes.clear();
            self.start = next;
        }
    }

    fn held(&self, at: u64, length: u64) -> Option<&[u8]> {
        let from = usize::try_from(at.checked_sub(self.start)?).ok()?;
        let to = from.checked_add(usize::try_from(length).ok()?)?;
        self.bytes.get(from..to)
    }

    fn end(&self) -> u64 {
        self.start.saturating_add(count_of(&self.bytes))
    }
}

/// The bytes from a position on; none if they begin later or end before it.
fn part(bytes: &[u8], start: u64, position: u64, most: u64) -> Option<&[u8]> {
    let before = usize::try_from(position.checked_sub(start)?).ok()?;
    let most = usize::try_from(most).ok()?;
    let fresh = bytes.get(before..).filter(|fresh| !fresh.is_empty())?;
    fresh.get(..most.min(fresh.len()))
}
