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
        .map(|migration| json!({ "version": migration.version, "name": migration.name }))
        .collect();
    let text = if report.applied.is_empty() {
        "The database is up to date.".to_owned()
    } else {
        let names: Vec<&str> = report
            .applied
            .iter()
            .map(|migration| migration.name)
            .collect();
        format!("Applied {} migrations: {}.", names.len(), names.join(", "))
    };
    output.success(&text, &json!({ "ok": true, "applied": applied }));
    Ok(())
}
