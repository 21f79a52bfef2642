//! For every request: size limits, a timeout, a request id, headers, one log line.

use std::net::IpAddr;
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
use trunkline_db::tenant;
use trunkline_types::RequestId;

use crate::error::{ApiError, ConsoleErrorCode};
use crate::json_body::{CallerAddress, MAX_BODY_BYTES, too_large};
use crate::parts::{Callers, RequestIds};

/// Longest query. A page needs a hundred bytes, the callback of an identity provider thousands.
const MAX_QUERY_BYTES: usize = 8_192;
/// From the head to the answer.
const ANSWER_WAIT: Duration = Duration::from_secs(10);
/// After which a caller may try again, in seconds.
const RETRY_AFTER_SECONDS: &str = "1";

/// On every answer: no page may be made of it.
const HEADERS: [(HeaderName, &str); 4] = [
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (X_FRAME_OPTIONS, "DENY"),
    (REFERRER_POLICY, "no-referrer"),
    (
        CONTENT_SECURITY_POLICY,
        "default-src 'none'; frame-ancestors 'none'",
    ),
];

/// On public responses: any origin may read them, caches must revalidate.
const PUBLIC_HEADERS: [(HeaderName, &str); 4] = [
    (CACHE_CONTROL, "no-cache"),
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

/// On private responses: only the console's pages read them, caches must not store them.
const PRIVATE_HEADERS: [(HeaderName, &str); 2] = [
    (CACHE_CONTROL, "no-store"),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
];

/// Public paths below `/api`.
const PUBLIC_PATHS: [&str; 3] = ["/api/pricing", "/api/social/catalog", "/api/workflows"];

/// Whether a path is public; all others are private to a session.
pub(crate) fn is_public(path: &str) -> bool {
    let below = |known: &str| {
        let rest = path.strip_prefix(known);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    !path.starts_with("/api/") || PUBLIC_PATHS.into_iter().any(below)
}

pub(crate) struct Middleware {
    router: Router,
    request_ids: RequestIds,
    callers: Callers,
    error_pages: String,
}

// === impl Middleware ===

impl Middleware {
    pub(crate) fn new(
        router: Router,
        request_ids: RequestIds,
        callers: Callers,
        error_pages: String,
    ) -> Self {
        Self {
            router,
            request_ids,
            callers,
            error_pages,
        }
    }

    /// Answers one request that came from this peer.
    pub(crate) async fn answer(&self, mut request: Request<Body>, peer: IpAddr) -> Response {
        let caller = CallerAddress((self.callers)(request.headers(), peer));
        request.extensions_mut().insert(caller);
        let id = (self.request_ids)();
        let method = request.method().clone();
        let path = request.uri().path().to_owned();
        let began = Instant::now();
        let answered = match bounds(&request) {
            Err(fault) => fault.into_response(),
            Ok(()) if method == Method::OPTIONS => preflight(is_public(&path)),
            Ok(()) => self.routed(request).await,
        };
        let answered = finished(answered, id, &self.error_pages, is_public(&path));
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
            "console request"
        );
        answered
    }

    async fn routed(&self, request: Request<Body>) -> Response {
        let answer = tenant::serve(self.router.clone().call(request));
        match tokio::time::timeout(ANSWER_WAIT, answer).await {
            Ok(Ok(answered)) => answered,
            Ok(Err(never)) => match never {},
            Err(_) => ApiError::unavailable().into_response(),
        }
    }
}

fn bounds(request: &Request<Body>) -> Result<(), ApiError> {
    let query = request.uri().query().unwrap_or_default();
    if query.len() > MAX_QUERY_BYTES {
        let text = format!("the query must not exceed {MAX_QUERY_BYTES} bytes");
        return Err(ApiError::new(ConsoleErrorCode::Invalid, text));
    }
    // One whose length is not told is measured while it is read.
    let most = u64::try_from(MAX_BODY_BYTES).unwrap_or(u64::MAX);
    if request.body().size_hint().lower() > most {
        return Err(too_large());
    }
    Ok(())
}

/// Ids and headers on every answer; the body of a fault.
fn finished(mut answered: Response, id: RequestId, error_pages: &str, is_public: bool) -> Response {
    if let Some(fault) = answered.extensions_mut().remove::<ApiError>() {
        let body = serde_json::to_vec(&fault.body(id, error_pages)).unwrap_or_default();
        *answered.body_mut() = Body::from(body);
        let headers = answered.headers_mut();
        // The router has counted the empty body that it saw.
        headers.remove(CONTENT_LENGTH);
        put(headers, CONTENT_TYPE, "application/json");
        if let Some(seconds) = fault.retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        } else if fault.kind.is_retryable() {
            put(headers, RETRY_AFTER, RETRY_AFTER_SECONDS);
        }
    }
    let headers = answered.headers_mut();
    if let Ok(value) = HeaderValue::from_str(&id.to_string()) {
        headers.insert(HeaderName::from_static("x-request-id"), value.clone());
        headers.insert(HeaderName::from_static("request-id"), value);
    }
    let others: &[(HeaderName, &str)] = if is_public {
        &PUBLIC_HEADERS
    } else {
        &PRIVATE_HEADERS
    };
    for (name, value) in HEADERS.iter().chain(others) {
        // A page says itself what it may load, and its files how long they last.
        let value = HeaderValue::from_static(value);
        headers.entry(name.clone()).or_insert(value);
    }
    answered
}

/// What a browser asks before it asks.
fn preflight(is_public: bool) -> Response {
    let mut answered = StatusCode::NO_CONTENT.into_response();
    if !is_public {
        // No other site may ask: a browser that hears nothing does not.
        return answered;
    }
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
