//! A quote for a call: the same checks and the same price, and nothing moves.

use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

use super::WORD;
use super::request::{Wanted, quoted_body};
use crate::caller::Caller;
use crate::error::{ApiError, ErrorCode};
use crate::quote_endpoint::lines_of;
use crate::quote_lock::{LockedQuote, QUOTE_SECONDS, body_hash};
use crate::response::{Response, json as answer};
use crate::services::Services;

/// Where the calls are.
const PREFIX: &str = "/v1/social/";

/// The platform and the capability of an endpoint, if it is one of these.
pub(crate) fn pair_of(endpoint: &str) -> Option<(&str, &str)> {
    let rest = endpoint.strip_prefix(PREFIX);
    let rest = rest.or_else(|| endpoint.strip_prefix("social/"))?;
    rest.split_once('/')
}

impl Services {
    /// Quotes a call whose parameters stand in a JSON object.
    pub(crate) async fn quote_social(
        &self,
        caller: Caller,
        headers: &HeaderMap,
        pair: (&str, &str),
        params: &str,
    ) -> Result<Response, ApiError> {
        let query = query_of(params)?;
        let revision = self.inner.shelf.get().revision;
        let asked = (self.request_id(), caller);
        let wanted = Box::pin(self.want_social(asked, pair, &query, headers)).await?;
        let hash = body_hash(quoted_body(&wanted.asked).as_bytes());
        let lock = LockedQuote {
            revision,
            at: wanted.at.micros(),
            group: wanted.sale.group.clone(),
            model: wanted.asked.cell.model.clone(),
            body: hash.ok_or_else(ApiError::unavailable)?,
        };
        let id = self.seal_quote(wanted.caller.account.id, WORD, &lock)?;
        let shown = shown(&wanted, (&id, lock.ends().seconds()))?;
        Ok(answer(StatusCode::OK, &shown))
    }
}

/// The parameters as a query. A list gives its name several times, as a query would.
fn query_of(params: &str) -> Result<String, ApiError> {
    let wrong = |text: &str| {
        ApiError::new(ErrorCode::Invalid("invalid_request"), text.to_owned()).at("body")
    };
    let params: Value = serde_json::from_str(params).map_err(|_| wrong("not JSON"))?;
    let Value::Object(params) = params else {
        return Err(wrong(
            "write the parameters as a JSON object of names and values",
        ));
    };
    let mut pairs = Vec::new();
    for (name, value) in &params {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            Value::Bool(flag) => flag.to_string(),
            Value::Null | Value::Array(_) | Value::Object(_) => {
                let text = format!("`{name}` is no text, number or boolean");
                return Err(
                    ApiError::new(ErrorCode::Invalid("invalid_parameter_type"), text).at(name),
                );
            }
        };
        let escape = |text: &str| {
            percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC)
                .to_string()
        };
        pairs.push(format!("{}={}", escape(name), escape(&text)));
    }
    Ok(pairs.join("&"))
}

fn shown(wanted: &Wanted, (id, ends): (&str, i64)) -> Result<Value, ApiError> {
    let price = wanted.price.to_string();
    let quote = wanted.quote()?;
    let unit = wanted.sale.model.list().billing_unit();
    Ok(json!({
        "id": id,
        "object": "quote",
        "expires_at": ends,
        "valid_seconds": QUOTE_SECONDS,
        "endpoint": wanted.asked.cell.route(),
        "model": wanted.asked.cell.model,
        "group": wanted.sale.group,
        // Nobody else gets one.
        "prices": "paid",
        "pricing_version": wanted.sale.version.to_string(),
        "billing_unit": unit,
        "exact": true,
        "price_usd": price,
        "minimum_usd": "0",
        "expected_usd": price,
        "maximum_usd": price,
        "expected_basis": "exact",
        "reserved_usd": price,
        "tier": quote.tier,
        "tier_reason": quote.why.to_string(),
        "rate": wanted.sale.rate.to_string(),
        "units": { "per_call": 1 },
        "lines": lines_of(&quote, unit, true),
        "fields": wanted.report,
        "warnings": wanted.warnings,
    }))
}
