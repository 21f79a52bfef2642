//! What calls of the last week would have cost under other prices.

use std::collections::BTreeMap;

use trunkline_catalog::{Attributes, Book, GroupChoice, PriceClass, PricingContext, quote};
use trunkline_db::{Database, SystemClock};
use trunkline_ledger::usage::{self, SoldCall};
use trunkline_types::{Clock as _, Money, RANDOM_BYTES, RequestId};

/// How far back it looks.
const DAYS: i64 = 7;
const SECONDS_A_DAY: i64 = 86_400;
/// Calls that one question brings.
const PAGE: i64 = 5_000;
/// Calls that are looked at, at most; more change the picture little.
const MAX_CALLS: usize = 1_000_000;

/// The calls of one model together.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Week {
    pub(super) calls: u64,
    pub(super) was: Money,
    pub(super) would_be: Money,
    /// What those whose cost is known cost us, and what they would be sold for.
    pub(super) cost: Money,
    pub(super) costed_sale: Money,
    /// Calls that the new prices have no price for.
    pub(super) unpriced: u64,
}

/// Prices the week's calls of some models anew.
pub(super) async fn week(
    console: &Database,
    models: &[String],
    before: &Book,
    after: &Book,
) -> anyhow::Result<BTreeMap<String, Week>> {
    let mut weeks: BTreeMap<String, Week> = BTreeMap::new();
    let since = SystemClock.now().plus_seconds(-DAYS * SECONDS_A_DAY);
    let mut last = RequestId::new(since, [0; RANDOM_BYTES]);
    let mut seen = 0_usize;
    while seen < MAX_CALLS {
        let calls = usage::sold_after(console, models, last, PAGE).await?;
        let Some(newest) = calls.last() else { break };
        last = newest.request;
        seen = seen.saturating_add(calls.len());
        for call in &calls {
            let week = weeks.entry(call.model.clone()).or_default();
            week.add(call, before, after);
        }
    }
    Ok(weeks)
}

impl Week {
    fn add(&mut self, call: &SoldCall, before: &Book, after: &Book) {
        self.calls = self.calls.saturating_add(1);
        self.was = plus(self.was, call.charged);
        let Some(price) = priced(call, before, after) else {
            self.unpriced = self.unpriced.saturating_add(1);
            return;
        };
        self.would_be = plus(self.would_be, price);
        if let Some(cost) = call.cost {
            self.cost = plus(self.cost, cost);
            self.costed_sale = plus(self.costed_sale, price);
        }
    }

    /// Whether what its cost is known of would be sold for less.
    pub(super) fn loses(&self) -> bool {
        self.costed_sale < self.cost
    }
}

fn priced(call: &SoldCall, before: &Book, after: &Book) -> Option<Money> {
    let (_, offer) = after
        .offer(&call.model, GroupChoice::Named(&call.group))
        .ok()?;
    let class = if call.topped_up {
        PriceClass::Paid
    } else {
        PriceClass::Standard
    };
    // The tiers it was sold by are those of the prices before.
    let sold = before.model(&call.model).map(|model| model.list());
    let attributes = sold.map_or_else(Attributes::none, |list| {
        list.attributes_of(call.tier.as_deref())
    });
    let situation = PricingContext {
        attributes: &attributes,
        at: call.at,
    };
    let quote = quote(offer, class, &call.units, situation).ok()?;
    Some(quote.total)
}

fn plus(one: Money, other: Money) -> Money {
    one.checked_add(other).unwrap_or(one)
}
