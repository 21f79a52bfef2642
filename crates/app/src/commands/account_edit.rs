//! `trunkline account list | group | routes | suspend | resume`.

use anyhow::bail;
use serde_json::{Value, json};
use trunkline_db::Database;
use trunkline_store::account_routes::AccountRoutes;
use trunkline_store::accounts::{self, Account};
use trunkline_types::AccountId;

use super::{account, action, database, format};
use crate::cli::{AccountRoutesArguments, SearchAccounts};
use crate::output::Output;
use crate::{table, times};

const ADVICE: &str = "`trunkline account show` shows what is in force; it is safe to repeat this";

/// Lists accounts in the order of their numbers.
pub(super) async fn list(
    database: &Database,
    options: &SearchAccounts,
    output: &Output,
) -> anyhow::Result<()> {
    let after = AccountId::new(options.after);
    let mut session = database.session().await?;
    let found = accounts::search(&mut session, &options.search, None, after, options.limit).await?;
    drop(session);
    let full = u32::try_from(found.len()).is_ok_and(|count| count == options.limit);
    let next = found.last().filter(|_| full).map(|one| one.id.number());
    let mut text = if found.is_empty() {
        "No account matches.".to_owned()
    } else {
        let cells: Vec<Vec<String>> = found.iter().map(cells).collect();
        table::aligned(&["id", "name", "group", "state", "since"], &[0], &cells)
    };
    if let Some(next) = next {
        text.push_str(&format!("\nThere may be more: --after {next}"));
    }
    let rows: Vec<Value> = found.iter().map(row).collect();
    let object = json!({ "ok": true, "accounts": rows, "next_after": next });
    output.success(&text, &object);
    Ok(())
}

/// Puts an account into another group.
pub(super) async fn group(
    database: &Database,
    id: i64,
    group: &str,
    allowed_groups: Option<&[String]>,
    output: &Output,
) -> anyhow::Result<()> {
    let id = AccountId::new(id);
    let mut tx = database.begin().await?;
    let done = async {
        let known = accounts::set_group(&mut tx, id, group, allowed_groups).await?;
        if known {
            let subject = format!("customer {id}");
            let after = json!({ "group": group, "allowed_groups": allowed_groups });
            let new = action::of_account("change_customer", id, &subject, after);
            action::log(&mut tx, &new).await?;
        }
        anyhow::Ok(known)
    };
    let done = done.await;
    if !database::finish(tx, done, ADVICE).await? {
        bail!(account::unknown(id));
    }
    report(
        database,
        id,
        &format!("Account {id} is in group {group}."),
        output,
    )
    .await
}

/// Sets which routes an account is served by.
pub(super) async fn routes(
    database: &Database,
    id: i64,
    arguments: AccountRoutesArguments,
    output: &Output,
) -> anyhow::Result<()> {
    let id = AccountId::new(id);
    let routes = AccountRoutes {
        policy: arguments.policy,
        max_price: arguments.max_price.unwrap_or_default(),
        residencies: arguments.residencies,
        upstream_zero_retention: arguments.upstream_zero_retention,
    };
    let mut tx = database.begin().await?;
    let done = accounts::set_routes(&mut tx, id, &routes).await;
    let done = done.map_err(anyhow::Error::from);
    if !database::finish(tx, done, ADVICE).await? {
        bail!(account::unknown(id));
    }
    let text = format!("Account {id}: {}.", format::routes_text(&routes));
    report(database, id, &text, output).await
}

/// Suspends an account, or resumes it.
pub(super) async fn suspend(
    database: &Database,
    id: i64,
    suspended: bool,
    output: &Output,
) -> anyhow::Result<()> {
    let id = AccountId::new(id);
    let mut tx = database.begin().await?;
    let done = async {
        let changed = accounts::set_suspended(&mut tx, id, suspended).await?;
        if changed {
            let name = if suspended {
                "suspend_customer"
            } else {
                "resume_customer"
            };
            let subject = format!("customer {id}");
            let new = action::of_account(name, id, &subject, json!({ "suspended": suspended }));
            action::log(&mut tx, &new).await?;
        }
        anyhow::Ok(changed)
    };
    let done = done.await;
    let changed = database::finish(tx, done, ADVICE).await?;
    let text = match (suspended, changed) {
        (true, true) => format!("Account {id} is suspended; its keys are refused within seconds."),
        (false, true) => format!("Account {id} is resumed; its keys are accepted within seconds."),
        (true, false) => format!("Account {id} was suspended before; nothing was done."),
        (false, false) => format!("Account {id} is not suspended; nothing was done."),
    };
    report(database, id, &text, output).await
}

/// Says what an account is after a change.
async fn report(
    database: &Database,
    id: AccountId,
    text: &str,
    output: &Output,
) -> anyhow::Result<()> {
    let (account, balance) = account::read(database, id).await?;
    let object = json!({ "ok": true, "account": format::account(&account, &balance) });
    output.success(text, &object);
    Ok(())
}

fn row(account: &Account) -> Value {
    json!({
        "id": account.id,
        "name": account.name,
        "group": account.group,
        "allowed_groups": account.allowed_groups,
        "created_at": times::rfc3339(account.created_at),
        "topped_up_at": account.topped_up_at.map(times::rfc3339),
        "closed_at": account.closed_at.map(times::rfc3339),
        "suspended_at": account.suspended_at.map(times::rfc3339),
    })
}

fn cells(account: &Account) -> Vec<String> {
    let state = match (account.closed_at, account.suspended_at) {
        (Some(_), _) => "closed",
        (None, Some(_)) => "suspended",
        (None, None) => "active",
    };
    vec![
        account.id.number().to_string(),
        account.name.clone(),
        account.group.clone(),
        state.to_owned(),
        times::short(account.created_at),
    ]
}
