//! `trunkline restore check`: whether a restored database and its keyring belong together and can serve.

use std::process::ExitCode;

use anyhow::Context as _;
use serde_json::{Value, json};
use trunkline_db::{Database, Role};
use trunkline_keyring::Keyring;
use trunkline_ledger::audit::{self, Report};
use trunkline_ledger::holds::{self, OpenHolds};
use trunkline_types::Timestamp;

use super::keyring_reseal::{Openable, openable};
use super::{database, keyring};
use crate::config::Config;
use crate::output::Output;
use crate::table;
use crate::times;

/// What was found.
struct Restored {
    /// Why there is no keyring; none if there is one.
    keyring_error: Option<String>,
    sealed: Vec<Openable>,
    audit: Report,
    newest: Option<Timestamp>,
    now: Timestamp,
    holds: OpenHolds,
}

pub(super) async fn check(config: &Config, output: &Output) -> anyhow::Result<ExitCode> {
    let database = database::open(config, Role::Audit).await?;
    let read = read(config, &database).await;
    database::close(&database).await;
    let restored = read?;
    let object = restored.json();
    if restored.is_usable() {
        output.success(&restored.text(), &object);
        return Ok(ExitCode::SUCCESS);
    }
    output.finding(&restored.text(), &object);
    Ok(ExitCode::FAILURE)
}

async fn read(config: &Config, database: &Database) -> anyhow::Result<Restored> {
    // A lost keyring is a finding like the others, and the books can be read without it.
    let opened = keyring::open(config);
    let keyring: Option<&Keyring> = opened.as_ref().ok();
    let sealed = openable(database, keyring).await;
    let audit = audit::run(database).await;
    Ok(Restored {
        sealed: sealed.context("cannot read the sealed values")?,
        keyring_error: opened.as_ref().err().map(|error| format!("{error:#}")),
        audit: audit.context("the audit did not finish")?,
        newest: holds::newest_settlement(database).await?,
        now: database::now(database).await?,
        holds: holds::open(database).await?,
    })
}

// === impl Restored ===

impl Restored {
    fn unopened(&self) -> usize {
        let lost = self.sealed.iter();
        lost.map(|of| of.found.saturating_sub(of.opened)).sum()
    }

    fn is_usable(&self) -> bool {
        let is_open = self.keyring_error.is_none() && self.unopened() == 0;
        is_open && self.audit.violations.is_empty()
    }

    /// What is to be said of the keyring.
    fn keyring(&self) -> String {
        let found: usize = self.sealed.iter().map(|of| of.found).sum();
        match (&self.keyring_error, self.unopened()) {
            (Some(error), _) => format!(
                "LOST   keyring: {error}. {found} sealed values cannot be opened without it: restore the keyring file."
            ),
            (None, 0) => format!("ok     keyring: it opens all {found} sealed values"),
            (None, lost) if lost == found => format!(
                "LOST   keyring: it opens none of {found} sealed values, so it is not the one of this database. \
                 Restore the one that was backed up with it."
            ),
            (None, lost) => format!(
                "WRONG  keyring: {lost} of {found} sealed values cannot be opened; it may be older than the database."
            ),
        }
    }

    fn text(&self) -> String {
        let cells: Vec<Vec<String>> = self
            .sealed
            .iter()
            .filter(|of| of.found > 0)
            .map(|of| {
                vec![
                    format!("       {}", of.column),
                    of.found.to_string(),
                    of.opened.to_string(),
                ]
            })
            .collect();
        let mut lines = vec![self.keyring()];
        if !cells.is_empty() {
            let heads = ["       sealed", "found", "opened"];
            lines.push(table::aligned(&heads, &[1, 2], &cells));
        }
        let wrong: Vec<&str> = self
            .audit
            .violations
            .iter()
            .map(|violation| violation.view.as_str())
            .collect();
        lines.push(if wrong.is_empty() {
            format!(
                "ok     audit: {} views, no violations",
                self.audit.views.len()
            )
        } else {
            format!("WRONG  audit: {}; run trunkline audit", wrong.join(", "))
        });
        let newest = self.newest.map_or_else(|| "none".to_owned(), times::short);
        let OpenHolds { count, amount, .. } = self.holds;
        lines.push(format!(
            "       newest settlement  {newest}; what came after it is lost"
        ));
        lines.push(format!(
            "       holds pending      {count} of {amount} USD; nodes void those of calls, tasks go on"
        ));
        lines.join("\n")
    }

    fn json(&self) -> Value {
        let sealed: Vec<Value> = self
            .sealed
            .iter()
            .map(|of| json!({ "column": of.column, "found": of.found, "opened": of.opened }))
            .collect();
        let violations: Vec<Value> = self
            .audit
            .violations
            .iter()
            .map(|violation| json!({ "view": violation.view, "count": violation.count }))
            .collect();
        let age = self
            .newest
            .map(|newest| self.now.seconds().saturating_sub(newest.seconds()));
        json!({
            "ok": self.is_usable(),
            "keyring": { "error": self.keyring_error, "unopened": self.unopened(), "sealed": sealed },
            "violations": violations,
            "newest_settlement": self.newest.map(Timestamp::seconds),
            "newest_settlement_age_seconds": age,
            "holds_pending": { "calls": self.holds.count, "usd": self.holds.amount.to_string() },
        })
    }
}
