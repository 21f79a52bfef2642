//! Money that the ledger holds for one call. Nothing is sent to an upstream without a reservation, and
//! none is forgotten: one that is dropped unresolved is voided.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::task::TaskTracker;
use trunkline_ledger::{
    Detail, Extend, ExtendAnswer, Ledger, LedgerError, OnCallerGone, Outcome, Reserve,
    ReserveAnswer, Settle, SettleAnswer, Shortage, Void, Wallets, WriteOff, WriteOffReason,
    accounts,
};
use trunkline_types::{AccountId, Money, RequestId};

use crate::charge::{ChargeDecision, ChargeLimits, Covered};
use crate::duplicate::Duplicate;
use crate::error::{ApiError, ErrorCode};
use crate::metrics::Metrics;
use crate::services::Services;

/// How long a charge above the hold waits for more money while the ledger cannot be reached.
const COVER_WAIT: Duration = Duration::from_secs(10);
const COVER_PAUSE: Duration = Duration::from_millis(200);
/// Longest wait for the balance: a database that is away is reported within a second.
const BALANCE_WAIT: Duration = Duration::from_millis(800);

/// Money held for one call, and the wallets that it is of.
pub(crate) struct Reservation {
    ledger: Ledger,
    tasks: TaskTracker,
    metrics: Arc<Metrics>,
    request: RequestId,
    account: AccountId,
    wallets: Wallets,
    pub(crate) held: Money,
    /// How long the reservation took.
    pub(crate) waited: Duration,
    resolved: bool,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum NotHeld {
    TooLittle(Shortfall),
    /// Only accounts with a completed top-up may call this.
    NeverToppedUp,
    /// The number of the day is used up.
    CapacityReached,
}

/// What there is too little of, and how much there is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shortfall {
    pub(crate) by: Shortage,
    pub(crate) fits: Money,
    pub(crate) reserved: Money,
}

/// What an extension came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extended {
    /// The hold is as much as was wanted.
    Whole,
    /// There is not enough: the hold has all that fits.
    Short(Shortage),
    /// The ledger did not answer.
    Unknown,
}

// === impl Reservation ===

impl Reservation {
    /// Holds an amount, all of it or nothing.
    pub(crate) async fn try_hold(
        services: &Services,
        reserve: Reserve,
    ) -> Result<Result<Self, NotHeld>, ApiError> {
        let began = Instant::now();
        let (request, account) = (reserve.request, reserve.account);
        let (held, wallets) = (reserve.amount, reserve.wallets);
        let duplicate = reserve.idempotency.clone();
        let duplicate = duplicate.map(|key| Duplicate::of(account, key));
        let answer = match services.ledger.reserve(reserve).await {
            Ok(answer) => answer,
            Err(LedgerError::Rejected(error)) => {
                tracing::error!(error, "reserve: the ledger rejected it");
                return Err(ApiError::unavailable());
            }
            Err(LedgerError::Unavailable | LedgerError::StaleEpoch) => {
                return Err(ApiError::unavailable());
            }
        };
        if let Err(not_held) = held_or_not(answer, duplicate)? {
            return Ok(Err(not_held));
        }
        let holds = &services.edge.metrics.holds;
        holds.fetch_add(1, Ordering::Relaxed);
        Ok(Ok(Self {
            ledger: services.ledger.clone(),
            tasks: services.tasks.clone(),
            metrics: Arc::clone(&services.edge.metrics),
            request,
            account,
            wallets,
            held,
            waited: began.elapsed(),
            resolved: false,
        }))
    }

    /// Raises the hold to a total, or as far as there is money.
    pub(crate) async fn extend(&mut self, total: Money) -> Extended {
        let extend = Extend {
            request: self.request,
            account: self.account,
            total,
            wallets: self.wallets,
        };
        match self.ledger.extend(extend).await {
            Ok(ExtendAnswer::Held { total }) => {
                self.held = total;
                Extended::Whole
            }
            Ok(ExtendAnswer::Short { by, total }) => {
                self.held = total;
                Extended::Short(by)
            }
            Ok(ExtendAnswer::NoHold) | Err(_) => Extended::Unknown,
        }
    }

    pub(crate) const fn request(&self) -> RequestId {
        self.request
    }

    pub(crate) const fn account(&self) -> AccountId {
        self.account
    }

    /// What a call that used this much is charged, exactly: the hold is raised as far as there is money,
    /// and never past what is due. Settle this, and nothing else.
    pub(crate) async fn decide(&mut self, used: Money, limits: ChargeLimits) -> ChargeDecision {
        let by = self.cover(limits.due(used)).await;
        let covered = Covered {
            held: self.held,
            by,
        };
        limits.decide(used, covered)
    }

    /// The same for an estimate, which stays within the hold.
    pub(crate) fn decide_within(&self, used: Money, limits: ChargeLimits) -> ChargeDecision {
        let covered = Covered {
            held: self.held,
            by: None,
        };
        limits.decide(used, covered)
    }

    /// Raises the hold to what is due, and returns what that ran into.
    async fn cover(&mut self, due: Money) -> Option<Shortage> {
        let began = Instant::now();
        while due > self.held {
            match self.extend(due).await {
                Extended::Whole => return None,
                Extended::Short(by) => return Some(by),
                Extended::Unknown if began.elapsed() > COVER_WAIT => return None,
                Extended::Unknown => tokio::time::sleep(COVER_PAUSE).await,
            }
        }
        None
    }

