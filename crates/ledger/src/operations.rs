//! Ledger operations and their answers. Plain values.

use std::time::Duration;

use serde_json::Value;
use trunkline_types::{AccountId, KeyId, Money, RequestId, Units, Usage};
use uuid::Uuid;

pub(crate) use crate::outcome::Outcome;

/// The owner of a hold, which decides who may resolve it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// One call; its hold is voided when its node fails.
    Request,
    /// A job that outlives every node.
    Task(Uuid),
    /// A long connection with many responses; its hold is voided when its node fails.
    Connection(Uuid),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wallets {
    /// Trial money first, then paid money.
    TrialFirst,
    /// Paid money alone, and only of accounts that topped up at least once.
    PaidOnly,
}

/// Holds money for a call before it can cost anything.
#[derive(Debug, Clone)]
pub struct Reserve {
    /// Names the call for ever.
    pub request: RequestId,
    pub account: AccountId,
    /// The key used, whose budgets and whose parents' budgets are taken.
    pub key: Option<KeyId>,
    /// Who the hold belongs to.
    pub owner: Owner,
    /// The bound of the price.
    pub amount: Money,
    pub wallets: Wallets,
    /// Public name of the model or data set.
    pub model: String,
    /// The interface that was called.
    pub endpoint: String,
    /// The group whose prices apply.
    pub group: String,
    pub price_version: [u8; 32],
    /// An open hold expires after this long.
    pub lifetime: Duration,
    /// A claim on a daily capacity that all accounts share.
    pub capacity: Option<CapacityClaim>,
    pub idempotency: Option<Idempotency>,
}

/// A claim of one call on a daily capacity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapacityClaim {
    pub name: String,
    /// How many there are in a day.
    pub cap: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Idempotency {
    pub key: String,
    /// SHA-256 of the body.
    pub body_hash: [u8; 32],
}

/// What a reservation was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReserveAnswer {
    Held {
        /// Out of the paid wallet.
        paid: Money,
        /// Out of the trial wallet.
        trial: Money,
    },
    TooLittle {
        by: Shortage,
        /// The most that would have been held.
        fits: Money,
        /// What other calls of the account hold now.
        reserved: Money,
    },
    /// Only accounts that topped up may call this.
    NeverToppedUp,
    /// The day's number is used up.
    CapacityReached,
    /// The idempotency key belongs to another call.
    SameKey {
        request: RequestId,
        same_body: bool,
        finished: bool,
    },
    /// This request was resolved before.
    AlreadyResolved,
    /// No such account, or the key is not of this account.
    UnknownPayer,
}

/// What a reservation ran into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shortage {
    Wallet,
    /// A budget, by its id.
    Budget(i64),
}

/// Raises an open hold to a total, or as far as there is money.
#[derive(Debug, Clone)]
pub struct Extend {
    pub request: RequestId,
    pub account: AccountId,
    /// What the hold shall be in all.
    pub total: Money,
    /// Which wallets may pay for the rest.
    pub wallets: Wallets,
}

/// What an extension was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExtendAnswer {
    /// The hold is now this much in all.
    Held { total: Money },
    /// There is too little: the hold has all that fits, and is this much in all.
    Short { by: Shortage, total: Money },
    /// There is no open hold of this account under this id.
    NoHold,
}

/// What a settlement writes into the usage row beside its amount.
#[derive(Debug, Clone)]
pub struct Detail {
    /// Billed units per face.
    pub units: Units,
    pub measured: Usage,
    /// Usage was estimated because the upstream did not report it.
    pub estimated: bool,
    pub tier: Option<String>,
    /// What the upstream bills us, where known.
    pub cost: Option<Money>,
    /// Attempts at upstreams, for the log.
    pub attempts: Value,
    /// Codes of warnings given to the caller.
    pub warnings: Vec<String>,
    pub outcome: Outcome,
}

/// Charges an open hold and releases the rest.
#[derive(Debug, Clone)]
pub struct Settle {
    pub request: RequestId,
    pub account: AccountId,
    pub amount: Money,
    /// What was used and is not charged.
    pub unpaid: Option<Unpaid>,
    pub detail: Detail,
    /// What happens to the charge if the caller stops waiting for its answer.
    pub on_caller_gone: OnCallerGone,
}

/// What was used beyond a charge: the operator's loss, written off with the charge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unpaid {
    pub reason: WriteOffReason,
    /// At the customer's prices.
    pub sale: Money,
}

/// What happens to a charge whose answer was not delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnCallerGone {
    /// It is refunded: the result is delivered only once the charge is confirmed.
    Refund,
    /// It is kept: the result of a task is delivered without a waiting caller. Any node may charge
    /// a task, so a charge that exists may be another node's and must not be refunded.
    Keep,
}

/// Releases an open hold; nothing is charged.
#[derive(Debug, Clone)]
pub struct Void {
    pub request: RequestId,
    pub account: AccountId,
    pub detail: Detail,
}

/// What a settlement or a void was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettleAnswer {
    Done {
        /// Charged to the paid wallet.
        paid: Money,
        /// Charged to the trial wallet.
        trial: Money,
    },
    /// It was resolved before, like this.
    Before {
        /// It was charged, not voided.
        charged: bool,
        /// Charged to the paid wallet.
        paid: Money,
        /// Charged to the trial wallet.
        trial: Money,
    },
    /// There is no hold of this account under this id.
    NoHold,
}

