//! Faults of something that callers share, by the accounts whose calls met them.
//!
//! One customer can provoke almost any answer of an upstream. So the faults of one account's calls count for
//! that account alone; only those of several accounts, or a probe of our own, count for all.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};

use trunkline_types::{AccountId, Timestamp};

/// Accounts that must have met a fault before it counts for all: more than one customer is likely to have.
const SEVERAL: usize = 5;
/// Accounts that are remembered.
const MAX_ACCOUNTS: usize = 16;

#[derive(Debug)]
pub(crate) struct Evidence {
    /// Faults in a row before anything follows.
    needed: u32,
    /// How long faults are remembered after their consequence ended.
    kept_millis: i64,
    /// By a probe of our own, or by an operator's row: for all, until then.
    confirmed_until_millis: AtomicI64,
    /// The latest end of a consequence: a quick look before the lock.
    latest_millis: AtomicI64,
    seen: Mutex<Vec<Seen>>,
}

#[derive(Debug, Clone, Copy)]
struct Seen {
    account: AccountId,
    faults: u32,
    until_millis: i64,
}

impl Evidence {
    /// Each fault has its consequence as long as the fault lasts.
    pub(super) const fn of_each() -> Self {
        Self::new(1, 0)
    }

    /// Only so many faults in a row have one; they are remembered between.
    pub(super) const fn of_many(needed: u32, kept_millis: i64) -> Self {
        Self::new(needed, kept_millis)
    }

    const fn new(needed: u32, kept_millis: i64) -> Self {
        Self {
            needed,
            kept_millis,
            confirmed_until_millis: AtomicI64::new(0),
            latest_millis: AtomicI64::new(0),
            seen: Mutex::new(Vec::new()),
        }
    }

