//! Cost book of an upstream: its price list in its own currency, and a dated rate to USD.
//!
//! For margins and estimated costs. It never charges a customer.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use time::Date;
use time::macros::format_description;
use trunkline_db::from_sql_time;
use trunkline_types::{Exact, Face, Money, Ratio, Timestamp, UnitPrice, Units};

use crate::validation::{FieldError, Problem, check_word};

/// Most models of a cost book, as many as a channel may have.
pub const COST_MAX_MODELS: usize = super::MAX_MODELS;

/// Characters of an explanation that are passed on.
const SAID_MAX_CHARACTERS: usize = 300;
const USD: &str = "USD";

/// Prices of an upstream, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CostBook {
    currency: String,
    rate: Ratio,
    as_of: Timestamp,
    models: BTreeMap<String, BTreeMap<Face, UnitPrice>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawBook {
    currency: String,
    rate: RawRate,
    models: BTreeMap<String, BTreeMap<Face, UnitPrice>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRate {
    numerator: u64,
    denominator: u64,
    as_of: String,
}

// === impl CostBook ===

impl CostBook {
    /// Reads `{"currency": "CNY", "rate": {"numerator": 7, "denominator": 50, "as_of":
    /// "2026-11-15"}, "models": {"their-model": {"input": 2000000}}}`. The rate is USD for one unit
    /// of the currency, prices are 10^-12 of a unit of the currency for one token, call or second.
    pub fn from_json(value: &Value) -> Result<Self, FieldError> {
        let raw = RawBook::deserialize(value).map_err(|error| {
            let whole = error.to_string();
            let message = whole.chars().take(SAID_MAX_CHARACTERS).collect();
            FieldError::new("cost", Problem::NotUnderstood { message })
        })?;
        let is_currency_code = |text: &str| text.bytes().all(|byte| byte.is_ascii_uppercase());
        if raw.currency.len() != 3 || !is_currency_code(&raw.currency) {
            return Err(must("cost.currency", "three capital letters, such as CNY"));
        }
        let rate = Ratio::new(raw.rate.numerator, raw.rate.denominator)
            .map_err(|_| must("cost.rate", "a fraction above 0 with terms up to 1000000"))?;
        if raw.currency == USD && rate != Ratio::ONE {
            return Err(must("cost.rate", "1/1 where the currency is USD"));
        }
        if raw.models.is_empty() {
            return Err(FieldError::new("cost.models", Problem::Empty));
        }
        if raw.models.len() > COST_MAX_MODELS {
            let most = COST_MAX_MODELS;
            return Err(FieldError::new("cost.models", Problem::TooMany { most }));
        }
        for model in raw.models.keys() {
            check_word("cost.models", model)?;
        }
        Ok(Self {
            currency: raw.currency,
            rate,
            as_of: date(&raw.rate.as_of)?,
            models: raw.models,
        })
    }

    /// The ISO 4217 code of the currency.
    #[must_use]
    pub fn currency(&self) -> &str {
        &self.currency
    }

    /// USD for one unit of the currency.
    #[must_use]
    pub const fn rate(&self) -> Ratio {
        self.rate
    }

    /// The day of the rate, at its midnight in UTC.
    #[must_use]
    pub const fn as_of(&self) -> Timestamp {
        self.as_of
    }

    /// The prices of the upstream's models, in 10^-12 of the currency.
    #[must_use]
    pub const fn models(&self) -> &BTreeMap<String, BTreeMap<Face, UnitPrice>> {
        &self.models
    }

    /// What a call cost us, exact and rounded half up once. None if the model or a face it used has
    /// no price: an unknown cost is not zero, and no other face replaces it. None also for an
    /// amount beyond the range of money.
    #[must_use]
    pub fn cost_usd(&self, upstream_model: &str, units: &Units) -> Option<Money> {
        let prices = self.models.get(upstream_model)?;
        let mut sum = Exact::ZERO;
        for (face, quantity) in units.iter() {
            let line = Exact::line(quantity, *prices.get(&face)?).ok()?;
            sum = sum.plus(line).ok()?;
        }
        sum.times(self.rate).ok()?.round_half_up().ok()
    }

    /// What a usual mix of a model costs, to compare channels by. None if the model has no price.
    #[must_use]
    pub fn compared_usd(&self, upstream_model: &str) -> Option<Money> {
        let prices = self.models.get(upstream_model)?;
        let mut sum = Exact::ZERO;
        for (face, quantity) in COMPARED {
            if let Some(price) = prices.get(&face) {
                sum = sum.plus(Exact::line(quantity, *price).ok()?).ok()?;
            }
        }
        sum.times(self.rate).ok()?.round_half_up().ok()
    }
}

/// The mix that models are compared by: three input tokens for one of output, a call, an image or a second.
const COMPARED: [(Face, u64); 5] = [
    (Face::Input, 3_000_000),
    (Face::Output, 1_000_000),
    (Face::PerCall, 1),
    (Face::VideoSecond, 1),
    (Face::AudioInput, 60),
];

fn must(field: &'static str, be: &'static str) -> FieldError {
    FieldError::new(field, Problem::Must { be })
}

fn date(text: &str) -> Result<Timestamp, FieldError> {
    let form = format_description!("[year]-[month]-[day]");
    let date = Date::parse(text, form)
        .map_err(|_| must("cost.rate.as_of", "a date such as 2026-11-15"))?;
    Ok(from_sql_time(date.midnight().assume_utc()))
}
