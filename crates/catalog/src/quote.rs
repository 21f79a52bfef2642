//! The quote: what units cost, which tier said so, and why. The same function prices a sale from the
//! book and a cost from a channel's cost book.

use std::fmt;

use trunkline_types::{BillingUnit, Exact, ExactError, Face, Money, Ratio, Side, UnitPrice, Units};

use crate::condition::Condition;
use crate::price_book::Offer;
use crate::price_list::{PriceClass, Tier};
use crate::pricing_context::PricingContext;

/// Tokens that a minute of uploaded audio counts as.
const AUDIO_TOKENS_A_MINUTE: u64 = 1_000;
const SECONDS_A_MINUTE: u64 = 60;

/// The most a call may use, declared before it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// Input tokens of all kinds together, or characters, or seconds of uploaded audio.
    pub input: u64,
    /// Output tokens of all kinds together.
    pub output: u64,
    /// Calls or images.
    pub calls: u64,
    pub video_seconds: u64,
}

/// A price with its reasons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quote<'a> {
    /// One line for each face that was used.
    pub lines: Vec<Line>,
    /// All lines together, times the rate, rounded once.
    pub total: Money,
    pub rate: Ratio,
    pub tier: &'a str,
    pub why: Why<'a>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    pub face: Face,
    pub units: u64,
    /// The face whose price was taken: the same one, or its stand-in.
    pub priced_as: Face,
    /// Price of one unit. Of uploaded audio, whose units are seconds, it is the price of a token.
    pub price: UnitPrice,
    /// Its part of the total, with the group's rate. The parts come to the total, to the nano-USD.
    pub amount: Money,
}

/// The reasons of a tier: its conditions, all of which hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Why<'a>(&'a [Condition]);

/// Why no price can be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum QuoteError {
    /// The list has no price for something that was used.
    #[error("the price list has no price for {0}")]
    FaceNotPriced(Face),
    /// The model is billed by another unit.
    #[error("{face} is not billed on a model billed by {unit}")]
    WrongUnit {
        face: Face,
        /// What the model is billed by.
        unit: BillingUnit,
    },
    /// The moment lies outside the calendar.
    #[error("the time of the call lies outside the calendar")]
    OutsideCalendar,
    /// The amount cannot be computed.
    #[error(transparent)]
    Amount(#[from] ExactError),
}

/// What exactly these units cost: rounded once, half up.
pub fn quote<'a>(
    offer: Offer<'a>,
    class: PriceClass,
    units: &Units,
    context: PricingContext<'_>,
) -> Result<Quote<'a>, QuoteError> {
    let unit = offer.list.billing_unit();
    let context_len = context_of(unit, units);
    let tier = offer
        .list
        .tier_at(context_len, context)
        .ok_or(QuoteError::OutsideCalendar)?;
    let mut lines = Vec::new();
    for (face, quantity) in units.iter() {
        if !unit.may_price(face) {
            return Err(QuoteError::WrongUnit { face, unit });
        }
        let (priced_as, price) = tier
            .price(face, class)
            .ok_or(QuoteError::FaceNotPriced(face))?;
        lines.push(Line {
            face,
            units: quantity,
            priced_as,
            price,
            amount: Money::ZERO,
        });
    }
    let total = share_out(&mut lines, unit, offer.rate, Exact::round_half_up)?;
    Ok(Quote {
        lines,
        total,
        rate: offer.rate,
        tier: tier.name(),
        why: Why(tier.when()),
    })
}

/// The most that any usage within the limits can cost: the dearest tier the call can still reach,
/// all input at the dearest kind of input, all output at the dearest kind of output, rounded up.
pub fn bound<'a>(
    offer: Offer<'a>,
    class: PriceClass,
    limits: &Limits,
    context: PricingContext<'_>,
) -> Result<Quote<'a>, QuoteError> {
    let steps = offer.list.context_steps();
    let reached = steps.filter(|step| *step <= limits.input);
    extreme(offer, class, limits, context, Extreme::Dearest, reached)
}

/// The least that any usage of at least this much can cost: the cheapest tier the call can still
/// reach, each side at its cheapest kind, rounded half up as a charge is.
pub fn floor<'a>(
    offer: Offer<'a>,
    class: PriceClass,
    least: &Limits,
    context: PricingContext<'_>,
) -> Result<Quote<'a>, QuoteError> {
    let steps = offer.list.context_steps();
    let reached = steps.map(|step| step.max(least.input));
    extreme(offer, class, least, context, Extreme::Cheapest, reached)
}

/// The dearest or the cheapest of the tiers that hold at some lengths of the context.
fn extreme<'a>(
    offer: Offer<'a>,
    class: PriceClass,
    limits: &Limits,
    context: PricingContext<'_>,
    extreme: Extreme,
    lengths: impl Iterator<Item = u64>,
) -> Result<Quote<'a>, QuoteError> {
    let unit = offer.list.billing_unit();
    let mut found: Option<Quote<'a>> = None;
    for context_len in lengths {
        let tier = offer
            .list
            .tier_at(context_len, context)
            .ok_or(QuoteError::OutsideCalendar)?;
        let mut lines = side_lines(tier, class, unit, limits, extreme)?;
        let round = match extreme {
            Extreme::Cheapest => Exact::round_half_up,
            Extreme::Dearest => Exact::round_up,
        };
        let total = share_out(&mut lines, unit, offer.rate, round)?;
        let is_further = found.as_ref().is_none_or(|known| match extreme {
            Extreme::Cheapest => total < known.total,
            Extreme::Dearest => total > known.total,
        });
        if is_further {
            found = Some(Quote {
                lines,
                total,
                rate: offer.rate,
                tier: tier.name(),
                why: Why(tier.when()),
            });
        }
    }
    found.ok_or(QuoteError::OutsideCalendar)
}

