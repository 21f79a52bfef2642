//! The money of an execution: reserved, settled, or voided. One place for every operation.

use std::sync::atomic::Ordering;

use tokio::time::Instant;
use trunkline_ledger::{Detail, Outcome};
use trunkline_types::Money;

use crate::channels::Channel;
use crate::charge::ChargeLimits;
use crate::error::ApiError;
use crate::failover::Exhausted;
use crate::idempotency;
use crate::operation::{Answer, Execution, Metered, Settled};
use crate::priced_call::Measured;
use crate::request_context::{RequestContext, Tokens};
use crate::reservation::{NotHeld, Reservation};
use crate::services::Services;

/// What is to be charged.
pub(crate) struct Charge<'a, T> {
    relayed: &'a mut T,
    channel: &'a Channel,
    metered: Metered,
    outcome: Outcome,
}

impl<'a, T> Charge<'a, T> {
    pub(crate) fn new(answer: &'a mut Answer<T>, metered: Metered) -> Self {
        Self {
            relayed: &mut answer.relayed,
            channel: &answer.channel,
            metered,
            outcome: answer.outcome,
        }
    }
}

/// Holds the money of an execution, or less of it where the execution can do with less.
pub(crate) async fn reserve<E: Execution>(
    services: &Services,
    execution: &mut E,
) -> Result<Reservation, ApiError> {
    execution.fit_to_funds(services).await?;
    let policy = execution.hold_policy(services)?;
    let required = policy.amount;
    let mut amount = required;
    loop {
        let reserve = execution.call().reserve(policy.hold(services, amount));
        let not_held = match Reservation::try_hold(services, reserve).await? {
            Ok(reservation) => return Ok(reservation),
            Err(not_held) => not_held,
        };
        let smaller = match not_held {
            NotHeld::TooLittle(shortfall) => execution.smaller_hold(services, shortfall).await?,
            NotHeld::NeverToppedUp | NotHeld::CapacityReached => None,
        };
        match smaller {
            Some(smaller) => amount = smaller,
            None => return Err(execution.not_held(services, not_held, required).await),
        }
    }
}

/// Charges what was metered, as far as there is money and no limit of the caller ends before. A request with an
/// idempotency key stores its response first: there is never a charge without its response.
pub(crate) async fn settle<E: Execution>(
    services: &Services,
    context: &RequestContext,
    execution: &mut E,
    mut reservation: Reservation,
    charge: Charge<'_, E::Relayed>,
) -> Result<Settled, ApiError> {
    let (reserving, began) = (reservation.waited, Instant::now());
    let mut metered = charge.metered;
    let used = metered.dearer_tier.unwrap_or(metered.price.amount);
    let limits = ChargeLimits {
        requested_tier: metered.dearer_tier.map(|_| metered.price.amount),
        ..execution.call().limits
    };
    // What a client that left has used is not always known, and a guess takes no further money.
    let decision = if metered.estimated && charge.outcome == Outcome::ClientGone {
        reservation.decide_within(used, limits)
    } else {
        reservation.decide(used, limits).await
    };
    metered.price.amount = decision.amount;
    let stored = execution.stored(services, charge.relayed, &metered);
    let call = execution.call();
    let measured = Measured {
        usage: metered.usage,
        estimated: metered.estimated,
        outcome: charge.outcome,
    };
    let mut detail = call.detail(charge.channel, context, &metered.price, measured);
    detail.cost = detail.cost.or_else(|| execution.published_cost());
    let cost = detail.cost;
    let to_store = call.idempotency.as_ref().zip(stored.as_ref());
    let is_stored = stored.as_ref().is_some_and(|stored| stored.is_whole());
    let charged = idempotency::settle_and_store(services, reservation, decision, detail, to_store);
    let charged = charged.await?;
    let settling = began.elapsed();
    let numbers = &services.edge.metrics;
    numbers.settlement.took(settling);
    let cost = cost.map_or(0, Money::nanos);
    numbers.cost_nanos.fetch_add(cost, Ordering::Relaxed);
    Ok(Settled {
        charged,
        is_stored,
        in_ledger: reserving.saturating_add(settling),
    })
}

/// Releases the money of a call that is not charged, and records how it ended.
pub(crate) async fn void(context: &RequestContext, reservation: Reservation, outcome: Outcome) {
    let detail = Detail {
        attempts: context.attempts_json(),
        ..Detail::nothing(outcome)
    };
    reservation.void(detail).await;
    context.complete(outcome, None, Tokens::default());
}

/// Releases the money of a call whose client left before the answer began. An upstream that has the request
/// may bill its input: the operator bears that, up to a limit for each account and hour. Above it the input
/// is charged.
pub(crate) async fn cancel<E: Execution>(
    services: &Services,
    context: &RequestContext,
    execution: &E,
    reservation: Reservation,
) {
    // In a box: few calls are cancelled, and all would carry it along.
    Box::pin(bear_or_charge_input(
        services,
        context,
        execution,
        reservation,
    ))
    .await;
}

async fn bear_or_charge_input<E: Execution>(
    services: &Services,
    context: &RequestContext,
    execution: &E,
    reservation: Reservation,
) {
    let channel = context.open_attempt();
    let channel = channel.and_then(|number| services.channels.load().channel_in_any_state(number));
    let Some((channel, mut metered)) = channel.zip(execution.input_alone()) else {
        return void(context, reservation, Outcome::Cancelled).await;
    };
    let call = execution.call();
    let (account, input) = (call.caller.account.id, metered.price.amount);
    let most = services.settings.cancelled_input_usd;
    let borne = &services.cancelled_input;
    if borne.bears(account, input, most, services.now()) {
        return void(context, reservation, Outcome::Cancelled).await;
    }
    let decision = reservation.decide_within(input, call.limits);
    metered.price.amount = decision.amount;
    let measured = Measured {
        usage: metered.usage,
        estimated: true,
        outcome: Outcome::ClientGone,
    };
    let detail = call.detail(&channel, context, &metered.price, measured);
    let charged = reservation.settle(decision, detail).await.ok();
    context.complete(Outcome::ClientGone, charged, metered.tokens);
}

/// Releases the money of an answer that failed, and tells its client.
pub(crate) async fn fail<E: Execution>(
    services: &Services,
    context: &RequestContext,
    execution: &mut E,
    reservation: Reservation,
    relayed: E::Relayed,
    why: Exhausted,
) {
    void(context, reservation, why.outcome).await;
    let delivered = execution.deliver(services, context, relayed, Err(why.error));
    delivered.await;
}
