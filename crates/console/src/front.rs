//! What holds for every request, whatever it asks for: bounds, a time, an id, headers, one log line.

use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, HttpBody as _};
use axum::response::{IntoResponse, Response};
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, CACHE_CONTROL, CONTENT_LENGTH,
    CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode};
use tower_service::Service as _;
use trunkline_terms::RequestId;

use crate::console::RequestIds;
use crate::fault::{Fault, Kind};

/// Longest query. A page needs a hundred bytes.
const MAX_QUERY_BYTES: usize = 2_048;
/// No path here reads a body; one of this size is overlooked.
const MAX_BODY_BYTES: u64 = 65_536;
/// From the head to the answer.
const ANSWER_WAIT: Duration = Duration::from_secs(10);
/// After which a caller may try again, in seconds.
const RETRY_AFTER_SECONDS: &str = "1";

/// On every answer. Nothing is kept without asking again, and no page may be made of it.
const HEADERS: [(HeaderName, &str); 8] = [
    (CACHE_CONTROL, "no-cache"),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (X_FRAME_OPTIONS, "DENY"),
    (REFERRER_POLICY, "no-referrer"),
    (
        CONTENT_SECURITY_POLICY,
        "default-src 'none'; frame-ancestors 'none'",
    ),
    (ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
    (
        ACCESS_CONTROL_EXPOSE_HEADERS,
        "x-request-id, request-id, etag, retry-after",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "cross-origin",
    ),
];

/// Stands before the routes.
pub(crate) struct Front {
    router: Router,
    request_ids: RequestIds,
}

// === impl Front ===

impl Front {
    pub(crate) fn new(router: Router, request_ids: RequestIds) -> Self {
        Self {
            router,
            request_ids,
        }
    }

    /// Answers one request.
    pub(crate) async fn answer(&self, request: Request<Body>) -> Response {
        let id = (self.request_ids)();
        let method = request.method().clone();
        let path = request.uri().path().to_owned();
        let began = Instant::now();
        let answered = match bounds(&request) {
            Err(fault) => fault.into_response(),
            Ok(()) if method == Method::OPTIONS => preflight(),
            Ok(()) => self.routed(request).await,
        };
        let answered = finished(answered, id);
        let status = answered.status();
        // A path that is none of ours may hold anything, a key too.
        let path = if status.as_u16() < 400 {
            &path
        } else {
            "[hidden]"
        };
        tracing::info!(
            target: "trunkline::console",
            {
                request.id = %id,
                http.method = %method,
                http.path = path,
                http.status = status.as_u16(),
                latency_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
            },
            "answered"
        );
        answered
    }

    async fn routed(&self, request: Request<Body>) -> Response {
        let answer = self.router.clone().call(request);
        match tokio::time::timeout(ANSWER_WAIT, answer).await {
            Ok(Ok(answered)) => answered,
            Ok(Err(never)) => match never {},
            Err(_) => Fault::unavailable().into_response(),
        }
    }
}

fn bounds(request: &Request<Body>) -> Result<(), Fault> {
    let query = request.uri().query().unwrap_or_default();
    if query.len() > MAX_QUERY_BYTES {
        let text = format!("the query may have at most {MAX_QUERY_BYTES} bytes");
        return Err(Fault::new(Kind::Invalid, text));
    }
    // One whose length is not told is not read, and its connection is closed after the answer.
    if request.body().size_hint().lower() > MAX_BODY_BYTES {
        return Err(Fault::new(Kind::TooLarge, "nothing here reads a body"));
    }
    Ok(())
}

/// Ids and headers on every answer; the body of a fault.
fn finished(mut answered: Response, id: RequestId) -> Response {
    if let Some(fault) = answered.extensions_mut().remove::<Fault>() {
        let body = serde_json::to_vec(&fault.body(id)).unwrap_or_default();
        *answered.body_mut() = Body::from(body);
        let headers = answered.headers_mut();
        // The router has counted the empty body that it saw.
        headers.remove(CONTENT_LENGTH);
        put(headers, CONTENT_TYPE, "application/json");
        if fault.kind.is_retryable() {
            put(headers, RETRY_AFTER, RETRY_AFTER_SECONDS);
        }
    }
    let headers = answered.headers_mut();
    if let Ok(value) = HeaderValue::from_str(&id.to_string()) {
        headers.insert(HeaderName::from_static("x-request-id"), value.clone());
        headers.insert(HeaderName::from_static("request-id"), value);
    }
    for (name, value) in HEADERS {
        put(headers, name, value);
    }
    answered
}

/// What a browser asks before it asks.
fn preflight() -> Response {
    let mut answered = StatusCode::NO_CONTENT.into_response();
    let headers = answered.headers_mut();
    put(headers, ACCESS_CONTROL_ALLOW_METHODS, "GET, HEAD");
    // A star does not cover `authorization`; it must be named.
    put(
        headers,
        ACCESS_CONTROL_ALLOW_HEADERS,
        "authorization, content-type, *",
    );
    put(headers, ACCESS_CONTROL_MAX_AGE, "86400");
    answered
}

fn put(headers: &mut HeaderMap, name: HeaderName, value: &'static str) {
    headers.insert(name, HeaderValue::from_static(value));
}
