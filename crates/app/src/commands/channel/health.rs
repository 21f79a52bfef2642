//! `trunkline channel health`: how channels did, from the sums that nodes write.

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use serde_json::{Value, json};
use trunkline_db::Database;
use trunkline_store::channel_health::{self, ChannelSums, HealthKey};
use trunkline_store::channels;

use crate::output::Output;
use crate::table;

const MINUTES_AN_HOUR: i32 = 60;

pub(super) async fn run(
    database: &Database,
    name: Option<&str>,
    hours: u32,
    output: &Output,
) -> anyhow::Result<ExitCode> {
    let mut session = database.session().await?;
    let rows = channels::list(&mut session).await;
    let rows = rows.context("the channels cannot be read")?;
    let names: BTreeMap<i64, String> = rows
        .iter()
        .map(|row| (row.id.number(), row.name.clone()))
        .collect();
    let channel = match name {
        None => None,
        Some(name) => match rows.iter().find(|row| row.name == name) {
            Some(row) => Some(row.id.number()),
            None => bail!("there is no channel {name:?}; `trunkline channel list` shows them"),
        },
    };
    let hours = i32::try_from(hours).unwrap_or(i32::MAX);
    let minutes = hours.saturating_mul(MINUTES_AN_HOUR);
    let sums = channel_health::sums(&mut session, channel, minutes).await;
    let sums = sums.context("the figures cannot be read")?;
    let name_of = |key: &HealthKey| names.get(&key.channel).cloned().unwrap_or_default();
    let cells: Vec<Vec<String>> = sums
        .iter()
        .map(|(key, sums)| cells(name_of(key), key, sums))
        .collect();
    let text = if cells.is_empty() {
        format!("No call in the last {hours} hours.")
    } else {
        let heads = [
            "channel",
            "model",
            "endpoint",
            "calls",
            "failed",
            "available",
            "first byte",
            "tokens/s",
        ];
        table::aligned(&heads, &[3, 4, 5, 6, 7], &cells)
    };
    let views: Vec<Value> = sums
        .iter()
        .map(|(key, sums)| view(&name_of(key), key, sums))
        .collect();
    output.success(
        &text,
        &json!({ "ok": true, "hours": hours, "health": views }),
    );
    Ok(ExitCode::SUCCESS)
}

fn cells(name: String, key: &HealthKey, sums: &ChannelSums) -> Vec<String> {
    let available = sums.availability_ppm().map_or_else(String::new, |ppm| {
        // Whole per cents and two places behind the point.
        let hundredths = ppm.div_euclid(100);
        let (whole, rest) = (hundredths.div_euclid(100), hundredths.rem_euclid(100));
        format!("{whole}.{rest:02} %")
    });
    let first_byte = sums.median_first_byte();
    let speed = sums.tokens_a_second();
    vec![
        name,
        key.model.clone(),
        key.endpoint.clone(),
        sums.calls.to_string(),
        sums.failed.to_string(),
        available,
        first_byte.map_or_else(String::new, |millis| format!("{millis} ms")),
        speed.map_or_else(String::new, |speed| speed.to_string()),
    ]
}

fn view(name: &str, key: &HealthKey, sums: &ChannelSums) -> Value {
    json!({
        "channel": name,
        "model": key.model,
        "endpoint": key.endpoint,
        "calls": sums.calls,
        "failed": sums.failed,
        "availability_ppm": sums.availability_ppm(),
        "median_first_byte_ms": sums.median_first_byte(),
        "output_tokens_per_second": sums.tokens_a_second(),
    })
}
