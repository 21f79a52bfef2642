//! One call for social data, from money to answer. The order of the steps is this page; it runs in a
//! task of its own, because a client that leaves drops its handler.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use tokio::sync::oneshot;
use trunkline_ledger::{
    CapacityTake, Detail, LedgerError, Outcome, Owner, Reserve, ReserveAnswer, Wallets, desk,
};
use trunkline_social::{Found, envelope};
use trunkline_terms::{Bucket, Money, Usage};

use super::WORD;
use super::request::{Wanted, never_topped_up};
use super::vendor::{Sourced, busy};
use crate::caller::Caller;
use crate::calling::{Responder, nothing, tell};
use crate::error::{ApiError, ErrorCode};
use crate::failover::Exhausted;
use crate::headers::{MAX_COST_HEADER, max_cost};
use crate::rate_limit::Load;
use crate::request_context::RequestContext;
use crate::reservation::{Reservation, too_little};
use crate::response::{Response, bytes_of, set_cost, set_warnings};
use crate::services::Services;

/// The name of the beta's daily number.
const CAPACITY: &str = "social";
/// Seconds to wait when this node has too many calls to a platform under way.
const CROWDED_SECONDS: u64 = 2;

/// A page that was paid for.
pub(super) struct Bought {
    pub(super) found: Found,
    pub(super) charged: Money,
}

impl Services {
    /// Answers `GET /v1/social/{platform}/{capability}`.
    pub(crate) async fn social(
        &self,
        context: &Arc<RequestContext>,
        caller: Caller,
        pair: (&str, &str),
        (query, headers): (&str, &HeaderMap),
    ) -> Result<Response, ApiError> {
        let account = caller.account.id;
        let asked = (context.id, caller);
        let wanted = self.want_social(asked, pair, query, headers).await?;
        context.asks_for(&wanted.asked.cell.model, false);
        wanted.check_max_cost(max_cost(headers)?, MAX_COST_HEADER)?;
        let load = Load::Platform(&wanted.asked.cell.platform.key);
        self.limit(context, &wanted.caller, load).await?;
        let place = self.place(account, 0)?;
        let (head, answer) = oneshot::channel();
        let (services, context) = (self.clone(), Arc::clone(context));
        self.inner.tasks.spawn(Box::pin(async move {
            services.social_call(&wanted, &context, head).await;
            drop(place);
        }));
        answer
            .await
            .unwrap_or_else(|_| Err(ApiError::unavailable()))
    }

    async fn social_call(&self, wanted: &Wanted, context: &RequestContext, head: Responder) {
        // Money, the source, the charge; then, and not before, the first byte.
        let bought = match self.buy(wanted, context).await {
            Ok(Some(bought)) => bought,
            Ok(None) => return,
            Err(fault) => return tell(head, Err(fault)),
        };
        let body = Bytes::from(envelope(&wanted.asked.cell, &bought.found));
        let mut answer = bytes_of(StatusCode::OK, Bytes::new(), "application/json");
        set_cost(answer.headers_mut(), bought.charged);
        set_warnings(answer.headers_mut(), &wanted.warnings);
        let to = (context, wanted.caller.account.id);
        if self.deliver((head, answer), to, body).await {
            context.ended(Outcome::Complete, Some(bought.charged), (0, 0));
        } else {
            context.ended(Outcome::ClientGone, None, (0, 0));
        }
    }

    /// Tells how a paid page ended, and gives its charge back if nobody took it.
    pub(super) async fn close(
        &self,
        wanted: &Wanted,
        context: &RequestContext,
        charged: Money,
        handed: bool,
    ) {
        if handed {
            return context.ended(Outcome::Complete, Some(charged), (0, 0));
        }
        let account = wanted.caller.account.id;
        self.undelivered(wanted.id, account).await;
        context.ended(Outcome::ClientGone, None, (0, 0));
    }

