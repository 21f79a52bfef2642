//! Things at once: what this node holds, and what it may hold by its lease. Pure.

use std::time::Duration;

use tokio::time::Instant;

use crate::remote::{Answer, Ask};
use crate::settings::RECHECK;
use crate::table::{Has, Way};

/// What somebody who found no seat is told to wait: seats come back at any moment.
const AGAIN: Duration = Duration::from_secs(1);

/// One counter of things at once.
#[derive(Debug)]
pub(crate) struct Seats {
    in_use: u64,
    /// The most in use since the lease was last looked at.
    peak: u64,
    /// What Redis lets this node hold.
    leased: u64,
    until: Option<Instant>,
    refused_until: Option<Instant>,
}

// === impl Seats ===

impl Seats {
    pub(crate) const fn new() -> Self {
        Self {
            in_use: 0,
            peak: 0,
            leased: 0,
            until: None,
            refused_until: None,
        }
    }

    pub(crate) fn has(&self, (limit, amount): (u64, u64), way: Way, now: Instant) -> Has {
        let wanted = self.in_use.saturating_add(amount);
        match way {
            Way::Shared if wanted <= self.leased(now).min(limit) => Has::Yes,
            Way::Shared if self.refused_until.is_some_and(|until| now < until) => Has::No(AGAIN),
            Way::Shared => Has::Ask,
            Way::Share(_) if wanted <= way.share(limit).max(self.leased(now).min(limit)) => {
                Has::Yes
            }
            Way::Share(_) => Has::No(AGAIN),
        }
    }

    pub(crate) fn take(&mut self, amount: u64) {
        self.in_use = self.in_use.saturating_add(amount);
        self.peak = self.peak.max(self.in_use);
    }

    pub(crate) fn give_back(&mut self, amount: u64) {
        self.in_use = self.in_use.saturating_sub(amount);
    }

    pub(crate) fn ask(&self, (limit, amount): (u64, u64), now: Instant) -> Ask {
        Ask::Seats {
            limit,
            need: amount,
            in_use: self.in_use,
            keep: self.leased(now),
        }
    }

    /// What Redis should hear although nobody waits: that this node lives, and what it needs no more.
    pub(crate) fn due(&mut self, limit: u64, lease: Duration, now: Instant) -> Option<Ask> {
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
        // Lowered first: what is on its way back is taken by nobody.
        self.leased = self.leased.min(needed);
        Some(Ask::Seats {
            limit,
            need: 0,
            in_use: self.in_use,
            keep: self.leased,
        })
    }

    pub(crate) fn heard(&mut self, answer: &Answer, lease: Duration, sent: Instant, now: Instant) {
        self.leased = answer.granted;
        self.until = sent.checked_add(lease);
        self.refused_until = answer.refused.then(|| now.checked_add(RECHECK)).flatten();
    }

    pub(crate) fn is_over(&self, now: Instant) -> bool {
        self.in_use == 0 && self.leased(now) == 0
    }

    /// A lease that is over is nothing.
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

    fn leased(granted: u64) -> Answer {
        Answer {
            granted,
            left: 0,
            mark: 0,
            ends_in: Duration::ZERO,
            refused: false,
        }
    }

    #[test]
    fn alone_there_are_as_many_seats_as_the_limit_and_each_comes_back() {
        let (mut seats, now) = (Seats::new(), Instant::now());
        for _ in 0..3 {
            assert_eq!(seats.has((3, 1), Way::Share(1), now), Has::Yes);
            seats.take(1);
        }
        assert_eq!(seats.has((3, 1), Way::Share(1), now), Has::No(AGAIN));
        seats.give_back(1);
        assert_eq!(seats.has((3, 1), Way::Share(1), now), Has::Yes);
    }

    #[test]
    fn a_lease_ends_by_itself_and_what_is_spare_goes_back() {
        let (mut seats, now) = (Seats::new(), Instant::now());
        seats.heard(&leased(4), LEASE, now, now);
        seats.take(1);
        assert_eq!(seats.has((9, 3), Way::Shared, now), Has::Yes);
        let ask = seats.due(9, LEASE, now).expect("three are spare");
        assert_eq!(
            ask,
            Ask::Seats {
                limit: 9,
                need: 0,
                in_use: 1,
                keep: 1
            }
        );
        assert_eq!(seats.has((9, 1), Way::Shared, now), Has::Ask);
        seats.heard(&leased(1), LEASE, now, now);
        assert!(seats.due(9, LEASE, now).is_none(), "it is new");
        let later = now + LEASE;
        assert!(seats.due(9, LEASE, later).is_some(), "it is renewed");
        assert_eq!(seats.has((9, 0), Way::Shared, later), Has::Ask);
    }

    #[test]
    fn without_redis_a_node_keeps_what_it_was_leased_as_long_as_that_holds() {
        let (mut seats, now) = (Seats::new(), Instant::now());
        seats.heard(&leased(4), LEASE, now, now);
        seats.take(3);
        assert_eq!(seats.has((6, 1), Way::Share(3), now), Has::Yes);
        let later = now + LEASE;
        assert_eq!(seats.has((6, 1), Way::Share(3), later), Has::No(AGAIN));
    }
}
