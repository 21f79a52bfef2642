//! The prompt cache: prefixes that ended at a `cache_control` mark, remembered for their time.
//!
//! A later prompt that begins with the same blocks reads them; what lies between the longest known
//! prefix and the last mark is written. Times come in from outside, so a test can move them.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// How long a prefix is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ttl {
    FiveMinutes,
    Hour,
}

/// The end of a block inside a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Boundary {
    /// Hash of everything up to here.
    pub(crate) prefix: [u8; 32],
    /// Tokens of everything up to here.
    pub(crate) tokens: u64,
    pub(crate) mark: Option<Ttl>,
}

/// What a prompt took from the cache and gave to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moved {
    pub(crate) read: u64,
    pub(crate) written_5m: u64,
    pub(crate) written_1h: u64,
}

/// Prefixes that are remembered, of all keys and models.
#[derive(Debug, Default)]
pub(crate) struct PromptCache {
    kept: Mutex<HashMap<[u8; 32], Kept>>,
}

#[derive(Clone, Copy, Debug)]
struct Kept {
    ttl: Ttl,
    until_secs: u64,
}

/// A shorter prefix is never kept; the vendor's bound for most models.
const MIN_TOKENS: u64 = 1024;
/// How many blocks before a mark a known prefix is looked for, as the vendor says.
const LOOK_BACK: usize = 20;
/// Most prefixes at one time. When they are reached and none has expired, all are forgotten.
const MAX_KEPT: usize = 100_000;

// === impl Ttl ===

impl Ttl {
    fn seconds(self) -> u64 {
        match self {
            Self::FiveMinutes => 300,
            Self::Hour => 3600,
        }
    }
}

// === impl PromptCache ===

impl PromptCache {
    /// Reads and writes for one prompt.
    pub(crate) fn pass(&self, boundaries: &[Boundary], now_secs: u64) -> Moved {
        // Prefixes are plain data: after a thread died they are still what was said.
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let mut moved = Moved::default();
        if let Some(known) = longest(&kept, boundaries, now_secs) {
            moved.read = known.tokens;
            // Reading prolongs.
            if let Some(entry) = kept.get_mut(&known.prefix) {
                entry.until_secs = now_secs.saturating_add(entry.ttl.seconds());
            }
        }
        let mut covered = moved.read;
        for boundary in boundaries {
            let Some(ttl) = boundary.mark else {
                continue;
            };
            if boundary.tokens < MIN_TOKENS || boundary.tokens <= covered {
                continue;
            }
            let tokens = boundary.tokens.saturating_sub(covered);
            covered = boundary.tokens;
            match ttl {
                Ttl::FiveMinutes => moved.written_5m = moved.written_5m.saturating_add(tokens),
                Ttl::Hour => moved.written_1h = moved.written_1h.saturating_add(tokens),
            }
            evict(&mut kept, now_secs);
            let until_secs = now_secs.saturating_add(ttl.seconds());
            kept.insert(boundary.prefix, Kept { ttl, until_secs });
        }
        moved
    }
}

/// The longest prefix that is known and near enough before a mark.
fn longest<'a>(
    kept: &HashMap<[u8; 32], Kept>,
    boundaries: &'a [Boundary],
    now_secs: u64,
) -> Option<&'a Boundary> {
    let mut reach = 0;
    for boundary in boundaries.iter().rev() {
        if boundary.mark.is_some() {
            reach = LOOK_BACK;
        }
        if reach == 0 {
            continue;
        }
        reach = reach.saturating_sub(1);
        let entry = kept.get(&boundary.prefix);
        if entry.is_some_and(|entry| entry.until_secs > now_secs) {
            return Some(boundary);
        }
    }
    None
}

fn evict(kept: &mut HashMap<[u8; 32], Kept>, now_secs: u64) {
    if kept.len() < MAX_KEPT {
        return;
    }
    kept.retain(|_, entry| entry.until_secs > now_secs);
    if kept.len() >= MAX_KEPT {
        kept.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(number: u8, tokens: u64, mark: Option<Ttl>) -> Boundary {
        Boundary {
            prefix: [number; 32],
            tokens,
            mark,
        }
    }

    fn moved(read: u64, written_5m: u64, written_1h: u64) -> Moved {
        Moved {
            read,
            written_5m,
            written_1h,
        }
    }

    #[test]
    fn a_prefix_is_written_once_then_read_and_what_follows_is_written() {
        let cache = PromptCache::default();
        let first = [at(1, 2000, Some(Ttl::FiveMinutes))];
        assert_eq!(cache.pass(&first, 0), moved(0, 2000, 0));
        assert_eq!(cache.pass(&first, 1), moved(2000, 0, 0));
        let longer = [
            at(1, 2000, None),
            at(2, 2500, Some(Ttl::FiveMinutes)),
            at(3, 2600, None),
        ];
        assert_eq!(cache.pass(&longer, 2), moved(2000, 500, 0));
        assert_eq!(cache.pass(&longer, 3), moved(2500, 0, 0));
    }

    #[test]
    fn times_are_kept_apart_and_each_ends_at_its_own() {
        let cache = PromptCache::default();
        let prompt = [
            at(1, 1500, Some(Ttl::Hour)),
            at(2, 1800, Some(Ttl::FiveMinutes)),
        ];
        assert_eq!(cache.pass(&prompt, 0), moved(0, 300, 1500));
        assert_eq!(cache.pass(&prompt, 299), moved(1800, 0, 0));
        // The read at 299 prolonged the five minutes; the hour was not touched.
        assert_eq!(cache.pass(&prompt, 299 + 299), moved(1800, 0, 0));
        assert_eq!(cache.pass(&prompt, 299 + 299 + 300), moved(1500, 300, 0));
        assert_eq!(cache.pass(&prompt, 10_000), moved(0, 300, 1500));
    }

    #[test]
    fn a_short_prefix_is_not_kept() {
        let cache = PromptCache::default();
        let short = [at(1, 1023, Some(Ttl::FiveMinutes))];
        assert_eq!(cache.pass(&short, 0), moved(0, 0, 0));
        assert_eq!(cache.pass(&short, 1), moved(0, 0, 0));
        let enough = [at(2, 1024, Some(Ttl::FiveMinutes))];
        assert_eq!(cache.pass(&enough, 0), moved(0, 1024, 0));
    }

    #[test]
    fn a_known_prefix_is_found_twenty_blocks_back_and_not_further() {
        for (distance, read) in [(19, 2000), (20, 0)] {
            let cache = PromptCache::default();
            cache.pass(&[at(0, 2000, Some(Ttl::FiveMinutes))], 0);
            let mut prompt = vec![at(0, 2000, None)];
            prompt.extend((1..=distance).map(|number| at(number, 2000, None)));
            prompt.last_mut().unwrap().mark = Some(Ttl::FiveMinutes);
            assert_eq!(cache.pass(&prompt, 1).read, read, "{distance}");
        }
    }
}
