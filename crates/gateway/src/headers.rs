//! What a caller's headers say, beside its key.

use http::header::{AUTHORIZATION, SEC_WEBSOCKET_PROTOCOL};
use http::{HeaderMap, HeaderName, HeaderValue};
use trunkline_types::Money;
use trunkline_wire::Format;

use crate::error::{ApiError, ErrorCode};

/// What of a caller's headers concerns the format: versions and flags of it.
pub(crate) fn forwarded(format: Format, headers: &HeaderMap) -> HeaderMap {
    let names: &[&str] = match format {
        Format::ClaudeMessages => &["anthropic-version", "anthropic-beta"],
        Format::OpenaiChat | Format::OpenaiResponses | Format::Gemini => &[],
    };
    let mut kept = HeaderMap::new();
    for name in names {
        if let (Some(value), Ok(name)) =
            (headers.get(*name), HeaderName::from_bytes(name.as_bytes()))
        {
            kept.insert(name, value.clone());
        }
    }
    kept
}

/// What a connection keeps of the headers of its handshake, maybe for an hour: all but those that can hold a key. They
/// are copies. As they came they are parts of the buffer that they were read into, and keep all of it in memory.
pub(crate) fn kept_by_connection(headers: &HeaderMap) -> HeaderMap {
    let with_keys = [
        AUTHORIZATION,
        SEC_WEBSOCKET_PROTOCOL,
        HeaderName::from_static("x-api-key"),
        HeaderName::from_static("x-goog-api-key"),
    ];
    let kept = headers.iter().filter(|(name, _)| !with_keys.contains(name));
    let copies = kept.filter_map(|(name, value)| {
        let copy = HeaderValue::from_bytes(value.as_bytes()).ok()?;
        Some((name.clone(), copy))
    });
    copies.collect()
}

/// The header of the caller's own limit for a call.
pub(crate) const MAX_COST_HEADER: &str = "trunkline-max-cost-usd";

/// The caller's own limit for a call, if it has one.
pub(crate) fn max_cost(headers: &HeaderMap) -> Result<Option<Money>, ApiError> {
    const NAME: &str = MAX_COST_HEADER;
    let Some(value) = headers.get(NAME) else {
        return Ok(None);
    };
    let text = value.to_str().ok().map(str::trim);
    let most: Option<Money> = text.and_then(|text| text.parse().ok());
    match most.filter(|most| !most.is_negative()) {
        Some(most) => Ok(Some(most)),
        None => {
            let text = format!("`{NAME}` must be an amount such as 0.05");
            Err(ApiError::new(ErrorCode::Invalid("invalid_request"), text).at(NAME))
        }
    }
}

/// Whether strict mode is asked for.
pub(crate) fn is_strict(headers: &HeaderMap) -> bool {
    headers
        .get("trunkline-strict")
        .is_some_and(|value| value == "true")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_keeps_copies_of_its_headers_and_no_key() {
        let lines = [
            ("authorization", "Bearer sk-1"),
            ("x-api-key", "sk-1"),
            ("x-goog-api-key", "sk-1"),
            (
                "sec-websocket-protocol",
                "realtime, openai-insecure-api-key.sk-1",
            ),
            ("trunkline-tags", "a"),
            ("trunkline-tags", "b"),
        ];
        let headers: HeaderMap = lines
            .map(|(name, value)| {
                (
                    HeaderName::from_static(name),
                    HeaderValue::from_static(value),
                )
            })
            .into_iter()
            .collect();
        let kept = kept_by_connection(&headers);
        let values: Vec<_> = kept.get_all("trunkline-tags").iter().collect();
        assert_eq!(values, ["a", "b"]);
        assert_eq!(kept.len(), 2);
        let first = headers.get("trunkline-tags").unwrap().as_bytes().as_ptr();
        assert_ne!(values[0].as_bytes().as_ptr(), first);
    }
}
