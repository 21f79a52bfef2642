//! The order of a paid request. Every paid operation goes through this page: `accept` once for a request or a
//! connection, `execute` once for each thing that is charged. Each step takes what the step before made.

use std::sync::Arc;

use http::{HeaderMap, Request};
use hyper::body::Incoming;

use crate::caller::Caller;
use crate::delivery::deliver;
use crate::detach::{detach, respond};
use crate::error::{ApiError, ErrorCode};
use crate::failover::{self, AttemptLog, Exhausted};
use crate::headers::max_cost;
use crate::idempotency::key::idempotency_key;
use crate::in_flight::InFlightPermit;
use crate::operation::{Accepted, Answer, Execution, Operation, PricedOperation, RelayEnd};
use crate::priced_call::Pricing;
use crate::request_context::RequestContext;
use crate::reservation::Reservation;
use crate::response::{Responder, Response};
use crate::services::Services;
use crate::settlement::{Charge, cancel, fail, reserve, settle, void};
use crate::step::Step;
use crate::{ask_guardrail, model_alias, model_rules, rate_limit};

/// Accepts a request and executes it.
pub(crate) async fn handle<O: Operation<Priced: Execution>>(
    services: &Arc<Services>,
    context: &Arc<RequestContext>,
    route: O::Route,
    request: Request<Incoming>,
) -> Result<Response, ApiError> {
    let accepted = accept::<O>(services, context, route, request).await?;
    let (execution, permit) = price_and_admit(services, context, accepted).await?;
    start(services, context, Box::new(execution), permit).await
}

/// Detaches what was admitted: it outlives the handler of its request.
pub(crate) async fn start<E: Execution>(
    services: &Arc<Services>,
    context: &Arc<RequestContext>,
    execution: Box<E>,
    permit: InFlightPermit,
) -> Result<Response, ApiError> {
    context.step(Step::Detach);
    let (owned, context) = (Arc::clone(services), Arc::clone(context));
    let detached = move |responder| run(owned, context, execution, responder);
    detach(services, permit, detached).await
}

/// Authenticate, permit, body, idempotency, parse.
pub(crate) async fn accept<O: Operation>(
    services: &Services,
    context: &RequestContext,
    route: O::Route,
    request: Request<Incoming>,
) -> Result<Accepted<O>, ApiError> {
    context.mark_billable(&request);
    // The key comes first: a stranger makes us read nothing.
    let caller = O::authenticate(services, context, &route, &request)?;
    // A place in flight is taken before the body's first byte: what is in memory is what is bounded.
    let mut received = O::receive(services, &caller, &route, request).await?;
    context.step(Step::Permit);
    let length = O::body_bytes(&received.body);
    received.permit.shrink_to(length);
    context.body_read(length);
    context.step(Step::Body);
    // A duplicate is known by its bytes, before anything of them is understood.
    let fingerprint = O::fingerprint(context, &route, &received.body);
    let (policy, headers) = (O::IDEMPOTENCY, received.headers);
    let known = idempotency_key(services, policy, context, &caller, &headers, fingerprint).await;
    context.step(Step::Idempotency);
    let idempotency = match known {
        Err(error) if !matches!(error.kind, ErrorCode::SameCall(_)) => return Err(error),
        new_or_replay @ (Ok(_) | Err(_)) => new_or_replay,
    };
    let operation = O::parse(route, received.body)?;
    context.step(Step::Parse);
    if idempotency.is_err() {
        model_alias::check_replay(services, &caller, operation.model())?;
    }
    let idempotency = idempotency?;
    Ok(Accepted {
        caller,
        headers,
        operation,
        idempotency,
        permit: received.permit,
    })
}

/// Alias, offer, quote, max cost, route, rate limits.
pub(crate) async fn price_and_admit<O: Operation>(
    services: &Services,
    context: &RequestContext,
    accepted: Accepted<O>,
) -> Result<(O::Priced, InFlightPermit), ApiError> {
    let (caller, headers, operation) = (accepted.caller, accepted.headers, accepted.operation);
    let mut priced = price(services, context, caller, &headers, operation).await?;
    priced.call_mut().idempotency = accepted.idempotency;
    admit(services, context, &headers, &priced).await?;
    Ok((priced, accepted.permit))
}

/// Alias, offer and quote. Quotes end here.
pub(crate) async fn price<O: Operation>(
    services: &Services,
    context: &RequestContext,
    caller: Caller,
    headers: &HeaderMap,
    mut operation: O,
) -> Result<O::Priced, ApiError> {
    // Lists, prices and usage know the model that an alias stands for.
    if let Some(model) = model_alias::resolve(services, &caller, operation.model()) {
        operation.set_model(model);
    }
    context.step(Step::Alias);
    let offer = operation.offer(services, &caller, headers).await?;
    model_rules::check(&operation, &offer.sale, services.now())?;
    context.step(Step::Offer);
    let excerpt = ask_guardrail::request_excerpt(services, &operation);
    let pricing = Pricing::new(context.id, caller, headers, offer);
    let mut priced = operation.price(services, pricing).await?;
    priced.call_mut().excerpt = excerpt;
    let call = priced.call();
    context.set_model(call.endpoint, &call.model, priced.streams());
    context.step(Step::Quote);
    Ok(priced)
}

