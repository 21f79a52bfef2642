//! Headers in and out: what is kept of a request's, and what every answer carries.

use http::header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};

use crate::script::{Head, Script};
use crate::scripted_body::{BodyWatch, ScriptedBody, VendorResponse};

/// Numbers that answers carry in their headers.
#[derive(Clone, Debug, Default)]
pub(crate) struct ResponseMeta {
    pub(crate) request_id: String,
    pub(crate) processing_millis: u64,
    /// Only answers of a model tell of limits; the size of the prompt is taken off.
    pub(crate) prompt_tokens: Option<u64>,
}

/// Headers whose value is a secret or contains one.
const SECRET: [&str; 8] = [
    "authorization",
    "proxy-authorization",
    "x-api-key",
    "api-key",
    "x-amz-security-token",
    "cookie",
    "x-goog-api-key",
    "sec-websocket-protocol",
];
/// Longest value that is kept.
const MAX_VALUE_BYTES: usize = 1024;
/// The limits that answers report. Only a fault enforces them, on demand.
const REQUEST_LIMIT: u64 = 10_000;
const TOKEN_LIMIT: u64 = 30_000_000;

/// The bearer key. One spelling: the vendor documents no other.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    value.strip_prefix("Bearer ").filter(|key| !key.is_empty())
}

/// The last four characters of a key.
pub(crate) fn last_four(key: &str) -> String {
    let from = key.chars().count().saturating_sub(4);
    key.chars().skip(from).collect()
}

/// The headers of a request as they may be kept.
pub(crate) fn kept(headers: &HeaderMap) -> Vec<(String, String)> {
    let keep = |(name, value): (&HeaderName, &HeaderValue)| {
        let text = String::from_utf8_lossy(value.as_bytes());
        let text = if SECRET.contains(&name.as_str()) {
            last_four(&text)
        } else {
            let end = text.floor_char_boundary(MAX_VALUE_BYTES);
            text.get(..end).unwrap_or_default().to_owned()
        };
        (name.as_str().to_owned(), text)
    };
    headers.iter().map(keep).collect()
}

/// A response with the headers that every vendor has.
pub(crate) fn response(
    script: Script,
    content_type: &'static str,
    watch: Option<BodyWatch>,
) -> VendorResponse {
    let head = script.head;
    let mut response = Response::new(ScriptedBody::new(script, watch));
    // Statuses come from a closed range; were one wrong, the client should see a failure.
    *response.status_mut() =
        StatusCode::from_u16(head.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    if let Some(length) = head.content_length {
        headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
    if let Some(seconds) = head.retry_after_secs {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// Sets what OpenAI's answers carry beside that.
pub(crate) fn set_openai(headers: &mut HeaderMap, head: Head, meta: &ResponseMeta) {
    if head.is_event_stream {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    }
    set(headers, "openai-version", "2020-10-01");
    set(headers, "openai-organization", "org-simulator");
    set(headers, "x-request-id", &meta.request_id);
    let millis = meta.processing_millis.to_string();
    set(headers, "openai-processing-ms", &millis);
    if let Some(prompt_tokens) = meta.prompt_tokens {
        set_limits(headers, prompt_tokens, head.retry_after_secs);
    }
}

fn set_limits(headers: &mut HeaderMap, prompt_tokens: u64, retry_after_secs: Option<u32>) {
    let (requests_left, reset) = match retry_after_secs {
        Some(seconds) => (0, format!("{seconds}s")),
        None => (REQUEST_LIMIT.saturating_sub(1), "6ms".to_owned()),
    };
    let tokens_left = TOKEN_LIMIT.saturating_sub(prompt_tokens);
    for (name, value) in [
        ("x-ratelimit-limit-requests", REQUEST_LIMIT.to_string()),
        ("x-ratelimit-limit-tokens", TOKEN_LIMIT.to_string()),
        ("x-ratelimit-remaining-requests", requests_left.to_string()),
        ("x-ratelimit-remaining-tokens", tokens_left.to_string()),
        ("x-ratelimit-reset-requests", reset),
        ("x-ratelimit-reset-tokens", "0s".to_owned()),
    ] {
        set(headers, name, &value);
    }
}

pub(crate) fn set(headers: &mut HeaderMap, name: &'static str, value: &str) {
    // All values are made of ASCII here; one that is not would be left out, not sent wrong.
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(HeaderName::from_static(name), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(value: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, HeaderValue::from_str(value).unwrap());
        headers
    }

    #[test]
    fn a_key_is_read_in_one_spelling_only() {
        assert_eq!(bearer(&with("Bearer sk-1")), Some("sk-1"));
        for wrong in ["bearer sk-1", "sk-1", "Bearer ", "Basic sk-1"] {
            assert_eq!(bearer(&with(wrong)), None, "{wrong}");
        }
    }

    #[test]
    fn a_kept_key_shows_its_last_four_characters() {
        let kept = kept(&with("Bearer sk-secret-1234"));
        assert_eq!(kept, [("authorization".to_owned(), "1234".to_owned())]);
        assert_eq!(last_four("ab"), "ab");
    }
}
