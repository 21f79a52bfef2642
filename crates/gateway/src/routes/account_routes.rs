//! Routes of the account API: keys, model aliases, events, webhooks, usage. Paths and methods are here;
//! the handlers are in the crate `account-api`.

use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use trunkline_account_api::resources::{ApiRequest, Resource, dispatch};

use crate::caller::Caller;
use crate::error::{ApiError, ErrorCode};
use crate::response::Response;
use crate::services::Services;

/// Bytes of a body that one of these reads.
const MAX_BYTES: usize = 65_536;

/// One of these paths: the resource, and the rest of the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AccountRoute<'a> {
    pub(super) resource: Resource,
    pub(super) rest: &'a str,
}

impl<'a> AccountRoute<'a> {
    /// The route of a path.
    pub(super) fn of(path: &'a str) -> Option<Self> {
        let below = path.strip_prefix("/v1/")?;
        let (name, rest) = below.split_once('/').unwrap_or((below, ""));
        let resource = match name {
            "keys" => Resource::Keys,
            "aliases" => Resource::Aliases,
            "events" => Resource::Events,
            "webhooks" => Resource::Webhooks,
            // With a rest, the path names one call, which has an endpoint of its own.
            "usage"
                if rest.is_empty()
                    || matches!(rest.split('/').nth(1), Some("refund" | "receipt")) =>
            {
                Resource::Report
            }
            "statement" => Resource::Statement,
            _ => return None,
        };
        let route = Self { resource, rest };
        route.methods().map(|_| route)
    }

    /// What it takes; none if there is no such path.
    pub(super) fn methods(&self) -> Option<&'static [Method]> {
        const READ: &[Method] = &[Method::GET, Method::HEAD];
        const WRITE: &[Method] = &[Method::POST];
        const LIST: &[Method] = &[Method::GET, Method::HEAD, Method::POST];
        const ONE: &[Method] = &[Method::GET, Method::HEAD, Method::PATCH, Method::DELETE];
        const NAMED: &[Method] = &[Method::GET, Method::HEAD, Method::PUT, Method::DELETE];
        let parts: Vec<&str> = self
            .rest
            .split('/')
            .filter(|part| !part.is_empty())
            .collect();
        match (self.resource, parts.as_slice()) {
            (Resource::Keys | Resource::Webhooks, []) => Some(LIST),
            (Resource::Keys | Resource::Webhooks, [_]) => Some(ONE),
            (Resource::Keys, [_, "rotate" | "disable" | "enable"]) => Some(WRITE),
            (Resource::Report, [_, "refund"]) => Some(WRITE),
            (Resource::Webhooks, [_, "deliveries"])
            | (Resource::Report, [_, "receipt"])
            | (Resource::Statement, []) => Some(READ),
            (Resource::Webhooks, [_, "rotate" | "test" | "resume"]) => Some(WRITE),
            (Resource::Webhooks, [_, "deliveries", _, "replay"]) => Some(WRITE),
            (Resource::Aliases, []) | (Resource::Report | Resource::Events, []) => Some(READ),
            (Resource::Aliases, [_]) => Some(NAMED),
            (
                Resource::Keys
                | Resource::Webhooks
                | Resource::Aliases
                | Resource::Report
                | Resource::Statement
                | Resource::Events,
                _,
            ) => None,
        }
    }
}

/// Answers an account-API request.
pub(super) async fn answer(
    services: &Arc<Services>,
    caller: Caller,
    route: AccountRoute<'_>,
    request: Request<Incoming>,
) -> Result<Response, ApiError> {
    let (head, body) = request.into_parts();
    let body = match head.method {
        Method::POST | Method::PATCH | Method::PUT => read(services, body).await?,
        _ => Bytes::new(),
    };
    let catalog = services.catalog();
    let visit = ApiRequest {
        caller,
        method: head.method,
        rest: route
            .rest
            .split('/')
            .filter(|part| !part.is_empty())
            .collect(),
        query: head.uri.query(),
        headers: &head.headers,
        book: &catalog.book,
        body,
    };
    dispatch(&services.account_api, route.resource, visit).await
}

async fn read(services: &Services, body: Incoming) -> Result<Bytes, ApiError> {
    let whole = Limited::new(body, MAX_BYTES).collect();
    match tokio::time::timeout(services.edge.settings.body_wait, whole).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(_)) => {
            let text = format!("the request body may have {MAX_BYTES} bytes at most");
            Err(ApiError::new(ErrorCode::TooLarge, text))
        }
        Err(_) => Err(ApiError::new(
            ErrorCode::SlowBody,
            "the request body did not arrive in time",
        )),
    }
}

/// What is said of a path that is not there: the ones that are.
pub(super) fn nothing_there() -> ApiError {
    let text = "there is nothing here; see POST /v1/chat/completions, /v1/messages, \
                /v1/responses, /v1beta/models/{model}:generateContent, /v1/videos, \
                /v1/images/generations, /v1/images/edits, /v1/audio/speech, \
                /v1/audio/transcriptions, /v1/audio/translations, /v1/quotes, \
                GET /v1/social/{platform}/{capability}, POST /v1/workflows/{id}/runs, GET /v1/events, /v1/webhooks, /v1/keys, \
                /v1/aliases, GET /v1/models, GET /v1/usage, GET /v1/usage/{request_id}, \
                POST /v1/usage/{request_id}/refund, GET /v1/usage/{request_id}/receipt, GET /v1/statement, \
                GET /v1/balance, GET /v1/key";
    ApiError::new(ErrorCode::NotFound, text)
}
