//! `POST /v1/echo`, an operation that does not exist, for `just add-drill operation`. A text goes to a
//! channel and comes back; it is charged by the call.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, StatusCode};
use hyper::body::Incoming;
use serde_json::{Map, Value};
use trunkline_catalog::{Attributes, FieldReport, Sale};
use trunkline_generation::vendor_http::VendorRequest;
use trunkline_ledger::Outcome;
use trunkline_types::{Bucket, EndpointType, Money, Usage};
use trunkline_wire::scan;

use crate::body;
use crate::caller::Caller;
use crate::channels::Channel;
use crate::error::{ApiError, ErrorCode};
use crate::failover::{
    AfterSent, AttemptLog, Attempts, Built, Candidates, Classified, DEFAULT_COOL_SECONDS,
    Exhausted, Served, Tally, To,
};
use crate::form::invalid;
use crate::guardrail::AnswerExcerpt;
use crate::idempotency::{Fingerprint, StoredResponse};
use crate::operation::{
    Execution, HoldPolicy, Metered, Operation, PricedOperation, Received, RelayEnd, Settled,
};
use crate::operations::exact_price::{Planned, Priced, check_endpoint};
use crate::operations::whole::{Made, Whole};
use crate::priced_call::{PricedCall, Pricing};
use crate::request_context::{RequestContext, Tokens};
use crate::reservation::Reservation;
use crate::response::Responder;
use crate::services::Services;
use crate::vendors;

/// Its name in policies, quotes and usage rows.
const ECHO: &str = "echo";

/// A text to be echoed.
pub(crate) struct Echo {
    model: String,
    fields: Map<String, Value>,
    body: Bytes,
}

/// A text to be echoed, with its price.
pub(crate) struct EchoExecution {
    priced: Priced,
    text: Value,
}

impl Operation for Echo {
    type Route = ();
    type Body = Bytes;
    type Priced = EchoExecution;

    fn endpoint(_route: &()) -> &'static str {
        ECHO
    }

    fn name(&self) -> &'static str {
        ECHO
    }

    async fn receive(
        services: &Services,
        caller: &Caller,
        _route: &(),
        request: Request<Incoming>,
    ) -> Result<Received<Bytes>, ApiError> {
        body::receive_json(services, caller, request).await
    }

    fn body_bytes(body: &Bytes) -> usize {
        body.len()
    }

    fn fingerprint<'a>(
        context: &'a RequestContext,
        _route: &(),
        body: &'a Bytes,
    ) -> Fingerprint<'a> {
        Fingerprint {
            path: context.path(),
            class: ECHO,
            body: Cow::Borrowed(body),
            task: false,
        }
    }

    fn parse(_route: (), body: Bytes) -> Result<Self, ApiError> {
        scan(&body).map_err(|error| invalid(&error.to_string()).at("body"))?;
        let fields: Map<String, Value> = serde_json::from_slice(&body)
            .map_err(|error| invalid(&error.to_string()).at("body"))?;
        let text = |name: &str| fields.get(name).and_then(Value::as_str);
        let required = |name: &str| invalid(&format!("`{name}` is required")).at(name);
        text("text").ok_or_else(|| required("text"))?;
        let model = text("model").ok_or_else(|| required("model"))?.to_owned();
        Ok(Self {
            model,
            fields,
            body,
        })
    }

    fn model(&self) -> &str {
        &self.model
    }

    fn set_model(&mut self, model: String) {
        self.model = model;
    }

    fn quoted_body(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.body)
    }

    fn check_endpoint(&self, sale: &Sale) -> Result<(), ApiError> {
        check_endpoint(sale, &self.model, EndpointType::Openai)
    }

    fn field(&self, name: &str) -> Option<Value> {
        self.fields.get(name).cloned()
    }

    async fn price(
        mut self,
        _services: &Services,
        pricing: Pricing<'_>,
    ) -> Result<EchoExecution, ApiError> {
        let planned = Planned {
            name: ECHO,
            endpoint: EndpointType::Openai,
            model: self.model,
            usage: one_call(),
            attributes: Attributes::none(),
            report: FieldReport::default(),
        };
        Ok(EchoExecution {
            priced: Priced::new(pricing, planned)?,
            text: self.fields.remove("text").unwrap_or_default(),
        })
    }
}

