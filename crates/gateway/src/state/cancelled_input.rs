//! What the operator bears for clients that leave: the upstream may bill the input of a request that it was
//! sent, and of a stream it may not have told it yet. Each account has a limit an hour; above it the input is
//! charged, or the stream is read to its end. Counted by node.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use trunkline_types::{AccountId, Money, Timestamp};

const HOUR_SECONDS: i64 = 3_600;
/// Accounts that are remembered before those of earlier hours are forgotten.
const MAX_ACCOUNTS: usize = 10_000;

#[derive(Debug, Default)]
pub(crate) struct CancelledInput(Mutex<HashMap<AccountId, Borne>>);

#[derive(Debug, Clone, Copy)]
struct Borne {
    hour: i64,
    amount: Money,
}

impl CancelledInput {
    /// Whether the operator bears this amount too. If so, it counts against the account's hour.
    pub(crate) fn bears(
        &self,
        account: AccountId,
        amount: Money,
        most: Money,
        now: Timestamp,
    ) -> bool {
        let hour = now.seconds().div_euclid(HOUR_SECONDS);
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MAX_ACCOUNTS {
            all.retain(|_, borne| borne.hour == hour);
        }
        let before = all.get(&account).filter(|borne| borne.hour == hour);
        let before = before.map_or(Money::ZERO, |borne| borne.amount);
        let Ok(amount) = before.checked_add(amount) else {
            return false;
        };
        if amount > most {
            return false;
        }
        all.insert(account, Borne { hour, amount });
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_has_its_limit_each_hour_and_no_other_account_pays_for_it() {
        let borne = CancelledInput::default();
        let (one, two) = (AccountId::new(1), AccountId::new(2));
        let most = Money::from_nanos(10);
        let at = |hours: i64| Timestamp::from_micros(0).plus_seconds(hours * HOUR_SECONDS + 5);
        let bears =
            |account, nanos, hours| borne.bears(account, Money::from_nanos(nanos), most, at(hours));
        assert!(bears(one, 6, 1));
        assert!(!bears(one, 5, 1));
        assert!(bears(one, 4, 1), "to the nano-dollar");
        assert!(bears(two, 10, 1));
        assert!(!bears(two, 1, 1));
        assert!(bears(one, 10, 2), "a new hour");
    }
}
