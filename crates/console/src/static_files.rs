//! The pages that people see: what Vite made of `web/`, built in. Every path of a page is answered with
//! the same document, which finds its page by itself; files have their hash in their name.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, VARY,
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use rust_embed::{EmbeddedFile, RustEmbed};

use crate::reply;

/// The first part of every path that is a page's. A test compares it with the list of routes in `web/`.
const PAGES: [&str; 21] = [
    "",
    "keys",
    "connect",
    "catalog",
    "playground",
    "tasks",
    "logs",
    "usage",
    "wallet",
    "members",
    "settings",
    "operator",
    "sign-in",
    "sign-up",
    "setup",
    "dev",
    "verify",
    "forgot",
    "reset",
    "invitation",
    "index.html",
];
/// Where files are that have their hash in their name.
const HASHED: &str = "assets/";
const DOCUMENT: &str = "index.html";
const MONTHS: &str = "public, max-age=31536000, immutable";
/// Ways to send less, the best first.
const PACKED: [(&str, &str); 2] = [("br", ".br"), ("gzip", ".gz")];

/// The built pages; empty if they were not built.
#[derive(RustEmbed)]
#[folder = "../../web/dist"]
#[allow_missing = true]
struct Built;

/// Whether a path is a page's, or one of the files that pages are made of.
pub(crate) fn owns(path: &str) -> bool {
    let path = path.trim_start_matches('/');
    let first = path.split('/').next().unwrap_or_default();
    PAGES.contains(&first) || path.starts_with(HASHED) || (first == path && is_file(path))
}

/// A file in the folder itself, such as the icon.
fn is_file(path: &str) -> bool {
    path.contains('.') && Built::get(path).is_some()
}

/// The origin of an address, as policies name it.
pub(crate) fn origin_of(address: &str) -> String {
    let parsed = url::Url::parse(address);
    parsed.map_or_else(
        |_| "'self'".to_owned(),
        |url| url.origin().ascii_serialization(),
    )
}

/// The document or the file; none if there is no such file. `others` is the origin of the data plane,
/// which the playground asks.
pub(crate) fn answer(path: &str, request_headers: &HeaderMap, others: &str) -> Option<Response> {
    let path = path.trim_start_matches('/');
    let is_document = !path.starts_with(HASHED) && !is_file(path);
    let name = if is_document { DOCUMENT } else { path };
    let Some((file, packed)) = best(name, request_headers) else {
        return is_document.then(missing);
    };
    let body = match file.data {
        std::borrow::Cow::Borrowed(data) => Bytes::from_static(data),
        std::borrow::Cow::Owned(data) => Bytes::from(data),
    };
    let mut answered = reply::bytes(request_headers, body, content_type(name));
    let headers = answered.headers_mut();
    headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    if let Some(packed) = packed {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static(packed));
    }
    if path.starts_with(HASHED) {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static(MONTHS));
    }
    if is_document {
        guard(headers, others);
    }
    Some(answered)
}

/// The file in the smallest form that the caller takes.
fn best(name: &str, request_headers: &HeaderMap) -> Option<(EmbeddedFile, Option<&'static str>)> {
    let takes = |coding: &str| {
        let lists = request_headers.get_all(ACCEPT_ENCODING).iter();
        let mut words = lists
            .filter_map(|value| value.to_str().ok())
            .flat_map(|list| list.split(','));
        words.any(|word| word.trim() == coding || word.trim().starts_with(&format!("{coding};q=1")))
    };
    let packed = PACKED.iter().filter(|(coding, _)| takes(coding));
    let mut found = packed.filter_map(|(coding, ending)| {
        let file = Built::get(&format!("{name}{ending}"))?;
        Some((file, Some(*coding)))
    });
    found.next().or_else(|| Some((Built::get(name)?, None)))
}

/// What the document may load, and from where: nothing but its own files, and answers of the data plane.
fn guard(headers: &mut HeaderMap, others: &str) {
    // A conversation by voice is a WebSocket of the same host; `http` becomes `ws` and `https` becomes `wss`.
    let sockets = others.replacen("http", "ws", 1);
    let policy = format!(
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
         img-src 'self' data: blob: {others}; media-src 'self' blob: {others}; font-src 'self'; \
         connect-src 'self' {others} {sockets}; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    );
    if let Ok(value) = HeaderValue::from_str(&policy) {
        headers.insert(CONTENT_SECURITY_POLICY, value);
    }
    let opener = HeaderName::from_static("cross-origin-opener-policy");
    headers.insert(opener, HeaderValue::from_static("same-origin"));
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "woff2" => "font/woff2",
        "json" | "map" => "application/json",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

/// An executable without pages says how to get them; its interface works all the same.
fn missing() -> Response {
    let text = "<!doctype html><title>Trunkline</title><p>The pages were not built into this executable. \
        In a checkout: <code>just web</code>, then build again. The interface works: \
        <a href=\"/openapi.json\">openapi.json</a>, <a href=\"/docs\">documentation</a>.";
    let mut answered = (StatusCode::SERVICE_UNAVAILABLE, Body::from(text)).into_response();
    let html = HeaderValue::from_static("text/html; charset=utf-8");
    answered.headers_mut().insert(CONTENT_TYPE, html);
    answered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_the_documents_and_nothing_else_is() {
        for path in [
            "/",
            "/keys",
            "/keys/12",
            "/logs/req_1",
            "/sign-in",
            "/assets/x.js",
        ] {
            assert!(owns(path), "{path}");
        }
        for path in [
            "/v1/models",
            "/api/keys",
            "/docs",
            "/healthz",
            "/keysx",
            "/openapi.json",
        ] {
            assert!(!owns(path), "{path}");
        }
    }

    #[test]
    fn every_route_of_the_pages_is_known_here() {
        let routes = include_str!("../../../web/src/routes.ts");
        let mut found = 0;
        for line in routes.lines() {
            let Some(path) = line.split("path: \"/").nth(1) else {
                continue;
            };
            let path = path.split('"').next().unwrap_or_default();
            assert!(owns(&format!("/{path}")), "{path}");
            found += 1;
        }
        assert!(found > 15, "only {found} routes were read");
    }

    #[test]
    fn a_file_that_is_not_there_is_not_the_document() {
        assert!(answer("/assets/none.js", &HeaderMap::new(), "http://x").is_none());
        assert!(answer("/keys", &HeaderMap::new(), "http://x").is_some());
    }

    #[test]
    fn the_document_may_load_its_own_files_and_ask_the_data_plane_alone() {
        let mut headers = HeaderMap::new();
        guard(&mut headers, "https://api.example.com");
        let policy = headers[CONTENT_SECURITY_POLICY]
            .to_str()
            .unwrap()
            .to_owned();
        assert!(policy.contains("script-src 'self';"), "{policy}");
        assert!(
            policy.contains("connect-src 'self' https://api.example.com wss://api.example.com;")
        );
        assert!(!policy.contains("unsafe-eval") && !policy.contains('*'));
    }
}
