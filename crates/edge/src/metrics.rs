//! Sums since the start, for the admin listener. Labels are bounded: models that are sold, codes of
//! closed lists, channels. Never an account, a key or a text of a caller. Not `prometheus-client`: a
//! family there has no maximum, and its only text format is OpenMetrics.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use trunkline_types::OwnKeyMap;

use crate::tokens::Tokens;

/// Upper ends of the histograms' buckets: in microseconds, and in seconds as they are written.
pub(crate) const BOUNDS: [(u64, &str); 14] = [
    (5_000, "0.005"),
    (10_000, "0.01"),
    (25_000, "0.025"),
    (50_000, "0.05"),
    (100_000, "0.1"),
    (250_000, "0.25"),
    (500_000, "0.5"),
    (1_000_000, "1"),
    (2_500_000, "2.5"),
    (5_000_000, "5"),
    (10_000_000, "10"),
    (30_000_000, "30"),
    (120_000_000, "120"),
    (600_000_000, "600"),
];
/// Models that are counted by name; a price book has far fewer.
const MAX_MODELS: usize = 10_000;
/// Names of dropped fields that are counted for one provider, their characters, and providers.
const MAX_DROPPED_NAMES: usize = 64;
const MAX_DROPPED_CHARACTERS: usize = 100;
const MAX_DROPPED_PROVIDERS: usize = 1_000;
/// What a strange name is counted as.
const OTHER: &str = "other";

/// All sums of a gateway.
#[derive(Debug, Default)]
pub struct Metrics {
    pub answered: AtomicU64,
    pub charged: AtomicU64,
    pub charged_nanos: AtomicI64,
    /// What upstreams bill for charged calls, where a cost book or the upstream says so.
    pub cost_nanos: AtomicI64,
    pub voided: AtomicU64,
    /// Holds of calls under way.
    pub holds: AtomicUsize,
    /// From the request to the first byte of its answer, of calls that an upstream answered.
    pub first_byte: ByStream,
    /// From the request to the end.
    pub duration: ByStream,
    /// What this node took of the time to the first byte, without the upstream's.
    pub added: ByStream,
    /// From the last byte of an upstream to the durable charge.
    pub settlement: Histogram,
    /// Calls by what their client got.
    pub responses: LabelledCounter,
    /// How late jobs of video tasks are taken.
    pub job_lag: Histogram,
    /// Messages to webhooks, by what came of them.
    pub webhooks: LabelledCounter,
    /// Tries that did not succeed, by error code.
    pub webhook_errors: LabelledCounter,
    /// How late messages to webhooks are taken.
    pub webhook_lag: Histogram,
    /// Calls that were refused or failed, by error code.
    pub errors: LabelledCounter,
    /// Fields and tools that were not sent, by provider.
    pub dropped: DroppedCounter,
    models: Mutex<OwnKeyMap<String, ModelNumbers>>,
}

/// Whole and streamed answers are different things and are not summed up.
#[derive(Debug, Default)]
pub struct ByStream {
    pub(crate) whole: Histogram,
    pub(crate) stream: Histogram,
}

#[derive(Debug, Default)]
pub struct Histogram {
    /// Each has what took longer than the bound before it, so that a call adds to one; they are summed up when they are
    /// read.
    buckets: [AtomicU64; BOUNDS.len()],
    count: AtomicU64,
    sum_micros: AtomicU64,
}

/// Attempts at one channel.
#[derive(Debug, Default)]
pub struct AttemptMetrics {
    /// What they came to.
    pub results: LabelledCounter,
    /// How long the heads of their answers took.
    pub first_byte: Histogram,
}

