//! Conversations in four formats, and the pass-through endpoints (embeddings, rerank, moderations,
//! completions), which are relayed in OpenAI's format and never translated.

mod aggregated;
mod attempt;
mod buffered;
mod execution;
mod funding;
mod outbound;
mod quote;
mod read_on;
mod relay;
mod send;
mod served_tier;
mod sold_tools;
mod stream_adapter;
mod streaming;
mod unlisted;

use std::borrow::Cow;

use bytes::Bytes;
use http::Request as HttpRequest;
use hyper::body::Incoming;
use serde_json::Value;
use trunkline_catalog::Sale;
use trunkline_types::Money;
use trunkline_wire::{PathParams, Request};

use crate::body;
use crate::caller::Caller;
use crate::endpoint::Endpoint;
use crate::error::{ApiError, ErrorCode};
use crate::field_report;
use crate::headers::{MAX_COST_HEADER, forwarded};
use crate::idempotency::Fingerprint;
use crate::operation::{Operation, Received};
use crate::priced_call::Pricing;
use crate::request_context::RequestContext;
use crate::response_id::{self, PREVIOUS};
use crate::services::Services;

pub(crate) use self::outbound::OutboundRequest;
pub(crate) use self::quote::{Quoted, Turn};
pub(crate) use self::relay::next_frame;

/// One turn of a conversation, or one pass-through request.
pub(crate) struct Chat {
    endpoint: Endpoint,
    request: Request,
    as_json_array: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct ChatRoute {
    pub(crate) endpoint: Endpoint,
    /// Gemini: the model stands in the path.
    pub(crate) model: Option<String>,
    /// Gemini: the path asks for a stream.
    pub(crate) stream: bool,
    /// Gemini: the stream is one JSON array in pieces, and not events.
    pub(crate) as_json_array: bool,
}

// === impl Chat ===

impl Chat {
    /// A body in an endpoint's format.
    pub(crate) fn read(route: &ChatRoute, body: Bytes) -> Result<Self, ApiError> {
        let path = PathParams {
            model: route.model.as_deref(),
            stream: route.stream,
        };
        Ok(Self {
            request: route.endpoint.read(body, path)?,
            endpoint: route.endpoint,
            as_json_array: route.as_json_array,
        })
    }
}

impl Operation for Chat {
    type Route = ChatRoute;
    type Body = Bytes;
    type Priced = Quoted;

    fn endpoint(route: &ChatRoute) -> &'static str {
        route.endpoint.name
    }

    async fn receive(
        services: &Services,
        caller: &Caller,
        _route: &ChatRoute,
        request: HttpRequest<Incoming>,
    ) -> Result<Received<Bytes>, ApiError> {
        body::receive_json(services, caller, request).await
    }

    fn body_bytes(body: &Bytes) -> usize {
        body.len()
    }

    fn fingerprint<'a>(
        context: &'a RequestContext,
        route: &ChatRoute,
        body: &'a Bytes,
    ) -> Fingerprint<'a> {
        let class = if route.as_json_array {
            "json, a list"
        } else {
            "json"
        };
        Fingerprint {
            path: context.path(),
            class,
            body: Cow::Borrowed(body),
            task: false,
        }
    }

    fn parse(route: ChatRoute, body: Bytes) -> Result<Self, ApiError> {
        Self::read(&route, body)
    }

    fn name(&self) -> &'static str {
        self.endpoint.name
    }

    fn model(&self) -> &str {
        self.request.model()
    }

    fn set_model(&mut self, model: String) {
        self.request.resolve_alias(model);
    }

    fn quoted_body(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(self.request.body())
    }

    fn check_endpoint(&self, sale: &Sale) -> Result<(), ApiError> {
        field_report::check_endpoint(sale.model.entry(), self.endpoint, &self.request)
    }

    fn field(&self, name: &str) -> Option<Value> {
        serde_json::from_slice(self.request.field(name)?).ok()
    }

    async fn price(self, services: &Services, pricing: Pricing<'_>) -> Result<Quoted, ApiError> {
        let previous = self.request.facts.previous.as_deref();
        let account = pricing.caller.account.id;
        let continues = previous.map(|id| response_id::continuation(services, account, id));
        let continues = continues.transpose()?;
        let forwarded = forwarded(self.endpoint.format, pricing.headers);
        let turn = Turn {
            endpoint: self.endpoint,
            request: self.request,
            continues,
            as_json_array: self.as_json_array,
            tranche: services.settings.tranche_tokens,
        };
        let mut quoted = Quoted::price(pricing, turn)?;
        quoted.forwarded = forwarded;
        if let Some(sealed_id) = &quoted.continues {
            let theirs = Value::String(sealed_id.upstream.clone()).to_string();
            quoted.set_fields.push((PREVIOUS.to_owned(), theirs));
        }
        quoted.check_unlisted(services)?;
        Ok(quoted)
    }
}

impl Quoted {
    /// Refuses a turn whose longest answer costs more than the caller allows.
    fn check_bound(&self, most: Money) -> Result<(), ApiError> {
        let bound = self.bound(self.most_output())?;
        if bound <= most {
            return Ok(());
        }
        let text = format!("this call may cost {bound} USD, and `{MAX_COST_HEADER}` allows {most}");
        let affordable = self.affordable_each(most);
        Err(ApiError::new(ErrorCode::MaxCostExceeded, text)
            .with_money("required_usd", bound)
            .with("max_tokens_affordable", affordable))
    }
}
