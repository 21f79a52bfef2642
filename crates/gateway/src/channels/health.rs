//! How a channel does: failures in a row, and what its attempts came to.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};

use trunkline_types::{AccountId, Timestamp};

use super::ChannelQuery;
use super::evidence::Evidence;
use super::speeds::Speeds;
use crate::metrics::AttemptMetrics;
use crate::stream_history::StreamHistory;

/// Failures in a row after which a channel is skipped.
const OPEN_AFTER: u32 = 5;
/// How long, before one call may try again.
const OPEN_FOR_MILLIS: i64 = 10_000;
/// How long a trial may take before another one is let in.
const TRIAL_MILLIS: i64 = 30_000;
/// How long failures count as failures in a row.
const FAILURES_KEPT_MILLIS: i64 = 600_000;

#[derive(Debug)]
pub(crate) struct Health {
    /// Calls in a row that did not reach it, which no request can bring about.
    unreached: AtomicU32,
    unreached_until_millis: AtomicI64,
    /// Failures of calls that reached it.
    failures: Evidence,
    /// It was skipped for all, and no call was served since.
    is_tripped: AtomicBool,
    /// Until then one call has the trial of a channel that was skipped.
    trial_until_millis: AtomicI64,
    pub(super) attempts: Arc<AttemptMetrics>,
    /// What its streamed answers told.
    pub(crate) streams: StreamHistory,
    /// How long its answers took to begin.
    pub(crate) speeds: Speeds,
}

impl Health {
    /// Failures in a row.
    pub(crate) fn failures(&self) -> u32 {
        let unreached = self.unreached.load(Ordering::Relaxed);
        unreached.saturating_add(self.failures.faults())
    }

    /// Whether a call may be sent, the failures considered.
    pub(super) fn is_open(&self, query: ChannelQuery<'_>) -> bool {
        self.is_reached(query.now) && !self.failures.excludes(query.account, query.now)
    }

    /// Whether only calls of other accounts failed. Several of them may have brought that about together, so a call
    /// that nothing else serves may still be sent.
    pub(super) fn is_last_resort(&self, query: ChannelQuery<'_>) -> bool {
        self.is_reached(query.now) && !self.failures.excludes_own(query.account, query.now)
    }

    fn is_reached(&self, now: Timestamp) -> bool {
        self.unreached_until_millis.load(Ordering::Relaxed) <= now.millis()
    }

    /// Whether calls of any account are kept from it.
    pub(crate) fn is_left_alone(&self, now: Timestamp) -> bool {
        !self.is_reached(now) || self.failures.is_doubted(now)
    }

    /// Whether it was skipped and may be tried again: by one call at a time, until one is served.
    pub(crate) fn is_half_open(&self, now: Timestamp) -> bool {
        self.is_tripped.load(Ordering::Relaxed)
            && self.is_reached(now)
            && !self.failures.excludes_all(now)
    }

    /// Takes the trial of a channel that is half open. False if another call has it.
    pub(crate) fn take_trial(&self, now: Timestamp) -> bool {
        let until = now.millis().saturating_add(TRIAL_MILLIS);
        let free = |held: i64| (held <= now.millis()).then_some(until);
        let (order, trial) = (Ordering::Relaxed, &self.trial_until_millis);
        trial.fetch_update(order, order, free).is_ok()
    }

    /// The call that had the trial is over.
    pub(crate) fn end_trial(&self) {
        self.trial_until_millis.store(0, Ordering::Relaxed);
    }

    /// A call was served.
    pub(crate) fn record_success(&self) {
        self.is_tripped.store(false, Ordering::Relaxed);
        self.unreached.store(0, Ordering::Relaxed);
        self.failures.clear();
    }

    /// A call did not reach the upstream. No request can bring that about, so it counts for all. True if it is
    /// skipped from now on.
    pub(crate) fn unreached(&self, now: Timestamp) -> bool {
        let was_reached = self.is_reached(now);
        let unreached = self.unreached.fetch_add(1, Ordering::Relaxed);
        if unreached.saturating_add(1) >= OPEN_AFTER {
            let until = now.millis().saturating_add(OPEN_FOR_MILLIS);
            self.unreached_until_millis.store(until, Ordering::Relaxed);
            self.is_tripped.store(true, Ordering::Relaxed);
        }
        was_reached && !self.is_reached(now)
    }

    /// The upstream failed at a call of an account. True if it is skipped for all from now on.
    pub(crate) fn failed(&self, account: AccountId, now: Timestamp) -> bool {
        let until = now.millis().saturating_add(OPEN_FOR_MILLIS);
        let was_skipped = self.failures.excludes_all(now);
        self.failures.record(account, now, until);
        let is_skipped = self.failures.excludes_all(now);
        if is_skipped {
            self.is_tripped.store(true, Ordering::Relaxed);
        }
        is_skipped && !was_skipped
    }
}

impl Default for Health {
    fn default() -> Self {
        Self {
            unreached: AtomicU32::new(0),
            unreached_until_millis: AtomicI64::new(0),
            failures: Evidence::of_many(OPEN_AFTER, FAILURES_KEPT_MILLIS),
            is_tripped: AtomicBool::new(false),
            trial_until_millis: AtomicI64::new(0),
            attempts: Arc::default(),
            streams: StreamHistory::default(),
            speeds: Speeds::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    #[test]
    fn one_call_at_a_time_tries_a_channel_that_was_skipped_until_one_is_served() {
        let health = Health::default();
        for account in 1..=5 {
            assert!(!health.is_half_open(at(100)));
            health.failed(AccountId::new(account), at(100));
        }
        assert!(!health.is_half_open(at(109)), "it is skipped");
        assert!(health.is_half_open(at(110)) && health.take_trial(at(110)));
        assert!(!health.take_trial(at(111)), "another call has it");
        assert!(
            health.take_trial(at(140)),
            "a call that left is not waited for"
        );
        health.end_trial();
        health.failed(AccountId::new(9), at(141));
        assert!(!health.is_half_open(at(150)), "it is skipped again");
        assert!(health.is_half_open(at(151)) && health.take_trial(at(151)));
        health.record_success();
        assert!(!health.is_half_open(at(152)));
    }

    #[test]
    fn a_channel_that_one_account_alone_fails_at_is_whole_for_the_others() {
        let health = Health::default();
        for _ in 0..100 {
            health.failed(AccountId::new(1), at(100));
        }
        assert!(!health.is_half_open(at(200)));
    }
}
