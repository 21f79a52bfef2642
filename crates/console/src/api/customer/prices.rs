//! The price of a past call, line by line, made of the prices that it was sold at. It is shown only if
//! it comes to what was charged: a line that does not explain the charge explains nothing.

use serde::Serialize;
use trunkline_catalog::{
    Book, ExtraLine, GroupChoice, Line, LineRounding, PriceClass, PricingContext, amount_at, quote,
};
use trunkline_ledger::call_search::CallDetail;
use trunkline_store::catalog::{self, HistoryError};
use trunkline_types::{BillingUnit, Bucket, Exact, Face, Money, Ratio, Units, Usage};
use utoipa::ToSchema;

use crate::error::ApiError;
use crate::shared::Shared;

/// Units that prices are shown for.
const MILLION: u64 = 1_000_000;

/// One line of a price breakdown.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PriceLine {
    /// Billing dimension.
    #[schema(example = "input")]
    face: String,
    /// Units.
    units: u64,
    /// Price per million units in the pricing group of the call.
    #[schema(example = "2")]
    price_usd_per_million: String,
    /// Amount. The charge is rounded once; the lines add up to it, to the nano-USD.
    #[schema(example = "0.000024")]
    amount_usd: String,
    /// Price tier.
    #[schema(required)]
    tier: Option<String>,
}

/// The price of a call, explained.
#[derive(Debug, Default)]
pub(super) struct Explained {
    pub(super) lines: Vec<PriceLine>,
    /// What input that a prompt cache held would have cost more without one.
    pub(super) cache_saving: Option<Money>,
}

/// The price of a call; none where that version of prices is gone or does not explain the charge.
pub(super) async fn explain(
    shared: &Shared,
    call: &CallDetail,
) -> Result<Option<Explained>, ApiError> {
    if call.call.charged() == Money::ZERO {
        return Ok(Some(Explained::default()));
    }
    let mut session = shared.people.session().await?;
    let number = catalog::number_of(&mut session, &call.price_version).await?;
    let Some(number) = number else {
        return Ok(None);
    };
    let book = match catalog::book_at(&mut session, &call.call.model, number).await {
        Ok(book) => book,
        Err(HistoryError::Db(error)) => return Err(error.into()),
        Err(error @ (HistoryError::Book(_) | HistoryError::Unreadable { .. })) => {
            tracing::warn!(%error, catalog.revision = number, "loading past prices failed");
            return Ok(None);
        }
    };
    Ok(book.and_then(|(book, _)| explained(&book, call)))
}

fn explained(book: &Book, call: &CallDetail) -> Option<Explained> {
    let units = call.billed.as_ref()?;
    let group = GroupChoice::Named(&call.group);
    let (_, offer) = book.offer(&call.call.model, group).ok()?;
    let unit = offer.list.billing_unit();
    let attributes = offer.list.attributes_of(call.tier.as_deref());
    let situation = PricingContext {
        attributes: &attributes,
        at: call.call.opened_at,
    };
    let class = if call.topped_up {
        PriceClass::Paid
    } else {
        PriceClass::Standard
    };
    let price = |units: &Units| quote(offer, class, units, situation);
    let quote = price(units).ok()?;
    let extra = extra_lines(book, call, quote.rate)?;
    let mut amounts = extra.iter().map(|line| line.amount);
    let total = amounts.try_fold(quote.total, Money::checked_add).ok()?;
    if total != call.call.charged() {
        return None;
    }
    let (rate, tier) = (quote.rate, quote.tier);
    let uncached = uncached(units);
    let uncached = uncached.and_then(|units| price(&units).ok());
    let saving = uncached.and_then(|uncached| uncached.total.checked_sub(quote.total).ok());
    let lines = quote
        .lines
        .iter()
        .map(|line| PriceLine::of(line, unit, rate, tier));
    let lines = lines.chain(extra.iter().map(|line| PriceLine::of_extra(line, rate)));
    Some(Explained {
        lines: lines.collect::<Option<Vec<PriceLine>>>()?,
        cache_saving: saving.filter(|saving| *saving > Money::ZERO),
    })
}

/// What was billed beside the faces, but for tools.
fn extra_lines(book: &Book, call: &CallDetail, rate: Ratio) -> Option<Vec<ExtraLine>> {
    let prices = &book.model(&call.call.model)?.entry().extra_prices;
    let mut usage = Usage::unknown();
    for bucket in [Bucket::ConnectionSeconds, Bucket::CachedAudio] {
        let name = serde_json::to_value(bucket).ok()?;
        let mut measured = call.measured.iter();
        if let Some((_, count)) = measured.find(|(one, _)| name == one.as_str()) {
            usage = usage.with(bucket, *count);
        }
    }
    prices.lines(&usage, rate, LineRounding::HalfUp).ok()
}

/// The same units without a prompt cache; none where none was read.
fn uncached(units: &Units) -> Option<Units> {
    if units.of(Face::CacheRead) == 0 {
        return None;
    }
    let plain = |face: Face| {
        if face == Face::CacheRead {
            Face::Input
        } else {
            face
        }
    };
    let mut units = units.iter();
    units.try_fold(Units::none(), |sum, (face, count)| {
        sum.plus(plain(face), count).ok()
    })
}

// === impl PriceLine ===

impl PriceLine {
    fn of(line: &Line, unit: BillingUnit, rate: Ratio, tier: &str) -> Option<Self> {
        let million = amount_at(line, MILLION, unit, rate).ok()?;
        Some(Self {
            face: line.face.name().to_owned(),
            units: line.units,
            price_usd_per_million: million.to_string(),
            amount_usd: line.amount.to_string(),
            tier: Some(tier.to_owned()),
        })
    }

    fn of_extra(line: &ExtraLine, rate: Ratio) -> Option<Self> {
        let million = Exact::line(MILLION, line.price).ok()?.times(rate).ok()?;
        Some(Self {
            face: line.unit.name().to_owned(),
            units: line.units,
            price_usd_per_million: million.round_half_up().ok()?.to_string(),
            amount_usd: line.amount.to_string(),
            tier: None,
        })
    }
}
