//! A call that may be made: its key, its pair, its account, its cell, its parameters and its price were
//! looked at, in this order. Nothing has moved yet.

use std::sync::Arc;

use http::HeaderMap;
use serde_json::{Map, Value, json};
use trunkline_catalog::{
    Attributes, PriceClass, Quote, QuoteError, Report, Sale, Situation, quote,
};
use trunkline_ledger::desk;
use trunkline_social::{Asked, Cell, Refusal, check};
use trunkline_terms::{Bucket, Moment, Money, RequestId, Units, Usage};

use super::{WORD, model_name};
use crate::caller::Caller;
use crate::error::{ApiError, ErrorCode};
use crate::field_report::trapped;
use crate::quote_lock::QUOTE_HEADER;
use crate::services::Services;

/// A call with its price.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    pub(super) id: RequestId,
    pub(super) caller: Caller,
    pub(super) asked: Asked,
    pub(super) sale: Sale,
    pub(super) price: Money,
    pub(super) units: Units,
    pub(super) tier: String,
    /// The clock that tiers look at.
    pub(super) at: Moment,
    /// What becomes of the parameters.
    pub(super) report: Report,
    pub(super) warnings: Vec<std::borrow::Cow<'static, str>>,
}

impl Services {
    /// Looks at everything that can be looked at before money moves.
    pub(super) async fn want_social(
        &self,
        (id, caller): (RequestId, Caller),
        (platform, capability): (&str, &str),
        query: &str,
        headers: &HeaderMap,
    ) -> Result<Wanted, ApiError> {
        let cell = &self.known_cell(&caller, platform, capability)?;
        self.check_topped_up(&caller).await?;
        let sale = self.on_sale(&caller, cell)?;
        let asked = check(cell, query).map_err(refused)?;
        let mut report = Report::default();
        asked.notes().into_iter().for_each(|note| report.say(note));
        let strict = headers.get("trunkline-strict");
        let strict = strict.is_some_and(|value| value == "true");
        if (strict || caller.key.policy.fields().strict)
            && let Some(note) = report.first_trap()
        {
            return Err(trapped(note));
        }
        // The key's rules, looked at above, hold whatever a quote says.
        let mut offered = (sale, self.inner.now());
        if let Some(quote) = headers.get(QUOTE_HEADER) {
            let body = quoted_body(&asked);
            let what = (WORD, cell.model.as_str(), body.as_bytes());
            // In a box: few calls bring one.
            offered = Box::pin(self.locked(quote, &caller, what)).await?;
        }
        price_social((id, caller), asked, offered, report)
    }

    /// Whether a further page of a call may be asked for: much may have changed since the last one.
    pub(super) fn check_going_on(&self, wanted: &Wanted) -> Result<(), ApiError> {
        let inner = &self.inner;
        self.check_open()?;
        let caller = wanted
            .caller
            .again(&inner.doors, &inner.settings, inner.now())?;
        let cell = &wanted.asked.cell;
        let cell = self.known_cell(&caller, &cell.platform.key, cell.capability.word())?;
        self.on_sale(&caller, &cell).map(drop)
    }

    /// The cell of a pair, if the key may use it.
    fn known_cell(
        &self,
        caller: &Caller,
        platform: &str,
        capability: &str,
    ) -> Result<Arc<Cell>, ApiError> {
        caller.check_endpoint(WORD)?;
        check_platform(caller, platform)?;
        let model = model_name(platform, capability);
        if !caller.may_use(&model) {
            let text = format!("this API key may not use {}", shown(&model));
            return Err(ApiError::new(ErrorCode::ModelNotAllowed, text));
        }
        let counter = self.inner.counter.get();
        let cell = counter.cells.get(platform, capability);
        let cell = cell.cloned().ok_or_else(|| {
            let pair = shown(&format!("{platform}/{capability}"));
            let text = format!("there is no {pair}; the catalog lists every pair");
            ApiError::new(ErrorCode::NotFound, text)
        })?;
        self.check_regions(caller, &cell.model)?;
        Ok(cell)
    }

    /// What a cell is sold for to this caller. What has no price for it is listed as paused, and so
    /// answered as paused.
    fn on_sale(&self, caller: &Caller, cell: &Cell) -> Result<Sale, ApiError> {
        let book = &self.inner.shelf.get().book;
        let sale = book.sale(&cell.model, caller.group()).ok();
        let is_paused = self.inner.counter.get().is_paused(cell);
        sale.filter(|_| !is_paused).ok_or_else(|| paused(cell))
    }

