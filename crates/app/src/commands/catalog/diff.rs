//! `trunkline catalog diff`: what an import would change.

use std::process::ExitCode;

use serde_json::{Value, json};
use trunkline_catalog::{Book, Faces, Model};
use trunkline_db::Database;
use trunkline_gateway::CatalogSnapshot;
use trunkline_store::channels::{self, Channel, CostBook};
use trunkline_types::{Exact, Face, Money, Ratio, UnitPrice, Units};

use super::{reprice, source};
use crate::cli::Source;
use crate::output::Output;

/// Units that prices and costs are compared for.
const MILLION: u64 = 1_000_000;

/// One price that would be other.
pub(super) struct PriceChange {
    model: String,
    tier: String,
    column: &'static str,
    face: Face,
    before: Option<UnitPrice>,
    after: Option<UnitPrice>,
}

/// One face that would be sold for less than a channel takes.
pub(super) struct BelowCost {
    model: String,
    channel: String,
    group: String,
    face: Face,
    sale: Money,
    cost: Money,
}

/// Shows what would change. Exits 1 if something would be sold below its cost.
pub(super) async fn run(
    console: &Database,
    options: &Source,
    output: &Output,
) -> anyhow::Result<ExitCode> {
    let document = source::read(options)?;
    let before = CatalogSnapshot::load(&mut console.session().await?)
        .await?
        .book;
    let change = source::change(document, &before, options.replace);
    let after = before.changed(change.frame, change.models)?;
    let names = changed_models(&before, &after);
    let prices: Vec<PriceChange> = names
        .iter()
        .flat_map(|name| price_changes(name, before.model(name), after.model(name)))
        .collect();
    let channels = channels::list(&mut *console.session().await?).await?;
    let below: Vec<BelowCost> = names
        .iter()
        .flat_map(|name| below_cost(name, &after, &channels))
        .collect();
    let weeks = reprice::week(console, &names, &before, &after).await?;
    let loses = !below.is_empty() || weeks.values().any(reprice::Week::loses);
    let mut text: Vec<String> = prices.iter().map(PriceChange::text).collect();
    text.extend(weeks.iter().map(|(name, week)| week_text(name, week)));
    text.extend(below.iter().map(BelowCost::text));
    if names.is_empty() {
        text.push("No differences.".to_owned());
    }
    let weeks: Vec<Value> = weeks
        .iter()
        .map(|(name, week)| week_object(name, week))
        .collect();
    let object = json!({
        "ok": !loses,
        "models": names,
        "prices": prices.iter().map(PriceChange::object).collect::<Vec<_>>(),
        "last_week": weeks,
        "below_cost": below.iter().map(BelowCost::object).collect::<Vec<_>>(),
        "pricing_version": after.version().to_string(),
    });
    if loses {
        output.finding(&text.join("\n"), &object);
        return Ok(ExitCode::FAILURE);
    }
    output.success(&text.join("\n"), &object);
    Ok(ExitCode::SUCCESS)
}

fn changed_models(before: &Book, after: &Book) -> Vec<String> {
    let entry = |book: &Book, name: &str| book.model(name).map(|model| model.entry().clone());
    let frame_changed = before.header() != after.header();
    let mut names: Vec<&str> = before.models().chain(after.models()).collect();
    names.sort_unstable();
    names.dedup();
    // A group's rate is a price of everything.
    let other = |name: &&str| frame_changed || entry(before, name) != entry(after, name);
    let names = names.into_iter().filter(other);
    names.map(str::to_owned).collect()
}

pub(super) type Model_<'a> = Option<&'a std::sync::Arc<Model>>;

pub(super) fn price_changes(name: &str, before: Model_<'_>, after: Model_<'_>) -> Vec<PriceChange> {
    let mut tiers: Vec<&str> = Vec::new();
    for model in [before, after].into_iter().flatten() {
        tiers.extend(model.list().tiers().iter().map(|tier| tier.name()));
    }
    tiers.sort_unstable();
    tiers.dedup();
    let mut changes = Vec::new();
    for tier in tiers {
        for column in ["standard", "paid"] {
            let (old, new) = (faces(before, tier, column), faces(after, tier, column));
            for face in Face::ALL {
                let price =
                    |faces: Option<&Faces>| faces.and_then(|faces| faces.get(&face)).copied();
                if price(old) != price(new) {
                    changes.push(PriceChange {
                        model: name.to_owned(),
                        tier: tier.to_owned(),
                        column,
                        face,
                        before: price(old),
                        after: price(new),
                    });
                }
            }
        }
    }
    changes
}

