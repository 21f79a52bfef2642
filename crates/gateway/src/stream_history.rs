//! What a channel's streamed answers told: how fast it writes, by the median of its latest answers, and which
//! models think. It stands in for what an upstream thought and did not tell, where that bounds what the operator
//! bears; no client that left is charged by it.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Answers that are remembered.
const REMEMBERED: usize = 31;
/// Tokens a second of a channel that has not answered yet.
const USUAL: u64 = 50;

/// A streamed answer that came to its end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Streamed {
    /// Output tokens, as the upstream counts them.
    pub(crate) output: u64,
    /// Thoughts among them.
    pub(crate) thoughts: u64,
    pub(crate) took: Duration,
}

#[derive(Debug, Default)]
pub(crate) struct StreamHistory {
    speed: OutputSpeed,
    /// Models that reported thoughts, by their public names.
    reasoners: Mutex<BTreeSet<String>>,
}

#[derive(Debug, Default)]
struct OutputSpeed(Mutex<Vec<u64>>);

// === impl StreamHistory ===

impl StreamHistory {
    pub(crate) fn record(&self, model: &str, answer: &Streamed) {
        self.speed.record(answer.output, answer.took);
        if answer.thoughts > 0 && !self.is_reasoner(model) {
            self.reasoners().insert(model.to_owned());
        }
    }

    /// Whether a model has reported thoughts.
    pub(crate) fn is_reasoner(&self, model: &str) -> bool {
        self.reasoners().contains(model)
    }

    /// Output tokens that are written in a time, by the median.
    pub(crate) fn tokens_in(&self, time: Duration) -> u64 {
        self.speed.tokens_in(time)
    }

    fn reasoners(&self) -> MutexGuard<'_, BTreeSet<String>> {
        let reasoners = self.reasoners.lock();
        reasoners.unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl OutputSpeed ===

impl OutputSpeed {
    /// An answer of so many tokens took so long.
    fn record(&self, tokens: u64, took: Duration) {
        let millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX).max(1);
        let speed = tokens.saturating_mul(1_000).div_euclid(millis);
        let mut speeds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if speeds.len() >= REMEMBERED {
            speeds.remove(0);
        }
        speeds.push(speed);
    }

    /// Tokens that are written in a time, by the median.
    fn tokens_in(&self, time: Duration) -> u64 {
        let mut speeds = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        speeds.sort_unstable();
        let median = speeds.get(speeds.len().div_euclid(2)).copied();
        let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let speed = median.unwrap_or(USUAL);
        speed.saturating_mul(millis).div_euclid(1_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_the_latest_answers_counts() {
        let speed = OutputSpeed::default();
        assert_eq!(speed.tokens_in(Duration::from_secs(2)), 100, "unknown yet");
        for tokens in [10, 1_000_000, 20] {
            speed.record(tokens, Duration::from_secs(1));
        }
        assert_eq!(speed.tokens_in(Duration::from_millis(1_500)), 30);
        for _ in 0..REMEMBERED {
            speed.record(7, Duration::from_secs(1));
        }
        assert_eq!(speed.tokens_in(Duration::from_secs(1)), 7);
        assert_eq!(speed.0.lock().unwrap().len(), REMEMBERED);
    }

    #[test]
    fn an_answer_without_a_duration_divides_by_nothing() {
        let speed = OutputSpeed::default();
        speed.record(u64::MAX, Duration::ZERO);
        assert_eq!(speed.tokens_in(Duration::ZERO), 0);
    }
}
