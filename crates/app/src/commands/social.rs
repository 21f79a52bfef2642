//! `trunkline social list | pause | resume | events | price`: the operator's side of social data.

mod list;
mod price;

use std::process::ExitCode;

use anyhow::bail;
use serde_json::{Value, json};
use trunkline_db::{Database, DbError, Role, Tx};
use trunkline_social::{Capability, Cell, Cells};
use trunkline_store::action_log::NewAction;
use trunkline_store::cell_pauses::{self, PauseEvent, PausedBy};

use super::{action, database};
use crate::cli::{PauseCell, ResumeCell, SocialCommand};
use crate::config::Config;
use crate::output::Output;
use crate::{table, times};

/// Characters of a wrong name that are shown back.
const SHOWN_CHARACTERS: usize = 100;

/// Does what is asked, in the database as `trunkline_console`.
pub(super) async fn run(
    config: &Config,
    command: SocialCommand,
    output: &Output,
) -> anyhow::Result<ExitCode> {
    let cells = crate::social::cells(config)?;
    let console = database::open(config, Role::Console).await?;
    let done = run_command(&console, &cells, command, output).await;
    database::close(&console).await;
    done?;
    Ok(ExitCode::SUCCESS)
}

async fn run_command(
    console: &Database,
    cells: &Cells,
    command: SocialCommand,
    output: &Output,
) -> anyhow::Result<()> {
    match command {
        SocialCommand::List { platform } => {
            list::run(console, cells, platform.as_deref(), output).await
        }
        SocialCommand::Pause(options) => pause(console, cells, &options, output).await,
        SocialCommand::Resume(options) => resume(console, cells, &options, output).await,
        SocialCommand::Events { limit } => events(console, limit, output).await,
        SocialCommand::Price(options) => price::run(console, cells, &options, output).await,
    }
}

async fn pause(
    console: &Database,
    cells: &Cells,
    options: &PauseCell,
    output: &Output,
) -> anyhow::Result<()> {
    let PauseCell {
        platform,
        capability,
        reason,
    } = options;
    let cell = known(cells, platform, capability)?;
    let mut tx = console.begin().await?;
    let done = cell_pauses::pause(&mut tx, platform, capability, reason, PausedBy::Operator).await;
    let done = logged(&mut tx, "pause_cell", &cell.model, reason, done).await;
    let is_new = finish(tx, done).await?;
    let text = if is_new {
        format!("{} is paused: calls return 503.", cell.model)
    } else {
        format!(
            "{} is already paused; its first reason is kept and nothing was changed.",
            cell.model
        )
    };
    output.success(&text, &result_json(cell.model.as_str(), "paused", is_new));
    Ok(())
}

async fn resume(
    console: &Database,
    cells: &Cells,
    options: &ResumeCell,
    output: &Output,
) -> anyhow::Result<()> {
    let ResumeCell {
        platform,
        capability,
        reason,
    } = options;
    let mut tx = console.begin().await?;
    let done = cell_pauses::resume(&mut tx, platform, capability, reason, PausedBy::Operator).await;
    let subject = format!("social-{platform}-{capability}");
    let done = logged(&mut tx, "resume_cell", &subject, reason, done).await;
    let is_new = finish(tx, done).await?;
    // A pause may outlive the file of its platform, and is taken away all the same.
    let model = match known(cells, platform, capability) {
        Ok(cell) => cell.model.clone(),
        Err(_) if is_new => format!("social-{platform}-{capability}"),
        Err(unknown) => return Err(unknown),
    };
    let text = if is_new {
        format!("{model} resumed.")
    } else {
        format!("{model} is not paused; nothing was changed.")
    };
    output.success(&text, &result_json(&model, "resumed", is_new));
    Ok(())
}

fn result_json(model: &str, what: &str, is_new: bool) -> Value {
    json!({ "ok": true, "model": model, "what": what, "done_now": is_new })
}

/// Writes what was done now to the log of actions.
async fn logged(
    tx: &mut Tx,
    name: &str,
    subject: &str,
    reason: &str,
    done: Result<bool, DbError>,
) -> Result<bool, DbError> {
    let is_new = done?;
    if is_new {
        let new = NewAction {
            reason: Some(reason),
            ..action::action(name, subject, Value::Null)
        };
        action::log(tx, &new).await?;
    }
    Ok(is_new)
}

async fn finish(tx: Tx, done: Result<bool, DbError>) -> anyhow::Result<bool> {
    let advice = "`trunkline social events` shows what was done; it is safe to repeat this";
    database::finish(tx, done.map_err(anyhow::Error::from), advice).await
}

async fn events(console: &Database, limit: i64, output: &Output) -> anyhow::Result<()> {
    let mut session = console.session().await?;
    let events = cell_pauses::events(&mut session, limit).await?;
    let row = |event: &PauseEvent| {
        vec![
            event.number.to_string(),
            times::short(event.at),
            event.platform.clone(),
            event.capability.clone(),
            event.action.as_str().to_owned(),
            event.by.as_str().to_owned(),
            event.reason.clone(),
        ]
    };
    let object = |event: &PauseEvent| {
        json!({
            "number": event.number,
            "at": times::rfc3339(event.at),
            "platform": event.platform,
            "capability": event.capability,
            "what": event.action.as_str(),
            "by": event.by.as_str(),
            "reason": event.reason,
        })
    };
    let text = if events.is_empty() {
        "No cell was ever paused.".to_owned()
    } else {
        let heads = [
            "number",
            "at",
            "platform",
            "capability",
            "what",
            "by",
            "reason",
        ];
        let rows: Vec<Vec<String>> = events.iter().map(row).collect();
        table::aligned(&heads, &[0], &rows)
    };
    let objects: Vec<Value> = events.iter().map(object).collect();
    output.success(&text, &json!({ "ok": true, "events": objects }));
    Ok(())
}

/// A cell by its names, or the names there are.
fn known<'a>(cells: &'a Cells, platform: &str, capability: &str) -> anyhow::Result<&'a Cell> {
    check_platform(cells, platform)?;
    if let Some(cell) = cells.get(platform, capability) {
        return Ok(cell);
    }
    let has = Capability::ALL
        .iter()
        .map(|one| one.as_str())
        .filter(|word| cells.get(platform, word).is_some());
    bail!(
        "{platform} has no capability {:?}; it has {}",
        cut(capability),
        has.collect::<Vec<_>>().join(", ")
    )
}

fn check_platform(cells: &Cells, platform: &str) -> anyhow::Result<()> {
    if cells.knows(platform) {
        return Ok(());
    }
    let mut keys: Vec<&str> = cells.all().map(|cell| cell.platform.key.as_str()).collect();
    keys.dedup();
    bail!(
        "there is no platform {:?}; there are {}, and a file in social.cells adds one",
        cut(platform),
        keys.join(", ")
    )
}

fn cut(text: &str) -> String {
    text.chars().take(SHOWN_CHARACTERS).collect()
}