/// The caller's own limit, a route, the rate limits and the guardrail: the last checks before money moves.
pub(crate) async fn admit<P: PricedOperation>(
    services: &Services,
    context: &RequestContext,
    headers: &HeaderMap,
    execution: &P,
) -> Result<(), ApiError> {
    if let Some(most) = max_cost(headers)? {
        execution.check_max_cost(most)?;
    }
    execution.call().check_max_price(execution.most_input())?;
    context.step(Step::MaxCost);
    execution.check_route(services)?;
    context.step(Step::Route);
    let caller = &execution.call().caller;
    rate_limit::check(&services.edge, context, caller, execution.load()).await?;
    context.step(Step::RateLimits);
    ask_guardrail::check_request(services, execution.call()).await
}

/// One of many executions of a connection that was accepted, in a context of its own: everything from the alias on.
/// The responder gets the error of one that does not begin. In boxes, because a turn may wait for an hour.
pub(crate) async fn execute<O: Operation<Priced: Execution>>(
    services: Arc<Services>,
    context: Arc<RequestContext>,
    caller: Caller,
    headers: &HeaderMap,
    operation: O,
    responder: Responder,
) {
    let admitted = async {
        let priced = price(&services, &context, caller, headers, operation).await?;
        admit(&services, &context, headers, &priced).await?;
        Ok(priced)
    };
    match Box::pin(admitted).await {
        Ok(execution) => Box::pin(run(services, context, Box::new(execution), responder)).await,
        Err(error) => {
            context.failed(&error);
            respond(responder, Err(error));
        }
    }
}

/// Reserve, failover, relay, meter, settle, deliver, record. It owns what it needs, so that its task is this future and
/// not one around it, and the execution in a box: each future that took it would copy it.
pub(crate) async fn run<E: Execution>(
    services: Arc<Services>,
    context: Arc<RequestContext>,
    mut execution: Box<E>,
    mut responder: Responder,
) {
    let (services, context, execution) = (services.as_ref(), &context, execution.as_mut());
    // A call spends its time in the relay: what the other steps need is in boxes, so that it is not carried along.
    // Money first: nothing is sent to an upstream without it.
    let mut reservation = match Box::pin(reserve(services, execution)).await {
        Ok(reservation) => reservation,
        Err(error) => return respond(responder, Err(error)),
    };
    context.step(Step::Reserve);
    // Dropping the attempt closes its connection, and with it the upstream's work.
    let outlives = execution.outlives_client();
    let attempts = failover::run(services, AttemptLog(Some(context)), execution);
    let attempted = tokio::select! {
        attempted = Box::pin(attempts) => Some(attempted),
        () = context.client_gone(&mut responder), if !outlives => None,
    };
    let served = match attempted {
        Some(Ok(served)) => served,
        Some(Err(Exhausted { error, outcome })) => {
            // Voided before the caller is told that nothing was charged.
            Box::pin(void(context, reservation, outcome)).await;
            return respond(responder, Err(error));
        }
        None => return cancel(services, context, execution, reservation).await,
    };
    context.step(Step::Failover);
    let relayed = execution.relay(services, context, &mut reservation, served, responder);
    match relayed.await {
        RelayEnd::Charge(answer) => {
            let charged = charge(services, context, execution, reservation, answer);
            Box::pin(charged).await;
        }
        RelayEnd::Failed(relayed, why) => {
            let failed = fail(services, context, execution, reservation, relayed, why);
            Box::pin(failed).await;
        }
        RelayEnd::ClientGone => cancel(services, context, execution, reservation).await,
    }
}

/// Meter, settle, deliver, record.
async fn charge<E: Execution>(
    services: &Services,
    context: &Arc<RequestContext>,
    execution: &mut E,
    reservation: Reservation,
    mut answer: Answer<E::Relayed>,
) {
    context.step(Step::Relay);
    let excerpt = ask_guardrail::excerpt_of(services, execution, &answer.relayed);
    let checked = ask_guardrail::check_answer(services, execution.call(), excerpt).await;
    let meter = |()| execution.meter(&mut answer.relayed, answer.outcome);
    let metered = match checked.and_then(meter) {
        Ok(metered) => metered,
        Err(error) => {
            let (relayed, why) = (answer.relayed, Exhausted::from(error));
            return fail(services, context, execution, reservation, relayed, why).await;
        }
    };
    context.step(Step::Meter);
    let tokens = metered.tokens;
    let charge = Charge::new(&mut answer, metered);
    let settled = settle(services, context, execution, reservation, charge).await;
    context.step(Step::Settle);
    context.release_permits(tokens);
    deliver(services, context, execution, answer, settled, tokens).await;
    context.step(Step::Record);
}
