//! Vendor list prices that have not been reviewed for long.

use jiff::Unit;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::Serialize;
use trunkline_types::Timestamp;

use crate::document::Document;

/// Days after which a list price should be read again.
pub const DEFAULT_MAX_AGE_DAYS: u32 = 90;

/// A list price that is old.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StalePrice {
    /// The model.
    pub model: String,
    /// The tier; none for the default one.
    pub tier: Option<String>,
    pub source: String,
    /// The day it was read, as it is written.
    pub read_on: String,
    /// How long ago that was; none where it is no day.
    pub age_days: Option<i32>,
}

/// List prices older than so many days at a moment, the oldest first. A day that is none counts as
/// the oldest of all.
#[must_use]
pub fn stale(document: &Document, now: Timestamp, max_age_days: u32) -> Vec<StalePrice> {
    let today = jiff::Timestamp::from_microsecond(now.micros())
        .map(|instant| TimeZone::UTC.to_datetime(instant).date())
        .ok();
    let max_age_days = i32::try_from(max_age_days).unwrap_or(i32::MAX);
    let mut old: Vec<StalePrice> = document
        .models
        .iter()
        .flat_map(|(name, entry)| entry.list.iter().map(move |price| (name, price)))
        .map(|(name, price)| StalePrice {
            model: name.clone(),
            tier: price.tier.clone(),
            source: price.source.clone(),
            read_on: price.read_on.clone(),
            age_days: today.and_then(|today| age_days(&price.read_on, today)),
        })
        .filter(|price| price.age_days.is_none_or(|age| age > max_age_days))
        .collect();
    old.sort_by_key(|price| std::cmp::Reverse(price.age_days.unwrap_or(i32::MAX)));
    old
}

fn age_days(read_on: &str, today: Date) -> Option<i32> {
    let read_on: Date = read_on.parse().ok()?;
    Some(read_on.until((Unit::Day, today)).ok()?.get_days())
}
