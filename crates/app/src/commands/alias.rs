//! `trunkline account alias set | remove | list`.

use anyhow::{Context as _, bail};
use serde_json::json;
use trunkline_db::Database;
use trunkline_gateway::CatalogSnapshot;
use trunkline_store::accounts;
use trunkline_types::AccountId;

use super::{account, action};
use crate::cli::AliasCommand;
use crate::output::Output;

pub(super) async fn run(
    database: &Database,
    command: AliasCommand,
    output: &Output,
) -> anyhow::Result<()> {
    match command {
        AliasCommand::Set { id, name, model } => {
            check(database, &name, &model).await?;
            change(database, AccountId::new(id), &name, Some(&model)).await?;
            let object = json!({ "ok": true, "account": id, "name": name, "model": model });
            let text = format!("Account {id} may call {model} by the name {name}.");
            output.success(&text, &object);
        }
        AliasCommand::Remove { id, name } => {
            if !change(database, AccountId::new(id), &name, None).await? {
                bail!("account {id} has no alias {name:?}; `trunkline account alias list {id}`");
            }
            let object = json!({ "ok": true, "account": id, "name": name });
            output.success(&format!("Alias {name} of account {id} removed."), &object);
        }
        AliasCommand::List { id } => list(database, AccountId::new(id), output).await?,
    }
    Ok(())
}

async fn list(database: &Database, id: AccountId, output: &Output) -> anyhow::Result<()> {
    let mut session = database.session().await?;
    let found = accounts::find(&mut session, id).await?;
    let found = found.with_context(|| account::unknown(id))?;
    let lines: Vec<String> = found
        .aliases
        .iter()
        .map(|(name, model)| format!("{name} -> {model}"))
        .collect();
    let text = if lines.is_empty() {
        format!("Account {id} has no aliases.")
    } else {
        lines.join("\n")
    };
    let object = json!({ "ok": true, "account": id, "aliases": found.aliases });
    output.success(&text, &object);
    Ok(())
}

/// The same rules as over HTTP: a real model keeps its name, and an alias names a real model.
async fn check(database: &Database, name: &str, model: &str) -> anyhow::Result<()> {
    let mut session = database.session().await?;
    let snapshot = CatalogSnapshot::load(&mut session).await?;
    if snapshot.book.model(name).is_some() {
        bail!("{name:?} is the name of a model; choose another alias");
    }
    if snapshot.book.model(model).is_none() {
        bail!("there is no model {model:?}; `trunkline catalog export` lists all models");
    }
    Ok(())
}

async fn change(
    database: &Database,
    id: AccountId,
    name: &str,
    model: Option<&str>,
) -> anyhow::Result<bool> {
    let mut tx = database.begin().await?;
    let done = async {
        let is_new = accounts::set_alias(&mut tx, id, name, model).await?;
        if is_new {
            let subject = format!("alias {name} of customer {id}");
            let new = action::of_account("set_alias", id, &subject, json!({ "model": model }));
            action::log(&mut tx, &new).await?;
        }
        anyhow::Ok(is_new)
    };
    let done = done.await;
    tx.finish(done).await
}
