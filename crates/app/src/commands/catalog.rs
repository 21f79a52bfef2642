//! `trunkline catalog`: what is sold, changed as a whole or one price at a time.

mod diff;
mod lint;
mod source;
mod stale;
mod sync;

use std::process::ExitCode;

use anyhow::Context as _;
use serde_json::json;
use trunkline_catalog::{Book, Entry, Faces};
use trunkline_db::{Database, Role};
use trunkline_gateway::{CatalogSnapshot, Change, ChangeAuthor, Published, publish};
use trunkline_store::action_log::NewAction;
use trunkline_store::catalog;
use trunkline_types::UnitPrice;

use super::{action, database};
use crate::cli::{CatalogDbCommand, CatalogFiles, ImportCatalog, SetPrice};
use crate::config::Config;
use crate::output::Output;

/// Runs a word that files are enough for.
pub(super) fn on_files(command: CatalogFiles, output: &Output) -> anyhow::Result<ExitCode> {
    match command {
        CatalogFiles::Lint { files } => lint::run(&files, output),
        CatalogFiles::Stale { days, files } => stale::run(&files, days, output),
    }
}

/// Runs a word that is for the database.
pub(super) async fn run(
    config: &Config,
    command: CatalogDbCommand,
    output: &Output,
) -> anyhow::Result<ExitCode> {
    let console = database::open(config, Role::Console).await?;
    let done = run_command(&console, command, output).await;
    database::close(&console).await;
    done
}

async fn run_command(
    console: &Database,
    command: CatalogDbCommand,
    output: &Output,
) -> anyhow::Result<ExitCode> {
    match command {
        CatalogDbCommand::Import(options) => import(console, &options, output).await?,
        CatalogDbCommand::Export => export(console, output).await?,
        CatalogDbCommand::Diff(options) => return diff::run(console, &options, output).await,
        CatalogDbCommand::SetPrice(options) => set_price(console, &options, output).await?,
        CatalogDbCommand::Sync(options) => return sync::run(console, &options, output).await,
        CatalogDbCommand::History { limit } => history(console, limit, output).await?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes a change, or says why it is refused.
pub(super) async fn write(
    console: &Database,
    note: &str,
    change: impl FnOnce(&Book) -> Change,
) -> anyhow::Result<Published> {
    let signed = ChangeAuthor {
        author: "command line",
        note,
    };
    let mut tx = console.begin().await?;
    let done = async {
        let done = publish(&mut tx, signed, change).await?;
        if done.after.revision != done.before.revision {
            let subject = format!("catalog revision {}", done.after.revision);
            let version = |book: &Book| json!({ "pricing_version": book.version().to_string() });
            let new = NewAction {
                before: Some(version(&done.before.book)),
                reason: Some(note),
                ..action::action("publish_prices", &subject, version(&done.after.book))
            };
            action::log(&mut tx, &new).await?;
        }
        anyhow::Ok(done)
    };
    let done = done.await;
    tx.finish(done).await
}

async fn import(
    console: &Database,
    options: &ImportCatalog,
    output: &Output,
) -> anyhow::Result<()> {
    let document = source::read(&options.source)?;
    let replace = options.source.replace;
    let done = write(console, &options.note, |before| {
        source::change(document, before, replace)
    })
    .await?;
    tell(&done, output);
    Ok(())
}

fn tell(done: &Published, output: &Output) {
    let version = done.after.book.version().to_string();
    let text = if done.after.revision == done.before.revision {
        "Nothing changed.".to_owned()
    } else {
        format!(
            "Change {}: {} models changed, {} in total. Price version {version}.",
            done.after.revision,
            done.models,
            done.after.book.count()
        )
    };
    let object = json!({
        "ok": true,
        "revision": done.after.revision,
        "changed": done.models,
        "models": done.after.book.count(),
        "pricing_version": version,
    });
    output.success(&text, &object);
}

async fn export(console: &Database, output: &Output) -> anyhow::Result<()> {
    let snapshot = CatalogSnapshot::load(&mut console.session().await?).await?;
    let document = snapshot.book.document();
    let text = toml::to_string(&document).context("the catalog cannot be written as TOML")?;
    output.success(text.trim_end(), &serde_json::to_value(&document)?);
    Ok(())
}

async fn set_price(console: &Database, options: &SetPrice, output: &Output) -> anyhow::Result<()> {
    let mut prices = Faces::new();
    for (face, pico) in &options.prices {
        prices.insert(*face, UnitPrice::from_pico(*pico)?);
    }
    // What is wrong with it shows on the catalog as it is then; in that case nothing is changed.
    let mut wrong = None;
    let done = write(console, &options.note, |before| {
        let mut change = Change::default();
        match repriced(before, options, &prices) {
            Ok(entry) => drop(change.models.insert(options.model.clone(), Some(entry))),
            Err(error) => wrong = Some(error),
        }
        change
    })
    .await?;
    if let Some(wrong) = wrong {
        return Err(wrong);
    }
    tell(&done, output);
    Ok(())
}

fn repriced(before: &Book, options: &SetPrice, prices: &Faces) -> anyhow::Result<Entry> {
    let model = before.model(&options.model);
    let model = model.with_context(|| format!("there is no model {:?}", options.model))?;
    let mut entry = model.entry().clone();
    let list = &mut entry.prices;
    let (standard, paid) = match &options.tier {
        None => (&mut list.standard, &mut list.paid),
        Some(name) => {
            let tier = list.tiers.iter_mut().find(|tier| tier.tier == *name);
            let tier = tier.with_context(|| format!("it has no tier {name:?}"))?;
            (&mut tier.standard, &mut tier.paid)
        }
    };
    // The price column of paid accounts starts as the general price.
    let column = if options.paid {
        paid.get_or_insert_with(|| standard.clone())
    } else {
        standard
    };
    column.extend(prices);
    Ok(entry)
}

async fn history(console: &Database, limit: i64, output: &Output) -> anyhow::Result<()> {
    let changes = catalog::history(&mut *console.session().await?, limit).await?;
    let hex = |bytes: &[u8]| -> String { bytes.iter().map(|byte| format!("{byte:02x}")).collect() };
    let line = |change: &catalog::Change| {
        let version: String = hex(&change.pricing_version).chars().take(12).collect();
        let time = crate::times::short(change.created_at);
        format!(
            "{:>6}  {time}  {version}  {}  {}",
            change.revision, change.author, change.note
        )
    };
    let lines: Vec<String> = changes.iter().map(line).collect();
    let rows: Vec<serde_json::Value> = changes
        .iter()
        .map(|change| {
            json!({
                "revision": change.revision,
                "pricing_version": hex(&change.pricing_version),
                "author": change.author,
                "note": change.note,
                "created_at": crate::times::short(change.created_at),
            })
        })
        .collect();
    let text = if lines.is_empty() {
        "There is no catalog yet; see `trunkline catalog import`.".to_owned()
    } else {
        lines.join("\n")
    };
    output.success(&text, &json!({ "ok": true, "changes": rows }));
    Ok(())
}
