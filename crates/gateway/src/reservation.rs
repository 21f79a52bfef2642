//! A call that owns money. Nothing is sent to an upstream without one, and none is forgotten: if it
//! is dropped unresolved, its hold is let go.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::Instant;
use trunkline_catalog::{Fate, Note};
use trunkline_ledger::{
    Detail, Extend, ExtendAnswer, Ledger, LedgerError, Outcome, Owner, Reserve, ReserveAnswer,
    Settle, SettleAnswer, Shortage, Unheard, Void, Wallets, WriteOff, WriteOffReason, desk,
};
use trunkline_terms::{AccountId, Money, RequestId};

use crate::error::{ApiError, ErrorCode};
use crate::idempotency::{Duplicate, IdempotencyKey};
use crate::quote::Quoted;
use crate::services::Services;

/// Fewer tokens than this are no answer: the caller is told instead.
const LEAST_FITTED: u64 = 16;

/// Money held for one call.
pub(crate) struct Reservation {
    services: Services,
    request: RequestId,
    account: AccountId,
    pub(crate) held: Money,
    /// How long the reservation took.
    pub(crate) waited: Duration,
    /// What was used beyond the hold, which could not be raised.
    beyond: Money,
    resolved: bool,
}

/// What an extension came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extended {
    /// The hold is this much.
    To(Money),
    /// There is not enough; this much would fit.
    Fits(Money),
    /// Nobody can say now.
    Unknown,
}

impl Reservation {
    /// Holds the bound of the price, or less if the call may be fitted to the balance.
    pub(crate) async fn hold(services: &Services, quoted: &mut Quoted) -> Result<Self, ApiError> {
        let wanted = quoted.bound(quoted.covered)?;
        let began = Instant::now();
        let (mut fits, mut reserved, mut by) = match reserve(services, quoted, wanted).await? {
            Held::Yes => return Ok(Self::new(services, quoted, wanted, began)),
            Held::TooLittle { fits, reserved, by } => (fits, reserved, by),
        };
        // Agents send much and have little: a stream is stopped where its money ends, so the fair guess
        // at its input is enough to begin with.
        if quoted.request.facts.stream {
            quoted.lean = true;
            let lean = quoted.bound(quoted.covered)?;
            match reserve(services, quoted, lean).await? {
                Held::Yes => return Ok(Self::new(services, quoted, lean, began)),
                Held::TooLittle {
                    fits: now,
                    reserved: others,
                    by: what,
                } => (fits, reserved, by) = (now, others, what),
            }
        }
        let affordable = quoted.affordable(fits);
        let enough = affordable.filter(|tokens| {
            *tokens
                >= LEAST_FITTED
                    .saturating_mul(quoted.request.facts.choices)
                    .min(quoted.covered)
        });
        // A stream is paid for as it goes: a smaller first tranche changes nothing that was asked for.
        // Strict mode changes nothing else either.
        let stream = quoted.request.facts.stream;
        if let Some(tokens) = enough.filter(|_| stream || !quoted.strict)
            && (stream || Box::pin(may_fit(services, quoted)).await)
        {
            let less = quoted.bound(tokens)?;
            if let Held::Yes = reserve(services, quoted, less).await? {
                fit(quoted, tokens);
                return Ok(Self::new(services, quoted, less, began));
            }
        }
        let fix = "top up, wait for running calls, or lower `max_tokens`";
        let fault = too_little((by, "this call may cost", fix), wanted, fits, reserved);
        Err(fault.with("max_tokens_affordable", affordable.unwrap_or(0)))
    }

    fn new(services: &Services, quoted: &Quoted, held: Money, began: Instant) -> Self {
        let account = quoted.caller.account.id;
        Self::of(services, (quoted.id, account, held), began.elapsed())
    }

    /// A call whose money the ledger has just held.
    pub(crate) fn of(
        services: &Services,
        (request, account, held): (RequestId, AccountId, Money),
        waited: Duration,
    ) -> Self {
        let holds = &services.inner.numbers.holds;
        holds.fetch_add(1, Ordering::Relaxed);
        Self {
            services: services.clone(),
            request,
            account,
            held,
            waited,
            beyond: Money::ZERO,
            resolved: false,
        }
    }