/// The tokens shown for seconds of uploaded audio: a thousand a minute, rounded up.
#[must_use]
pub const fn audio_tokens_shown(seconds: u64) -> u64 {
    seconds
        .saturating_mul(AUDIO_TOKENS_A_MINUTE)
        .div_ceil(SECONDS_A_MINUTE)
}

/// The length of the context that tiers compare with: all input tokens, cached or not.
fn context_of(unit: BillingUnit, units: &Units) -> u64 {
    match unit {
        BillingUnit::Tokens => units.total_of(Side::Input),
        BillingUnit::PerSecond
        | BillingUnit::PerCall
        | BillingUnit::Characters
        | BillingUnit::AudioDuration => 0,
    }
}

/// What so many units come to at the price of a line in a group, rounded half up.
pub fn amount_at(
    line: &Line,
    units: u64,
    unit: BillingUnit,
    rate: Ratio,
) -> Result<Money, QuoteError> {
    let exact = Exact::line(units, line.price)?;
    Ok(in_group(exact, unit, rate)?.round_half_up()?)
}

/// The total, rounded once, and each line's part of it: what the lines up to it come to without what
/// those before it come to. So no part is more than a nano-USD from its exact amount, and none is below
/// zero.
fn share_out(
    lines: &mut [Line],
    unit: BillingUnit,
    rate: Ratio,
    round: fn(Exact) -> Result<Money, ExactError>,
) -> Result<Money, QuoteError> {
    let (mut exact, mut before) = (Exact::ZERO, Money::ZERO);
    for line in lines {
        exact = exact.plus(Exact::line(line.units, line.price)?)?;
        let so_far = round(in_group(exact, unit, rate)?)?;
        let part = so_far.checked_sub(before);
        line.amount = part.map_err(|_| ExactError::TooLarge)?;
        before = so_far;
    }
    Ok(before)
}

/// The sum of lines as it is charged in a group.
pub(crate) fn in_group(total: Exact, unit: BillingUnit, rate: Ratio) -> Result<Exact, ExactError> {
    // A list billed by audio_duration prices tokens but counts seconds; audio_input is the only face
    // it may price, so scaling the sum is scaling the line.
    let scaled = match unit {
        BillingUnit::AudioDuration => total.times(audio_scale()?)?,
        BillingUnit::Tokens
        | BillingUnit::PerSecond
        | BillingUnit::PerCall
        | BillingUnit::Characters => total,
    };
    scaled.times(rate)
}

fn audio_scale() -> Result<Ratio, ExactError> {
    Ratio::new(AUDIO_TOKENS_A_MINUTE, SECONDS_A_MINUTE).map_err(|_| ExactError::TooLarge)
}

/// Which of the kinds of a side is taken.
#[derive(Clone, Copy)]
enum Extreme {
    Cheapest,
    Dearest,
}

fn side_lines(
    tier: &Tier,
    class: PriceClass,
    unit: BillingUnit,
    limits: &Limits,
    extreme: Extreme,
) -> Result<Vec<Line>, QuoteError> {
    let mut lines = Vec::new();
    let of_side = |side: Side, units: u64| {
        let candidates = Face::ALL
            .into_iter()
            .filter(|face| face.side() == side && unit.may_price(*face));
        let priced = candidates.filter_map(|face| {
            let (priced_as, price) = tier.price(face, class)?;
            Some(Line {
                face,
                units,
                priced_as,
                price,
                amount: Money::ZERO,
            })
        });
        match extreme {
            Extreme::Cheapest => priced.min_by_key(|line| line.price),
            // Among equals the plainest: it is what most calls use.
            Extreme::Dearest => priced.min_by_key(|line| std::cmp::Reverse(line.price)),
        }
    };
    for (side, units) in [(Side::Input, limits.input), (Side::Output, limits.output)] {
        // No candidate: this unit does not bill that side, so it cannot cost anything.
        lines.extend(of_side(side, units).filter(|line| line.units > 0));
    }
    for (face, units) in [
        (Face::PerCall, limits.calls),
        (Face::VideoSecond, limits.video_seconds),
    ] {
        if units > 0 && unit.may_price(face) {
            let (priced_as, price) = tier
                .price(face, class)
                .ok_or(QuoteError::FaceNotPriced(face))?;
            lines.push(Line {
                face,
                units,
                priced_as,
                price,
                amount: Money::ZERO,
            });
        }
    }
    Ok(lines)
}

// === impl Why ===

impl fmt::Display for Why<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return formatter.write_str("no narrower tier applies");
        }
        for (position, condition) in self.0.iter().enumerate() {
            let joint = if position == 0 { "" } else { " and " };
            write!(formatter, "{joint}{condition}")?;
        }
        Ok(())
    }
}