fn one_call() -> Usage {
    Usage::unknown().with(Bucket::Calls, 1)
}

impl Attempts for EchoExecution {
    type Outbound = VendorRequest;
    type Accepted = Bytes;

    fn candidates(&self, services: &Services) -> Candidates {
        self.priced.candidates(services, AfterSent::AskNext)
    }

    async fn build(
        &mut self,
        _services: &Services,
        channel: &Arc<Channel>,
    ) -> Built<VendorRequest> {
        let model = channel.upstream_model(&self.priced.call.model);
        let mut body = Map::new();
        body.insert("model".to_owned(), model.into());
        body.insert("input".to_owned(), self.text.clone());
        Built::Ready(VendorRequest::post("/embeddings", &body))
    }

    async fn attempt(
        &mut self,
        services: &Services,
        log: AttemptLog<'_>,
        to: To<'_>,
        outbound: VendorRequest,
    ) -> Classified<Bytes> {
        let sent = vendors::call_json(services, to.channel, to.credential, &outbound).await;
        let answer = match sent {
            Ok(answer) => answer,
            Err(error) => return Classified::Lost(error),
        };
        let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::BAD_GATEWAY);
        log.answered(status);
        match answer.status {
            200..=299 => {
                to.channel.health.record_success();
                Classified::Accepted(answer.body)
            }
            401 | 403 => Classified::CredentialRejected(status),
            429 => Classified::RateLimited(answer.retry_after.unwrap_or(DEFAULT_COOL_SECONDS)),
            400..=499 => {
                let text = "the upstream refused the text; nothing was charged";
                let code = ErrorCode::UpstreamRefused(status, None);
                Classified::RequestRejected(ApiError::new(code, text))
            }
            _ => Classified::Failed,
        }
    }

    fn exhausted(&self, tally: Tally) -> Exhausted {
        tally.exhausted(&self.priced.call.model)
    }
}

impl PricedOperation for EchoExecution {
    fn call(&self) -> &PricedCall {
        &self.priced.call
    }

    fn call_mut(&mut self) -> &mut PricedCall {
        &mut self.priced.call
    }

    fn maximum(&self) -> Result<Money, ApiError> {
        Ok(self.priced.price.amount)
    }

    fn check_max_cost(&self, most: Money) -> Result<(), ApiError> {
        self.priced.check_max_cost(most)
    }
}

impl Execution for EchoExecution {
    type Relayed = Whole;

    fn is_acked(&self) -> bool {
        true
    }

    fn hold_policy(&self, _services: &Services) -> Result<HoldPolicy, ApiError> {
        Ok(HoldPolicy::exact(self.priced.price.amount))
    }

    async fn relay(
        &mut self,
        _services: &Services,
        context: &Arc<RequestContext>,
        _reservation: &mut Reservation,
        served: Served<Bytes>,
        responder: Responder,
    ) -> RelayEnd<Whole> {
        context.upstream_ended();
        let made = Made {
            usage: one_call(),
            tokens: Tokens::default(),
            content_type: "application/json",
            body: served.answer,
        };
        let whole = Whole {
            responder,
            made: Some(made),
        };
        RelayEnd::charge(whole, served.channel, Outcome::Complete)
    }

    fn answer_excerpt<'a>(&'a self, relayed: &'a Whole) -> AnswerExcerpt<'a> {
        relayed.excerpt()
    }

    fn meter(&mut self, _relayed: &mut Whole, _outcome: Outcome) -> Result<Metered, ApiError> {
        let price = self.priced.price.clone();
        Ok(Metered::known(price, one_call(), Tokens::default()))
    }

    fn stored(
        &mut self,
        services: &Services,
        relayed: &mut Whole,
        metered: &Metered,
    ) -> Option<StoredResponse> {
        relayed.stored(services, &self.priced.call, metered.price.amount)
    }

    async fn deliver(
        self,
        services: &Services,
        context: &RequestContext,
        relayed: Whole,
        settled: Result<Settled, ApiError>,
    ) -> bool {
        let call = &self.priced.call;
        relayed.deliver(services, context, call, settled).await
    }
}
