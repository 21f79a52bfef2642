//! Errors in Google's shape.

use serde_json::{Map, Value, json};

use crate::{ErrorBody, Frame};

const INFO: &str = "type.googleapis.com/google.rpc.ErrorInfo";
const RETRY: &str = "type.googleapis.com/google.rpc.RetryInfo";
const DOMAIN: &str = "trunkline";

/// An error as Google's clients read it. A request that fails is not charged.
#[must_use]
pub(crate) fn error_body(body: &ErrorBody) -> Value {
    // Google's metadata are texts.
    let mut metadata = Map::new();
    let mut tell = |key: &str, text: String| {
        metadata.insert(key.to_owned(), Value::String(text));
    };
    tell("request_id", body.request_id.clone());
    tell("charged", false.to_string());
    tell("retryable", body.retryable.to_string());
    tell("doc_url", body.doc_url.clone());
    tell("type", body.family.to_owned());
    if let Some(param) = &body.param {
        tell("param", param.clone());
    }
    for (key, value) in &body.extras {
        tell(
            key,
            value
                .as_str()
                .map_or_else(|| value.to_string(), ToOwned::to_owned),
        );
    }
    let mut details = vec![json!({
        "@type": INFO,
        "reason": body.code,
        "domain": DOMAIN,
        "metadata": metadata,
    })];
    if let Some(seconds) = body.retry_after {
        details.push(json!({ "@type": RETRY, "retryDelay": format!("{seconds}s") }));
    }
    let mut error = json!({
        "code": body.status,
        "message": body.message,
        "status": status_word(body.status),
        "details": details,
    });
    if let Some(error) = error.as_object_mut() {
        let extras = body
            .extras
            .iter()
            .filter(|(key, _)| !matches!(key.as_str(), "code" | "message" | "status" | "details"));
        error.extend(extras.map(|(key, value)| (key.clone(), value.clone())));
    }
    json!({ "error": error })
}

/// The same inside a stream that has begun.
#[must_use]
pub(crate) fn error_frame(body: &ErrorBody) -> Vec<u8> {
    let body = error_body(body).to_string();
    Frame::of_data(body.as_bytes()).raw.to_vec()
}

/// Google's retry delay in whole seconds: it stands inside the error, and in no header.
#[must_use]
pub fn retry_delay(body: &[u8]) -> Option<u64> {
    let body: Value = serde_json::from_slice(body).ok()?;
    // Where an array was asked for, the error comes in one.
    let error = body.get("error").or_else(|| body.get(0)?.get("error"))?;
    let details = error.get("details")?.as_array()?;
    let delay = details
        .iter()
        .find_map(|detail| detail.get("retryDelay")?.as_str())?;
    let (seconds, part) = delay
        .strip_suffix('s')?
        .split_once('.')
        .unwrap_or((delay.strip_suffix('s')?, ""));
    let seconds: u64 = seconds.parse().ok()?;
    let more = part.bytes().any(|digit| digit != b'0');
    seconds.checked_add(u64::from(more))
}

/// Google's name for a status.
const fn status_word(status: u16) -> &'static str {
    match status {
        401 => "UNAUTHENTICATED",
        402 => "FAILED_PRECONDITION",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        405 => "UNIMPLEMENTED",
        409 => "ABORTED",
        429 => "RESOURCE_EXHAUSTED",
        499 => "CANCELLED",
        502 | 503 | 529 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        400..=499 => "INVALID_ARGUMENT",
        _ => "INTERNAL",
    }
}

#[cfg(test)]
#[path = "error_tests.rs"]
mod tests;
