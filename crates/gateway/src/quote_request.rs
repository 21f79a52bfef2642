//! A request for a quote, whatever the operation: its price, locked, and the lines of it.

use http::HeaderMap;
use serde_json::{Value, json};
use trunkline_catalog::{Number, Quote, audio_tokens_shown};
use trunkline_types::{BillingUnit, Money};

use crate::caller::Caller;
use crate::error::{ApiError, ErrorCode};
use crate::model_alias;
use crate::operation::{Operation, PricedOperation as _};
use crate::pipeline::price;
use crate::quote_lock::{self, LockedQuote, body_hash};
use crate::request_context::RequestContext;
use crate::services::Services;

/// Billed units that a listed price is for.
const MILLION: i128 = 1_000_000;

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
        let revision = services.catalog.load_full().revision;
        let priced = price(services, self.context, self.caller, self.headers, operation);
        let priced = Box::pin(priced).await?;
        let call = priced.call();
        call.check_max_price(priced.most_input())?;
        model_alias::check_demands(services, &call.caller, &call.model)?;
        let body = priced.quoted_body().unwrap_or(body);
        let not_json =
            || ApiError::new(ErrorCode::Invalid("invalid_request"), "not JSON").at("body");
        let lock = LockedQuote {
            revision,
            at: call.at.micros(),
            group: call.sale.group.clone(),
            model: call.model.clone(),
            body: body_hash(&body).ok_or_else(not_json)?,
            maximum: Some(priced.maximum()?.nanos()),
        };
        let id = quote_lock::seal_quote(services, call.caller.account.id, name, &lock)?;
        let ends = lock.ends().seconds();
        Ok((priced, SealedQuote { id, ends }))
    }
}

pub(crate) fn usd(amount: Money) -> String {
    amount.to_string()
}

/// Each face with its units, the listed price of one, and its part of the price. The parts come to the
/// price, or where that is not known to the most that it can be.
pub(crate) fn lines_of(quote: &Quote<'_>, unit: BillingUnit, exact: bool) -> Vec<Value> {
    let line = |line: &trunkline_catalog::Line| {
        let pico = i128::from(line.price.pico());
        let million = pico.checked_mul(MILLION).map(Number::from_pico);
        let mut view = json!({
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
            && let Some(view) = view.as_object_mut()
        {
            let tokens = audio_tokens_shown(line.units);
            view.insert("tokens".to_owned(), json!(tokens));
        }
        view
    };
    quote.lines.iter().map(line).collect()
}
