//! `POST /v1/quotes`: what a call would cost and what would become of its fields. Nothing moves.

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use trunkline_catalog::{Number, PriceClass, ToolLine};
use trunkline_types::{BillingUnit, Bucket, Usage};
use trunkline_wire::scan;

use crate::caller::Caller;
use crate::endpoint::{ENDPOINTS, endpoint_of};
use crate::error::{ApiError, ErrorCode};
use crate::operations::chat::{Chat, ChatRoute, Quoted};
use crate::operations::generation::{
    IMAGES, SPEECH, TRANSCRIPTIONS, TRANSLATIONS, quote_generation, quoted_endpoint,
};
use crate::operations::realtime::{REALTIME, is_realtime, quote_realtime};
use crate::operations::social::{quote_social, social_route};
use crate::operations::video::{WORD as VIDEOS, is_video, quote_video};
use crate::operations::workflow::quoted_run;
use crate::quote_lock::QUOTE_SECONDS;
use crate::quote_request::{Quoting, SealedQuote, lines_of, usd};
use crate::request_context::RequestContext;
use crate::response::{Response, json as answer};
use crate::services::Services;

/// Output tokens of an answer of which nothing is known.
const USUAL_OUTPUT: u64 = 512;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ask<'a> {
    endpoint: String,
    #[serde(borrow)]
    body: &'a RawValue,
    /// Gemini's address says these, and its body does not.
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    stream: bool,
}

/// Quotes a call of any endpoint that has a price.
pub(crate) async fn handle(
    services: &Services,
    context: &RequestContext,
    caller: Caller,
    headers: &HeaderMap,
    body: &Bytes,
) -> Result<Response, ApiError> {
    let invalid = |param: &str, text: String| {
        ApiError::new(ErrorCode::Invalid("invalid_request"), text).at(param)
    };
    // Duplicate keys are refused here as everywhere.
    scan(body).map_err(|error| invalid("body", error.to_string()))?;
    let ask: Ask<'_> = serde_json::from_slice(body).map_err(|error| {
        let text = format!("send {{\"endpoint\": …, \"body\": {{…}}}}: {error}");
        invalid("endpoint", text)
    })?;
    let quoting = Quoting {
        services,
        context,
        caller,
        headers,
    };
    // A run of a workflow is quoted as the call that it is.
    let run = quoted_run(services, &ask.endpoint, ask.body.get()).await?;
    let (name, request) = run.unwrap_or_else(|| {
        let request = Bytes::copy_from_slice(ask.body.get().as_bytes());
        (ask.endpoint.clone(), request)
    });
    if is_video(&name) {
        return quote_video(quoting, request).await;
    }
    let text = || std::str::from_utf8(&request).unwrap_or_default();
    if let Some(route) = social_route(&name) {
        return quote_social(quoting, route, text()).await;
    }
    if is_realtime(&name) {
        return quote_realtime(quoting, text()).await;
    }
    if let Some(endpoint) = quoted_endpoint(&name) {
        return quote_generation(quoting, endpoint, text()).await;
    }
    let endpoint = endpoint_of(&name).ok_or_else(|| {
        let names = ENDPOINTS.iter().map(|endpoint| endpoint.name);
        let made = [
            VIDEOS,
            IMAGES,
            SPEECH,
            TRANSCRIPTIONS,
            TRANSLATIONS,
            REALTIME,
        ];
        let other = ["/v1/social/…", "/v1/workflows/…/runs"];
        let known: Vec<&str> = names.chain(made).chain(other).collect();
        let text = format!("quotes are given for {}", known.join(", "));
        invalid("endpoint", text)
    })?;
    let route = ChatRoute {
        endpoint,
        model: ask.model,
        stream: ask.stream,
        as_json_array: false,
    };
    quoting.caller.check_endpoint(endpoint.name)?;
    let (mut quoted, locked) = quoting.lock(Chat::read(&route, request)?).await?;
    quoted.preview_losses(services)?;
    let usual = services.route_health.usual_output(quoted.request.model());
    let body = quote_view(&quoted, usual, &locked)?;
    Ok(answer(StatusCode::OK, &body))
}

