//! SHA-256, as RFC 6962 uses it: a leaf and a node begin with different bytes, so neither passes for the other.

use std::fmt;

use aws_lc_rs::digest::{Context, SHA256};

const BYTES: usize = 32;
const LEAF: u8 = 0;
const NODE: u8 = 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hash([u8; BYTES]);

// === impl Hash ===

impl Hash {
    /// What the first day of a chain follows.
    pub const ZERO: Self = Self([0; BYTES]);
    pub const BYTES: usize = BYTES;

    #[must_use]
    pub const fn new(bytes: [u8; BYTES]) -> Self {
        Self(bytes)
    }

    #[must_use]
    pub const fn bytes(&self) -> &[u8; BYTES] {
        &self.0
    }

    /// Of a line's text.
    #[must_use]
    pub fn of_leaf(text: &[u8]) -> Self {
        Self::of_parts(&[&[LEAF], text])
    }

    #[must_use]
    pub fn of_node(left: &Self, right: &Self) -> Self {
        Self::of_parts(&[&[NODE], &left.0, &right.0])
    }

    /// Of a record, without a byte before it: it is the head that the next day follows.
    #[must_use]
    pub fn of_record(record: &[u8]) -> Self {
        Self::of_parts(&[record])
    }

    fn of_parts(parts: &[&[u8]]) -> Self {
        let mut context = Context::new(&SHA256);
        parts.iter().for_each(|part| context.update(part));
        let digest = context.finish();
        // A digest of SHA-256 has 32 bytes.
        let bytes = digest.as_ref().try_into().unwrap_or([0; BYTES]);
        Self(bytes)
    }

    /// 64 digits, lower case only: a hash is written in one way.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<Self> {
        read_hex(text).map(Self)
    }

    /// One of 32 bytes.
    #[must_use]
    pub fn from_slice(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(&self.0, formatter)
    }
}

pub(crate) fn write_hex(bytes: &[u8], formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    bytes
        .iter()
        .try_for_each(|byte| write!(formatter, "{byte:02x}"))
}

/// So many bytes as twice as many digits of lower case.
pub(crate) fn read_hex<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    let mut bytes = [0_u8; N];
    let (pairs, rest) = text.as_chunks::<2>();
    if pairs.len() != N || !rest.is_empty() {
        return None;
    }
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = (digit(*high)? << 4) | digit(*low)?;
    }
    Some(bytes)
}

fn digit(character: u8) -> Option<u8> {
    match character {
        b'0'..=b'9' => character.checked_sub(b'0'),
        b'a'..=b'f' => character.checked_sub(b'a')?.checked_add(10),
        _ => None,
    }
}
