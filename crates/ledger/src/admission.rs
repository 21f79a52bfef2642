//! Admission: whether wallets, budgets and daily capacity cover an amount, as pure functions over
//! the locked rows. The model test in `tests/` drives the same functions.

use std::collections::BTreeMap;

use trunkline_types::{AccountId, Money};

use crate::operations::{Shortage, Wallets};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WalletBalances {
    /// In the paid wallet, nano-USD.
    pub paid_posted: i64,
    /// What the account may owe beyond it.
    pub credit_limit: i64,
    pub paid_held: i64,
    pub trial_posted: i64,
    pub trial_held: i64,
    /// Topped up at least once.
    pub topped_up: bool,
}

/// One period of one budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetWindow {
    pub id: i64,
    pub limit: i64,
    /// What is.
    pub used: i64,
}

/// A period of a budget: the budget's id, and the period's start in microseconds since the epoch
/// (`i64::MIN` for a total budget).
pub type BudgetWindowId = (i64, i64);

/// The rows that a batch may take from. Taking changes them, so later operations see earlier ones.
#[derive(Debug, Clone, Default)]
pub struct BatchState {
    pub balances: BTreeMap<AccountId, WalletBalances>,
    pub windows: BTreeMap<BudgetWindowId, BudgetWindow>,
    /// Capacity left today, by name.
    pub capacity_left: BTreeMap<String, i64>,
}

/// What is taken out of each wallet, nano-USD.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WalletSplit {
    /// Out of the paid wallet.
    pub paid: i64,
    /// Out of the trial wallet.
    pub trial: i64,
}

/// Why a reservation was rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rejection {
    /// Insufficient: by what, the largest amount that would fit, what other calls hold.
    TooLittle(Shortage, i64, i64),
    /// Paid money only, and the account never topped up.
    NeverToppedUp,
    /// The daily capacity is used up.
    CapacityReached,
    /// The account is not there.
    UnknownPayer,
}

// === impl WalletBalances ===

impl WalletBalances {
    /// What is free in the trial and the paid wallet, as far as they may be used.
    fn available(&self, wallets: Wallets) -> (i64, i64) {
        let free = |posted: i64, held: i64| posted.saturating_sub(held).max(0);
        let trial = match wallets {
            Wallets::TrialFirst => free(self.trial_posted, self.trial_held),
            Wallets::PaidOnly => 0,
        };
        let paid = self.paid_posted.saturating_add(self.credit_limit);
        (trial, free(paid, self.paid_held))
    }

    fn held(&self) -> i64 {
        self.paid_held.saturating_add(self.trial_held)
    }
}

// === impl WalletSplit ===

impl WalletSplit {
    #[must_use]
    pub const fn total(self) -> i64 {
        self.paid.saturating_add(self.trial)
    }
}

// === impl BatchState ===

impl BatchState {
    /// Takes an amount from an account's wallets and all given budget windows, or nothing at all. A
    /// negative amount counts as zero.
    pub fn take(
        &mut self,
        account: AccountId,
        wallets: Wallets,
        amount: i64,
        windows: &[BudgetWindowId],
        capacity: Option<&str>,
    ) -> Result<WalletSplit, Rejection> {
        let amount = amount.max(0);
        let balance = self
            .balances
            .get(&account)
            .copied()
            .ok_or(Rejection::UnknownPayer)?;
        if wallets == Wallets::PaidOnly && !balance.topped_up {
            return Err(Rejection::NeverToppedUp);
        }
        let (trial_left, paid_left) = balance.available(wallets);
        let wallets_left = trial_left.saturating_add(paid_left);
        let tightest = self.tightest(windows);
        let budget_left = tightest.map_or(i64::MAX, |(_, left)| left);
        let fits = wallets_left.min(budget_left);
        if amount > wallets_left {
            return Err(Rejection::TooLittle(Shortage::Wallet, fits, balance.held()));
        }
        if let Some((budget, left)) = tightest.filter(|(_, left)| amount > *left) {
            return Err(Rejection::TooLittle(
                Shortage::Budget(budget),
                left.min(fits),
                balance.held(),
            ));
        }
        if capacity.is_some_and(|name| self.capacity_left.get(name).copied().unwrap_or(0) < 1) {
            return Err(Rejection::CapacityReached);
        }
        let trial = amount.min(trial_left);
        let split = WalletSplit {
            paid: amount.saturating_sub(trial),
            trial,
        };
        self.apply(account, split, windows, capacity);
        Ok(split)
    }

    /// Takes as much of an amount as an account's wallets and all given budget windows have, and says what
    /// the rest ran into.
    pub fn take_what_fits(
        &mut self,
        account: AccountId,
        wallets: Wallets,
        amount: i64,
        windows: &[BudgetWindowId],
    ) -> Result<(WalletSplit, Option<Shortage>), Rejection> {
        match self.take(account, wallets, amount, windows, None) {
            Ok(split) => Ok((split, None)),
            Err(Rejection::TooLittle(by, fits, _)) => {
                let split = self.take(account, wallets, fits, windows, None)?;
                Ok((split, Some(by)))
            }
            Err(
                other @ (Rejection::NeverToppedUp
                | Rejection::CapacityReached
                | Rejection::UnknownPayer),
            ) => Err(other),
        }
    }

    /// The window with the least left: its budget and what is left.
    fn tightest(&self, windows: &[BudgetWindowId]) -> Option<(i64, i64)> {
        let all = windows.iter().filter_map(|id| self.windows.get(id));
        let left = |window: &BudgetWindow| window.limit.saturating_sub(window.used).max(0);
        all.map(|window| (window.id, left(window)))
            .min_by_key(|(_, left)| *left)
    }

    fn apply(
        &mut self,
        account: AccountId,
        split: WalletSplit,
        windows: &[BudgetWindowId],
        capacity: Option<&str>,
    ) {
        if let Some(balance) = self.balances.get_mut(&account) {
            balance.paid_held = balance.paid_held.saturating_add(split.paid);
            balance.trial_held = balance.trial_held.saturating_add(split.trial);
        }
        for id in windows {
            if let Some(window) = self.windows.get_mut(id) {
                window.used = window.used.saturating_add(split.total());
            }
        }
        if let Some(left) = capacity.and_then(|name| self.capacity_left.get_mut(name)) {
            *left = left.saturating_sub(1);
        }
    }
}

/// Splits a charge over the wallets of its hold: trial money first, never more than was held. The
/// second value is what could not be charged.
#[must_use]
pub fn charge(amount: i64, held: WalletSplit) -> (WalletSplit, i64) {
    let requested = amount.max(0);
    let trial = requested.min(held.trial);
    let paid = requested.saturating_sub(trial).min(held.paid);
    let split = WalletSplit { paid, trial };
    (split, requested.saturating_sub(split.total()))
}

/// Splits a refund: each part to its own wallet, paid money first, never more than was charged.
#[must_use]
pub fn refund_split(amount: Option<i64>, charged: WalletSplit) -> WalletSplit {
    let requested = amount.unwrap_or(i64::MAX).max(0);
    let paid = requested.min(charged.paid);
    let trial = requested.saturating_sub(paid).min(charged.trial);
    WalletSplit { paid, trial }
}

/// An amount in nano-USD, as the tables store it.
#[must_use]
pub const fn money(nanos: i64) -> Money {
    Money::from_nanos(nanos)
}

#[cfg(test)]
mod tests;
