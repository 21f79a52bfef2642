//! Money as it is shown: exact decimals of USD, as text.

use serde::Serialize;
use trunkline_ledger::accounts;
use trunkline_ledger::statement::Budget;
use trunkline_store::trial_grants;
use trunkline_types::{AccountId, Money, Timestamp};
use utoipa::ToSchema;

use crate::error::ApiError;
pub(crate) use crate::request_bodies::BudgetPeriod;
use crate::shared::Shared;
use crate::times::rfc3339;

/// Wallet balances.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Balance)]
pub(crate) struct BalanceView {
    /// Paid credit, including holds.
    #[schema(example = "12.5")]
    paid_usd: String,
    /// Trial credit, including holds.
    #[schema(example = "0.2")]
    trial_usd: String,
    /// Held for running calls and tasks.
    #[schema(example = "0")]
    reserved_usd: String,
    /// Available to new calls: both wallets minus holds.
    #[schema(example = "12.7")]
    available_usd: String,
    /// Expiry of the trial credit; null for never.
    #[schema(required, format = DateTime)]
    trial_expires_at: Option<String>,
    /// Whether both wallets together are below the low-balance threshold. Holds are not spent yet and
    /// count as balance, as for the event `balance.low`.
    is_low: bool,
}

/// A spending limit for a period.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Budget)]
pub(crate) struct BudgetView {
    /// Budget id.
    id: i64,
    /// The period.
    #[schema(inline = false)]
    period: BudgetPeriod,
    /// Time zone of the period.
    #[schema(example = "UTC")]
    timezone: String,
    /// Amount.
    #[schema(example = "5")]
    limit_usd: String,
    /// Used in the current period by open holds and charges.
    #[schema(example = "1.25")]
    used_usd: String,
    /// End of the current period; null for a total.
    #[schema(required, format = DateTime)]
    ends_at: Option<String>,
}

/// A wallet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = WalletName)]
pub(crate) enum WalletName {
    /// Paid money.
    Paid,
    /// Money to try things out.
    Trial,
}

/// An account's balance, as the books have it now.
pub(crate) async fn balance(
    shared: &Shared,
    account: AccountId,
) -> Result<(accounts::Balance, Option<Timestamp>), ApiError> {
    let balance = accounts::balance(&shared.people, account).await?;
    let balance = balance.ok_or_else(ApiError::unavailable)?;
    let mut session = shared.people.session().await?;
    let ends = trial_grants::ends_at(&mut session, account).await?;
    Ok((balance, ends))
}

/// What may be spent.
pub(crate) fn available(balance: &accounts::Balance) -> Money {
    let free = |posted: Money, held: Money| posted.checked_sub(held).unwrap_or(Money::ZERO);
    plus(
        free(balance.paid, balance.paid_held),
        free(balance.trial, balance.trial_held),
    )
}

/// The sum; amounts of one account never leave the range.
pub(crate) fn plus(one: Money, other: Money) -> Money {
    one.checked_add(other).unwrap_or(one)
}

// === impl BalanceView ===

impl BalanceView {
    pub(crate) fn of(balance: &accounts::Balance, trial_ends: Option<Timestamp>) -> Self {
        let trial_ends = trial_ends.filter(|_| balance.trial > Money::ZERO);
        Self {
            paid_usd: balance.paid.to_string(),
            trial_usd: balance.trial.to_string(),
            reserved_usd: plus(balance.paid_held, balance.trial_held).to_string(),
            available_usd: available(balance).to_string(),
            trial_expires_at: trial_ends.map(rfc3339),
            is_low: balance.is_low,
        }
    }
}

// === impl BudgetView ===

impl BudgetView {
    /// A period that is unknown here was written by a later version of us; it is left out.
    pub(super) fn of(budget: &Budget) -> Option<Self> {
        let period = BudgetPeriod::ALL
            .into_iter()
            .find(|period| period.ledger().as_str() == budget.period)?;
        Some(Self {
            id: budget.id,
            period,
            timezone: budget.timezone.clone(),
            limit_usd: budget.limit.to_string(),
            used_usd: budget.used.to_string(),
            ends_at: budget.ends_at.map(rfc3339),
        })
    }
}

// === impl BudgetPeriod ===

impl BudgetPeriod {
    pub(super) const ALL: [Self; 4] = [Self::Total, Self::Daily, Self::Weekly, Self::Monthly];

    pub(super) const fn ledger(self) -> accounts::Period {
        match self {
            Self::Total => accounts::Period::Total,
            Self::Daily => accounts::Period::Daily,
            Self::Weekly => accounts::Period::Weekly,
            Self::Monthly => accounts::Period::Monthly,
        }
    }
}

// === impl WalletName ===

impl WalletName {
    pub(crate) const fn of(wallet: accounts::Wallet) -> Self {
        match wallet {
            accounts::Wallet::Paid => Self::Paid,
            accounts::Wallet::Trial => Self::Trial,
        }
    }
}
