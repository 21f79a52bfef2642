//! How a channel does: failures in a row, and what its attempts came to.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};

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
/// How long failures count as failures in a row.
const FAILURES_KEPT_MILLIS: i64 = 600_000;

#[derive(Debug)]
pub(crate) struct Health {
    /// Calls in a row that did not reach it, which no request can bring about.
    unreached: AtomicU32,
    unreached_until_millis: AtomicI64,
    /// Failures of calls that reached it.
    failures: Evidence,
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

    fn is_reached(&self, now: Timestamp) -> bool {
        self.unreached_until_millis.load(Ordering::Relaxed) <= now.millis()
    }

    /// Whether calls of any account are kept from it.
    pub(crate) fn is_left_alone(&self, now: Timestamp) -> bool {
        !self.is_reached(now) || self.failures.is_doubted(now)
    }

    /// A call was served.
    pub(crate) fn record_success(&self) {
        self.unreached.store(0, Ordering::Relaxed);
        self.failures.clear();
    }

    /// A call did not reach the upstream. No request can bring that about, so it counts for all.
    pub(crate) fn unreached(&self, now: Timestamp) {
        let unreached = self.unreached.fetch_add(1, Ordering::Relaxed);
        if unreached.saturating_add(1) >= OPEN_AFTER {
            let until = now.millis().saturating_add(OPEN_FOR_MILLIS);
            self.unreached_until_millis.store(until, Ordering::Relaxed);
        }
    }

    /// The upstream failed at a call of an account.
    pub(crate) fn failed(&self, account: AccountId, now: Timestamp) {
        let until = now.millis().saturating_add(OPEN_FOR_MILLIS);
        self.failures.record(account, now, until);
    }
}

impl Default for Health {
    fn default() -> Self {
        Self {
            unreached: AtomicU32::new(0),
            unreached_until_millis: AtomicI64::new(0),
            failures: Evidence::of_many(OPEN_AFTER, FAILURES_KEPT_MILLIS),
            attempts: Arc::default(),
            streams: StreamHistory::default(),
            speeds: Speeds::default(),
        }
    }
}
