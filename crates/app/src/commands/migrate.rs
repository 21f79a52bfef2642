//! `trunkline migrate`: brings the database to this version's schema.

use anyhow::Context as _;
use serde_json::{Value, json};

use crate::config::Config;
use crate::output::Output;

/// Applies what is missing and says what was applied.
pub(super) async fn run(config: &Config, output: &Output) -> anyhow::Result<()> {
    let url = config.database.url.as_ref().context(
        "database.url is not set: write it into trunkline.toml or set TRUNKLINE__DATABASE__URL",
    )?;
    let report = trunkline_db::migrate(url).await?;
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
