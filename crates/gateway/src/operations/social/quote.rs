//! A quote for a call: the same checks and the same price, and nothing moves.

use http::StatusCode;
use serde_json::{Value, json};

use super::request::{Social, SocialExecution, SocialRoute};
use crate::error::{ApiError, ErrorCode};
use crate::quote_lock::QUOTE_SECONDS;
use crate::quote_request::{Quoting, SealedQuote, lines_of};
use crate::response::{Response, json as answer};
use crate::state::SOCIAL;

const PREFIX: &str = "/v1/social/";

/// The pair of an endpoint, if it is one of these.
pub(crate) fn social_route(endpoint: &str) -> Option<SocialRoute> {
    let rest = endpoint.strip_prefix(PREFIX);
    let rest = rest.or_else(|| endpoint.strip_prefix("social/"))?;
    let (platform, capability) = rest.split_once('/')?;
    Some(SocialRoute {
        platform: platform.to_owned(),
        capability: capability.to_owned(),
    })
}

/// Quotes a call whose parameters stand in a JSON object.
pub(crate) async fn quote_social(
    quoting: Quoting<'_>,
    route: SocialRoute,
    params: &str,
) -> Result<Response, ApiError> {
    quoting.caller.check_endpoint(SOCIAL)?;
    let operation = Social::new(route, query_of(params)?);
    let (execution, locked) = quoting.lock(operation).await?;
    Ok(answer(StatusCode::OK, &quote_view(&execution, &locked)?))
}

/// The parameters as a query. A list gives its name several times, as a query would.
fn query_of(params: &str) -> Result<String, ApiError> {
    let wrong = |text: &str| {
        ApiError::new(ErrorCode::Invalid("invalid_request"), text.to_owned()).at("body")
    };
    let params: Value = serde_json::from_str(params).map_err(|_| wrong("not JSON"))?;
    let Value::Object(params) = params else {
        return Err(wrong("send the parameters as a JSON object"));
    };
    let mut pairs = Vec::new();
    for (name, value) in &params {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            Value::Bool(flag) => flag.to_string(),
            Value::Null | Value::Array(_) | Value::Object(_) => {
                let text = format!("`{name}` must be a string, number or boolean");
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

fn quote_view(execution: &SocialExecution, locked: &SealedQuote) -> Result<Value, ApiError> {
    let price = execution.price.amount.to_string();
    let quote = execution.quote()?;
    let unit = execution.call.sale.model.list().billing_unit();
    Ok(json!({
        "id": locked.id,
        "object": "quote",
        "expires_at": locked.ends,
        "valid_seconds": QUOTE_SECONDS,
        "endpoint": execution.query.cell.route(),
        "model": execution.query.cell.model,
        "group": execution.call.sale.group,
        // Other accounts get no quote.
        "prices": "paid",
        "pricing_version": execution.call.sale.version.to_string(),
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
        "rate": execution.call.sale.rate.to_string(),
        "units": { "per_call": 1 },
        "lines": lines_of(&quote, unit, true),
        "fields": execution.call.report,
        "warnings": execution.call.warnings(),
    }))
}
