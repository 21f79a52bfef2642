//! The vendor's implicit cache: a prompt that begins as an earlier one is told to be cached, in
//! whole blocks. What is kept are hashes of beginnings, never a text.

use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, PoisonError};

use sha2::{Digest, Sha256};

/// Beginnings of prompts that were seen.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    known: HashSet<Mark>,
    order: VecDeque<Mark>,
}

/// The hash of everything up to the end of a block.
type Mark = [u8; 32];

/// The beginnings of one prompt, block by block.
#[derive(Clone, Debug, Default)]
pub(crate) struct Prefix {
    hasher: Sha256,
    filled: usize,
    marks: Vec<Mark>,
}

/// Tokens of a block: also the smallest prompt that is ever cached.
const BLOCK_TOKENS: u64 = 1024;
/// The same in bytes, as prompts are counted.
const BLOCK_BYTES: usize = 4096;
/// Bytes that stand for one token.
const BYTES_PER_TOKEN: u64 = 4;
/// What a message costs beside its text, as bytes.
const MESSAGE_BYTES: usize = 12;
/// Blocks that are remembered; the oldest give way.
const MAX_MARKS: usize = 65_536;
/// Blocks of one prompt that are looked at.
const MAX_BLOCKS: usize = 4096;

// === impl Memory ===

impl Memory {
    /// How many tokens of this prompt were seen before; from now on all of it was.
    pub(crate) fn recall(&self, prefix: &Prefix) -> u64 {
        // Hashes are plain data: after a thread died they are still what was seen.
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let marks = prefix.marks.iter();
        let hits = marks.take_while(|mark| seen.known.contains(*mark)).count();
        for mark in &prefix.marks {
            if seen.known.insert(*mark) {
                seen.order.push_back(*mark);
            }
        }
        while seen.order.len() > MAX_MARKS {
            if let Some(oldest) = seen.order.pop_front() {
                seen.known.remove(&oldest);
            }
        }
        crate::tokens::count(hits).saturating_mul(BLOCK_TOKENS)
    }
}

// === impl Prefix ===

impl Prefix {
    /// Begins with what is no part of the prompt's size and must be equal all the same.
    pub(crate) fn new(scope: &[&str]) -> Self {
        let mut prefix = Self::default();
        for piece in scope {
            prefix.hasher.update(piece.as_bytes());
            prefix.hasher.update([0]);
        }
        prefix
    }

    pub(crate) fn add(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() && self.marks.len() < MAX_BLOCKS {
            let remaining = BLOCK_BYTES.saturating_sub(self.filled).min(rest.len());
            let (now, later) = rest.split_at(remaining);
            self.hasher.update(now);
            self.filled = self.filled.saturating_add(now.len());
            if self.filled >= BLOCK_BYTES {
                self.marks.push(self.hasher.clone().finalize().into());
                self.filled = 0;
            }
            rest = later;
        }
    }

    pub(crate) fn add_message(&mut self, is_user: bool) {
        self.add(&[u8::from(is_user); MESSAGE_BYTES]);
    }

    /// As many bytes as the medium has tokens for, whatever its own length is.
    pub(crate) fn add_medium(&mut self, bytes: &[u8], tokens: u64) {
        let hash: Mark = Sha256::digest(bytes).into();
        let length = usize::try_from(tokens.saturating_mul(BYTES_PER_TOKEN)).unwrap_or_default();
        let filler: Vec<u8> = hash.iter().copied().cycle().take(length).collect();
        self.add(&filler);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefix(scope: &str, text: &str) -> Prefix {
        let mut prefix = Prefix::new(&[scope]);
        prefix.add(text.as_bytes());
        prefix
    }

    #[test]
    fn whole_blocks_of_an_equal_beginning_are_cached() {
        let memory = Memory::default();
        let long = "a".repeat(BLOCK_BYTES * 2);
        assert_eq!(memory.recall(&prefix("m", &long)), 0);
        assert_eq!(memory.recall(&prefix("m", &format!("{long}b"))), 2048);
        assert_eq!(memory.recall(&prefix("m", &long[1..])), 1024);
        assert_eq!(memory.recall(&prefix("other", &long)), 0);
        let short = "c".repeat(BLOCK_BYTES - 1);
        memory.recall(&prefix("m", &short));
        assert_eq!(memory.recall(&prefix("m", &short)), 0);
    }
}
