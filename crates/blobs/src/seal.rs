//! Sealed objects: cut into pieces, each sealed for its place, so that a range is opened without the rest.
//!
//! The keys are elsewhere. A piece has [`PIECE_BYTES`] of content and [`TAG_BYTES`] more; the last one has what is
//! left, and is sealed as the last: an object that was cut or whose pieces were moved does not open. The salt of an
//! object lies in its metadata; objects without one are as they were written before sealing.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::{Buf as _, Bytes, BytesMut};
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};

use crate::{MediaError, PutError};

/// Random bytes of an object, beside its name.
pub const SALT_BYTES: usize = 16;
/// Content of a piece.
const PIECE_BYTES: usize = 65_536;
/// What sealing adds to a piece.
const TAG_BYTES: usize = 16;
const PIECE: u64 = 65_536;
const TAG: u64 = 16;
const SEALED_PIECE: u64 = PIECE + TAG;

/// Which piece of which object.
#[derive(Debug, Clone, Copy)]
pub struct SealedPiece<'a> {
    /// The path of the object.
    pub object: &'a str,
    pub salt: &'a [u8; SALT_BYTES],
    pub index: u64,
    pub is_last: bool,
}

/// Seals and opens pieces of objects. Implemented where the keys are.
pub trait ObjectSeal: fmt::Debug + Send + Sync {
    /// The salt of a new object; none without random bytes.
    fn salt(&self) -> Option<[u8; SALT_BYTES]>;