/// Counts by codes of a closed list.
#[derive(Debug, Default)]
pub struct LabelledCounter(Mutex<BTreeMap<&'static str, u64>>);

/// Names that callers sent and that are on no list, by provider. Callers choose these names, so few are
/// kept, and one that is seen often stays.
#[derive(Debug, Default)]
pub struct DroppedCounter(Mutex<BTreeMap<String, BTreeMap<String, u64>>>);

#[derive(Debug, Clone, Default)]
pub struct ModelNumbers {
    pub outcomes: BTreeMap<&'static str, u64>,
    pub input_tokens: u64,
    pub output_tokens: u64,
}

// === impl Metrics ===

impl Metrics {
    /// A call of a model that is sold ended so.
    pub(crate) fn ended(&self, model: &str, outcome: &'static str, tokens: Tokens) {
        let mut models = lock(&self.models);
        if !models.contains_key(model) {
            if models.len() >= MAX_MODELS {
                return;
            }
            models.insert(model.to_owned(), ModelNumbers::default());
        }
        if let Some(numbers) = models.get_mut(model) {
            let ended = numbers.outcomes.entry(outcome).or_default();
            *ended = ended.saturating_add(1);
            numbers.input_tokens = numbers.input_tokens.saturating_add(tokens.input);
            numbers.output_tokens = numbers.output_tokens.saturating_add(tokens.output);
        }
    }

    /// Every model with its sums, by name.
    pub fn models(&self) -> BTreeMap<String, ModelNumbers> {
        let models = lock(&self.models);
        let copies = models.iter();
        copies
            .map(|(name, numbers)| (name.clone(), numbers.clone()))
            .collect()
    }
}

// === impl ByStream ===

impl ByStream {
    pub(crate) fn of(&self, stream: bool) -> &Histogram {
        if stream { &self.stream } else { &self.whole }
    }
}

// === impl AttemptMetrics ===

impl AttemptMetrics {
    pub(crate) fn count(&self, result: &'static str, head_took: Option<Duration>) {
        self.results.add(result);
        if let Some(took) = head_took {
            self.first_byte.took(took);
        }
    }
}

// === impl Histogram ===

impl Histogram {
    pub fn took(&self, duration: Duration) {
        let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        let mut bounds = BOUNDS.iter().zip(&self.buckets);
        if let Some((_, bucket)) = bounds.find(|((bound, _), _)| micros <= *bound) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
        self.count.fetch_add(1, Ordering::Relaxed);
        self.sum_micros.fetch_add(micros, Ordering::Relaxed);
    }

    /// How many took at most so many seconds, for each bound.
    pub(crate) fn buckets(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counts = self.buckets.iter().scan(0_u64, |sum, count| {
            *sum = sum.saturating_add(count.load(Ordering::Relaxed));
            Some(*sum)
        });
        BOUNDS.iter().map(|(_, seconds)| *seconds).zip(counts)
    }

    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// The sum in seconds, written out without a float.
    pub(crate) fn sum_seconds(&self) -> String {
        let micros = self.sum_micros.load(Ordering::Relaxed);
        let (seconds, rest) = (micros.div_euclid(1_000_000), micros.rem_euclid(1_000_000));
        format!("{seconds}.{rest:06}")
    }
}

// === impl LabelledCounter ===

impl LabelledCounter {
    pub fn add(&self, code: &'static str) {
        let mut counts = lock(&self.0);
        let count = counts.entry(code).or_default();
        *count = count.saturating_add(1);
    }

    pub fn all(&self) -> BTreeMap<&'static str, u64> {
        lock(&self.0).clone()
    }
}

// === impl DroppedCounter ===

impl DroppedCounter {
    pub fn add(&self, provider: &str, name: &str) {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.[]=".contains(&byte);
        let is_named = name.len() <= MAX_DROPPED_CHARACTERS && name.bytes().all(is_plain);
        let name = if is_named { name } else { OTHER };
        let mut providers = lock(&self.0);
        if !providers.contains_key(provider) && providers.len() >= MAX_DROPPED_PROVIDERS {
            return;
        }
        let names = providers.entry(provider.to_owned()).or_default();
        if !names.contains_key(name) && names.len() >= MAX_DROPPED_NAMES {
            let rarest = names.iter().min_by_key(|(_, count)| **count);
            if let Some(rarest) = rarest.map(|(name, _)| name.clone()) {
                names.remove(&rarest);
            }
        }
        let count = names.entry(name.to_owned()).or_default();
        *count = count.saturating_add(1);
    }

    pub fn all(&self) -> BTreeMap<String, BTreeMap<String, u64>> {
        lock(&self.0).clone()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_counts_each_time_in_every_bucket_above_it_and_sums_exactly() {
        let histogram = Histogram::default();
        for micros in [5_000, 5_001, 700_000_000] {
            histogram.took(Duration::from_micros(micros));
        }
        let buckets: Vec<(&str, u64)> = histogram.buckets().collect();
        assert_eq!(buckets[0], ("0.005", 1));
        assert_eq!(buckets[1], ("0.01", 2));
        assert_eq!(buckets[13], ("600", 2));
        assert_eq!(histogram.count(), 3);
        assert_eq!(histogram.sum_seconds(), "700.010001");
    }

    #[test]
    fn a_dropped_field_that_is_seen_often_stays_among_many_that_are_not() {
        let dropped = DroppedCounter::default();
        for number in 0..1_000 {
            dropped.add("openai", "service_class");
            dropped.add("openai", &format!("noise_{number}"));
        }
        dropped.add("xai", "a b");
        let all = dropped.all();
        assert_eq!(all["openai"].len(), MAX_DROPPED_NAMES);
        assert_eq!(all["openai"]["service_class"], 1_000);
        assert_eq!(all["xai"]["other"], 1);
    }

    #[test]
    fn the_bounds_rise_and_are_written_as_what_they_are() {
        for ((micros, seconds), next) in BOUNDS.iter().zip(BOUNDS.iter().skip(1)) {
            assert!(micros < &next.0);
            let parsed: f64 = seconds.parse().unwrap();
            assert_eq!((parsed * 1_000_000.0).round() as u64, *micros);
        }
    }
}