    /// Holds an amount, all of it or nothing.
    pub(crate) async fn whole(
        services: &Services,
        reserve: Reserve,
        fix: &str,
    ) -> Result<Self, ApiError> {
        let began = Instant::now();
        let owned = (reserve.request, reserve.account, reserve.amount);
        match held(services, reserve).await? {
            Held::Yes => Ok(Self::of(services, owned, began.elapsed())),
            Held::TooLittle { fits, reserved, by } => {
                let costs = (by, "this call may cost", fix);
                Err(too_little(costs, owned.2, fits, reserved))
            }
        }
    }

    /// Raises the hold to a total.
    pub(crate) async fn extend(&mut self, total: Money) -> Extended {
        let extend = Extend {
            request: self.request,
            account: self.account,
            total,
            wallets: Wallets::TrialFirst,
        };
        match self.ledger().extend(extend).await {
            Ok(ExtendAnswer::Held { total }) => {
                self.held = total;
                Extended::To(total)
            }
            Ok(ExtendAnswer::TooLittle { fits, .. }) => Extended::Fits(fits),
            Ok(ExtendAnswer::NoHold) | Err(_) => Extended::Unknown,
        }
    }

    /// Whose call it is.
    pub(crate) const fn whose(&self) -> (RequestId, AccountId) {
        (self.request, self.account)
    }

    /// What a call that used this much is charged, exactly: what is kept of its answer says so before
    /// the charge is written. Settle this, and nothing else.
    pub(crate) async fn certain(&mut self, used: Money) -> Money {
        if used > self.held {
            self.extend(used).await;
        }
        let sure = used.min(self.held);
        self.beyond = used.checked_sub(sure).unwrap_or(Money::ZERO);
        sure
    }

    /// Charges the call and returns what was charged. An error means that nothing was.
    pub(crate) async fn settle(mut self, amount: Money, detail: Detail) -> Result<Money, ApiError> {
        if amount > self.held {
            // The ledger charges what is held and notes the rest as a loss if this does not help.
            self.extend(amount).await;
        }
        self.resolved = true;
        let loss = self.overrun(detail.cost);
        let settle = Settle {
            request: self.request,
            account: self.account,
            amount,
            detail,
            unheard: Unheard::TakeBack,
        };
        match self.ledger().settle(settle).await {
            Ok(SettleAnswer::Done { paid, trial }) => {
                self.note(loss).await;
                paid.checked_add(trial).map_err(|_| ApiError::unavailable())
            }
            Ok(SettleAnswer::Before {
                charged: true,
                paid,
                trial,
            }) => paid.checked_add(trial).map_err(|_| ApiError::unavailable()),
            Ok(SettleAnswer::Before { charged: false, .. } | SettleAnswer::NoHold) => {
                tracing::error!(request.id = %self.request, "a call was let go before it was charged");
                Err(ApiError::unavailable())
            }
            Err(error) => {
                tracing::warn!(request.id = %self.request, %error, "a charge could not be written");
                Err(ApiError::unavailable())
            }
        }
    }

    /// Lets the hold go. If nobody can hear that now, the ledger keeps saying it.
    pub(crate) async fn void(mut self, detail: Detail) {
        self.resolved = true;
        let void = Void {
            request: self.request,
            account: self.account,
            detail,
        };
        if let Err(error) = self.ledger().void(void).await {
            tracing::warn!(request.id = %self.request, %error, "a hold is let go later");
        }
    }

    /// Lets a call go whose answer could not be kept in time, and notes the loss. The books are away and
    /// the caller has waited for them: the ledger keeps saying it, and nobody waits for that.
    pub(crate) fn lose(mut self, sale: Money, detail: Detail) {
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
        let ledger = self.ledger().clone();
        self.services.inner.tasks.spawn(async move {
            drop(tokio::join!(ledger.void(void), ledger.write_off(loss)));
        });
    }

    fn overrun(&self, cost: Option<Money>) -> Option<WriteOff> {
        (self.beyond > Money::ZERO).then_some(WriteOff {
            request: self.request,
            account: self.account,
            reason: WriteOffReason::Overrun,
            sale: Some(self.beyond),
            cost,
        })
    }

    async fn note(&self, loss: Option<WriteOff>) {
        let Some(loss) = loss else { return };
        if let Err(error) = self.ledger().write_off(loss).await {
            tracing::error!(request.id = %self.request, %error, "a loss could not be noted");
        }
    }

