//! What one paid operation supplies to the pipeline: how its body is received and parsed, how it is
//! priced, what is sent to a channel and what the answer means, and how the answer is relayed. Order,
//! money, failover and delivery are the pipeline's.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, Request};
use hyper::body::Incoming;
use serde_json::Value;
use trunkline_catalog::Sale;
use trunkline_ledger::{CapacityClaim, Outcome, Owner, Wallets};
use trunkline_types::{Money, Usage};

use crate::authenticate::authenticate;
use crate::caller::Caller;
use crate::channels::Channel;
use crate::error::ApiError;
use crate::failover::{Attempts, Exhausted, Served};
use crate::guardrail::AnswerExcerpt;
use crate::idempotency::{Fingerprint, IdempotencyKey, IdempotencyPolicy, StoredResponse};
use crate::in_flight::InFlightPermit;
use crate::model_alias;
use crate::priced_call::{Hold, Offer, Price, PricedCall, Pricing};
use crate::quote_lock;
use crate::rate_limit::Cost;
use crate::request_context::{RequestContext, Tokens};
use crate::reservation::{NotHeld, Reservation, Shortfall, insufficient_funds};
use crate::response::Responder;
use crate::services::Services;

/// A request whose body is here, and its place among the requests in flight.
pub(crate) struct Received<B> {
    pub(crate) headers: HeaderMap,
    pub(crate) body: B,
    pub(crate) permit: InFlightPermit,
}

/// A request that was accepted.
pub(crate) struct Accepted<O> {
    pub(crate) caller: Caller,
    pub(crate) headers: HeaderMap,
    pub(crate) operation: O,
    pub(crate) idempotency: Option<IdempotencyKey>,
    pub(crate) permit: InFlightPermit,
}

impl<B> Received<B> {
    pub(crate) fn map<C>(self, change: impl FnOnce(B) -> C) -> Received<C> {
        Received {
            headers: self.headers,
            body: change(self.body),
            permit: self.permit,
        }
    }
}

/// One paid operation, from its body to its price.
pub(crate) trait Operation: Sized + Send + 'static {
    /// What the route says of it.
    type Route: Send;
    /// Its body, received whole.
    type Body: Send;
    type Priced: PricedOperation;

    const IDEMPOTENCY: IdempotencyPolicy = IdempotencyPolicy::Key;

    /// Its name in policies, quotes and usage rows, as the route has it.
    fn endpoint(route: &Self::Route) -> &'static str;

    /// The caller, if its key may use the endpoint.
    fn authenticate(
        services: &Services,
        context: &RequestContext,
        route: &Self::Route,
        request: &Request<Incoming>,
    ) -> Result<Caller, ApiError> {
        authenticate(&services.edge, context, request, Self::endpoint(route))
    }

    /// Takes a place among the requests in flight, then the body.
    fn receive(
        services: &Services,
        caller: &Caller,
        route: &Self::Route,
        request: Request<Incoming>,
    ) -> impl Future<Output = Result<Received<Self::Body>, ApiError>> + Send;

    /// Bytes of the body, for the access log.
    fn body_bytes(body: &Self::Body) -> usize;

    /// What makes two requests the same.
    fn fingerprint<'a>(
        context: &'a RequestContext,
        route: &Self::Route,
        body: &'a Self::Body,
    ) -> Fingerprint<'a>;

    fn parse(route: Self::Route, body: Self::Body) -> Result<Self, ApiError>;

    /// The model as the caller wrote it.
    fn model(&self) -> &str;

    /// The model that the caller's alias stands for.
    fn set_model(&mut self, model: String);

    /// Its name in policies, quotes and usage rows.
    fn name(&self) -> &'static str;

    /// What a locked quote must have been made for.
    fn quoted_body(&self) -> Cow<'_, [u8]>;

    /// What the guardrail is shown of it.
    fn excerpt(&self) -> Cow<'_, [u8]> {
        self.quoted_body()
    }

    /// The price of its model for the caller, as offered now or by a quote that the request brings.
    fn offer(
        &self,
        services: &Services,
        caller: &Caller,
        headers: &HeaderMap,
    ) -> impl Future<Output = Result<Offer, ApiError>> + Send {
        quote_lock::offer(
            services,
            caller,
            headers,
            self.name(),
            self.model(),
            self.quoted_body(),
        )
    }

    /// Refuses a model that is not sold for this operation.
    fn check_endpoint(&self, sale: &Sale) -> Result<(), ApiError>;

    /// A field of the request by its name, for the rules of the model's record.
    fn field(&self, name: &str) -> Option<Value>;

    /// Prices it under an offer. The model is sold for it, and none of its rules is broken.
    fn price(
        self,
        services: &Services,
        pricing: Pricing<'_>,
    ) -> impl Future<Output = Result<Self::Priced, ApiError>> + Send;
}

