//! The lines of a file. The first says what it is; every other begins with the one character of its kind.

use crate::{Hash, PublicKey, Signature};

/// The first line of a statement.
pub const STATEMENT_HEAD: &str = "trunkline-statement-v1\n";
/// The first line of a receipt.
pub const RECEIPT_HEAD: &str = "trunkline-receipt-v1\n";

/// A day's record, signed.
#[must_use]
pub fn day_line(key: &PublicKey, signature: &Signature, record: &str) -> String {
    format!("D {key} {signature} {record}\n")
}

/// The end of a statement, signed.
#[must_use]
pub fn end_line(key: &PublicKey, signature: &Signature, record: &str) -> String {
    format!("E {key} {signature} {record}\n")
}

/// A line of the chain, behind the hash that it had when it was entered.
#[must_use]
pub fn text_line(leaf: &Hash, text: &str) -> String {
    format!("L {leaf} {text}\n")
}

/// The path of a receipt, from the line upward.
#[must_use]
pub fn path_line(path: &[Hash]) -> String {
    let mut line = "P".to_owned();
    for hash in path {
        line.push(' ');
        line.push_str(&hash.to_string());
    }
    line.push('\n');
    line
}

/// A line of a file without its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileLine<'a> {
    Day(Signed<'a>),
    End(Signed<'a>),
    Path(&'a [u8]),
    Text { leaf: Hash, text: &'a [u8] },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Signed<'a> {
    pub(crate) key: PublicKey,
    pub(crate) signature: Signature,
    pub(crate) record: &'a [u8],
}

// === impl FileLine ===

impl<'a> FileLine<'a> {
    pub(crate) fn read(line: &'a [u8]) -> Option<Self> {
        if let Some(rest) = line.strip_prefix(b"L ") {
            let (leaf, text) = field(rest)?;
            let leaf = Hash::parse(leaf)?;
            return Some(Self::Text { leaf, text });
        }
        if let Some(rest) = line.strip_prefix(b"D ") {
            return Signed::read(rest).map(Self::Day);
        }
        if let Some(rest) = line.strip_prefix(b"E ") {
            return Signed::read(rest).map(Self::End);
        }
        line.strip_prefix(b"P").map(Self::Path)
    }
}

// === impl Signed ===

impl<'a> Signed<'a> {
    fn read(rest: &'a [u8]) -> Option<Self> {
        let (key, rest) = field(rest)?;
        let (signature, record) = field(rest)?;
        Some(Self {
            key: PublicKey::parse(key)?,
            signature: Signature::parse(signature)?,
            record,
        })
    }

    pub(crate) fn is_signed(&self) -> bool {
        self.key.has_signed(self.record, &self.signature)
    }
}

/// The hashes of a path: each behind one space.
pub(crate) fn read_path(rest: &[u8]) -> Option<Vec<Hash>> {
    if rest.is_empty() {
        return Some(Vec::new());
    }
    let hashes = rest.strip_prefix(b" ")?.split(|byte| *byte == b' ');
    hashes.map(Hash::parse).collect()
}

/// What stands before the first space, and behind it.
fn field(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let space = text.iter().position(|byte| *byte == b' ')?;
    let (before, behind) = text.split_at_checked(space)?;
    Some((before, behind.strip_prefix(b" ")?))
}
