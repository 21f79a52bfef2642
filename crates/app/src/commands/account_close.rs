//! `trunkline account close`: all that is stored of an account goes into a file; then it is closed.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write as _};

use anyhow::{Context as _, bail};
use serde_json::{Value, json};
use trunkline_db::Database;
use trunkline_ledger::accounts::Balance;
use trunkline_ledger::statement;
use trunkline_ledger::usage_report::{self, Call, CallsQuery, MAX_CALLS, UsageFilter, UtcDay};
use trunkline_store::account_close::{self, CloseAnswer};
use trunkline_store::accounts::Account;
use trunkline_store::keys::{self, Key, PAGE_MAX_ROWS};
use trunkline_store::{people, tasks};
use trunkline_types::{AccountId, Money};

use super::{account, database, format};
use crate::cli::CloseAccount;
use crate::output::Output;
use crate::times;

const ADVICE: &str = "`trunkline account show` shows whether it is closed; it is safe to repeat this \
                      with another file";
/// Videos of a page.
const TASKS: i64 = 500;

/// Exports an account and closes it.
pub(super) async fn run(
    database: &Database,
    options: &CloseAccount,
    output: &Output,
) -> anyhow::Result<()> {
    let id = AccountId::new(options.id);
    let (found, balance) = account::read(database, id).await?;
    check(options, &found, &balance)?;
    let path = options.export.display();
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&options.export)
        .with_context(|| format!("{path} cannot be made; it must be a new file"))?;
    let mut export = Export {
        file: BufWriter::new(file),
    };
    let written = export.write(database, &found, &balance).await;
    let calls =
        written.with_context(|| format!("the export to {path} failed; nothing was closed"))?;
    let mut tx = database.begin().await?;
    let done = async {
        let answer = account_close::close(&mut tx, id, keys::OPERATOR).await?;
        if matches!(answer, CloseAnswer::Done { .. }) {
            account_close::erase(&mut tx, id).await?;
        }
        Ok(answer)
    };
    let done = done.await;
    let answer = database::finish(tx, done, ADVICE).await?;
    let keys = match answer {
        CloseAnswer::Done { keys } => keys,
        CloseAnswer::Before => bail!("account {id} was closed before"),
        CloseAnswer::UnknownAccount => bail!(account::unknown(id)),
        CloseAnswer::Running(count) => {
            bail!(
                "account {id} has {count} videos that are not done; wait for them, or cancel them"
            )
        }
    };
    let text = format!(
        "Account {id} is closed: {keys} keys ended, {calls} calls exported to {path}.\n\
         Its names, webhooks and emails are erased; a worker erases its prompts and files within minutes."
    );
    let object = json!({
        "ok": true, "account": id, "keys_ended": keys, "calls_exported": calls,
        "export": options.export,
    });
    output.success(&text, &object);
    Ok(())
}

fn check(options: &CloseAccount, found: &Account, balance: &Balance) -> anyhow::Result<()> {
    let id = found.id;
    if found.closed_at.is_some() {
        bail!("account {id} was closed before");
    }
    if balance.paid_held != Money::ZERO || balance.trial_held != Money::ZERO {
        bail!("account {id} has calls that run: suspend it, and close it when they have ended");
    }
    let left = balance.paid.nanos().saturating_add(balance.trial.nanos());
    if left > 0 && !options.forfeit {
        bail!(
            "account {id} has {} USD paid and {} USD of trial money; pay it back, or add --forfeit",
            balance.paid,
            balance.trial
        );
    }
    if !options.yes {
        bail!(
            "account {id} ({}) cannot be opened again; add --yes if that is meant",
            found.name
        );
    }
    Ok(())
}

/// One JSON document, written as it is read: calls may be millions.
struct Export {
    file: BufWriter<File>,
}

