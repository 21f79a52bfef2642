//! Types of the account operations and their answers. Plain values.

use trunkline_types::{AccountId, Money, RequestId, Timestamp};

/// Live accounts, and test accounts that never reach a live upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccountKind {
    Live,
    Test,
}

/// One of an account's wallets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wallet {
    Paid,
    Trial,
}

/// Money from outside: a payment or trial credit.
#[derive(Debug, Clone)]
pub struct TopUp {
    pub request: RequestId,
    pub account: AccountId,
    pub wallet: Wallet,
    pub amount: Money,
    pub provider: String,
    /// The provider's id of the payment; a repeated id is applied once.
    pub event: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TopUpAnswer {
    Done,
    /// This payment was applied before, with the same facts.
    Before,
    /// This payment was applied before, to another account, wallet or amount. Nothing was done.
    Different,
    /// No such account, or nothing to move.
    Refused,
}

/// A correction by a person.
#[derive(Debug, Clone)]
pub struct Adjust {
    pub request: RequestId,
    pub account: AccountId,
    pub wallet: Wallet,
    /// More, or less if negative.
    pub amount: Money,
    pub reason: String,
    pub actor: String,
}

/// What a correction was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdjustAnswer {
    Done,
    Before,
    /// There is less than that to take: this much.
    TooLittle(Money),
    /// No such account, or nothing to move.
    Refused,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Period {
    Total,
    /// A calendar day.
    Daily,
    Weekly,
    Monthly,
}

/// A balance as it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Balance {
    pub paid: Money,
    /// Of it, held by running calls.
    pub paid_held: Money,
    pub trial: Money,
    /// Of it, held by running calls.
    pub trial_held: Money,
    /// Live or test.
    pub kind: AccountKind,
    /// Topped up at least once.
    pub topped_up: bool,
    /// When it was topped up first.
    pub topped_up_at: Option<Timestamp>,
    /// Below it the account gets a `balance.low` event; none disables it.
    pub low_balance_threshold: Option<Money>,
    /// Whether the sum of both wallets, held money included, is below the threshold.
    pub is_low: bool,
}

// === impl AccountKind ===

impl AccountKind {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Test => "test",
        }
    }

    /// The column holds one of two values.
    pub(crate) fn of(word: &str) -> Self {
        if word == "test" {
            Self::Test
        } else {
            Self::Live
        }
    }
}

// === impl Wallet ===

impl Wallet {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Paid => "paid",
            Self::Trial => "trial",
        }
    }

    /// The wallet of a transfer's leg; the table holds 0 and 1.
    pub(crate) const fn of_leg(leg: i16) -> Self {
        if leg == 0 { Self::Paid } else { Self::Trial }
    }

    /// The leg of a transfer that moves it.
    #[must_use]
    pub const fn leg(self) -> i16 {
        match self {
            Self::Paid => 0,
            Self::Trial => 1,
        }
    }
}

// === impl Period ===

impl Period {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Total => "total",
            Self::Daily => "daily",
            Self::Weekly => "weekly",
            Self::Monthly => "monthly",
        }
    }
}
