//! What a caller's headers say, beside its key.

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

/// The same headers in memory of their own. As they came they are parts of the buffer that they were read into, and
/// keep all of it for as long as a connection keeps them.
pub(crate) fn detached(headers: &HeaderMap) -> HeaderMap {
    let copies = headers.iter().filter_map(|(name, value)| {
        let mut copy = HeaderValue::from_bytes(value.as_bytes()).ok()?;
        copy.set_sensitive(value.is_sensitive());
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
