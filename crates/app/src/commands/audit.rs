//! `trunkline audit`: whether anything is in the books that must not be.

use std::process::ExitCode;

use anyhow::Context as _;
use serde_json::{Value, json};
use trunkline_db::Role;
use trunkline_ledger::audit::{self, Report, Violation};

use super::database;
use crate::config::Config;
use crate::output::Output;

/// Asks every view. The exit code says whether all of them are empty.
pub(super) async fn run(config: &Config, output: &Output) -> anyhow::Result<ExitCode> {
    let database = database::open(config, Role::Audit).await?;
    let report = audit::run(&database).await;
    database::close(&database).await;
    let report = report.context("the audit did not finish")?;
    let holds = report.violations.is_empty();
    let object = json!({
        "ok": holds,
        "views": report.views,
        "violations": report.violations.iter().map(violation_json).collect::<Vec<Value>>(),
    });
    if holds {
        output.success(&text(&report), &object);
        return Ok(ExitCode::SUCCESS);
    }
    output.finding(&text(&report), &object);
    Ok(ExitCode::FAILURE)
}

fn text(report: &Report) -> String {
    let mut lines: Vec<String> = Vec::new();
    for view in &report.views {
        match report.violations.iter().find(|found| found.view == *view) {
            Some(violation) => lines.extend(violation_lines(violation)),
            None => lines.push(format!("ok     {view}")),
        }
    }
    let (views, wrong) = (report.views.len(), report.violations.len());
    lines.push(if wrong == 0 {
        format!("{views} views checked, no violations.")
    } else {
        format!("{views} views checked, {wrong} with violations.")
    });
    lines.join("\n")
}

fn violation_lines(violation: &Violation) -> Vec<String> {
    let Violation {
        view,
        meaning,
        count,
        rows,
    } = violation;
    let mut lines = vec![format!("WRONG  {view}: {count} rows; {meaning}")];
    lines.extend(rows.iter().map(|row| format!("         {row}")));
    let listed = i64::try_from(rows.len()).unwrap_or(i64::MAX);
    let hidden = count.saturating_sub(listed);
    if hidden > 0 {
        lines.push(format!("         and {hidden} more: SELECT * FROM {view}"));
    }
    lines
}

fn violation_json(violation: &Violation) -> Value {
    json!({
        "view": violation.view,
        "meaning": violation.meaning,
        "count": violation.count,
        "rows": violation.rows,
    })
}
