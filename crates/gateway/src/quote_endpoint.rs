//! `POST /v1/quotes`: what a call would cost and what would become of its fields. Nothing moves.

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use trunkline_catalog::{Number, PriceClass, Quote, audio_tokens_shown};
use trunkline_types::{BillingUnit, Bucket, Money, Usage};
use trunkline_wire::scan;

use crate::caller::Caller;
use crate::endpoint::{ENDPOINTS, endpoint_of};
use crate::error::{ApiError, ErrorCode};
use crate::model_alias;
use crate::operation::{Operation, PricedOperation};
use crate::operations::chat::{Chat, ChatRoute, Quoted};
use crate::operations::generation::{
    IMAGES, SPEECH, TRANSCRIPTIONS, TRANSLATIONS, quote_generation, quoted_endpoint,
};
use crate::operations::social::{quote_social, social_route};
use crate::operations::video::{WORD as VIDEOS, is_video, quote_video};
use crate::pipeline::price;
use crate::quote_lock;
use crate::quote_lock::{LockedQuote, QUOTE_SECONDS, body_hash};
use crate::request_context::RequestContext;
use crate::response::{Response, json as answer};
use crate::services::Services;

/// Output tokens of an answer of which nothing is known.
const USUAL_OUTPUT: u64 = 512;
/// Billed units that a listed price is for.
const MILLION: i128 = 1_000_000;

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
    if is_video(&ask.endpoint) {
        let wanted = Bytes::copy_from_slice(ask.body.get().as_bytes());
        return quote_video(quoting, wanted).await;
    }
    if let Some(route) = social_route(&ask.endpoint) {
        return quote_social(quoting, route, ask.body.get()).await;
    }
    if let Some(endpoint) = quoted_endpoint(&ask.endpoint) {
        return quote_generation(quoting, endpoint, ask.body.get()).await;
    }
    let endpoint = endpoint_of(&ask.endpoint).ok_or_else(|| {
        let words = ENDPOINTS.iter().map(|door| door.word);
        let made = [VIDEOS, IMAGES, SPEECH, TRANSCRIPTIONS, TRANSLATIONS];
        let known: Vec<&str> = words.chain(made).chain(["/v1/social/…"]).collect();
        let text = format!("quotes are given for {}", known.join(", "));
        invalid("endpoint", text)
    })?;
    let route = ChatRoute {
        endpoint,
        model: ask.model,
        stream: ask.stream,
        as_json_array: false,
    };
    quoting.caller.check_endpoint(endpoint.word)?;
    let body = Bytes::copy_from_slice(ask.body.get().as_bytes());
    let (mut quoted, locked) = quoting.lock(Chat::read(&route, body)?).await?;
    quoted.preview_losses(services)?;
    let usual = services.route_health.usual_output(quoted.request.model());
    let body = shown(&quoted, usual, &locked)?;
    Ok(answer(StatusCode::OK, &body))
}

/// A request for a quote.
pub(crate) struct Quoting<'a> {
    pub(crate) services: &'a Services,
    pub(crate) context: &'a RequestContext,
    pub(crate) caller: Caller,
    pub(crate) headers: &'a HeaderMap,
}

/// A quote that can be brought back.
pub(crate) struct SealedQuote {
    pub(crate) id: String,
    /// When it ends, in seconds.
    pub(crate) ends: i64,
}

impl Quoting<'_> {
    /// Prices an operation by the same steps as a call, and locks its price.
    pub(crate) async fn lock<O: Operation>(
        self,
        operation: O,
    ) -> Result<(O::Priced, SealedQuote), ApiError> {
        let services = self.services;
        let name = operation.name();
        let body = operation.quoted_body().into_owned();
        let revision = services.catalog.get().revision;
        let priced = price(services, self.context, self.caller, self.headers, operation);
        let priced = Box::pin(priced).await?;
        let call = priced.call();
        model_alias::check_regions(services, &call.caller, &call.model)?;
        let body = priced.quoted_body().unwrap_or(body);
        let not_json =
            || ApiError::new(ErrorCode::Invalid("invalid_request"), "not JSON").at("body");
        let lock = LockedQuote {
            revision,
            at: call.at.micros(),
            group: call.sale.group.clone(),
            model: call.model.clone(),
            body: body_hash(&body).ok_or_else(not_json)?,
        };
        let id = quote_lock::seal_quote(services, call.caller.account.id, name, &lock)?;
        let ends = lock.ends().seconds();
        Ok((priced, SealedQuote { id, ends }))
    }
}

/// The quote as it is told.
fn shown(quoted: &Quoted, usual: Option<u64>, locked: &SealedQuote) -> Result<Value, ApiError> {
    let most = quoted.most_output();
    let dearest = quoted.bound_quote(most)?;
    let unit = quoted.call.sale.model.list().billing_unit();
    let exact = match unit {
        BillingUnit::PerCall => true,
        BillingUnit::Tokens
        | BillingUnit::PerSecond
        | BillingUnit::Characters
        | BillingUnit::AudioDuration => false,
    };
    let guess = usual.unwrap_or(USUAL_OUTPUT).min(most);
    let expected = Usage::unknown()
        .with(Bucket::PlainInput, quoted.request.input_estimate)
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
        (quoted.floor()?, dearest.total)
    };
    let lines = if exact { &likely } else { &dearest };
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
        "model": quoted.request.asked_model(),
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
        "lines": lines_of(lines, unit, exact),
        "defaults": defaults,
        "fields": fields(quoted),
        "warnings": quoted.call.warnings(),
    }))
}

fn usd(amount: Money) -> String {
    amount.to_string()
}

/// Each face with its units, the listed price of one, and its part of the price. The parts come to the
/// price, or where that is not known to the most that it can be.
pub(crate) fn lines_of(quote: &Quote<'_>, unit: BillingUnit, exact: bool) -> Vec<Value> {
    let line = |line: &trunkline_catalog::Line| {
        let pico = i128::from(line.price.pico());
        let million = pico.checked_mul(MILLION).map(Number::from_pico);
        let mut shown = json!({
            "face": line.face,
            "units": line.units,
            "units_are": if exact { "exact" } else { "at_most" },
            "priced_as": line.priced_as,
            "price_pico_usd": line.price,
            "usd_per_million": million.map(|number| number.to_string()),
            "amount_usd": usd(line.amount),
            "tier": quote.tier,
            "why": quote.why.to_string(),
        });
        // Seconds are counted, and tokens are what has a price.
        if unit == BillingUnit::AudioDuration
            && let Some(shown) = shown.as_object_mut()
        {
            let tokens = audio_tokens_shown(line.units);
            shown.insert("tokens".to_owned(), json!(tokens));
        }
        shown
    };
    quote.lines.iter().map(line).collect()
}

/// Every field of the body, and those that are written in.
fn fields(quoted: &Quoted) -> Vec<Value> {
    let told = quoted.call.report.notes();
    let plain = quoted
        .request
        .fields()
        .filter(|name| !told.iter().any(|note| note.field == **name))
        .map(|name| json!({ "field": name, "fate": "read" }));
    plain.chain(told.iter().map(|note| json!(note))).collect()
}
