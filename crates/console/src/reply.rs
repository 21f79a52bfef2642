//! JSON answers that need not be sent twice: each has an `ETag` of its own bytes.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::{CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use http::{HeaderMap, HeaderValue, StatusCode};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::error::ApiError;

/// Bytes of the hash that an `ETag` shows; enough that no two answers meet.
const TAG_BYTES: usize = 16;

/// A value, or the word that the caller has it already.
pub(crate) fn json<T: Serialize>(headers: &HeaderMap, value: &T) -> Result<Response, ApiError> {
    let body = serde_json::to_vec(value).map_err(|error| {
        tracing::error!(%error, "response serialization failed");
        ApiError::unavailable()
    })?;
    Ok(bytes(headers, Bytes::from(body), "application/json"))
}

/// The same of bytes that are JSON already.
pub(crate) fn bytes(headers: &HeaderMap, body: Bytes, content_type: &'static str) -> Response {
    let tag = tag_of(&body);
    let mut answered = if has(headers, &tag) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        let mut answered = Response::new(Body::from(body));
        let content_type = HeaderValue::from_static(content_type);
        answered.headers_mut().insert(CONTENT_TYPE, content_type);
        answered
    };
    if let Ok(value) = HeaderValue::from_str(&tag) {
        answered.headers_mut().insert(ETAG, value);
    }
    answered
}

fn tag_of(body: &[u8]) -> String {
    let hash = Sha256::digest(body);
    let digits = hash
        .iter()
        .take(TAG_BYTES)
        .map(|byte| format!("{byte:02x}"));
    format!("\"{}\"", digits.collect::<String>())
}

/// Whether one of the tags that the caller has is this one. Weak ones are as good for a GET.
fn has(headers: &HeaderMap, tag: &str) -> bool {
    let lists = headers.get_all(IF_NONE_MATCH).iter();
    let texts = lists.filter_map(|value| value.to_str().ok());
    texts.flat_map(|list| list.split(',')).any(|one| {
        let one = one.trim();
        one == "*" || one.strip_prefix("W/").unwrap_or(one) == tag
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request_headers(values: &[&str]) -> HeaderMap {
        let pairs = values
            .iter()
            .map(|value| (IF_NONE_MATCH, value.parse().unwrap()));
        pairs.collect()
    }

    #[test]
    fn the_same_bytes_have_the_same_tag_and_are_not_sent_again() {
        let body = || Bytes::from_static(b"{}");
        let first = bytes(&HeaderMap::new(), body(), "application/json");
        assert_eq!(first.status(), StatusCode::OK);
        let tag = first.headers()[ETAG].to_str().unwrap().to_owned();
        assert_eq!(tag.len(), 34);
        for known in [
            vec![tag.as_str()],
            vec!["\"x\", ", tag.as_str()],
            vec![&format!("\"x\" , W/{tag}")],
            vec!["*"],
        ] {
            let repeated = bytes(&request_headers(&known), body(), "application/json");
            assert_eq!(repeated.status(), StatusCode::NOT_MODIFIED, "{known:?}");
            assert_eq!(repeated.headers()[ETAG], tag);
        }
        for other in ["\"x\"", tag.trim_matches('"'), ""] {
            let sent = bytes(&request_headers(&[other]), body(), "application/json");
            assert_eq!(sent.status(), StatusCode::OK, "{other:?}");
        }
        let changed = bytes(
            &request_headers(&[&tag]),
            Bytes::from_static(b"[]"),
            "application/json",
        );
        assert_eq!(changed.status(), StatusCode::OK);
    }
}
