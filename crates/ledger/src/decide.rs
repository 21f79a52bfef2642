//! Who gets what: the decisions of the verbs as pure functions over what the rows said while they
//! were locked. The simulator in `tests/` drives these same functions.

use std::collections::BTreeMap;

use trunkline_types::{AccountId, Money};

use crate::verbs::{Shortage, Wallets};

/// An account's row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Purse {
    /// In the paid wallet, nano-USD.
    pub paid_posted: i64,
    /// Of it, promised.
    pub paid_held: i64,
    /// In the trial wallet.
    pub trial_posted: i64,
    /// Of it, promised.
    pub trial_held: i64,
    /// Topped up at least once.
    pub topped_up: bool,
}

/// One stretch of one budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetRoom {
    /// The budget's id.
    pub id: i64,
    /// What may be used.
    pub limit: i64,
    /// What is.
    pub used: i64,
}

/// Names a stretch of a budget: its id, and its start in microseconds since the epoch (the lowest
/// number for a stretch without a start).
pub type StretchId = (i64, i64);

/// All rows that a batch may take from. Taking changes it, so later words see earlier ones.
#[derive(Debug, Clone, Default)]
pub struct Standing {
    /// Accounts by id.
    pub purses: BTreeMap<AccountId, Purse>,
    /// Stretches of budgets.
    pub stretches: BTreeMap<StretchId, BudgetRoom>,
    /// Places left today, by name.
    pub places: BTreeMap<String, i64>,
}

/// What is taken out of each wallet, nano-USD.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Legs {
    /// Out of the paid wallet.
    pub paid: i64,
    /// Out of the trial wallet.
    pub trial: i64,
}

/// Why nothing was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotTaken {
    /// Too little: what stands in the way, what would fit, what is held by others.
    TooLittle(Shortage, i64, i64),
    /// Paid money only, and the account never topped up.
    NeverToppedUp,
    /// No place left today.
    CapacityReached,
    /// The account is not there.
    UnknownPayer,
}

// === impl Purse ===

impl Purse {
    /// Free in the trial and the paid wallet, as far as the wallets may pay.
    fn room(&self, wallets: Wallets) -> (i64, i64) {
        let free = |posted: i64, held: i64| posted.saturating_sub(held).max(0);
        let trial = match wallets {
            Wallets::TrialFirst => free(self.trial_posted, self.trial_held),
            Wallets::PaidOnly => 0,
        };
        (trial, free(self.paid_posted, self.paid_held))
    }

    fn held(&self) -> i64 {
        self.paid_held.saturating_add(self.trial_held)
    }
}

// === impl Legs ===

impl Legs {
    /// Both together.
    #[must_use]
    pub const fn total(self) -> i64 {
        self.paid.saturating_add(self.trial)
    }
}

// === impl Standing ===

impl Standing {
    /// Takes an amount out of an account's wallets and all the given stretches, or nothing at all. Less
    /// than nothing is nothing.
    pub fn take(
        &mut self,
        account: AccountId,
        wallets: Wallets,
        amount: i64,
        stretches: &[StretchId],
        place: Option<&str>,
    ) -> Result<Legs, NotTaken> {
        let amount = amount.max(0);
        let purse = self
            .purses
            .get(&account)
            .copied()
            .ok_or(NotTaken::UnknownPayer)?;
        if wallets == Wallets::PaidOnly && !purse.topped_up {
            return Err(NotTaken::NeverToppedUp);
        }
        let (trial_room, paid_room) = purse.room(wallets);
        let wallet_room = trial_room.saturating_add(paid_room);
        let tightest = self.tightest(stretches);
        let budget_room = tightest.map_or(i64::MAX, |(_, room)| room);
        let fits = wallet_room.min(budget_room);
        if amount > wallet_room {
            return Err(NotTaken::TooLittle(Shortage::Wallet, fits, purse.held()));
        }
        if let Some((budget, room)) = tightest.filter(|(_, room)| amount > *room) {
            return Err(NotTaken::TooLittle(
                Shortage::Budget(budget),
                room.min(fits),
                purse.held(),
            ));
        }
        if place.is_some_and(|name| self.places.get(name).copied().unwrap_or(0) < 1) {
            return Err(NotTaken::CapacityReached);
        }
        let trial = amount.min(trial_room);
        let legs = Legs {
            paid: amount.saturating_sub(trial),
            trial,
        };
        self.apply(account, legs, stretches, place);
        Ok(legs)
    }

    /// The stretch with the least room: its budget and the room.
    fn tightest(&self, stretches: &[StretchId]) -> Option<(i64, i64)> {
        let rooms = stretches.iter().filter_map(|id| self.stretches.get(id));
        let room = |stretch: &BudgetRoom| stretch.limit.saturating_sub(stretch.used).max(0);
        rooms
            .map(|stretch| (stretch.id, room(stretch)))
            .min_by_key(|(_, room)| *room)
    }

    fn apply(
        &mut self,
        account: AccountId,
        legs: Legs,
        stretches: &[StretchId],
        place: Option<&str>,
    ) {
        if let Some(purse) = self.purses.get_mut(&account) {
            purse.paid_held = purse.paid_held.saturating_add(legs.paid);
            purse.trial_held = purse.trial_held.saturating_add(legs.trial);
        }
        for id in stretches {
            if let Some(stretch) = self.stretches.get_mut(id) {
                stretch.used = stretch.used.saturating_add(legs.total());
            }
        }
        if let Some(left) = place.and_then(|name| self.places.get_mut(name)) {
            *left = left.saturating_sub(1);
        }
    }
}

/// How a charge falls on the legs of its hold: trial money first, never more than was held. The
/// third number is what was used and could not be charged.
#[must_use]
pub fn charge(amount: i64, held: Legs) -> (Legs, i64) {
    let wanted = amount.max(0);
    let trial = wanted.min(held.trial);
    let paid = wanted.saturating_sub(trial).min(held.paid);
    let legs = Legs { paid, trial };
    (legs, wanted.saturating_sub(legs.total()))
}

/// How money goes back: each leg to its own wallet, paid money first, never more than was charged.
#[must_use]
pub fn give_back(amount: Option<i64>, charged: Legs) -> Legs {
    let wanted = amount.unwrap_or(i64::MAX).max(0);
    let paid = wanted.min(charged.paid);
    let trial = wanted.saturating_sub(paid).min(charged.trial);
    Legs { paid, trial }
}

/// An amount as the tables keep it.
#[must_use]
pub const fn money(nanos: i64) -> Money {
    Money::from_nanos(nanos)
}

#[cfg(test)]
mod tests;