    /// A call of an account met a fault that lasts until then.
    pub(super) fn record(&self, account: AccountId, now: Timestamp, until_millis: i64) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.retain(|one| self.is_remembered(one, now));
        if let Some(known) = seen.iter_mut().find(|one| one.account == account) {
            known.faults = known.faults.saturating_add(1);
            known.until_millis = known.until_millis.max(until_millis);
        } else if seen.len() < MAX_ACCOUNTS {
            // Beyond so many accounts, one more changes nothing.
            seen.push(Seen {
                account,
                faults: 1,
                until_millis,
            });
        }
        drop(seen);
        self.latest_millis
            .fetch_max(until_millis, Ordering::Relaxed);
    }

    /// It is so for all, until then.
    pub(super) fn confirm(&self, until_millis: i64) {
        let confirmed = &self.confirmed_until_millis;
        confirmed.fetch_max(until_millis, Ordering::Relaxed);
    }

    /// It works: what was seen counts no more.
    pub(super) fn clear(&self) {
        let never = self.latest_millis.swap(0, Ordering::Relaxed) == 0;
        self.confirmed_until_millis.store(0, Ordering::Relaxed);
        if !never {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.clear();
        }
    }

    /// Whether calls of an account are kept from it.
    pub(super) fn excludes(&self, account: AccountId, now: Timestamp) -> bool {
        self.holds(now, |seen| {
            let own = seen.iter().find(|one| one.account == account);
            own.is_some_and(|own| self.has_consequence(own, now)) || self.is_shared(seen, now)
        })
    }

    /// Whether calls of an account are kept from it for what that account met itself.
    pub(super) fn excludes_own(&self, account: AccountId, now: Timestamp) -> bool {
        self.holds(now, |seen| {
            let own = seen.iter().find(|one| one.account == account);
            own.is_some_and(|own| self.has_consequence(own, now))
        })
    }

    /// Whether calls of all accounts are kept from it.
    pub(super) fn excludes_all(&self, now: Timestamp) -> bool {
        self.holds(now, |seen| self.is_shared(seen, now))
    }

    /// Whether calls of any account are kept from it: others are better off elsewhere, if they can be.
    pub(super) fn is_doubted(&self, now: Timestamp) -> bool {
        self.holds(now, |seen| {
            seen.iter().any(|one| self.has_consequence(one, now)) || self.is_shared(seen, now)
        })
    }

    /// Whether it was confirmed, or a look at what was seen says so.
    fn holds(&self, now: Timestamp, look: impl FnOnce(&[Seen]) -> bool) -> bool {
        if self.confirmed_until_millis.load(Ordering::Relaxed) > now.millis() {
            return true;
        }
        if self.latest_millis.load(Ordering::Relaxed) <= now.millis() {
            return false;
        }
        look(&self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Faults since it last worked.
    pub(super) fn faults(&self) -> u32 {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        sum(&seen)
    }

    fn is_remembered(&self, one: &Seen, now: Timestamp) -> bool {
        one.until_millis.saturating_add(self.kept_millis) > now.millis()
    }

    const fn has_consequence(&self, one: &Seen, now: Timestamp) -> bool {
        one.faults >= self.needed && one.until_millis > now.millis()
    }

    fn is_shared(&self, seen: &[Seen], now: Timestamp) -> bool {
        let remembered = seen.iter().filter(|one| self.is_remembered(one, now));
        remembered.count() >= SEVERAL && sum(seen) >= self.needed
    }
}

fn sum(seen: &[Seen]) -> u32 {
    let faults = seen.iter().map(|one| one.faults);
    faults.fold(0, u32::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000 * SECOND)
    }

    fn account(number: i64) -> AccountId {
        AccountId::new(number)
    }

    #[test]
    fn faults_of_one_account_exclude_that_account_and_no_other() {
        let evidence = Evidence::of_each();
        for _ in 0..1_000 {
            evidence.record(account(1), at(100), 130 * SECOND);
        }
        assert!(evidence.excludes(account(1), at(129)));
        assert!(!evidence.excludes(account(2), at(129)));
        assert!(!evidence.excludes_all(at(129)) && evidence.is_doubted(at(129)));
        for other in 2..=4 {
            evidence.record(account(other), at(100), 130 * SECOND);
            assert!(!evidence.excludes(account(9), at(129)));
        }
        evidence.record(account(5), at(100), 130 * SECOND);
        assert!(evidence.excludes(account(9), at(129)) && evidence.excludes_all(at(129)));
        assert!(!evidence.excludes_own(account(9), at(129)));
        assert!(evidence.excludes_own(account(5), at(129)));
        assert!(!evidence.excludes(account(1), at(130)) && !evidence.is_doubted(at(130)));
    }

    #[test]
    fn faults_in_a_row_are_remembered_between_and_forgotten_by_a_success() {
        let evidence = Evidence::of_many(5, 600 * SECOND);
        for second in [0, 20, 40, 60] {
            evidence.record(account(1), at(second), (second + 10) * SECOND);
            assert!(!evidence.excludes(account(1), at(second)));
        }
        evidence.record(account(1), at(80), 90 * SECOND);
        assert!(evidence.excludes(account(1), at(89)) && !evidence.excludes(account(2), at(89)));
        assert_eq!(evidence.faults(), 5);
        for other in 2..=5 {
            assert!(!evidence.excludes(account(9), at(89)));
            evidence.record(account(other), at(80), 90 * SECOND);
        }
        assert!(evidence.excludes(account(9), at(89)));
        evidence.clear();
        assert!(!evidence.excludes(account(1), at(89)) && evidence.faults() == 0);
    }

    #[test]
    fn what_our_own_probe_saw_counts_for_all_at_once() {
        let evidence = Evidence::of_each();
        evidence.confirm(10 * SECOND);
        assert!(evidence.excludes(account(9), at(9)) && evidence.excludes_all(at(9)));
        assert!(!evidence.excludes(account(9), at(10)));
        evidence.confirm(20 * SECOND);
        evidence.clear();
        assert!(!evidence.excludes(account(9), at(19)));
    }
}