/// Why a charge is refunded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefundKind {
    /// The work failed after the charge: refund all of it.
    Refund,
    /// The price turned out lower than the charge: refund the difference.
    SettlementAdjustment,
    /// The result was charged and never delivered: refund all of it, and free the call's daily
    /// capacity and idempotency key.
    Undelivered,
}

#[derive(Debug, Clone)]
pub struct Refund {
    pub request: RequestId,
    pub account: AccountId,
    pub kind: RefundKind,
    /// At most so much; none for all that is left of the charge.
    pub amount: Option<Money>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RefundAnswer {
    Done {
        paid: Money,
        trial: Money,
    },
    /// It was refunded before.
    Before,
    NothingCharged,
}

/// Writes off a loss of the operator.
#[derive(Debug, Clone)]
pub struct WriteOff {
    pub request: RequestId,
    pub account: AccountId,
    pub reason: WriteOffReason,
    /// What the customer would have paid.
    pub sale: Option<Money>,
    /// What the upstream may bill.
    pub cost: Option<Money>,
}

/// Why a loss is the operator's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteOffReason {
    /// The process of the node ended.
    Crash,
    /// The hold was not resolved before its deadline.
    Expired,
    /// The node drained before it was done.
    Drain,
    /// The charge could not be written in time.
    DatabaseAway,
    /// More was used than the wallets had.
    Overrun,
    /// More was used than a budget had.
    Budget,
    /// More was used than the caller allowed for the call.
    MaxCost,
    /// More was used than the quote's maximum.
    QuoteMaximum,
    /// The upstream served a dearer tier than was asked for.
    ServedTier,
    /// A result came after the refund.
    LateResult,
    /// It is unknown whether the upstream did the work.
    UnknownOutcome,
}

/// One operation of a batch.
#[derive(Debug, Clone)]
pub enum Op {
    /// See [`Reserve`].
    Reserve(Box<Reserve>),
    /// See [`Extend`].
    Extend(Extend),
    /// See [`Settle`].
    Settle(Box<Settle>),
    /// See [`Void`].
    Void(Box<Void>),
    /// See [`Refund`].
    Refund(Refund),
    /// See [`WriteOff`].
    WriteOff(WriteOff),
}

/// The answer to one operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// To [`Op::Reserve`].
    Reserve(ReserveAnswer),
    /// To [`Op::Extend`].
    Extend(ExtendAnswer),
    /// To [`Op::Settle`] and [`Op::Void`].
    Settle(SettleAnswer),
    /// To [`Op::Refund`].
    Refund(RefundAnswer),
    /// To [`Op::WriteOff`].
    WriteOff,
}

// === impl Op ===

impl Op {
    /// The account whose lock orders this operation.
    #[must_use]
    pub fn account(&self) -> AccountId {
        match self {
            Self::Reserve(reserve) => reserve.account,
            Self::Extend(extend) => extend.account,
            Self::Settle(settle) => settle.account,
            Self::Void(void) => void.account,
            Self::Refund(refund) => refund.account,
            Self::WriteOff(write_off) => write_off.account,
        }
    }

    /// The request that this operation is keyed by.
    pub(crate) fn request(&self) -> RequestId {
        match self {
            Self::Reserve(reserve) => reserve.request,
            Self::Extend(extend) => extend.request,
            Self::Settle(settle) => settle.request,
            Self::Void(void) => void.request,
            Self::Refund(refund) => refund.request,
            Self::WriteOff(write_off) => write_off.request,
        }
    }
}

// === impl Owner ===

impl Owner {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Task(_) => "task",
            Self::Connection(_) => "connection",
        }
    }

    /// The id of the owner; a request owns itself.
    #[must_use]
    pub const fn id(self, request: RequestId) -> Uuid {
        match self {
            Self::Request => request.uuid(),
            Self::Task(id) | Self::Connection(id) => id,
        }
    }
}

// === impl RefundKind ===

impl RefundKind {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Refund => "refund",
            Self::SettlementAdjustment => "settlement_adjustment",
            Self::Undelivered => "undelivered",
        }
    }
}

// === impl WriteOffReason ===

impl WriteOffReason {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Crash => "crash",
            Self::Expired => "expired",
            Self::Drain => "drain",
            Self::DatabaseAway => "database_away",
            Self::Overrun => "overrun",
            Self::Budget => "budget",
            Self::MaxCost => "max_cost",
            Self::QuoteMaximum => "quote_maximum",
            Self::ServedTier => "served_tier",
            Self::LateResult => "late_result",
            Self::UnknownOutcome => "unknown_outcome",
        }
    }
}

// === impl Detail ===

impl Detail {
    /// A row for a call that delivered nothing.
    #[must_use]
    pub fn nothing(outcome: Outcome) -> Self {
        Self {
            units: Units::none(),
            measured: Usage::unknown(),
            estimated: false,
            tier: None,
            cost: None,
            attempts: Value::Array(Vec::new()),
            warnings: Vec::new(),
            outcome,
        }
    }
}
