//! `trunkline account create | show | statement | low-balance`.

use anyhow::{Context as _, bail};
use serde_json::{Value, json};
use trunkline_db::{Database, DbError, Tx};
use trunkline_ledger::accounts::{self as ledger_accounts, AccountKind, Balance};
use trunkline_ledger::statement;
use trunkline_store::accounts::{self, Account, NewAccount};
use trunkline_types::{AccountId, Money};

use super::{action, database, format};
use crate::cli::{CreateAccount, Kind, Limit};
use crate::output::Output;
use crate::{random, table};

/// Makes an account, in the ledger and beside it.
pub(super) async fn create(
    database: &Database,
    new: &CreateAccount,
    output: &Output,
) -> anyhow::Result<()> {
    let mut tx = database.begin().await?;
    let done = create_in(&mut tx, new).await;
    let advice =
        "the command can be repeated safely: an account that was created and not printed is unused";
    let id = database::finish(tx, done, advice).await?;
    let (account, balance) = read(database, id).await?;
    let text = format!(
        "Account {id} created: {}, {}, group {}.\nNext: `trunkline topup {id} AMOUNT_USD`, `trunkline key create {id} --name NAME`.",
        account.name,
        balance.kind.as_str(),
        account.group
    );
    let object = json!({ "ok": true, "account": format::account(&account, &balance) });
    output.success(&text, &object);
    Ok(())
}

pub(super) async fn create_in(tx: &mut Tx, new: &CreateAccount) -> anyhow::Result<AccountId> {
    let kind = match new.kind {
        Kind::Live => AccountKind::Live,
        Kind::Test => AccountKind::Test,
    };
    let id = ledger_accounts::create_account(tx, kind).await?;
    let account = NewAccount {
        id,
        name: &new.name,
        group: &new.group,
        allowed_groups: &new.allowed_groups,
        shard: random::shard()?,
    };
    accounts::create(tx, &account)
        .await
        .context("the account was not created")?;
    let subject = format!("customer {id} {}", new.name);
    let after = json!({ "name": new.name, "group": new.group, "kind": kind.as_str() });
    action::log(
        tx,
        &action::of_account("create_customer", id, &subject, after),
    )
    .await?;
    Ok(id)
}

/// Shows an account with its wallets and budgets.
pub(super) async fn show(database: &Database, id: i64, output: &Output) -> anyhow::Result<()> {
    let id = AccountId::new(id);
    let (account, balance) = read(database, id).await?;
    let budgets = statement::budgets(database, id, &[]).await?;
    let closed = match (account.closed_at, account.suspended_at) {
        (Some(_), _) => ", closed",
        (None, Some(_)) => ", suspended",
        (None, None) => "",
    };
    let mut lines = vec![
        format!(
            "Account {id}: {} ({}{closed})",
            account.name,
            balance.kind.as_str()
        ),
        format!(
            "  paid    {} USD, {} of it held",
            balance.paid, balance.paid_held
        ),
        format!(
            "  trial   {} USD, {} of it held",
            balance.trial, balance.trial_held
        ),
        format!("  group   {}", account.group),
    ];
    if !account.allowed_groups.is_empty() {
        lines.push(format!(
            "          keys may also name {}",
            account.allowed_groups.join(", ")
        ));
    }
    let mark = balance.low_balance_threshold;
    if let Some(mark) = mark {
        let now = if balance.is_low {
            ", currently below"
        } else {
            ""
        };
        lines.push(format!("  alert   below {mark} USD{now}"));
    }
    lines.extend(
        budgets
            .iter()
            .map(|budget| format!("  budget  {}", format::budget_line(budget))),
    );
    let object = json!({
        "ok": true,
        "account": format::account(&account, &balance),
        "balance": format::balance(&balance),
        "low_balance_usd": mark.map(|mark| mark.to_string()),
        "budgets": budgets.iter().map(format::budget).collect::<Vec<Value>>(),
    });
    output.success(&lines.join("\n"), &object);
    Ok(())
}

/// Shows what happened to an account's money.
pub(super) async fn statement(
    database: &Database,
    id: i64,
    limit: u32,
    output: &Output,
) -> anyhow::Result<()> {
    let id = AccountId::new(id);
    let statement = statement::read(database, id, limit)
        .await?
        .with_context(|| unknown(id))?;
    let cells: Vec<Vec<String>> = statement.entries.iter().map(format::entry_cells).collect();
    let heads = [
        "at",
        "what",
        "paid",
        "trial",
        "paid after",
        "trial after",
        "request",
        "details",
    ];
    let text = if cells.is_empty() {
        format!("Account {id} has no transactions yet.")
    } else {
        table::aligned(&heads, &[2, 3, 4, 5], &cells)
    };
    let entries: Vec<Value> = statement.entries.iter().map(format::entry).collect();
    let object = json!({
        "ok": true,
        "account": id,
        "paid_usd": format::usd(statement.paid),
        "trial_usd": format::usd(statement.trial),
        "entries": entries,
    });
    output.success(&text, &object);
    Ok(())
}

/// Sets the balance below which an account is told so.
pub(super) async fn low_balance(
    database: &Database,
    id: i64,
    Limit(mark): Limit,
    output: &Output,
) -> anyhow::Result<()> {
    let id = AccountId::new(id);
    if mark.is_some_and(|mark| mark <= Money::ZERO) {
        bail!("the threshold must be greater than zero; `none` removes it");
    }
    let mut tx = database.begin().await?;
    let done = async {
        let known = ledger_accounts::set_low_balance(&mut tx, id, mark).await?;
        if known {
            let subject = format!("customer {id}");
            let after = json!({ "low_balance_usd": mark.map(|mark| mark.to_string()) });
            let new = action::of_account("change_customer", id, &subject, after);
            action::log(&mut tx, &new).await?;
        }
        Ok::<_, DbError>(known)
    };
    let done = done.await;
    if !tx.finish(done).await? {
        bail!(unknown(id));
    }
    let text = match mark {
        Some(mark) => format!("Account {id}: low-balance alert set to {mark} USD."),
        None => format!("Account {id}: low-balance alert removed."),
    };
    let object = json!({
        "ok": true,
        "account": id,
        "low_balance_usd": mark.map(|mark| mark.to_string()),
    });
    output.success(&text, &object);
    Ok(())
}

pub(super) async fn read(database: &Database, id: AccountId) -> anyhow::Result<(Account, Balance)> {
    let mut session = database.session().await?;
    let account = accounts::find(&mut session, id).await?;
    drop(session);
    let account = account.with_context(|| unknown(id))?;
    let balance = ledger_accounts::balance(database, id)
        .await?
        .with_context(|| unknown(id))?;
    Ok((account, balance))
}

/// What is said of an account that is not there.
pub(super) fn unknown(id: AccountId) -> String {
    format!("there is no account {id}; `trunkline account create` creates one and prints its id")
}