/// An operation with its price.
pub(crate) trait PricedOperation: Sized + Send + Sync + 'static {
    fn call(&self) -> &PricedCall;

    fn call_mut(&mut self) -> &mut PricedCall;

    /// Whether its answer comes in pieces.
    fn streams(&self) -> bool {
        false
    }

    /// Whether it goes on when its client leaves: its answer is stored, or its key wants streams finished.
    fn outlives_client(&self) -> bool {
        let call = self.call();
        call.idempotency.is_some() || (self.streams() && call.finishes_streams())
    }

    /// What it takes of the rate limits.
    fn load(&self) -> Cost<'_> {
        Cost::Model(&self.call().model, None)
    }

    /// The most that it can cost.
    fn maximum(&self) -> Result<Money, ApiError>;

    /// Refuses what costs more than the caller allows.
    fn check_max_cost(&self, most: Money) -> Result<(), ApiError>;

    /// Input tokens at most, where tiers depend on them.
    fn most_input(&self) -> u64 {
        0
    }

    /// What a quote of it is bound to, where that is known only with the price.
    fn quoted_body(&self) -> Option<Vec<u8>> {
        None
    }

    /// Whether a channel serves its model to its caller.
    fn check_route(&self, services: &Services) -> Result<(), ApiError> {
        model_alias::check_route(services, self.call())
    }
}

/// An operation that is answered while its client waits: one thing that is charged.
pub(crate) trait Execution: PricedOperation + Attempts {
    /// What the relay leaves for the charge and the delivery.
    type Relayed: Send;

    /// Whether its charge is refunded when the client does not take the answer.
    fn is_acked(&self) -> bool {
        false
    }

    /// What it costs us, where its channel has no cost book.
    fn published_cost(&self) -> Option<Money> {
        None
    }

    /// The input alone, as an upstream may bill it that got the request of a client that left.
    fn input_alone(&self) -> Option<Metered> {
        None
    }

    /// Chooses what the caller left open so that its payer can hold money for it.
    fn fit_to_funds(
        &mut self,
        _services: &Services,
    ) -> impl Future<Output = Result<(), ApiError>> + Send {
        async { Ok(()) }
    }

    /// How money is held for it.
    fn hold_policy(&self, services: &Services) -> Result<HoldPolicy, ApiError>;

    /// A smaller hold after a shortfall; none if there is none.
    fn smaller_hold(
        &mut self,
        _services: &Services,
        _shortfall: Shortfall,
    ) -> impl Future<Output = Result<Option<Money>, ApiError>> + Send {
        async { Ok(None) }
    }

    /// What the caller is told when nothing could be held of the first amount.
    fn not_held(
        &self,
        _services: &Services,
        not_held: NotHeld,
        required: Money,
    ) -> impl Future<Output = ApiError> + Send {
        async move {
            match not_held {
                NotHeld::TooLittle(shortfall) => {
                    let fix = "top up, wait for running calls, or ask for less";
                    insufficient_funds(shortfall, required, "this call may cost", fix)
                }
                NotHeld::NeverToppedUp | NotHeld::CapacityReached => {
                    tracing::error!(answer = ?not_held, "unexpected ledger answer to reserve");
                    ApiError::unavailable()
                }
            }
        }
    }