/// The quote as it is told.
fn quote_view(
    quoted: &Quoted,
    usual: Option<u64>,
    locked: &SealedQuote,
) -> Result<Value, ApiError> {
    let most = quoted.most_output();
    let dearest = quoted.bound_quote(most)?;
    let unit = quoted.call.sale.model.list().billing_unit();
    let exact = match unit {
        // How often a vendor's tool is called is found at the end.
        BillingUnit::PerCall => quoted.sold_tools.is_empty(),
        BillingUnit::Tokens
        | BillingUnit::PerSecond
        | BillingUnit::Characters
        | BillingUnit::AudioDuration => false,
    };
    let guess = usual.unwrap_or(USUAL_OUTPUT).min(most);
    let expected = Usage::unknown()
        .with(Bucket::PlainInput, quoted.input.fair)
        .with(Bucket::PlainOutput, guess);
    let (_, likely) = quoted.exact_quote(&expected)?;
    let basis = match (exact, usual) {
        (true, _) => "exact",
        (false, Some(_)) => "recent_answers",
        (false, None) => "default",
    };
    let (least, most_usd) = if exact {
        (likely.total, likely.total)
    } else {
        (quoted.floor()?, quoted.bound(most)?)
    };
    let lines = if exact { &likely } else { &dearest };
    let tools = quoted.tool_bounds()?;
    let defaults: serde_json::Map<String, Value> = quoted
        .call
        .report
        .defaults()
        .map(|note| (note.field.clone(), json!(note.value)))
        .collect();
    Ok(json!({
        "id": locked.id,
        "object": "quote",
        "expires_at": locked.ends,
        "valid_seconds": QUOTE_SECONDS,
        "endpoint": quoted.call.endpoint,
        "model": quoted.request.requested_model(),
        "group": quoted.call.sale.group,
        "prices": match quoted.call.class {
            PriceClass::Standard => "standard",
            PriceClass::Paid => "paid",
        },
        "pricing_version": quoted.call.sale.version.to_string(),
        "billing_unit": unit,
        "exact": exact,
        "price_usd": exact.then(|| usd(likely.total)),
        "minimum_usd": usd(least),
        "expected_usd": usd(likely.total.min(most_usd)),
        "maximum_usd": usd(most_usd),
        "expected_basis": basis,
        "reserved_usd": usd(quoted.bound(quoted.held_output_tokens)?),
        "tier": lines.tier,
        "tier_reason": lines.why.to_string(),
        "rate": lines.rate.to_string(),
        "lines": lines_of(lines, unit, exact).into_iter().chain(tools.iter().map(tool_line)).collect::<Vec<Value>>(),
        "defaults": defaults,
        "fields": fields(quoted),
        "warnings": quoted.call.warnings(),
    }))
}

/// A line of a vendor-run tool.
fn tool_line(line: &ToolLine) -> Value {
    let call = Number::from_pico(i128::from(line.price.pico()));
    json!({
        "tool": line.tool,
        "units": line.calls,
        "units_are": "at_most",
        "price_pico_usd": line.price,
        "usd_per_call": call.to_string(),
        "amount_usd": usd(line.amount),
    })
}

/// Every field of the body, and those that are written in.
fn fields(quoted: &Quoted) -> Vec<Value> {
    let notes = quoted.call.report.notes();
    let plain = quoted
        .request
        .fields()
        .filter(|name| !notes.iter().any(|note| note.field == **name))
        .filter(|name| !quoted.request.unlisted.iter().any(|one| one.path == **name))
        .map(|name| json!({ "field": name, "fate": "read" }));
    plain.chain(notes.iter().map(|note| json!(note))).collect()
}
