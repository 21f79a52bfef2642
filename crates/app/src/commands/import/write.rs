//! A plan into the tables, by the functions that the single commands use. What is there already stays.

use std::path::Path;

use anyhow::Context as _;
use serde_json::{Value, json};
use trunkline_catalog::{Book, CatalogHeader, Entry, Group};
use trunkline_db::Tx;
use trunkline_gateway::{Change, ChangeAuthor, publish};
use trunkline_store::channels::{self, AddChannelError, ChannelState};

use super::plan::{Plan, PlannedChannel, Remark};
use super::report::Report;
use super::users;
use crate::cli::{AddChannel, KeySources, Pair};
use crate::commands::{channel, database, keyring};
use crate::config::Config;
use crate::times;

/// Characters of a day such as 2026-11-18.
const DAY_CHARACTERS: usize = 10;

/// What is to become of a plan.
pub(super) struct Target<'a> {
    /// The name of the other installation.
    pub(super) source: &'a str,
    /// Where issued keys go; none are issued without.
    pub(super) keys_file: Option<&'a Path>,
    pub(super) applies: bool,
}

pub(super) struct Written {
    pub(super) report: Report,
    /// Issued keys, as lines of CSV.
    pub(super) key_lines: Vec<String>,
}

/// Writes everything into one transaction, which the caller ends.
pub(super) async fn write(
    tx: &mut Tx,
    config: &Config,
    mut plan: Plan,
    target: &Target<'_>,
) -> anyhow::Result<Written> {
    let mut report = Report {
        is_applied: target.applies,
        skipped: std::mem::take(&mut plan.skipped),
        differences: std::mem::take(&mut plan.differences),
        ignored: std::mem::take(&mut plan.ignored),
        ..Report::default()
    };
    sell(tx, &plan, target.source, &mut report).await?;
    connect(tx, config, &plan, &mut report).await?;
    let key_lines = users::write(tx, &plan, target, &mut report).await?;
    Ok(Written { report, key_lines })
}

/// Adds groups, vendors and models that are not there.
async fn sell(tx: &mut Tx, plan: &Plan, source: &str, report: &mut Report) -> anyhow::Result<()> {
    let note = format!("import of {source}");
    let signed = ChangeAuthor {
        author: "command line",
        note: &note,
    };
    publish(tx, signed, |before| change(before, plan, report))
        .await
        .context("the models cannot be put on sale")?;
    Ok(())
}

fn change(before: &Book, plan: &Plan, report: &mut Report) -> Change {
    let mut header = before.header().clone();
    for (name, rate) in &plan.groups {
        match header.groups.get(name) {
            Some(known) => {
                report.groups.find();
                if known.rate != *rate {
                    let reason = format!("its rate is {} here and {rate} there", known.rate);
                    report.differences.push(Remark::new("group", name, reason));
                }
            }
            None => {
                report.groups.add();
                header.groups.insert(name.clone(), Group { rate: *rate });
            }
        }
    }
    for (name, vendor) in &plan.vendors {
        let is_taken = header.vendors.values().any(|known| known.id == vendor.id);
        if !is_taken && !header.vendors.contains_key(name) {
            header.vendors.insert(name.clone(), vendor.clone());
        }
    }
    let mut change = Change::default();
    for (name, entry) in &plan.models {
        if let Some(known) = before.model(name) {
            report.models.find();
            let differs = differences(known.entry(), entry);
            let remarks = differs
                .into_iter()
                .map(|reason| Remark::new("model", name, reason));
            report.differences.extend(remarks);
            continue;
        }
        let mut entry = entry.clone();
        entry.vendor = entry
            .vendor
            .filter(|vendor| header.vendors.contains_key(vendor));
        match fits(&header, name, &entry) {
            Ok(()) => {
                report.models.add();
                change.models.insert(name.clone(), Some(entry));
            }
            Err(reason) => report.skipped.push(Remark::new("model", name, reason)),
        }
    }
    if header != *before.header() {
        change.frame = Some(header);
    }
    change
}

