//! A quote for a video: the same plan and the same price as the call, and nothing moves.

use bytes::Bytes;
use http::StatusCode;
use serde_json::{Value, json};
use trunkline_catalog::PriceClass;

use super::WORD;
use super::request::{PricedVideo, Video};
use crate::error::ApiError;
use crate::quote_lock::QUOTE_SECONDS;
use crate::quote_request::{Quoting, SealedQuote, lines_of};
use crate::response::{Response, json as answer};

pub(crate) async fn quote_video(quoting: Quoting<'_>, body: Bytes) -> Result<Response, ApiError> {
    quoting.caller.check_endpoint(WORD)?;
    let (video, locked) = quoting.lock(Video::read(body)?).await?;
    Ok(answer(StatusCode::OK, &quote_view(&video, &locked)?))
}

fn quote_view(video: &PricedVideo, locked: &SealedQuote) -> Result<Value, ApiError> {
    let bill = &video.plan.bill;
    let quote = video.quote()?;
    let unit = video.call.sale.model.list().billing_unit();
    let notes = video.plan.report.defaults();
    let defaults: serde_json::Map<String, Value> = notes
        .map(|note| (note.field.clone(), json!(note.value)))
        .collect();
    let units: serde_json::Map<String, Value> = video
        .price
        .units
        .iter()
        .map(|(face, quantity)| (face.name().to_owned(), json!(quantity)))
        .collect();
    let amount = video.price.amount.to_string();
    // A bound is never passed; what media that could not be measured come to is found at the end.
    let least = bill.exact.then(|| amount.clone());
    Ok(json!({
        "id": locked.id,
        "object": "quote",
        "expires_at": locked.ends,
        "valid_seconds": QUOTE_SECONDS,
        "endpoint": WORD,
        "model": video.alias.as_ref().unwrap_or(&video.call.model),
        "group": video.call.sale.group,
        "prices": match video.call.class {
            PriceClass::Standard => "standard",
            PriceClass::Paid => "paid",
        },
        "pricing_version": video.call.sale.version.to_string(),
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
        "rate": video.call.sale.rate.to_string(),
        "units": units,
        "lines": lines_of(&quote, unit, bill.exact),
        "output_seconds": bill.output_seconds,
        "input_seconds": bill.input_seconds,
        "extra_images": bill.extra_images,
        "defaults": defaults,
        "fields": video.plan.report,
        "warnings": video.plan.report.codes().collect::<Vec<_>>(),
    }))
}