    /// Holds the price, asks the source and charges for data. None if the caller left meanwhile, and
    /// then nothing is charged.
    pub(super) async fn buy(
        &self,
        wanted: &Wanted,
        context: &RequestContext,
    ) -> Result<Option<Bought>, ApiError> {
        let reservation = self.hold_social(wanted).await?;
        let settings = &self.inner.settings.social;
        let platform = &wanted.asked.cell.platform;
        let crowd = &self.inner.crowds;
        let Some(room) = crowd.enter(&platform.key, settings.at_once_per_platform) else {
            reservation.void(Detail::nothing(Outcome::Refused)).await;
            context.ended(Outcome::Refused, None, (0, 0));
            let text = format!("{} is asked too much at once", platform.name);
            return Err(busy(
                format!("{text}; nothing was charged"),
                CROWDED_SECONDS,
            ));
        };
        let answered = self.ask_source(wanted, context).await;
        context.upstream_ended();
        drop(room);
        let sourced = match answered {
            Ok(sourced) => sourced,
            Err(Exhausted { fault, outcome }) => {
                // Let go before the caller is told that nothing was charged.
                reservation.void(nothing(context, outcome)).await;
                context.ended(outcome, None, (0, 0));
                return Err(fault);
            }
        };
        if context.watch.is_gone() {
            reservation.void(nothing(context, Outcome::Cancelled)).await;
            context.ended(Outcome::Cancelled, None, (0, 0));
            return Ok(None);
        }
        let detail = sold(wanted, context, &sourced);
        let charged = match reservation.settle(wanted.price, detail).await {
            Ok(charged) => charged,
            Err(fault) => {
                context.ended(Outcome::DatabaseAway, None, (0, 0));
                return Err(fault);
            }
        };
        Ok(Some(Bought {
            found: sourced.found,
            charged,
        }))
    }

    async fn hold_social(&self, wanted: &Wanted) -> Result<Reservation, ApiError> {
        let began = tokio::time::Instant::now();
        let account = wanted.caller.account.id;
        let reserve = Reserve {
            request: wanted.id,
            account,
            key: Some(wanted.caller.key.id),
            owner: Owner::Request,
            amount: wanted.price,
            wallets: Wallets::PaidOnly,
            model: wanted.asked.cell.model.clone(),
            endpoint: WORD.to_owned(),
            group: wanted.sale.group.clone(),
            price_version: wanted.sale.version.bytes(),
            lifetime: self.inner.settings.hold_lifetime,
            capacity: Some(CapacityTake {
                name: CAPACITY.to_owned(),
                cap: self.inner.settings.social.daily_capacity,
            }),
            idempotency: None,
        };
        match self.inner.ledger.reserve(reserve).await {
            Ok(ReserveAnswer::Held { .. }) => {
                let held = (wanted.id, account, wanted.price);
                Ok(Reservation::of(self, held, began.elapsed()))
            }
            Ok(ReserveAnswer::TooLittle { by, fits, reserved }) => {
                let fix = "top up the paid balance or wait for running calls";
                Err(too_little(
                    (by, "this call costs", fix),
                    wanted.price,
                    fits,
                    reserved,
                ))
            }
            Ok(ReserveAnswer::NeverToppedUp) => Err(never_topped_up()),
            Ok(ReserveAnswer::CapacityReached) => Err(self.used_up().await),
            Ok(
                other @ (ReserveAnswer::SameKey { .. }
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

    /// The day's number is used up. The day is the database's.
    async fn used_up(&self) -> ApiError {
        let Ok(left) = desk::until_midnight(&self.inner.data).await else {
            return ApiError::unavailable();
        };
        let text = "the capacity of the day is used up; it is there again at 00:00 UTC; \
                    nothing was charged";
        let mut fault =
            ApiError::new(ErrorCode::SocialCapacity, text).with("reason", "daily_capacity");
        fault.retry_after = Some(left.max(Duration::from_secs(1)).as_secs());
        fault
    }
}

fn sold(wanted: &Wanted, context: &RequestContext, sourced: &Sourced) -> Detail {
    let cell = &wanted.asked.cell;
    let book = sourced.channel.cost.as_ref();
    let upstream = sourced.channel.upstream_model(&cell.model);
    // The channel's own book knows best; else what the source publishes.
    let cost = book.and_then(|book| book.cost_usd(upstream, &wanted.units));
    let warnings = wanted.warnings.iter();
    Detail {
        units: wanted.units.clone(),
        measured: Usage::unknown().with(Bucket::Calls, 1),
        estimated: false,
        tier: Some(wanted.tier.clone()),
        cost: Some(cost.unwrap_or(cell.cost.usd)),
        attempts: context.attempts_json(),
        warnings: warnings.map(ToString::to_string).collect(),
        outcome: Outcome::Complete,
    }
}
