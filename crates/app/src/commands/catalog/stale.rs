//! `trunkline catalog stale`.

use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::json;
use trunkline_catalog::StalePrice;
use trunkline_db::SystemClock;
use trunkline_types::Clock as _;

use super::source;
use crate::output::Output;
use crate::table;

/// Lists old prices. To have some is no failure.
pub(super) fn run(files: &[PathBuf], days: u32, output: &Output) -> anyhow::Result<ExitCode> {
    let read = source::files_or_starter(files)?;
    let old = trunkline_catalog::stale(&read.document, SystemClock.now(), days);
    let text = if old.is_empty() {
        format!("{}: no price is older than {days} days.", read.name)
    } else {
        let rows: Vec<Vec<String>> = old.iter().map(row).collect();
        table::aligned(&["days", "read on", "model", "tier", "source"], &[0], &rows)
    };
    let object = json!({
        "ok": true,
        "catalog": read.name,
        "days": days,
        "count": old.len(),
        "prices": old,
    });
    output.success(&text, &object);
    Ok(ExitCode::SUCCESS)
}

fn row(price: &StalePrice) -> Vec<String> {
    let age = price
        .age_days
        .map_or_else(|| "?".to_owned(), |days| days.to_string());
    vec![
        age,
        price.read_on.clone(),
        price.model.clone(),
        price.tier.clone().unwrap_or_default(),
        price.source.clone(),
    ]
}
