//! Quotes of realtime: what the first response costs at most, and what the time of the connection costs. Prices are not
//! locked: a connection outlives a quote.

use http::StatusCode;
use serde_json::{Value, json};
use trunkline_catalog::{ExtraLine, FieldReport, Number, PriceClass};
use trunkline_types::{Money, Usage};

use super::REALTIME;
use super::request::{Realtime, TokenBound, TurnKind, time_used};
use super::turn::TurnExecution;
use crate::error::ApiError;
use crate::form::invalid;
use crate::pipeline::price;
use crate::quote_request::{Quoting, lines_of, usd};
use crate::response::{Response, json as answer};

/// Longest time that is quoted, in seconds.
const MOST_SECONDS: u64 = 86_400;

/// Whether a name or a path is this endpoint's.
pub(crate) fn is_realtime(name: &str) -> bool {
    name.trim_start_matches('/').trim_start_matches("v1/") == REALTIME
}

/// Quotes a connection: `{"model": …, "seconds": …}`.
pub(crate) async fn quote_realtime(quoting: Quoting<'_>, body: &str) -> Result<Response, ApiError> {
    quoting.caller.check_endpoint(REALTIME)?;
    let body: Value = serde_json::from_str(body)
        .map_err(|error| invalid(&format!("the body is not an object: {error}")).at("body"))?;
    let model = body.get("model").and_then(Value::as_str);
    let model = model.ok_or_else(|| invalid("name the model").at("model"))?;
    let settings = &quoting.services.settings.realtime;
    let seconds = match body.get("seconds") {
        None | Some(Value::Null) => settings.charged_time.as_secs(),
        Some(seconds) => {
            let seconds = seconds.as_u64().filter(|seconds| *seconds <= MOST_SECONDS);
            let text = format!("`seconds` must be a whole number up to {MOST_SECONDS}");
            seconds.ok_or_else(|| invalid(&text).at("seconds"))?
        }
    };
    let kind = TurnKind::Response {
        speaks: true,
        hears: true,
    };
    let bound = TokenBound {
        input: settings.ahead_tokens,
        output: settings.max_output_tokens,
        ..TokenBound::default()
    };
    let operation = Realtime::turn(model, kind, bound, FieldReport::default());
    let priced = price(
        quoting.services,
        quoting.context,
        quoting.caller,
        quoting.headers,
        operation,
    );
    let view = view(&Box::pin(priced).await?, model, seconds)?;
    Ok(answer(StatusCode::OK, &view))
}

fn view(priced: &TurnExecution, model: &str, seconds: u64) -> Result<Value, ApiError> {
    let call = &priced.priced.call;
    let unit = call.sale.model.list().billing_unit();
    let (used, response) = priced.dearest(priced.bound)?;
    let quote = call.quote(&response.units);
    let quote = quote.map_err(|_| ApiError::unavailable())?;
    let time = call.extra_lines(&time_used(seconds))?;
    let of_response = call.extra_lines(&used.unwrap_or_else(Usage::unknown))?;
    let sum = |lines: &[ExtraLine]| {
        let mut amounts = lines.iter().map(|line| line.amount);
        let sum = amounts.try_fold(Money::ZERO, Money::checked_add);
        sum.map_err(|_| ApiError::unavailable())
    };
    let time_usd = sum(&time)?;
    let most = response.amount.checked_add(time_usd);
    let most = most.map_err(|_| ApiError::unavailable())?;
    let lines = lines_of(&quote, unit, false).into_iter();
    let extra = of_response.iter().chain(&time).map(extra_line);
    Ok(json!({
        "id": null,
        "object": "quote",
        "expires_at": null,
        "valid_seconds": 0,
        "endpoint": call.endpoint,
        "model": model,
        "group": call.sale.group,
        "prices": match call.class {
            PriceClass::Standard => "standard",
            PriceClass::Paid => "paid",
        },
        "pricing_version": call.sale.version.to_string(),
        "billing_unit": unit,
        "exact": false,
        "price_usd": null,
        "minimum_usd": usd(time_usd),
        "expected_usd": usd(time_usd),
        "maximum_usd": usd(most),
        "expected_basis": "default",
        "reserved_usd": usd(most),
        "tier": quote.tier,
        "tier_reason": quote.why.to_string(),
        "rate": quote.rate.to_string(),
        "lines": lines.chain(extra).collect::<Vec<Value>>(),
        "defaults": {},
        "fields": call.report,
        "warnings": call.warnings(),
    }))
}

/// A line beside the faces.
fn extra_line(line: &ExtraLine) -> Value {
    let one = Number::from_pico(i128::from(line.price.pico()));
    json!({
        "extra": line.unit.name(),
        "units": line.units,
        "units_are": "at_most",
        "price_pico_usd": line.price,
        "usd_per_unit": one.to_string(),
        "amount_usd": usd(line.amount),
    })
}
