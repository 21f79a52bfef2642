//! `trunkline catalog sync`: prices of a published list for models that are on sale.

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::Context as _;
use serde_json::{Value, json};
use trunkline_catalog::{Book, Entry, ListPrice};
use trunkline_console::operations::price_preview::{
    BelowCost, PriceChange, below_cost, price_changes,
};
use trunkline_db::{Database, SystemClock};
use trunkline_gateway::{CatalogSnapshot, Change};
use trunkline_store::channels;
use trunkline_types::{BillingUnit, Clock as _, Face, Ratio, UnitPrice};

use super::diff;
use crate::cli::SyncPrices;
use crate::files::read_bounded;
use crate::output::Output;
use crate::price_map::{self, ListedModel, PriceMap};
use crate::times;

/// Tokens that list prices are written for.
const MILLION: u64 = 1_000_000;
const DAY_CHARACTERS: usize = 10;

/// What a list makes of a catalog.
#[derive(Default)]
struct Synced {
    /// Models whose prices or sources are other.
    models: BTreeMap<String, Option<Entry>>,
    /// How many models the list knows.
    known: usize,
    notes: Vec<String>,
}

/// A list and how to read it.
struct Reading<'a> {
    prices: PriceMap,
    options: &'a SyncPrices,
    /// The day the list is of.
    day: String,
}

/// Shows what the list changes, and with `--apply` publishes it. Exits 1, and changes nothing, if something
/// would be sold below what a channel takes.
pub(super) async fn run(
    console: &Database,
    options: &SyncPrices,
    output: &Output,
) -> anyhow::Result<ExitCode> {
    let reading = read(options)?;
    let before = CatalogSnapshot::load(&mut console.session().await?)
        .await?
        .book;
    let synced = reading.synced(&before);
    let after = before.changed(None, synced.models.clone())?;
    let prices: Vec<PriceChange> = synced
        .models
        .keys()
        .flat_map(|name| price_changes(name, before.model(name), after.model(name)))
        .collect();
    let channels = channels::list(&mut *console.session().await?).await?;
    let below: Vec<BelowCost> = synced
        .models
        .keys()
        .flat_map(|name| below_cost(name, &after, &channels))
        .collect();
    let is_stopped = !below.is_empty() && !options.allow;
    let is_applied = options.apply && !is_stopped;
    if is_applied {
        let note = format!("{} of {}", reading.prices.shape.source(), reading.day);
        super::write(console, &note, |now| Change {
            frame: None,
            models: reading.synced(now).models,
        })
        .await?;
    }
    let mut text: Vec<String> = prices.iter().map(diff::price_text).collect();
    text.extend(below.iter().map(diff::below_text));
    text.extend(synced.notes.iter().cloned());
    text.push(format!(
        "The list has {} models, of {}; {} of them are on sale, {} prices differ.",
        reading.prices.count(),
        reading.day,
        synced.known,
        prices.len()
    ));
    text.push(ending(is_stopped, is_applied).to_owned());
    let object = json!({
        "ok": !is_stopped,
        "applied": is_applied,
        "read_on": reading.day,
        "known": synced.known,
        "prices": prices.iter().map(diff::price_object).collect::<Vec<Value>>(),
        "below_cost": below.iter().map(diff::below_object).collect::<Vec<Value>>(),
        "notes": synced.notes,
    });
    let text = text.join("\n");
    if is_stopped {
        output.finding(&text, &object);
        return Ok(ExitCode::FAILURE);
    }
    output.success(&text, &object);
    Ok(ExitCode::SUCCESS)
}

const fn ending(is_stopped: bool, is_applied: bool) -> &'static str {
    match (is_stopped, is_applied) {
        (true, _) => {
            "Stopped: prices would be below the cost of a channel. Nothing was changed; --allow permits it."
        }
        (false, true) => "Published.",
        (false, false) => "Nothing was changed; --apply publishes it.",
    }
}

fn read(options: &SyncPrices) -> anyhow::Result<Reading<'_>> {
    let displayed = options.file.display();
    let text = read_bounded(&options.file, price_map::MAX_BYTES)
        .with_context(|| format!("cannot read {displayed}"))?;
    let prices = PriceMap::read(&text).with_context(|| format!("{displayed} cannot be used"))?;
    let today = times::rfc3339(SystemClock.now());
    let today: String = today.chars().take(DAY_CHARACTERS).collect();
    Ok(Reading {
        prices,
        options,
        day: options.date.clone().unwrap_or(today),
    })
}

// === impl Reading ===