    /// Charges the call and returns what was charged. An error means that nothing was.
    pub(crate) async fn settle(
        mut self,
        decision: ChargeDecision,
        detail: Detail,
    ) -> Result<Money, ApiError> {
        self.resolved = true;
        let settle = Settle {
            request: self.request,
            account: self.account,
            amount: decision.amount,
            unpaid: decision.unpaid,
            detail,
            on_caller_gone: OnCallerGone::Refund,
        };
        match self.ledger.settle(settle).await {
            Ok(SettleAnswer::Done { paid, trial }) => {
                paid.checked_add(trial).map_err(|_| ApiError::unavailable())
            }
            Ok(SettleAnswer::Before {
                charged: true,
                paid,
                trial,
            }) => paid.checked_add(trial).map_err(|_| ApiError::unavailable()),
            Ok(SettleAnswer::Before { charged: false, .. } | SettleAnswer::NoHold) => {
                tracing::error!(request.id = %self.request, "settle: the hold was voided before");
                Err(ApiError::unavailable())
            }
            Err(error) => {
                tracing::warn!(request.id = %self.request, %error, "settle failed");
                Err(ApiError::unavailable())
            }
        }
    }

    /// Releases the hold. If the ledger cannot be reached now, it tries again by itself.
    pub(crate) async fn void(mut self, detail: Detail) {
        self.resolved = true;
        let void = Void {
            request: self.request,
            account: self.account,
            detail,
        };
        if let Err(error) = self.ledger.void(void).await {
            let request = self.request;
            tracing::warn!(request.id = %request, %error, "void failed; hold will be released by the ledger's retry");
        }
    }

    /// Voids a call whose response could not be stored in time, and notes the loss. The database is away
    /// and the client has waited for it: the ledger retries, and the client does not wait for that.
    pub(crate) fn write_off(mut self, sale: Money, detail: Detail) {
        self.resolved = true;
        let loss = WriteOff {
            request: self.request,
            account: self.account,
            reason: WriteOffReason::DatabaseAway,
            sale: Some(sale),
            cost: detail.cost,
        };
        let void = Void {
            request: self.request,
            account: self.account,
            detail: Detail {
                attempts: detail.attempts,
                ..Detail::nothing(Outcome::DatabaseAway)
            },
        };
        let ledger = self.ledger.clone();
        self.tasks.spawn(async move {
            drop(tokio::join!(ledger.void(void), ledger.write_off(loss)));
        });
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let holds = &self.metrics.holds;
        holds.fetch_sub(1, Ordering::Relaxed);
        if self.resolved {
            return;
        }
        let ledger = self.ledger.clone();
        let void = Void {
            request: self.request,
            account: self.account,
            detail: Detail::nothing(Outcome::Drained),
        };
        self.tasks.spawn(async move {
            drop(ledger.void(void).await);
        });
    }
}

/// What the ledger's answer to a reservation means.
pub(crate) fn held_or_not(
    answer: ReserveAnswer,
    duplicate: Option<Duplicate>,
) -> Result<Result<(), NotHeld>, ApiError> {
    match answer {
        ReserveAnswer::Held { .. } => Ok(Ok(())),
        ReserveAnswer::TooLittle { by, fits, reserved } => {
            let shortfall = Shortfall { by, fits, reserved };
            Ok(Err(NotHeld::TooLittle(shortfall)))
        }
        ReserveAnswer::NeverToppedUp => Ok(Err(NotHeld::NeverToppedUp)),
        ReserveAnswer::CapacityReached => Ok(Err(NotHeld::CapacityReached)),
        ReserveAnswer::SameKey { .. } => {
            Err(duplicate.map_or_else(ApiError::unavailable, ApiError::duplicate))
        }
        other @ (ReserveAnswer::AlreadyResolved | ReserveAnswer::UnknownPayer) => {
            tracing::error!(answer = ?other, "unexpected ledger answer to reserve");
            Err(ApiError::unavailable())
        }
    }
}

/// What is free in both wallets of an account; none if there is no such account.
pub(crate) async fn free_balance(
    services: &Services,
    account: AccountId,
) -> Result<Option<Money>, ApiError> {
    let balance = tokio::time::timeout(BALANCE_WAIT, accounts::balance(&services.data, account));
    let balance = balance.await.map_err(|_| ApiError::unavailable())??;
    Ok(balance.and_then(|balance| {
        let paid = balance.paid.checked_sub(balance.paid_held).ok()?;
        let trial = balance.trial.checked_sub(balance.trial_held).ok()?;
        paid.checked_add(trial).ok()
    }))
}

/// There is too little money: what costs how much, and what the caller can do.
pub(crate) fn insufficient_funds(
    shortfall: Shortfall,
    required: Money,
    costs: &str,
    fix: &str,
) -> ApiError {
    let (code, what) = match shortfall.by {
        Shortage::Wallet => (ErrorCode::InsufficientBalance, "the balance"),
        Shortage::Budget(_) => (ErrorCode::BudgetExceeded, "a budget"),
    };
    let fits = shortfall.fits;
    let text =
        format!("{costs} {required} USD and {what} leaves {fits}; {fix}; nothing was charged");
    ApiError::new(code, text)
        .with_money("required_usd", required)
        .with_money("available_usd", fits)
        .with_money("reserved_usd", shortfall.reserved)
}
