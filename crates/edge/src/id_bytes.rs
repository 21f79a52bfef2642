//! Random bytes for the ids of requests, taken from the operating system in blocks: asking it for each id would be a
//! system call for each request. Ids are not secret, and keys and nonces are not made of these bytes.

use std::sync::{Mutex, PoisonError};

use trunkline_keyring::{RandomError, RandomSource};
use trunkline_types::RANDOM_BYTES;

/// Bytes of a hundred ids.
const BLOCK_BYTES: usize = 1_000;

#[derive(Debug)]
pub(crate) struct IdBytes(Mutex<Block>);

#[derive(Debug)]
struct Block {
    bytes: [u8; BLOCK_BYTES],
    /// So many are in ids already.
    used: usize,
}

impl IdBytes {
    /// The bytes of one id. No byte is in two of them.
    pub(crate) fn take(
        &self,
        random: &dyn RandomSource,
    ) -> Result<[u8; RANDOM_BYTES], RandomError> {
        let mut block = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if block.used >= BLOCK_BYTES {
            random.fill(&mut block.bytes)?;
            block.used = 0;
        }
        let from = block.used;
        block.used = from.saturating_add(RANDOM_BYTES);
        let mut taken = [0; RANDOM_BYTES];
        let rest = block.bytes.iter().skip(from);
        taken
            .iter_mut()
            .zip(rest)
            .for_each(|(to, byte)| *to = *byte);
        Ok(taken)
    }
}

impl Default for IdBytes {
    fn default() -> Self {
        Self(Mutex::new(Block {
            bytes: [0; BLOCK_BYTES],
            used: BLOCK_BYTES,
        }))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use trunkline_keyring::SystemRandom;

    use super::*;

    /// The system's, with a count of the questions; or none.
    struct Counted(AtomicUsize, bool);

    impl RandomSource for Counted {
        fn fill(&self, bytes: &mut [u8]) -> Result<(), RandomError> {
            self.0.fetch_add(1, Ordering::Relaxed);
            if self.1 {
                return SystemRandom.fill(bytes);
            }
            Err(RandomError {
                reason: "there is none".to_owned(),
            })
        }
    }

    #[test]
    fn ids_share_no_bytes_and_the_system_is_asked_once_for_a_hundred() {
        let (bytes, random) = (IdBytes::default(), Counted(AtomicUsize::new(0), true));
        let taken: HashSet<_> = (0..300).map(|_| bytes.take(&random).unwrap()).collect();
        assert_eq!(taken.len(), 300);
        assert_eq!(random.0.load(Ordering::Relaxed), 3);
    }

    #[test]
    fn a_system_without_random_bytes_is_asked_again_for_every_id() {
        let (bytes, none) = (IdBytes::default(), Counted(AtomicUsize::new(0), false));
        assert!(bytes.take(&none).is_err() && bytes.take(&none).is_err());
        assert_eq!(none.0.load(Ordering::Relaxed), 2);
        assert!(bytes.take(&SystemRandom).is_ok());
    }
}
