//! `trunkline catalog diff`: what an import would change.

use std::process::ExitCode;

use serde_json::{Value, json};
use trunkline_console::operations::price_preview::{
    BelowCost, PriceChange, Repriced, Window, below_cost, changed_models, days_ago, price_changes,
    reprice,
};
use trunkline_db::{Database, SystemClock};
use trunkline_gateway::CatalogSnapshot;
use trunkline_store::channels;
use trunkline_types::{Clock as _, UnitPrice};

use super::source;
use crate::cli::Source;
use crate::output::Output;

/// How far back it looks.
const DAYS: i64 = 7;
/// Calls that are looked at, at most; more change the picture little.
const MAX_CALLS: usize = 1_000_000;

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
    let window = Window {
        since: days_ago(SystemClock.now(), DAYS),
        max_calls: MAX_CALLS,
    };
    let weeks = reprice(console, &names, &before, &after, window).await?;
    let weeks = weeks.models;
    let loses = !below.is_empty() || weeks.values().any(Repriced::loses);
    let mut text: Vec<String> = prices.iter().map(price_text).collect();
    text.extend(weeks.iter().map(|(name, week)| week_text(name, week)));
    text.extend(below.iter().map(below_text));
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
        "prices": prices.iter().map(price_object).collect::<Vec<_>>(),
        "last_week": weeks,
        "below_cost": below.iter().map(below_object).collect::<Vec<_>>(),
        "pricing_version": after.version().to_string(),
    });
    if loses {
        output.finding(&text.join("\n"), &object);
        return Ok(ExitCode::FAILURE);
    }
    output.success(&text.join("\n"), &object);
    Ok(ExitCode::SUCCESS)
}

fn week_text(name: &str, week: &Repriced) -> String {
    let warning = if week.loses() { "  BELOW COST" } else { "" };
    format!(
        "{name}: last week's {} calls cost {} USD and would have cost {} USD{warning}",
        week.calls, week.was, week.would_be
    )
}

fn week_object(name: &str, week: &Repriced) -> Value {
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

pub(super) fn price_text(change: &PriceChange) -> String {
    let text = |price: Option<UnitPrice>| {
        price.map_or_else(|| "none".to_owned(), |price| price.pico().to_string())
    };
    format!(
        "{} {} {} {}: {} -> {}",
        change.model,
        change.tier,
        change.column,
        change.face,
        text(change.before),
        text(change.after)
    )
}

pub(super) fn price_object(change: &PriceChange) -> Value {
    json!({
        "model": change.model,
        "tier": change.tier,
        "column": change.column,
        "face": change.face,
        "before": change.before,
        "after": change.after,
    })
}

pub(super) fn below_text(below: &BelowCost) -> String {
    format!(
        "BELOW COST: a million {} of {} sell for {} USD in group {} and cost {} USD at channel {}",
        below.face, below.model, below.sale, below.group, below.cost, below.channel
    )
}

pub(super) fn below_object(below: &BelowCost) -> Value {
    json!({
        "model": below.model,
        "channel": below.channel,
        "group": below.group,
        "face": below.face,
        "sale_usd_per_million": below.sale.to_string(),
        "cost_usd_per_million": below.cost.to_string(),
    })
}
