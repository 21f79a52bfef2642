//! A quote for a video: the same plan and the same price as the call, and nothing moves.

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};
use trunkline_catalog::PriceClass;
use trunkline_terms::Moment;

use super::WORD;
use super::request::Wanted;
use crate::caller::Caller;
use crate::error::{ApiError, ErrorCode};
use crate::quote_endpoint::lines_of;
use crate::quote_lock::{LockedQuote, QUOTE_SECONDS, body_hash};
use crate::response::{Response, json as answer};
use crate::services::Services;

impl Services {
    /// Quotes a video.
    pub(crate) async fn quote_video(
        &self,
        caller: Caller,
        headers: &HeaderMap,
        body: &Bytes,
    ) -> Result<Response, ApiError> {
        caller.check_endpoint(WORD)?;
        let (ask, asked) = self.named_video(&caller, Self::read_video(body)?);
        let hash = body_hash(body).ok_or_else(|| {
            ApiError::new(ErrorCode::Invalid("invalid_request"), "not JSON").at("body")
        })?;
        let shelf = self.inner.shelf.get();
        let sale = caller.sale(&shelf.book, ask.model())?;
        self.check_regions(&caller, ask.model())?;
        let at = self.inner.now();
        let wanted = self.want(
            (self.request_id(), caller),
            headers,
            (&ask, body),
            (sale, at),
        );
        let mut wanted = Box::pin(wanted).await?;
        wanted.asked = asked;
        let lock = LockedQuote {
            revision: shelf.revision,
            at: at.micros(),
            group: wanted.sale.group.clone(),
            model: wanted.model.clone(),
            body: hash,
        };
        let id = self.seal_quote(wanted.caller.account.id, WORD, &lock)?;
        let shown = shown(&wanted, at, (&id, lock.ends().seconds()))?;
        Ok(answer(StatusCode::OK, &shown))
    }
}

fn shown(wanted: &Wanted, at: Moment, (id, ends): (&str, i64)) -> Result<Value, ApiError> {
    let bill = &wanted.plan.bill;
    let quote = wanted.quote(at)?;
    let unit = wanted.sale.model.list().billing_unit();
    let notes = wanted.plan.report.defaults();
    let defaults: serde_json::Map<String, Value> = notes
        .map(|note| (note.field.clone(), json!(note.value)))
        .collect();
    let units: serde_json::Map<String, Value> = wanted
        .units
        .iter()
        .map(|(face, quantity)| (face.name().to_owned(), json!(quantity)))
        .collect();
    let amount = wanted.amount.to_string();
    // A bound is never passed; what media that could not be measured come to is found at the end.
    let least = bill.exact.then(|| amount.clone());
    Ok(json!({
        "id": id,
        "object": "quote",
        "expires_at": ends,
        "valid_seconds": QUOTE_SECONDS,
        "endpoint": WORD,
        "model": wanted.asked.as_ref().unwrap_or(&wanted.model),
        "group": wanted.sale.group,
        "prices": match wanted.class {
            PriceClass::Standard => "standard",
            PriceClass::Paid => "paid",
        },
        "pricing_version": wanted.sale.version.to_string(),
        "billing_unit": unit,
        "exact": bill.exact,
        "price_usd": least,
        "minimum_usd": least,
        "expected_usd": amount,
        "maximum_usd": amount,
        "expected_basis": if bill.exact { "exact" } else { "maximum" },
        "reserved_usd": amount,
        "tier": quote.tier,
        "tier_reason": quote.why.to_string(),
        "rate": wanted.sale.rate.to_string(),
        "units": units,
        "lines": lines_of(&quote, unit, bill.exact),
        "output_seconds": bill.output_seconds,
        "input_seconds": bill.input_seconds,
        "extra_images": bill.extra_images,
        "defaults": defaults,
        "fields": wanted.plan.report,
        "warnings": wanted.plan.report.codes().collect::<Vec<_>>(),
    }))
}
