//! `trunkline import`: what another gateway has becomes rows here, in one transaction. A dry run is the same
//! transaction, rolled back, so its report is what would be done.

mod litellm;
mod new_api;
mod new_api_prices;
mod plan;
mod providers;
mod report;
mod tables;
mod users;
mod write;
mod yaml;

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use anyhow::Context as _;
use trunkline_db::{Database, Role};
use trunkline_ledger::partitions;

use self::plan::Plan;
use self::report::Report;
use self::write::Target;
use super::database;
use crate::cli::ImportCommand;
use crate::config::Config;
use crate::output::Output;
use crate::social::starter;

/// The keys are for their owners' eyes.
const KEYS_FILE_MODE: u32 = 0o600;

/// Reads what is there, writes it or says what would be written.
pub(super) async fn run(
    config: &Config,
    command: &ImportCommand,
    output: &Output,
) -> anyhow::Result<()> {
    let starter = starter()?;
    let (plan, target) = match command {
        ImportCommand::Litellm(options) => {
            let target = Target {
                source: &options.source,
                keys_file: None,
                applies: options.apply,
            };
            (litellm::plan(options, &starter)?, target)
        }
        ImportCommand::NewApi(options) => {
            let target = Target {
                source: &options.source,
                keys_file: options.keys_file.as_deref(),
                applies: options.apply,
            };
            (new_api::plan(options, &starter)?, target)
        }
    };
    if let Some(file) = target.keys_file {
        anyhow::ensure!(
            !file.exists(),
            "{} is there already; name a new file",
            file.display()
        );
    }
    let console = database::open(config, Role::Console).await?;
    let done = import(config, &console, plan, &target).await;
    database::close(&console).await;
    let report = done?;
    output.success(&report.text(), &report.object());
    Ok(())
}

async fn import(
    config: &Config,
    console: &Database,
    plan: Plan,
    target: &Target<'_>,
) -> anyhow::Result<Report> {
    if !plan.users.is_empty() {
        // Money moves into the partition of its day; the job that makes them may not be running here.
        partitions::ensure(console)
            .await
            .context("cannot create the ledger's partitions")?;
    }
    let mut tx = console.begin().await?;
    let done = write::write(&mut tx, config, plan, target).await;
    let written = match done {
        Ok(written) if target.applies => written,
        Ok(written) => {
            tx.rollback().await?;
            return Ok(written.report);
        }
        Err(error) => {
            drop(tx.rollback().await);
            return Err(error);
        }
    };
    // Before the commit: a key that is in the file and was not issued does no harm, one that was issued and
    // is in no file is lost.
    if let Some(file) = target.keys_file {
        write_keys(file, &written.key_lines)?;
    }
    let advice = "run the same command once more: it finds what was written";
    database::finish(tx, Ok(written.report), advice).await
}

fn write_keys(file: &Path, lines: &[String]) -> anyhow::Result<()> {
    let displayed = file.display();
    let mut open = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(KEYS_FILE_MODE)
        .open(file)
        .with_context(|| format!("cannot create {displayed}"))?;
    let text = format!("account,user,email,name,key\n{}", lines.concat());
    open.write_all(text.as_bytes())
        .and_then(|()| open.sync_all())
        .with_context(|| format!("cannot write {displayed}"))
}