fn faces<'a>(model: Model_<'a>, tier: &str, column: &str) -> Option<&'a Faces> {
    let tier = model?
        .list()
        .tiers()
        .iter()
        .find(|one| one.name() == tier)?;
    match column {
        "paid" => tier.paid(),
        _ => Some(tier.faces(trunkline_catalog::PriceClass::Standard)),
    }
}

/// The default prices in every group beside what each channel takes for the model.
pub(super) fn below_cost(name: &str, after: &Book, channels: &[Channel]) -> Vec<BelowCost> {
    let mut found = Vec::new();
    let Some(model) = after.model(name) else {
        return found;
    };
    let Some(tier) = model.list().default_tier() else {
        return found;
    };
    for channel in channels {
        let Some(theirs) = channel.models.get(name) else {
            continue;
        };
        let costs = channel.cost.as_ref().map(CostBook::from_json);
        let Some(Ok(costs)) = costs else { continue };
        for group in model.groups() {
            let Some(rate) = after.header().groups.get(group).map(|group| group.rate) else {
                continue;
            };
            let cheapest = tier
                .paid()
                .unwrap_or(tier.faces(trunkline_catalog::PriceClass::Standard));
            for (face, price) in cheapest {
                let units = Units::none().plus(*face, MILLION).unwrap_or_default();
                let cost = costs.cost_usd(theirs, &units);
                let sale = sale_of(*price, rate);
                if let (Some(cost), Some(sale)) = (cost, sale)
                    && sale < cost
                {
                    found.push(BelowCost {
                        model: name.to_owned(),
                        channel: channel.name.clone(),
                        group: group.clone(),
                        face: *face,
                        sale,
                        cost,
                    });
                }
            }
        }
    }
    found
}

fn sale_of(price: UnitPrice, rate: Ratio) -> Option<Money> {
    let line = Exact::line(MILLION, price).ok()?;
    line.times(rate).ok()?.round_half_up().ok()
}

fn week_text(name: &str, week: &reprice::Week) -> String {
    let warning = if week.loses() { "  BELOW COST" } else { "" };
    format!(
        "{name}: last week's {} calls cost {} USD and would have cost {} USD{warning}",
        week.calls, week.was, week.would_be
    )
}

fn week_object(name: &str, week: &reprice::Week) -> Value {
    json!({
        "model": name,
        "calls": week.calls,
        "was_usd": week.was.to_string(),
        "would_be_usd": week.would_be.to_string(),
        "known_cost_usd": week.cost.to_string(),
        "would_be_of_known_cost_usd": week.costed_sale.to_string(),
        "unpriced_calls": week.unpriced,
        "below_cost": week.loses(),
    })
}

impl PriceChange {
    pub(super) fn text(&self) -> String {
        let price_text = |price: Option<UnitPrice>| {
            price.map_or_else(|| "none".to_owned(), |price| price.pico().to_string())
        };
        format!(
            "{} {} {} {}: {} -> {}",
            self.model,
            self.tier,
            self.column,
            self.face,
            price_text(self.before),
            price_text(self.after)
        )
    }

    pub(super) fn object(&self) -> Value {
        json!({
            "model": self.model,
            "tier": self.tier,
            "column": self.column,
            "face": self.face,
            "before": self.before,
            "after": self.after,
        })
    }
}

impl BelowCost {
    pub(super) fn text(&self) -> String {
        format!(
            "BELOW COST: a million {} of {} sell for {} USD in group {} and cost {} USD at channel {}",
            self.face, self.model, self.sale, self.group, self.cost, self.channel
        )
    }

    pub(super) fn object(&self) -> Value {
        json!({
            "model": self.model,
            "channel": self.channel,
            "group": self.group,
            "face": self.face,
            "sale_usd_per_million": self.sale.to_string(),
            "cost_usd_per_million": self.cost.to_string(),
        })
    }
}