    /// Passes the answer on as far as that may happen before the charge.
    fn relay(
        &mut self,
        services: &Services,
        context: &Arc<RequestContext>,
        reservation: &mut Reservation,
        served: Served<Self::Accepted>,
        responder: Responder,
    ) -> impl Future<Output = RelayEnd<Self::Relayed>> + Send;

    /// What the guardrail is shown of the answer, and whether it can still be withheld.
    fn answer_excerpt<'a>(&'a self, relayed: &'a Self::Relayed) -> AnswerExcerpt<'a>;

    /// What the answer came to.
    fn meter(&mut self, relayed: &mut Self::Relayed, outcome: Outcome)
    -> Result<Metered, ApiError>;

    /// The response as it is stored for a duplicate request, its last bytes included: it says what will
    /// be charged. None if the request has no idempotency key.
    fn stored(
        &mut self,
        services: &Services,
        relayed: &mut Self::Relayed,
        metered: &Metered,
    ) -> Option<StoredResponse>;

    /// The rest of the answer, now that its charge is written; or the error instead. False if the client
    /// took nothing of an answer that is charged only when it is taken.
    fn deliver(
        &mut self,
        services: &Services,
        context: &RequestContext,
        relayed: Self::Relayed,
        settled: Result<Settled, ApiError>,
    ) -> impl Future<Output = bool> + Send;
}

#[derive(Debug, Clone)]
pub(crate) struct HoldPolicy {
    pub(crate) amount: Money,
    pub(crate) wallets: Wallets,
    /// A daily number that the call takes one of.
    pub(crate) capacity: Option<CapacityClaim>,
}

/// What was relayed, the channel that it came from, and how it ended.
pub(crate) struct Answer<T> {
    pub(crate) relayed: T,
    pub(crate) channel: Arc<Channel>,
    pub(crate) outcome: Outcome,
}

pub(crate) enum RelayEnd<T> {
    /// There is something to charge.
    Charge(Answer<T>),
    /// The upstream failed, or we did: nothing is charged, and the client is told.
    Failed(T, Exhausted),
    /// The client has gone before anything was charged for.
    ClientGone,
}

/// What an answer came to.
pub(crate) struct Metered {
    pub(crate) price: Price,
    /// The price in the tier that was served, where that is dearer than the one that was asked for.
    pub(crate) dearer_tier: Option<Money>,
    pub(crate) usage: Usage,
    /// The upstream told nothing, and we counted.
    pub(crate) estimated: bool,
    /// What the access log and the rate limits count.
    pub(crate) tokens: Tokens,
}

/// A charge that is written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settled {
    pub(crate) charged: Money,
    /// A duplicate request gets the response, so that it need not be taken now.
    pub(crate) is_stored: bool,
    /// How long the ledger took, from the reservation on.
    pub(crate) in_ledger: Duration,
}

// === impl Metered ===

impl Metered {
    /// Usage that is known, of an operation without tiers.
    pub(crate) const fn known(price: Price, usage: Usage, tokens: Tokens) -> Self {
        Self {
            price,
            dearer_tier: None,
            usage,
            estimated: false,
            tokens,
        }
    }
}

// === impl RelayEnd ===

impl<T> RelayEnd<T> {
    pub(crate) const fn charge(relayed: T, channel: Arc<Channel>, outcome: Outcome) -> Self {
        Self::Charge(Answer {
            relayed,
            channel,
            outcome,
        })
    }
}

// === impl HoldPolicy ===

impl HoldPolicy {
    /// An exact amount, from any wallet.
    pub(crate) const fn exact(amount: Money) -> Self {
        Self {
            amount,
            wallets: Wallets::TrialFirst,
            capacity: None,
        }
    }

    pub(crate) fn hold(&self, services: &Services, amount: Money) -> Hold {
        Hold {
            amount,
            owner: Owner::Request,
            wallets: self.wallets,
            lifetime: services.settings.hold_lifetime,
            capacity: self.capacity.clone(),
        }
    }
}
