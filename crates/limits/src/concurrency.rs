//! Concurrency counter: what this node holds, and what its lease allows. Pure.

use std::time::Duration;

use tokio::time::Instant;

use crate::decision::{Decision, Source};
use crate::redis::{RedisReply, RedisRequest};
use crate::settings::RECHECK;

/// Retry-After of a call over the limit: a permit may be returned at any moment.
const RETRY_AFTER: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct ConcurrencyCounter {
    in_use: u64,
    /// Peak since the lease was last renewed.
    peak: u64,
    /// What Redis lets this node hold.
    leased: u64,
    until: Option<Instant>,
    refused_until: Option<Instant>,
}

// === impl ConcurrencyCounter ===

impl ConcurrencyCounter {
    pub(crate) const fn new() -> Self {
        Self {
            in_use: 0,
            peak: 0,
            leased: 0,
            until: None,
            refused_until: None,
        }
    }

    pub(crate) fn has(&self, limit: u64, amount: u64, source: Source, now: Instant) -> Decision {
        let needed = self.in_use.saturating_add(amount);
        match source {
            Source::Shared if needed <= self.leased(now).min(limit) => Decision::Yes,
            Source::Shared if self.refused_until.is_some_and(|until| now < until) => {
                Decision::No(RETRY_AFTER)
            }
            Source::Shared => Decision::AskRedis,
            Source::Share(_) if needed <= source.share(limit).max(self.leased(now).min(limit)) => {
                Decision::Yes
            }
            Source::Share(_) => Decision::No(RETRY_AFTER),
        }
    }

    pub(crate) fn take(&mut self, amount: u64) {
        self.in_use = self.in_use.saturating_add(amount);
        self.peak = self.peak.max(self.in_use);
    }

    pub(crate) fn give_back(&mut self, amount: u64) {
        self.in_use = self.in_use.saturating_sub(amount);
    }

    pub(crate) fn ask(&self, limit: u64, amount: u64, now: Instant) -> RedisRequest {
        RedisRequest::Concurrency {
            limit,
            need: amount,
            in_use: self.in_use,
            keep: self.leased(now),
        }
    }

    /// What to report to Redis without a waiting caller: a renewed lease, or unneeded concurrency.
    pub(crate) fn due(
        &mut self,
        limit: u64,
        lease: Duration,
        now: Instant,
    ) -> Option<RedisRequest> {
        let needed = self.peak.max(self.in_use);
        self.peak = self.in_use;
        let half = lease.checked_div(2).unwrap_or(lease);
        let renew_from = now.checked_add(half);
        let old = self
            .until
            .is_none_or(|until| renew_from.is_none_or(|from| until <= from));
        let spare = self.leased > needed;
        if !spare && (!old || needed == 0) {
            return None;
        }
        // Lowered first, so that what is being returned is not used.
        self.leased = self.leased.min(needed);
        Some(RedisRequest::Concurrency {
            limit,
            need: 0,
            in_use: self.in_use,
            keep: self.leased,
        })
    }

    pub(crate) fn apply(
        &mut self,
        answer: &RedisReply,
        lease: Duration,
        sent: Instant,
        now: Instant,
    ) {
        self.leased = answer.granted;
        self.until = sent.checked_add(lease);
        self.refused_until = answer.refused.then(|| now.checked_add(RECHECK)).flatten();
    }

    pub(crate) fn is_over(&self, now: Instant) -> bool {
        self.in_use == 0 && self.leased(now) == 0
    }

    /// An expired lease allows nothing.
    fn leased(&self, now: Instant) -> u64 {
        match self.until {
            Some(until) if now < until => self.leased,
            Some(_) | None => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Duration = Duration::from_secs(10);

    fn leased(granted: u64) -> RedisReply {
        RedisReply {
            granted,
            left: 0,
            mark: 0,
            ends_in: Duration::ZERO,
            frees_in: Duration::ZERO,
            generation: 0,
            refused: false,
        }
    }

    #[test]
    fn alone_there_are_as_many_seats_as_the_limit_and_each_comes_back() {
        let (mut concurrency, now) = (ConcurrencyCounter::new(), Instant::now());
        for _ in 0..3 {
            assert_eq!(concurrency.has(3, 1, Source::Share(1), now), Decision::Yes);
            concurrency.take(1);
        }
        assert_eq!(
            concurrency.has(3, 1, Source::Share(1), now),
            Decision::No(RETRY_AFTER)
        );
        concurrency.give_back(1);
        assert_eq!(concurrency.has(3, 1, Source::Share(1), now), Decision::Yes);
    }

    #[test]
    fn a_lease_ends_by_itself_and_what_is_spare_goes_back() {
        let (mut concurrency, now) = (ConcurrencyCounter::new(), Instant::now());
        concurrency.apply(&leased(4), LEASE, now, now);
        concurrency.take(1);
        assert_eq!(concurrency.has(9, 3, Source::Shared, now), Decision::Yes);
        let ask = concurrency.due(9, LEASE, now).expect("three are spare");
        assert_eq!(
            ask,
            RedisRequest::Concurrency {
                limit: 9,
                need: 0,
                in_use: 1,
                keep: 1
            }
        );
        assert_eq!(
            concurrency.has(9, 1, Source::Shared, now),
            Decision::AskRedis
        );
        concurrency.apply(&leased(1), LEASE, now, now);
        assert!(concurrency.due(9, LEASE, now).is_none(), "it is new");
        let later = now + LEASE;
        assert!(concurrency.due(9, LEASE, later).is_some(), "it is renewed");
        assert_eq!(
            concurrency.has(9, 0, Source::Shared, later),
            Decision::AskRedis
        );
    }

    #[test]
    fn without_redis_a_node_keeps_what_it_was_leased_as_long_as_that_holds() {
        let (mut concurrency, now) = (ConcurrencyCounter::new(), Instant::now());
        concurrency.apply(&leased(4), LEASE, now, now);
        concurrency.take(3);
        assert_eq!(concurrency.has(6, 1, Source::Share(3), now), Decision::Yes);
        let later = now + LEASE;
        assert_eq!(
            concurrency.has(6, 1, Source::Share(3), later),
            Decision::No(RETRY_AFTER)
        );
    }
}
