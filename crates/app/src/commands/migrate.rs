//! `trunkline migrate`: brings the database to this version's schema.

use serde_json::{Value, json};

use super::database;
use crate::config::Config;
use crate::output::Output;

/// Applies what is missing and says what was applied.
pub(super) async fn run(config: &Config, output: &Output) -> anyhow::Result<()> {
    let report = trunkline_db::migrate(database::url(config)?).await?;
    let applied: Vec<Value> = report
        .applied
        .iter()
        .map(|migration| {
            json!({
                "version": migration.version,
                "name": migration.name,
                "previous_runs": migration.previous_runs,
            })
        })
        .collect();
    let text = if report.applied.is_empty() {
        "The database is up to date.".to_owned()
    } else {
        let names: Vec<&str> = report
            .applied
            .iter()
            .map(|migration| migration.name)
            .collect();
        let stops = report.applied.iter().any(|applied| !applied.previous_runs);
        let way_back = match stops {
            true => " The release before cannot run on this schema.",
            false => "",
        };
        format!(
            "Applied {} migrations: {}.{way_back}",
            names.len(),
            names.join(", ")
        )
    };
    output.success(&text, &json!({ "ok": true, "applied": applied }));
    Ok(())
}
