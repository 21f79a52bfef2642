//! What a million tokens or one unit of a model costs a caller, to be compared with a limit.

use trunkline_types::{BillingUnit, Exact, Face, Money};

use crate::price_book::Offer;
use crate::price_list::{PriceClass, Tier};
use crate::pricing_context::PricingContext;
use crate::quote::{QuoteError, in_group};

const MILLION: u64 = 1_000_000;

/// Prices of plain tokens, or of the one unit that the model is billed by. What is not billed is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UnitPrices {
    /// Of a million input tokens.
    pub input: Option<Money>,
    /// Of a million output tokens.
    pub output: Option<Money>,
    /// Of a call, an image, a second or a character.
    pub unit: Option<Money>,
}

/// The highest of each, over the tiers that a call with so much input can still reach, rounded up.
pub fn unit_prices(
    offer: Offer<'_>,
    class: PriceClass,
    input: u64,
    context: PricingContext<'_>,
) -> Result<UnitPrices, QuoteError> {
    let mut highest = UnitPrices::default();
    let steps = offer.list.context_steps();
    for context_len in steps.filter(|step| *step <= input) {
        let tier = offer.list.tier_at(context_len, context);
        let tier = tier.ok_or(QuoteError::OutsideCalendar)?;
        let prices = of_tier(offer, tier, class)?;
        highest.input = highest.input.max(prices.input);
        highest.output = highest.output.max(prices.output);
        highest.unit = highest.unit.max(prices.unit);
    }
    Ok(highest)
}

fn of_tier(offer: Offer<'_>, tier: &Tier, class: PriceClass) -> Result<UnitPrices, QuoteError> {
    let unit = offer.list.billing_unit();
    let price = |face: Face, units: u64| -> Result<Option<Money>, QuoteError> {
        let Some((_, price)) = tier.price(face, class) else {
            return Ok(None);
        };
        let exact = in_group(Exact::line(units, price)?, unit, offer.rate)?;
        Ok(Some(exact.round_up()?))
    };
    let one = |face: Face| {
        Ok(UnitPrices {
            unit: price(face, 1)?,
            ..UnitPrices::default()
        })
    };
    match unit {
        BillingUnit::Tokens => Ok(UnitPrices {
            input: price(Face::Input, MILLION)?,
            output: price(Face::Output, MILLION)?,
            unit: None,
        }),
        BillingUnit::PerSecond => one(Face::VideoSecond),
        BillingUnit::PerCall => one(Face::PerCall),
        BillingUnit::Characters => one(Face::Input),
        BillingUnit::AudioDuration => one(Face::AudioInput),
    }
}