impl Export {
    async fn write(
        &mut self,
        database: &Database,
        account: &Account,
        balance: &Balance,
    ) -> anyhow::Result<u64> {
        let now = database::now(database).await?;
        let mut session = database.session().await?;
        let members = people::members(&mut session, account.id).await?;
        drop(session);
        let members: Vec<Value> = members
            .iter()
            .map(|one| json!({ "email": one.email, "name": one.name, "role": one.role.as_str() }))
            .collect();
        let keys = all_keys(database, account.id).await?;
        let ids: Vec<_> = keys.iter().map(|key| key.id).collect();
        let budgets = statement::budgets(database, account.id, &ids).await?;
        let keys: Vec<Value> = keys
            .iter()
            .map(|key| format::key(key, now, &budgets))
            .collect();
        let entries = statement::read(database, account.id, statement::MAX_ENTRIES).await?;
        let entries = entries.map(|all| all.entries).unwrap_or_default();
        let entries: Vec<Value> = entries.iter().map(format::entry).collect();
        let head = json!({
            "account": format::account(account, balance),
            "balance": format::balance(balance),
            "aliases": account.aliases,
            "members": members,
            "keys": keys,
            "newest_entries": entries,
            "tasks": all_tasks(database, account.id).await?,
        });
        let head = head.to_string();
        let open = head.strip_suffix('}').unwrap_or(&head);
        write!(self.file, "{open},\"calls\":[")?;
        let calls = self.write_calls(database, account).await?;
        writeln!(self.file, "]}}")?;
        self.file.flush()?;
        self.file.get_ref().sync_all()?;
        Ok(calls)
    }

    async fn write_calls(&mut self, database: &Database, account: &Account) -> anyhow::Result<u64> {
        let from = times::rfc3339(account.created_at);
        let from = from.split('T').next().unwrap_or_default();
        let mut query = CallsQuery {
            filter: UsageFilter {
                account: account.id,
                below: None,
                key: None,
                model: None,
                from: UtcDay::parse(from).context("the account's first day")?,
                to: usage_report::today(database).await?,
            },
            before: None,
            limit: MAX_CALLS,
        };
        let mut count: u64 = 0;
        loop {
            let page = usage_report::calls(database, &query).await?;
            let Some(last) = page.last() else {
                return Ok(count);
            };
            query.before = Some(last.request);
            for call in &page {
                let comma = if count == 0 { "" } else { "," };
                write!(self.file, "{comma}\n{}", call_view(call))?;
                count = count.saturating_add(1);
            }
        }
    }
}

async fn all_keys(database: &Database, account: AccountId) -> anyhow::Result<Vec<Key>> {
    let mut session = database.session().await?;
    let mut all: Vec<Key> = Vec::new();
    loop {
        let after = all.last().map(|key| key.id);
        let page = keys::list(&mut session, account, after, PAGE_MAX_ROWS).await?;
        if page.is_empty() {
            return Ok(all);
        }
        all.extend(page);
    }
}

async fn all_tasks(database: &Database, account: AccountId) -> anyhow::Result<Vec<Value>> {
    let mut session = database.session().await?;
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let page = tasks::page(&mut session, account, after, false, TASKS).await?;
        let Some(last) = page.last() else {
            return Ok(all);
        };
        after = Some(last.id);
        all.extend(page.iter().map(|task| {
            json!({
                "id": task.id, "model": task.model, "state": task.state.as_str(),
                "amount_usd": task.amount.to_string(), "size": task.size, "seconds": task.seconds,
                "created_at": times::rfc3339(task.created_at),
            })
        }));
    }
}

fn call_view(call: &Call) -> Value {
    json!({
        "request_id": call.request.to_string(),
        "opened_at": times::rfc3339(call.opened_at),
        "settled_at": times::rfc3339(call.settled_at),
        "key": call.key.map(|key| key.number()),
        "model": call.model,
        "group": call.group,
        "endpoint": call.endpoint,
        "outcome": call.outcome,
        "estimated": call.estimated,
        "units": call.units,
        "paid_usd": call.paid.to_string(),
        "trial_usd": call.trial.to_string(),
        "refunded_usd": call.refunded.to_string(),
    })
}
