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
use super::source::{Answered as Sourced, busy};
use super::wanted::{Wanted, never_topped_up};
use crate::admitted::{Admitted, too_little};
use crate::asking::NoAnswer;
use crate::caller::Caller;
use crate::calling::{Head, nothing, tell};
use crate::fault::{Fault, Kind};
use crate::gateway::Gateway;
use crate::headers::{MAX_COST_HEADER, max_cost};
use crate::limiting::Load;
use crate::reply::{Answered, bytes_of, set_cost, set_warnings};
use crate::story::Story;

/// The name of the beta's daily number.
const CAPACITY: &str = "social";
/// Seconds to wait when this node has too many calls to a platform under way.
const CROWDED_SECONDS: u64 = 2;

/// A page that was paid for.
pub(super) struct Bought {
    pub(super) found: Found,
    pub(super) charged: Money,
}

impl Gateway {
    /// Answers `GET /v1/social/{platform}/{capability}`.
    pub(crate) async fn social(
        &self,
        story: &Arc<Story>,
        caller: Caller,
        pair: (&str, &str),
        (query, headers): (&str, &HeaderMap),
    ) -> Result<Answered, Fault> {
        let account = caller.account.id;
        let asked = (story.id, caller);
        let wanted = self.want_social(asked, pair, query, headers).await?;
        story.asks_for(&wanted.asked.cell.model, false);
        wanted.check_max_cost(max_cost(headers)?, MAX_COST_HEADER)?;
        let load = Load::Platform(&wanted.asked.cell.platform.key);
        self.limit(story, &wanted.caller, load).await?;
        let place = self.place(account, 0)?;
        let (head, answer) = oneshot::channel();
        let (gateway, story) = (self.clone(), Arc::clone(story));
        self.inner.tasks.spawn(Box::pin(async move {
            gateway.social_call(&wanted, &story, head).await;
            drop(place);
        }));
        answer.await.unwrap_or_else(|_| Err(Fault::unavailable()))
    }

    async fn social_call(&self, wanted: &Wanted, story: &Story, head: Head) {
        // Money, the source, the charge; then, and not before, the first byte.
        let bought = match self.buy(wanted, story).await {
            Ok(Some(bought)) => bought,
            Ok(None) => return,
            Err(fault) => return tell(head, Err(fault)),
        };
        let body = Bytes::from(envelope(&wanted.asked.cell, &bought.found));
        let mut answer = bytes_of(StatusCode::OK, Bytes::new(), "application/json");
        set_cost(answer.headers_mut(), bought.charged);
        set_warnings(answer.headers_mut(), &wanted.warnings);
        let to = (story, wanted.caller.account.id);
        if self.deliver((head, answer), to, body).await {
            story.ended(Outcome::Complete, Some(bought.charged), (0, 0));
        } else {
            story.ended(Outcome::ClientGone, None, (0, 0));
        }
    }

    /// Tells how a paid page ended, and gives its charge back if nobody took it.
    pub(super) async fn close(&self, wanted: &Wanted, story: &Story, charged: Money, handed: bool) {
        if handed {
            return story.ended(Outcome::Complete, Some(charged), (0, 0));
        }
        let account = wanted.caller.account.id;
        self.undelivered(wanted.id, account).await;
        story.ended(Outcome::ClientGone, None, (0, 0));
    }

    /// Holds the price, asks the source and charges for data. None if the caller left meanwhile, and
    /// then nothing is charged.
    pub(super) async fn buy(
        &self,
        wanted: &Wanted,
        story: &Story,
    ) -> Result<Option<Bought>, Fault> {
        let admitted = self.hold_social(wanted).await?;
        let settings = &self.inner.settings.social;
        let platform = &wanted.asked.cell.platform;
        let crowd = &self.inner.crowds;
        let Some(room) = crowd.enter(&platform.key, settings.at_once_per_platform) else {
            admitted.void(Detail::nothing(Outcome::Refused)).await;
            story.ended(Outcome::Refused, None, (0, 0));
            let text = format!("{} is asked too much at once", platform.name);
            return Err(busy(
                format!("{text}; nothing was charged"),
                CROWDED_SECONDS,
            ));
        };
        let answered = self.ask_source(wanted, story).await;
        story.upstream_ended();
        drop(room);
        let sourced = match answered {
            Ok(sourced) => sourced,
            Err(NoAnswer { fault, outcome }) => {
                // Let go before the caller is told that nothing was charged.
                admitted.void(nothing(story, outcome)).await;
                story.ended(outcome, None, (0, 0));
                return Err(fault);
            }
        };
        if story.watch.is_gone() {
            admitted.void(nothing(story, Outcome::Cancelled)).await;
            story.ended(Outcome::Cancelled, None, (0, 0));
            return Ok(None);
        }
        let detail = sold(wanted, story, &sourced);
        let charged = match admitted.settle(wanted.price, detail).await {
            Ok(charged) => charged,
            Err(fault) => {
                story.ended(Outcome::DatabaseAway, None, (0, 0));
                return Err(fault);
            }
        };
        Ok(Some(Bought {
            found: sourced.found,
            charged,
        }))
    }

    async fn hold_social(&self, wanted: &Wanted) -> Result<Admitted, Fault> {
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
                Ok(Admitted::of(self, held, began.elapsed()))
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
                Err(Fault::unavailable())
            }
            Err(LedgerError::Rejected(error)) => {
                tracing::error!(error, "a reservation was rejected");
                Err(Fault::unavailable())
            }
            Err(LedgerError::Unavailable | LedgerError::StaleEpoch) => Err(Fault::unavailable()),
        }
    }

    /// The day's number is used up. The day is the database's.
    async fn used_up(&self) -> Fault {
        let Ok(left) = desk::until_midnight(&self.inner.data).await else {
            return Fault::unavailable();
        };
        let text = "the capacity of the day is used up; it is there again at 00:00 UTC; \
                    nothing was charged";
        let mut fault = Fault::new(Kind::SocialCapacity, text).with("reason", "daily_capacity");
        fault.retry_after = Some(left.max(Duration::from_secs(1)).as_secs());
        fault
    }
}

fn sold(wanted: &Wanted, story: &Story, sourced: &Sourced) -> Detail {
    let cell = &wanted.asked.cell;
    let book = sourced.live.cost.as_ref();
    let upstream = sourced.live.upstream_model(&cell.model);
    // The channel's own book knows best; else what the source publishes.
    let cost = book.and_then(|book| book.cost_usd(upstream, &wanted.units));
    let warnings = wanted.warnings.iter();
    Detail {
        units: wanted.units.clone(),
        measured: Usage::unknown().with(Bucket::Calls, 1),
        estimated: false,
        tier: Some(wanted.tier.clone()),
        cost: Some(cost.unwrap_or(cell.cost.usd)),
        attempts: story.attempts_json(),
        warnings: warnings.map(ToString::to_string).collect(),
        outcome: Outcome::Complete,
    }
}