    /// The sealed piece, sixteen bytes longer; none if it cannot be sealed.
    fn seal(&self, piece: &SealedPiece<'_>, plain: &[u8]) -> Option<Vec<u8>>;

    /// What [`ObjectSeal::seal`] sealed for this very place; none for anything else.
    fn open(&self, piece: &SealedPiece<'_>, sealed: &[u8]) -> Option<Vec<u8>>;
}

/// The length of an object's content, by the length of what is stored.
pub(crate) fn content_bytes(stored: u64) -> Option<u64> {
    let pieces = stored.div_ceil(SEALED_PIECE).max(1);
    stored.checked_sub(pieces.checked_mul(TAG)?)
}

/// The pieces of an object's content.
fn pieces_of(content: u64) -> u64 {
    content.div_ceil(PIECE).max(1)
}

/// The piece that holds a byte of the content.
const fn piece_of(byte: u64) -> u64 {
    byte / 65_536
}

/// An object that is being sealed while it is written.
pub(crate) struct Sealing {
    seal: Arc<dyn ObjectSeal>,
    object: String,
    pub(crate) salt: [u8; SALT_BYTES],
    waiting: BytesMut,
    index: u64,
}

// === impl Sealing ===

impl Sealing {
    pub(crate) fn begin(seal: &Arc<dyn ObjectSeal>, object: String) -> Result<Self, PutError> {
        let salt = seal.salt().ok_or(MediaError::Unsealable)?;
        Ok(Self {
            seal: Arc::clone(seal),
            object,
            salt,
            waiting: BytesMut::new(),
            index: 0,
        })
    }

    /// Takes content, and returns what can be stored of it. The last piece waits for the end.
    pub(crate) fn add(&mut self, content: &[u8]) -> Result<Bytes, PutError> {
        self.waiting.extend_from_slice(content);
        let mut sealed = BytesMut::new();
        while self.waiting.len() > PIECE_BYTES {
            let plain = self.waiting.split_to(PIECE_BYTES);
            sealed.extend_from_slice(&self.piece(&plain, false)?);
        }
        Ok(sealed.freeze())
    }

    pub(crate) fn finish(&mut self) -> Result<Bytes, PutError> {
        let plain = self.waiting.split();
        self.piece(&plain, true).map(Bytes::from)
    }

    fn piece(&mut self, plain: &[u8], is_last: bool) -> Result<Vec<u8>, PutError> {
        let piece = SealedPiece {
            object: &self.object,
            salt: &self.salt,
            index: self.index,
            is_last,
        };
        let sealed = self.seal.seal(&piece, plain);
        self.index = self.index.saturating_add(1);
        Ok(sealed.ok_or(MediaError::Unsealable)?)
    }
}

/// A part of a sealed object that is being read.
pub(crate) struct Opening {
    seal: Arc<dyn ObjectSeal>,
    object: String,
    salt: [u8; SALT_BYTES],
    /// The content that is read.
    range: Range<u64>,
    /// The piece that comes next, and how many there are in all.
    next: u64,
    pieces: u64,
}

// === impl Opening ===

impl Opening {
    pub(crate) fn new(
        seal: &Arc<dyn ObjectSeal>,
        object: String,
        salt: [u8; SALT_BYTES],
        range: Range<u64>,
        content: u64,
    ) -> Self {
        Self {
            seal: Arc::clone(seal),
            object,
            salt,
            next: piece_of(range.start),
            range,
            pieces: pieces_of(content),
        }
    }

    pub(crate) fn range(&self) -> Range<u64> {
        self.range.clone()
    }

    /// The stored bytes that hold that content.
    pub(crate) fn stored(&self, stored: u64) -> Range<u64> {
        let last = piece_of(self.range.end.saturating_sub(1).max(self.range.start));
        let end = last.saturating_add(1).saturating_mul(SEALED_PIECE);
        self.next.saturating_mul(SEALED_PIECE)..end.min(stored)
    }

    /// That content, of a body of those stored bytes.
    pub(crate) fn read(
        self,
        body: BoxStream<'static, Result<Bytes, MediaError>>,
    ) -> BoxStream<'static, Result<Bytes, MediaError>> {
        let state = Some((self, body, BytesMut::new()));
        let opened = stream::unfold(state, |state| async {
            let (mut opening, mut body, mut waiting) = state?;
            loop {
                if opening.is_over() {
                    return None;
                }
                let is_last = opening.next.saturating_add(1) == opening.pieces;
                if !is_last && waiting.len() >= PIECE_BYTES.saturating_add(TAG_BYTES) {
                    let sealed = waiting.split_to(PIECE_BYTES.saturating_add(TAG_BYTES));
                    let plain = opening.open(&sealed, false);
                    let rest = plain.is_ok().then_some((opening, body, waiting));
                    return Some((plain, rest));
                }
                match body.next().await {
                    Some(Ok(bytes)) => waiting.extend_from_slice(&bytes),
                    Some(Err(error)) => return Some((Err(error), None)),
                    None if is_last => {
                        let plain = opening.open(&waiting, true);
                        return Some((plain, None));
                    }
                    None => return Some((Err(MediaError::Damaged), None)),
                }
            }
        });
        opened.fuse().boxed()
    }

    fn is_over(&self) -> bool {
        let start = self.next.saturating_mul(PIECE);
        // An empty object has one piece, which is opened too.
        start >= self.range.end && !(self.next == 0 && self.range.is_empty())
    }

    /// Opens the next piece, and cuts off what is not in the range.
    fn open(&mut self, sealed: &[u8], is_last: bool) -> Result<Bytes, MediaError> {
        let piece = SealedPiece {
            object: &self.object,
            salt: &self.salt,
            index: self.next,
            is_last,
        };
        let plain = self.seal.open(&piece, sealed).ok_or(MediaError::Damaged)?;
        let start = self.next.saturating_mul(PIECE);
        self.next = self.next.saturating_add(1);
        let mut plain = Bytes::from(plain);
        let within = |at: u64| usize::try_from(at.saturating_sub(start)).unwrap_or(usize::MAX);
        plain.truncate(within(self.range.end));
        plain.advance(within(self.range.start).min(plain.len()));
        Ok(plain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_of_content_follows_from_the_length_that_is_stored() {
        for content in [0, 1, 65_535, 65_536, 65_537, 131_072, 131_073, 10_000_000] {
            let stored = content + pieces_of(content) * TAG;
            assert_eq!(content_bytes(stored), Some(content), "{content}");
        }
        assert_eq!(content_bytes(15), None, "no sealed object is so short");
    }
}
