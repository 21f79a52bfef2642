//! Proofs of the keyring through its public face, and the helpers they share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use proptest::prelude::*;
use trunkline_types::{AccountId, Timestamp};

use crate::{Document, Keyring, Purpose, RandomError, RandomSource};

mod document;
mod file;
mod files;
mod frozen;
mod ids;
mod rotation;
mod rows;
mod signatures;

/// Bytes that never repeat within a test and are the same in every run.
pub(crate) struct CountingRandom(AtomicU64);

/// A system without random bytes.
pub(crate) struct NoRandom;

impl CountingRandom {
    pub(crate) fn from(start: u64) -> Self {
        Self(AtomicU64::new(start))
    }
}

impl RandomSource for CountingRandom {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), RandomError> {
        for chunk in bytes.chunks_mut(8) {
            let count = self.0.fetch_add(1, Ordering::SeqCst);
            let mixed = (count + 1)
                .wrapping_mul(0x9E37_79B9_7F4A_7C15)
                .to_be_bytes();
            chunk.copy_from_slice(&mixed[..chunk.len()]);
        }
        Ok(())
    }
}

impl RandomSource for NoRandom {
    fn fill(&self, _bytes: &mut [u8]) -> Result<(), RandomError> {
        Err(RandomError {
            reason: "none here".to_owned(),
        })
    }
}

pub(crate) fn now() -> Timestamp {
    Timestamp::from_micros(1_700_000_000_000_000)
}

/// A document after so many rotations.
pub(crate) fn document(rotations: usize) -> Document {
    let random = CountingRandom::from(0);
    let mut document = Document::generate(now(), &random).unwrap();
    for _ in 0..rotations {
        document = document.rotate(now(), &random).unwrap().document;
    }
    document
}

pub(crate) fn keyring_of(document: &Document) -> Keyring {
    Keyring::new(document, Arc::new(CountingRandom::from(1_000_000))).unwrap()
}

/// The keyring of generation 2, with generation 1 still readable.
pub(crate) fn keyring() -> Keyring {
    keyring_of(&document(1))
}

pub(crate) fn account(number: i64) -> AccountId {
    AccountId::new(number)
}

pub(crate) fn any_purpose() -> impl Strategy<Value = Purpose> {
    proptest::sample::select(Purpose::ALL.to_vec())
}

pub(crate) fn any_account() -> impl Strategy<Value = Option<AccountId>> {
    proptest::option::of(any::<i64>().prop_map(AccountId::new))
}

pub(crate) fn any_bytes(most: usize) -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(any::<u8>(), 0..=most)
}

/// Every string that differs from `bytes` in one bit.
pub(crate) fn each_bit_flipped(bytes: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    (0..bytes.len() * 8).map(|bit| {
        let mut altered = bytes.to_vec();
        altered[bit / 8] ^= 1 << (bit % 8);
        altered
    })
}

/// Every text that differs from `text` in one bit; what is not UTF-8 cannot even be asked.
pub(crate) fn each_text_bit_flipped(text: &str) -> impl Iterator<Item = String> {
    each_bit_flipped(text.as_bytes()).filter_map(|bytes| String::from_utf8(bytes).ok())
}
