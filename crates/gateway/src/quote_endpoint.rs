//! `POST /v1/quotes`: what a call would cost and what would become of its fields. Nothing moves.

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use trunkline_catalog::{Number, PriceClass, Quote, audio_tokens_shown};
use trunkline_terms::{BillingUnit, Bucket, Money, Usage};
use trunkline_wire::{InPath, scan};

use crate::caller::Caller;
use crate::endpoint::{ENDPOINTS, endpoint_of};
use crate::error::{ApiError, ErrorCode};
use crate::generation::{IMAGES, SPEECH, TRANSCRIPTIONS, TRANSLATIONS, quoted_door};
use crate::quote::Quoted;
use crate::quote_lock::{LockedQuote, QUOTE_SECONDS, body_hash};
use crate::response::{Response, json as answer};
use crate::services::Services;
use crate::social::pair_of;
use crate::video::{WORD as VIDEOS, is_video};

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

impl Services {
    /// Quotes a call of any endpoint that has a price.
    pub(crate) async fn quote(
        &self,
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
        if is_video(&ask.endpoint) {
            let wanted = Bytes::copy_from_slice(ask.body.get().as_bytes());
            return self.quote_video(caller, headers, &wanted).await;
        }
        if let Some(pair) = pair_of(&ask.endpoint) {
            return self
                .quote_social(caller, headers, pair, ask.body.get())
                .await;
        }
        if let Some(door) = quoted_door(&ask.endpoint) {
            return self.quote_studio(caller, headers, (door, ask.body.get()));
        }
        let endpoint = endpoint_of(&ask.endpoint).ok_or_else(|| {
            let words = ENDPOINTS.iter().map(|door| door.word);
            let made = [VIDEOS, IMAGES, SPEECH, TRANSCRIPTIONS, TRANSLATIONS];
            let known: Vec<&str> = words.chain(made).chain(["/v1/social/…"]).collect();
            let text = format!("quotes are given for {}", known.join(", "));
            invalid("endpoint", text)
        })?;
        caller.check_endpoint(endpoint.word)?;
        let wanted = Bytes::copy_from_slice(ask.body.get().as_bytes());
        let hash = body_hash(&wanted).ok_or_else(|| invalid("body", "not JSON".to_owned()))?;
        let path = InPath {
            model: ask.model.as_deref(),
            stream: ask.stream,
        };
        let mut request = endpoint.read(wanted, path)?;
        self.resolve(&caller, &mut request);
        let shelf = self.inner.shelf.get();
        let sale = caller.sale(&shelf.book, request.model())?;
        self.check_regions(&caller, request.model())?;
        let offered = (sale, self.inner.now());
        let mut quoted = self.price(
            (self.request_id(), endpoint),
            caller,
            headers,
            request,
            offered,
        )?;
        self.foresee(&mut quoted)?;
        let lock = LockedQuote {
            revision: shelf.revision,
            at: quoted.at.micros(),
            group: quoted.sale.group.clone(),
            model: quoted.request.model().to_owned(),
            body: hash,
        };
        let id = self.seal_quote(quoted.caller.account.id, endpoint.word, &lock)?;
        let usual = self.inner.rounds.usual_output(quoted.request.model());
        let ends = lock.ends().seconds();
        let body = shown(&quoted, usual, (&id, ends))?;
        Ok(answer(StatusCode::OK, &body))
    }
}

/// The quote as it is told.
fn shown(quoted: &Quoted, usual: Option<u64>, (id, ends): (&str, i64)) -> Result<Value, ApiError> {
    let most = quoted.most_output();
    let dearest = quoted.bound_quote(most)?;
    let unit = quoted.sale.model.list().billing_unit();
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
        .report
        .defaults()
        .map(|note| (note.field.clone(), json!(note.value)))
        .collect();
    Ok(json!({
        "id": id,
        "object": "quote",
        "expires_at": ends,
        "valid_seconds": QUOTE_SECONDS,
        "endpoint": quoted.endpoint.word,
        "model": quoted.request.asked_model(),
        "group": quoted.sale.group,
        "prices": match quoted.class() {
            PriceClass::Standard => "standard",
            PriceClass::Paid => "paid",
        },
        "pricing_version": quoted.sale.version.to_string(),
        "billing_unit": unit,
        "exact": exact,
        "price_usd": exact.then(|| usd(likely.total)),
        "minimum_usd": usd(least),
        "expected_usd": usd(likely.total.min(most_usd)),
        "maximum_usd": usd(most_usd),
        "expected_basis": basis,
        "reserved_usd": usd(quoted.bound(quoted.covered)?),
        "tier": lines.tier,
        "tier_reason": lines.why.to_string(),
        "rate": lines.rate.to_string(),
        "lines": lines_of(lines, unit, exact),
        "defaults": defaults,
        "fields": fields(quoted),
        "warnings": quoted.warnings(),
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
    let told = quoted.report.notes();
    let plain = quoted
        .request
        .fields()
        .filter(|name| !told.iter().any(|note| note.field == **name))
        .map(|name| json!({ "field": name, "fate": "read" }));
    plain.chain(told.iter().map(|note| json!(note))).collect()
}
