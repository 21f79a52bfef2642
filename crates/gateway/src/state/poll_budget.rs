//! How often one channel is polled: a token bucket for each.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use tokio::time::Instant;

/// Channels that have a bucket; with more, all begin anew.
const MAX_BUCKETS: usize = 10_000;
const MILLIS_PER_SECOND: u64 = 1_000;

#[derive(Debug, Default)]
pub(crate) struct PollBudget {
    buckets: Mutex<HashMap<i64, Bucket>>,
    /// Channels that had no capacity for a video, until when. Not the credential's cool-down: chat through
    /// it is not concerned.
    full: Mutex<HashMap<i64, Instant>>,
}

#[derive(Debug)]
struct Bucket {
    left: u64,
    filled: Instant,
}

impl PollBudget {
    /// A channel has no capacity until then.
    pub(crate) fn is_full_until(&self, channel: i64, until: Instant) {
        let mut full = self.full.lock().unwrap_or_else(PoisonError::into_inner);
        if full.len() >= MAX_BUCKETS {
            full.clear();
        }
        full.insert(channel, until);
    }

    /// Whether a channel is known to have no capacity.
    pub(crate) fn is_full(&self, channel: i64, now: Instant) -> bool {
        let full = self.full.lock().unwrap_or_else(PoisonError::into_inner);
        full.get(&channel).is_some_and(|until| now < *until)
    }

    /// Whether a channel may be polled once more now.
    pub(crate) fn allows(&self, channel: i64, per_second: u32, now: Instant) -> bool {
        let most = u64::from(per_second.max(1)).saturating_mul(MILLIS_PER_SECOND);
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= MAX_BUCKETS {
            buckets.clear();
        }
        let bucket = buckets.entry(channel).or_insert(Bucket {
            left: most,
            filled: now,
        });
        let millis = now.saturating_duration_since(bucket.filled).as_millis();
        let millis = u64::try_from(millis).unwrap_or(u64::MAX);
        if millis > 0 {
            let more = millis.saturating_mul(u64::from(per_second.max(1)));
            bucket.left = bucket.left.saturating_add(more).min(most);
            bucket.filled = now;
        }
        match bucket.left.checked_sub(MILLIS_PER_SECOND) {
            Some(left) => {
                bucket.left = left;
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_channel_is_asked_no_more_often_than_it_may() {
        let (pace, now) = (PollBudget::default(), Instant::now());
        let allowed = |channel, at| (0..100).filter(|_| pace.allows(channel, 20, at)).count();
        assert_eq!(allowed(1, now), 20, "a full second's worth at once");
        assert!(pace.allows(2, 20, now), "another channel has its own");
        assert_eq!(allowed(1, now + Duration::from_millis(500)), 10);
    }

    #[test]
    fn a_full_channel_is_left_alone_for_a_while() {
        let (pace, now) = (PollBudget::default(), Instant::now());
        assert!(!pace.is_full(1, now));
        pace.is_full_until(1, now + Duration::from_secs(2));
        assert!(pace.is_full(1, now) && !pace.is_full(2, now));
        assert!(!pace.is_full(1, now + Duration::from_secs(2)));
    }
}