    /// An account that never topped up is refused. Memory may be a second behind; who has just topped
    /// up is not sent away for that.
    async fn check_topped_up(&self, caller: &Caller) -> Result<(), ApiError> {
        if caller.account.topped_up_at.is_some() {
            return Ok(());
        }
        match desk::balance(&self.inner.data, caller.account.id).await {
            Ok(Some(balance)) if balance.topped_up => Ok(()),
            Ok(_) => Err(never_topped_up()),
            Err(_) => Err(ApiError::unavailable()),
        }
    }
}

/// Under the prices and the clock that it was offered.
fn price_social(
    (id, caller): (RequestId, Caller),
    asked: Asked,
    (sale, at): (Sale, Moment),
    report: Report,
) -> Result<Wanted, ApiError> {
    let unpriceable = |why: String| {
        let text = format!("{:?} has no price for a call: {why}", asked.cell.model);
        ApiError::new(ErrorCode::Rule("unpriceable".to_owned()), text)
    };
    let usage = Usage::unknown().with(Bucket::Calls, 1);
    let unit = sale.model.list().billing_unit();
    let units = usage
        .billed(unit)
        .map_err(|error| unpriceable(error.to_string()))?;
    let priced = quote_of(&sale, &units, at).map_err(|error| unpriceable(error.to_string()))?;
    let (price, tier) = (priced.total, priced.tier.to_owned());
    Ok(Wanted {
        id,
        caller,
        warnings: report.codes().cloned().collect(),
        report,
        price,
        tier,
        at,
        units,
        sale,
        asked,
    })
}

/// Whoever comes so far has topped up, even if memory does not know it yet.
fn quote_of<'a>(sale: &'a Sale, units: &Units, at: Moment) -> Result<Quote<'a>, QuoteError> {
    let situation = Situation {
        attributes: &Attributes::default(),
        at,
    };
    quote(sale.offer(), PriceClass::Paid, units, situation)
}

/// What a quote is for, as JSON: the pair and what was given.
pub(super) fn quoted_body(asked: &Asked) -> String {
    let given = asked.given();
    let given = given.map(|(param, value)| (param.name.clone(), Value::from(value)));
    let given: Map<String, Value> = given.collect();
    json!({ "model": asked.cell.model, "params": given }).to_string()
}

impl Wanted {
    /// The price with its lines.
    pub(super) fn quote(&self) -> Result<Quote<'_>, ApiError> {
        quote_of(&self.sale, &self.units, self.at).map_err(|_| ApiError::unavailable())
    }

    /// The caller's own limit for this call.
    pub(super) fn check_max_cost(&self, most: Option<Money>, name: &str) -> Result<(), ApiError> {
        let Some(most) = most.filter(|most| self.price > *most) else {
            return Ok(());
        };
        let price = self.price;
        let text = format!("this call costs {price} USD, and `{name}` allows {most}");
        Err(ApiError::new(ErrorCode::MaxCostExceeded, text).with_money("required_usd", price))
    }
}

fn check_platform(caller: &Caller, platform: &str) -> Result<(), ApiError> {
    match &caller.key.policy.fields().platforms {
        Some(allowed) if !allowed.iter().any(|word| word == platform) => Err(ApiError::new(
            ErrorCode::EndpointNotAllowed,
            format!("this API key may ask {}", allowed.join(", ")),
        )),
        Some(_) | None => Ok(()),
    }
}

/// What a caller has written, as far as it is repeated to it.
fn shown(text: &str) -> String {
    text.chars().take(64).collect()
}

pub(super) fn never_topped_up() -> ApiError {
    let text = "social data is for accounts with a completed top-up, and trial credit does not pay \
                for it; top up and try again; nothing was charged";
    ApiError::new(ErrorCode::NeverToppedUp, text)
}

fn paused(cell: &Cell) -> ApiError {
    let text = format!(
        "{} is paused, as the catalog says; nothing was charged",
        cell.route()
    );
    ApiError::new(ErrorCode::SocialPaused, text)
}

fn refused(refusal: Refusal) -> ApiError {
    let mut fault = ApiError::new(ErrorCode::Invalid(refusal.code), refusal.message);
    fault.param = refusal.param;
    fault
}
