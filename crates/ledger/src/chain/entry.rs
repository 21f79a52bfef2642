//! A line as a link has it: its kind, its id and the hash of its text, in 49 bytes.

use trunkline_receipts::Hash;
use uuid::Uuid;

pub(super) const ENTRY_BYTES: usize = 49;

/// A kind of line. The numbers are in the table: they never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct LineKind(u8);

/// What a line is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct LineId {
    pub(super) kind: LineKind,
    pub(super) request: Uuid,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) id: LineId,
    pub(super) leaf: Hash,
}

/// Kinds of lines, each at its number.
pub(super) const KINDS: [&str; 7] = [
    "charge",
    "refund",
    "settlement_adjustment",
    "undelivered",
    "top_up",
    "trial_grant",
    "adjust",
];

// === impl LineKind ===

impl LineKind {
    pub(super) const CALL: Self = Self(0);

    pub(super) fn new(kind: &str, leg: i16) -> Option<Self> {
        let place = KINDS.iter().position(|name| *name == kind)?;
        let leg = usize::try_from(leg).ok().filter(|leg| *leg < 2)?;
        let number = place.checked_mul(2)?.checked_add(leg)?;
        u8::try_from(number).ok().map(Self)
    }

    /// The kind of a transfer and its leg.
    pub(super) fn transfer(self) -> (&'static str, i16) {
        let place = usize::from(self.0 >> 1);
        let name = KINDS.get(place).copied().unwrap_or_default();
        (name, i16::from(self.0 & 1))
    }
}

// === impl LineId ===

impl LineId {
    /// As it stands in an entry.
    pub(super) fn bytes(self) -> Vec<u8> {
        let mut bytes = vec![self.kind.0];
        bytes.extend_from_slice(self.request.as_bytes());
        bytes
    }
}

// === impl Entry ===

impl Entry {
    pub(super) fn write(&self, bytes: &mut Vec<u8>) {
        bytes.push(self.id.kind.0);
        bytes.extend_from_slice(self.id.request.as_bytes());
        bytes.extend_from_slice(self.leaf.bytes());
    }

    /// The entries of a link.
    pub(super) fn read_all(bytes: &[u8]) -> Option<Vec<Self>> {
        let (entries, rest) = bytes.as_chunks::<ENTRY_BYTES>();
        rest.is_empty().then_some(())?;
        entries.iter().map(|entry| Self::read(entry)).collect()
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let (kind, rest) = bytes.split_first()?;
        let (request, leaf) = rest.split_at_checked(16)?;
        Some(Self {
            id: LineId {
                kind: LineKind(*kind),
                request: Uuid::from_slice(request).ok()?,
            },
            leaf: Hash::from_slice(leaf)?,
        })
    }
}
