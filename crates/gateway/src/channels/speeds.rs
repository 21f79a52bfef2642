//! How long a channel's answers took to begin, by model.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use trunkline_types::{OwnKeyMap, Timestamp};

/// After so long without an answer a channel is measured again.
const KEPT_MILLIS: i64 = 300_000;
/// Models that are measured.
const MAX_MODELS: usize = 1_000;
/// An answer counts for a fifth of the mean.
const SHARE: u64 = 5;

#[derive(Debug, Default)]
pub(crate) struct Speeds(Mutex<OwnKeyMap<String, Speed>>);

#[derive(Debug, Clone, Copy)]
struct Speed {
    mean_micros: u64,
    at_millis: i64,
}

impl Speeds {
    /// A call was answered after so long.
    pub(crate) fn record(&self, model: &str, took: Duration, now: Timestamp) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let mut speeds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = speeds.get(model).filter(|known| known.is_fresh(now));
        let mean_micros = known.map_or(micros, |known| {
            let rest = known.mean_micros.saturating_mul(SHARE.saturating_sub(1));
            rest.saturating_add(micros).div_euclid(SHARE)
        });
        let speed = Speed {
            mean_micros,
            at_millis: now.millis(),
        };
        if let Some(known) = speeds.get_mut(model) {
            *known = speed;
        } else if speeds.len() < MAX_MODELS {
            speeds.insert(model.to_owned(), speed);
        }
    }

    /// Lower is faster; what is about as fast has one rank. A channel without a measure comes first: one
    /// call measures it.
    pub(super) fn rank(&self, model: &str, now: Timestamp) -> u64 {
        let speeds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = speeds.get(model).filter(|known| known.is_fresh(now));
        known.map_or(0, |known| {
            let square = u128::from(known.mean_micros.max(1)).saturating_pow(2);
            u64::from(square.ilog2()).saturating_add(1)
        })
    }
}

impl Speed {
    const fn is_fresh(&self, now: Timestamp) -> bool {
        now.millis() < self.at_millis.saturating_add(KEPT_MILLIS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_faster_has_the_lower_rank_and_an_old_measure_counts_no_more() {
        let at = |seconds: i64| Timestamp::from_micros(seconds * 1_000_000);
        let (slow, fast) = (Speeds::default(), Speeds::default());
        assert_eq!(slow.rank("m", at(0)), 0);
        for second in 0..10 {
            slow.record("m", Duration::from_millis(400), at(second));
            fast.record("m", Duration::from_millis(100), at(second));
        }
        assert!(fast.rank("m", at(10)) < slow.rank("m", at(10)));
        assert_eq!(fast.rank("another", at(10)), 0);
        fast.record("m", Duration::from_millis(105), at(10));
        assert_eq!(fast.rank("m", at(310)), 0, "measured again");
    }
}