/// Whether a model could be sold alone.
fn fits(header: &CatalogHeader, name: &str, entry: &Entry) -> Result<(), String> {
    let alone = [(name.to_owned(), Some(entry.clone()))];
    let checked = Book::empty().changed(Some(header.clone()), alone);
    checked.map(drop).map_err(|error| error.to_string())
}

/// Where a model that is on sale here differs from what it costs there.
fn differences(here: &Entry, there: &Entry) -> Vec<String> {
    let (ours, theirs) = (&here.prices, &there.prices);
    if ours.billing_unit != theirs.billing_unit {
        return vec!["it is sold by another unit here".to_owned()];
    }
    let mut texts = Vec::new();
    for (face, price) in &theirs.standard {
        let own = ours.standard.get(face);
        if own != Some(price) {
            let own = own.map_or_else(|| "nothing".to_owned(), |own| own.pico().to_string());
            texts.push(format!(
                "{face} is {own} pico-USD here and {} there; it stays",
                price.pico()
            ));
        }
    }
    texts
}

/// Adds channels that are not there.
async fn connect(
    tx: &mut Tx,
    config: &Config,
    plan: &Plan,
    report: &mut Report,
) -> anyhow::Result<()> {
    if plan.channels.is_empty() {
        return Ok(());
    }
    let providers = channel::providers(config)?;
    let keyring = keyring::open(config)?;
    let now = times::rfc3339(database::now_in(tx).await?);
    let today: String = now.chars().take(DAY_CHARACTERS).collect();
    for planned in &plan.channels {
        if let Some(known) = channels::find(tx, &planned.name).await? {
            report.channels.find();
            let missing: Vec<&str> = planned
                .models
                .keys()
                .filter(|name| !known.models.contains_key(*name))
                .map(String::as_str)
                .collect();
            if !missing.is_empty() {
                let reason = format!(
                    "it lacks {}; `trunkline channel set` adds them",
                    missing.join(", ")
                );
                report
                    .differences
                    .push(Remark::new("channel", &planned.name, reason));
            }
            continue;
        }
        let provider = channel::known_provider(&providers, &planned.provider)?;
        let cost = cost(planned, &today);
        let new = channel::KeyedChannel {
            options: &options(planned),
            keys: &planned.keys,
            cost: cost.as_ref(),
        };
        match channel::add_keyed(tx, &keyring, provider, &new).await {
            Ok(added) => {
                report.channels.add();
                if !planned.is_on {
                    channels::set_state(tx, added.id, ChannelState::Off).await?;
                }
            }
            Err(error) if is_of_database(&error) => return Err(error),
            Err(error) => {
                let reason = format!("{error:#}");
                report
                    .skipped
                    .push(Remark::new("channel", &planned.name, reason));
            }
        }
    }
    Ok(())
}

/// Whether the transaction is spoilt: a wrong field is found before anything is written.
fn is_of_database(error: &anyhow::Error) -> bool {
    match error.downcast_ref::<AddChannelError>() {
        Some(AddChannelError::Db(_)) => true,
        Some(
            AddChannelError::NameTaken { .. }
            | AddChannelError::TooMany
            | AddChannelError::Field(_),
        )
        | None => false,
    }
}

fn options(planned: &PlannedChannel) -> AddChannel {
    let models = planned.models.iter();
    AddChannel {
        name: planned.name.clone(),
        provider: planned.provider.clone(),
        base_url: planned.base_url.clone(),
        keys: KeySources {
            key_files: Vec::new(),
            key_variables: Vec::new(),
            key_stdin: None,
        },
        models: models
            .map(|(ours, theirs)| Pair(ours.clone(), theirs.clone()))
            .collect(),
        groups: planned.groups.clone(),
        region: None,
        residency: None,
        zero_retention: false,
        priority: planned.priority,
        weight: planned.weight,
        headers: Vec::new(),
        proxy_file: None,
        cost_file: None,
        rpm: None,
        concurrent: None,
    }
}

/// The cost book of a channel whose prices are known.
fn cost(planned: &PlannedChannel, today: &str) -> Option<Value> {
    if planned.cost.is_empty() {
        return None;
    }
    Some(json!({
        "currency": "USD",
        "rate": { "numerator": 1, "denominator": 1, "as_of": today },
        "models": planned.cost,
    }))
}
