//! A turn of a conversation, from its bytes to a task of its own.

use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;
use tokio::sync::oneshot;
use trunkline_catalog::Sale;
use trunkline_terms::{Moment, RequestId};
use trunkline_wire::{InPath, Request};

use crate::caller::Caller;
use crate::calling::call;
use crate::endpoint::Endpoint;
use crate::error::{ApiError, ErrorCode};
use crate::headers::{MAX_COST_HEADER, forwarded, max_cost};
use crate::idempotency::{Content, is_named};
use crate::in_flight::InFlightPermit;
use crate::quote::{Asked, Quoted};
use crate::quote_lock::QUOTE_HEADER;
use crate::rate_limit::Load;
use crate::request_context::RequestContext;
use crate::response::Response;
use crate::response_id::PREVIOUS;
use crate::services::Services;

impl Services {
    /// A turn of a conversation: read, priced, then handed to a task of its own.
    pub(crate) async fn talk(
        &self,
        context: &Arc<RequestContext>,
        caller: Caller,
        (endpoint, path, in_a_list): (Endpoint, InPath<'_>, bool),
        headers: &HeaderMap,
        body: Bytes,
        mut place: InFlightPermit,
    ) -> Result<Response, ApiError> {
        caller.check_endpoint(endpoint.word)?;
        place.shrink_to(body.len());
        context.came(body.len());
        let named = if is_named(headers) {
            let content = Content {
                path: context.path(),
                class: if in_a_list { "json, a list" } else { "json" },
                body: &body,
                task: false,
            };
            // In a box: few calls bring one.
            Box::pin(self.named(&caller, headers, content)).await?
        } else {
            None
        };
        let mut request = endpoint.read(body, path)?;
        self.resolve(&caller, &mut request);
        let offered = match headers.get(QUOTE_HEADER) {
            Some(quote) => {
                let what = (endpoint.word, request.model(), request.body().as_ref());
                // In a box: few calls bring one.
                Box::pin(self.locked(quote, &caller, what)).await?
            }
            None => {
                let book = &self.inner.shelf.get().book;
                (caller.sale(book, request.model())?, self.inner.now())
            }
        };
        let mut quoted = self.price((context.id, endpoint), caller, headers, request, offered)?;
        quoted.in_a_list = in_a_list;
        quoted.named = named;
        context.asks_for(quoted.request.model(), quoted.request.facts.stream);
        check_max_cost(headers, &quoted)?;
        if !self.inner.channels.get().knows(quoted.request.model()) {
            let text = format!("nobody serves {:?} right now", quoted.request.model());
            return Err(ApiError::new(ErrorCode::NoRoute, text));
        }
        self.check_regions(&quoted.caller, quoted.request.model())?;
        let load = Load::Model(quoted.request.model(), Some(quoted.request.input_estimate));
        self.limit(context, &quoted.caller, load).await?;
        let (head, answer) = oneshot::channel();
        let (services, context) = (self.clone(), Arc::clone(context));
        // In a box, because everybody who hands a task on copies it, and a call is large.
        self.inner.tasks.spawn(Box::pin(async move {
            call(services, quoted, context, head).await;
            drop(place);
        }));
        // A task that ends without an answer has failed in a way we do not know.
        answer
            .await
            .unwrap_or_else(|_| Err(ApiError::unavailable()))
    }

    /// Prices a request under the prices and the clock that it was offered.
    pub(crate) fn price(
        &self,
        (id, endpoint): (RequestId, Endpoint),
        caller: Caller,
        headers: &HeaderMap,
        request: Request,
        (sale, at): (Sale, Moment),
    ) -> Result<Quoted, ApiError> {
        let strict = headers.get("trunkline-strict");
        let previous = request.facts.previous.as_deref();
        let account = caller.account.id;
        let continues = previous.map(|id| self.continued(account, id)).transpose()?;
        let mut quoted = Quoted::price(Asked {
            id,
            caller,
            endpoint,
            request,
            continues,
            sale,
            at,
            strict: strict.is_some_and(|value| value == "true"),
            tranche: self.inner.settings.tranche_tokens,
        })?;
        quoted.forwarded = forwarded(endpoint.format, headers);
        if let Some(kept) = &quoted.continues {
            let theirs = serde_json::Value::String(kept.upstream.clone()).to_string();
            quoted.with.push((PREVIOUS.to_owned(), theirs));
        }
        Ok(quoted)
    }
}

fn check_max_cost(headers: &HeaderMap, quoted: &Quoted) -> Result<(), ApiError> {
    const NAME: &str = MAX_COST_HEADER;
    let Some(most) = max_cost(headers)? else {
        return Ok(());
    };
    let bound = quoted.bound(quoted.most_output())?;
    if bound <= most {
        return Ok(());
    }
    let text = format!("this call may cost {bound} USD, and `{NAME}` allows {most}");
    let affordable = quoted.affordable(most).unwrap_or(0);
    Err(ApiError::new(ErrorCode::MaxCostExceeded, text)
        .with_money("required_usd", bound)
        .with("max_tokens_affordable", affordable))
}
