//! How requests are counted and what keys may do: from texts to values.

use std::time::Duration;

use trunkline_edge::settings::LimitSettings;
use trunkline_store::validation::LIMIT_MAX;
use trunkline_types::{Money, Secret};

use super::check::{Check, in_range};
use super::raw::{RawLimits, RawRedis};
use super::{Leaving, Redis};

/// Longest wait for Redis that can be set: a call waits for it at most so long.
const MAX_TIMEOUT_MS: i64 = 5_000;
const MAX_CANCELLED_CENTS: i64 = 100_000_000;
/// A stream without a client holds a connection and a place of its account.
const MAX_READ_ON_SECONDS: i64 = 600;
const MAX_READ_ON_CENTS: i64 = 10_000;
const NANOS_A_CENT: i64 = 10_000_000;

impl Check<'_> {
    /// Outer none: a finding was made. Inner none: not set.
    pub(super) fn redis(&mut self, raw: &RawRedis) -> Option<Option<Redis>> {
        let timeout = in_range(raw.timeout_ms, 1, MAX_TIMEOUT_MS);
        let timeout = self.take("redis.timeout_ms", timeout);
        let url = raw.url.reveal();
        if url.is_empty() {
            return timeout.map(|_| None);
        }
        let is_tls = url.starts_with("rediss://");
        if !is_tls && !url.starts_with("redis://") {
            // The value may hold a password, so it is not repeated.
            let problem =
                "must be an address such as redis://127.0.0.1:6379 or, for TLS, rediss://host:6380";
            self.say("redis.url", problem.to_owned());
            return None;
        }
        let roots = self.tls_roots("redis.tls_roots", &raw.tls_roots, is_tls)?;
        Some(Some(Redis {
            url: Secret::new(url.to_owned()),
            roots: roots.map(String::into_bytes),
            timeout: Duration::from_millis(timeout?),
        }))
    }

    pub(super) fn leaving(&mut self, raw: &RawLimits) -> Option<Leaving> {
        let cancelled = in_range(raw.cancelled_input_cents, 0, MAX_CANCELLED_CENTS);
        let cancelled: Option<u64> = self.take("limits.cancelled_input_cents", cancelled);
        let seconds = in_range(raw.read_on_seconds, 0, MAX_READ_ON_SECONDS);
        let seconds = self.take("limits.read_on_seconds", seconds);
        let written = in_range(raw.read_on_cents, 0, MAX_READ_ON_CENTS);
        let written: Option<u64> = self.take("limits.read_on_cents", written);
        Some(Leaving {
            read_on: Duration::from_secs(seconds?),
            read_on_usd: usd(written?),
            cancelled_input: usd(cancelled?),
        })
    }

    pub(super) fn limits(&mut self, raw: &RawLimits) -> Option<LimitSettings> {
        let mut limit = |key: &str, value: i64| self.take(key, in_range(value, 1, LIMIT_MAX));
        let requests = limit("limits.requests_per_minute", raw.requests_per_minute);
        let concurrent = limit("limits.concurrent_calls", raw.concurrent_calls);
        let polls = limit("limits.polls_per_minute", raw.polls_per_minute);
        let reads = limit("limits.reads_per_minute", raw.reads_per_minute);
        Some(LimitSettings {
            requests_per_minute: requests?,
            concurrent_calls: concurrent?,
            polls_per_minute: polls?,
            reads_per_minute: reads?,
        })
    }
}

fn usd(cents: u64) -> Money {
    let cents = i64::try_from(cents).unwrap_or(MAX_CANCELLED_CENTS);
    Money::from_nanos(cents.saturating_mul(NANOS_A_CENT))
}
