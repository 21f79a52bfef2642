//! `trunkline statement`: writes an account's signed statement to a file.

use std::fs::{self, File};
use std::io::{BufWriter, Write as _};

use anyhow::Context as _;
use serde_json::json;
use trunkline_db::{Database, Role};
use trunkline_ledger::chain::StatementReader;
use trunkline_receipts::SigningKey;
use trunkline_types::AccountId;

use super::{database, keyring};
use crate::cli::StatementArguments;
use crate::config::Config;
use crate::output::Output;

pub(super) async fn run(
    config: &Config,
    options: &StatementArguments,
    output: &Output,
) -> anyhow::Result<()> {
    let database = database::open(config, Role::Console).await?;
    let written = write(config, &database, options).await;
    database::close(&database).await;
    let (days, lines) = written?;
    let path = options.output.display();
    let text = format!(
        "Statement of account {} written to {path}: days {days}, lines {lines}.\n\
         Next: `trunkline verify {path}`.",
        options.id
    );
    let object = json!({
        "ok": true, "account": options.id, "file": path.to_string(), "days": days, "lines": lines,
    });
    output.success(&text, &object);
    Ok(())
}

/// How many days and lines it has.
async fn write(
    config: &Config,
    database: &Database,
    options: &StatementArguments,
) -> anyhow::Result<(u64, u64)> {
    let seed = keyring::open(config)?.statement_seed();
    let key = SigningKey::from_seed(seed.reveal()).context("the keyring's seed makes no key")?;
    let account = AccountId::new(options.id);
    let opened = StatementReader::open(database, account, options.from, options.to, &key).await;
    let mut reader = opened?;
    let path = &options.output;
    let file = File::create_new(path);
    let file = file.with_context(|| format!("{} cannot be written", path.display()))?;
    let copied = copy(&mut reader, BufWriter::new(file)).await;
    if copied.is_err() {
        // Half a statement is none.
        drop(fs::remove_file(path));
    }
    copied?;
    Ok((reader.days(), reader.lines()))
}

async fn copy(reader: &mut StatementReader, mut file: BufWriter<File>) -> anyhow::Result<()> {
    while let Some(piece) = reader.next_piece().await? {
        file.write_all(piece.as_bytes())?;
    }
    file.flush()?;
    file.get_ref().sync_all()?;
    Ok(())
}