impl Reading<'_> {
    fn synced(&self, book: &Book) -> Synced {
        let mut synced = Synced::default();
        for name in book.models() {
            let Some(model) = book.model(name) else {
                continue;
            };
            let is_named = self.options.models.is_empty()
                || self.options.models.iter().any(|own| own.0 == name);
            let entry = model.entry();
            if !is_named || entry.prices.billing_unit != BillingUnit::Tokens {
                continue;
            }
            let Some((theirs, listed)) = self.find(name, entry) else {
                continue;
            };
            synced.known = synced.known.saturating_add(1);
            let mut changed = entry.clone();
            self.reprice(name, &mut changed, listed, &mut synced.notes);
            self.cite(&mut changed, theirs, listed);
            if changed != *entry {
                synced.models.insert(name.to_owned(), Some(changed));
            }
        }
        synced
    }

    /// The model under the name that the operator gives it there, or under its own.
    fn find(&self, name: &str, entry: &Entry) -> Option<(&str, &ListedModel)> {
        let given = self.options.models.iter().find(|own| own.0 == name);
        match given {
            Some(pair) if pair.1 != pair.0 => self.prices.find(None, &pair.1),
            Some(_) | None => self.prices.find(entry.vendor.as_deref(), name),
        }
    }

    /// Sets the default tier's prices. A price of a tier has no counterpart in the list, and one that only the
    /// list has is added where there are no tiers, which would need it too.
    fn reprice(
        &self,
        name: &str,
        entry: &mut Entry,
        listed: &ListedModel,
        notes: &mut Vec<String>,
    ) {
        let list = &mut entry.prices;
        let is_plain = list.tiers.is_empty() && list.paid.is_none();
        for (face, price) in &listed.faces {
            let Some(price) = marked_up(*price, self.options.markup) else {
                notes.push(format!("{name}: {face} is out of range and stays"));
                continue;
            };
            if is_plain || list.standard.contains_key(face) {
                list.standard.insert(*face, price);
            }
        }
        if !list.tiers.is_empty() {
            notes.push(format!("{name}: prices of its tiers stay"));
        }
        if list.paid.is_some() {
            notes.push(format!("{name}: prices of accounts that paid in stay"));
        }
        if listed.is_rounded {
            notes.push(format!("{name}: a price was rounded to a whole pico-USD"));
        }
    }

    /// Notes the list as a source of the vendor's prices, in place of an older one of the same kind.
    fn cite(&self, entry: &mut Entry, theirs: &str, listed: &ListedModel) {
        let source = self.prices.shape.source();
        let kind = source.split(',').next().unwrap_or(source);
        let faces: BTreeMap<Face, String> = listed
            .faces
            .iter()
            .map(|(face, price)| (*face, usd_per_million(*price)))
            .collect();
        let known = |price: &ListPrice| price.tier.is_none() && price.source.starts_with(kind);
        let is_same =
            |price: &ListPrice| known(price) && price.faces == faces && price.read_on == self.day;
        if entry.list.iter().any(is_same) {
            return;
        }
        entry.list.retain(|price| !known(price));
        entry.list.push(ListPrice {
            tier: None,
            source: format!("{source}, {theirs}"),
            read_on: self.day.clone(),
            currency: "USD".to_owned(),
            usd_rate: None,
            unit: "1M tokens".to_owned(),
            per: MILLION,
            faces,
        });
    }
}

/// A price times a rate, rounded up: never less than was meant.
fn marked_up(price: UnitPrice, rate: Ratio) -> Option<UnitPrice> {
    let product = u128::from(price.pico()).checked_mul(u128::from(rate.numerator()))?;
    let divisor = u128::from(rate.denominator());
    let pico = product
        .checked_add(divisor.checked_sub(1)?)?
        .checked_div(divisor)?;
    UnitPrice::from_pico(i64::try_from(pico).ok()?).ok()
}

/// A pico-USD for one is a micro-USD for a million.
fn usd_per_million(price: UnitPrice) -> String {
    let pico = price.pico();
    let whole = pico.checked_div(MILLION).unwrap_or_default();
    let rest = pico.checked_rem(MILLION).unwrap_or_default();
    let text = format!("{whole}.{rest:06}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_is_written_for_a_million_and_marked_up_without_loss() {
        let price = |pico| UnitPrice::from_pico(pico).unwrap();
        assert_eq!(usd_per_million(price(2_500_000)), "2.5");
        assert_eq!(usd_per_million(price(10_000_000)), "10");
        assert_eq!(usd_per_million(price(75_000)), "0.075");
        assert_eq!(usd_per_million(price(0)), "0");
        let rate: Ratio = "1.1".parse().unwrap();
        assert_eq!(marked_up(price(1_000_000), rate), Some(price(1_100_000)));
        assert_eq!(marked_up(price(1), rate), Some(price(2)), "rounded up");
        assert_eq!(marked_up(UnitPrice::MAX, rate), None);
    }
}
