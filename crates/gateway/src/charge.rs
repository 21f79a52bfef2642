//! What a call is charged: what it used, unless the money or a limit of the caller ends before. Pure; the one
//! place that decides an amount.

use trunkline_ledger::{Shortage, Unpaid, WriteOffReason};
use trunkline_types::Money;

/// Amounts that a charge never passes, whatever money there is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ChargeLimits {
    /// The price in the tier that was asked for, where the upstream served a dearer one.
    pub(crate) requested_tier: Option<Money>,
    /// The caller's own limit for the call.
    pub(crate) max_cost: Option<Money>,
    /// The maximum of the quote that the call brought.
    pub(crate) quote_maximum: Option<Money>,
}

/// A hold after it was raised as far as there is money.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Covered {
    pub(crate) held: Money,
    /// What it ran into, where it could not be raised to what was due.
    pub(crate) by: Option<Shortage>,
}

/// What is charged, and what the operator loses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChargeDecision {
    pub(crate) amount: Money,
    pub(crate) unpaid: Option<Unpaid>,
}

impl ChargeLimits {
    /// The most that may be charged for what was used.
    pub(crate) fn due(self, used: Money) -> Money {
        let limits = [self.requested_tier, self.max_cost, self.quote_maximum];
        let due = limits.into_iter().flatten().fold(used, Money::min);
        due.max(Money::ZERO)
    }

    /// Charges what is due and covered; the rest is unpaid, for the reason that ended the charge.
    pub(crate) fn decide(self, used: Money, covered: Covered) -> ChargeDecision {
        let due = self.due(used);
        let amount = due.min(covered.held).max(Money::ZERO);
        let rest = used.checked_sub(amount).unwrap_or(Money::ZERO);
        let reason = if amount < due {
            match covered.by {
                Some(Shortage::Budget(_)) => WriteOffReason::Budget,
                Some(Shortage::Wallet) | None => WriteOffReason::Overrun,
            }
        } else if self.max_cost == Some(due) {
            WriteOffReason::MaxCost
        } else if self.quote_maximum == Some(due) {
            WriteOffReason::QuoteMaximum
        } else {
            WriteOffReason::ServedTier
        };
        ChargeDecision {
            amount,
            unpaid: (rest > Money::ZERO).then_some(Unpaid { reason, sale: rest }),
        }
    }
}

#[cfg(test)]
mod tests;