    fn ledger(&self) -> &Ledger {
        &self.services.inner.ledger
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let holds = &self.services.inner.numbers.holds;
        holds.fetch_sub(1, Ordering::Relaxed);
        if self.resolved {
            return;
        }
        let ledger = self.ledger().clone();
        let void = Void {
            request: self.request,
            account: self.account,
            detail: Detail::nothing(Outcome::Drained),
        };
        self.services.inner.tasks.spawn(async move {
            drop(ledger.void(void).await);
        });
    }
}

enum Held {
    Yes,
    TooLittle {
        fits: Money,
        reserved: Money,
        by: Shortage,
    },
}

async fn reserve(services: &Services, quoted: &Quoted, amount: Money) -> Result<Held, ApiError> {
    let reserve = Reserve {
        request: quoted.id,
        account: quoted.caller.account.id,
        key: Some(quoted.caller.key.id),
        owner: Owner::Request,
        amount,
        wallets: Wallets::TrialFirst,
        model: quoted.request.model().to_owned(),
        endpoint: quoted.endpoint.word.to_owned(),
        group: quoted.sale.group.clone(),
        price_version: quoted.sale.version.bytes(),
        lifetime: services.inner.settings.hold_lifetime,
        capacity: None,
        idempotency: quoted.named.as_ref().map(IdempotencyKey::idempotency),
    };
    held(services, reserve).await
}

async fn held(services: &Services, reserve: Reserve) -> Result<Held, ApiError> {
    let named = reserve.idempotency.clone();
    let named = named.map(|name| Duplicate::of(reserve.account, name));
    match services.inner.ledger.reserve(reserve).await {
        Ok(ReserveAnswer::Held { .. }) => Ok(Held::Yes),
        Ok(ReserveAnswer::TooLittle { by, fits, reserved }) => {
            Ok(Held::TooLittle { fits, reserved, by })
        }
        Ok(ReserveAnswer::SameKey { .. }) => {
            Err(named.map_or_else(ApiError::unavailable, ApiError::same_call))
        }
        Ok(
            other @ (ReserveAnswer::NeverToppedUp
            | ReserveAnswer::CapacityReached
            | ReserveAnswer::AlreadyResolved
            | ReserveAnswer::UnknownPayer),
        ) => {
            tracing::error!(answer = ?other, "a reservation was answered out of order");
            Err(ApiError::unavailable())
        }
        Err(LedgerError::Rejected(error)) => {
            tracing::error!(error, "a reservation was rejected");
            Err(ApiError::unavailable())
        }
        Err(LedgerError::Unavailable | LedgerError::StaleEpoch) => Err(ApiError::unavailable()),
    }
}

/// A key may say so; without a word, calls that trial money pays are fitted.
async fn may_fit(services: &Services, quoted: &Quoted) -> bool {
    match quoted.caller.key.policy.fields().fit_to_balance {
        Some(wish) => wish,
        None => {
            let balance = desk::balance(&services.inner.data, quoted.caller.account.id).await;
            matches!(balance, Ok(Some(balance)) if balance.trial > Money::ZERO)
        }
    }
}

fn fit(quoted: &mut Quoted, tokens: u64) {
    quoted.covered = tokens;
    if !quoted.request.facts.stream {
        let each = tokens
            .checked_div(quoted.request.facts.choices)
            .unwrap_or(tokens);
        let each = each.max(1);
        quoted.cap = Some(each);
        let why = "the balance covers no longer answer";
        let field = quoted.request.path_of("max_completion_tokens").to_owned();
        let note = Note::told(field, Fate::Rewritten, "max_tokens_fitted", why);
        quoted.report.say(note.with_value(each.to_string()));
    }
}

/// There is too little: of what, what it is that costs, and what to do.
pub(crate) fn too_little(
    (by, costs, fix): (Shortage, &str, &str),
    required: Money,
    fits: Money,
    reserved: Money,
) -> ApiError {
    let (kind, what) = match by {
        Shortage::Wallet => (ErrorCode::InsufficientBalance, "the balance"),
        Shortage::Budget(_) => (ErrorCode::BudgetExceeded, "a budget"),
    };
    let text =
        format!("{costs} {required} USD and {what} leaves {fits}; {fix}; nothing was charged");
    ApiError::new(kind, text)
        .with_money("required_usd", required)
        .with_money("available_usd", fits)
        .with_money("reserved_usd", reserved)
}
