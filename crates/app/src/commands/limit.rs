//! `trunkline limit set | remove | list` and `trunkline account limits`.

use anyhow::{Context as _, bail};
use serde_json::{Value, json};
use trunkline_db::Database;
use trunkline_store::action_log::NewAction;
use trunkline_store::limits::{self, RateLimit, Rates, Scope};
use trunkline_types::AccountId;

use super::account::unknown;
use super::{action, database};
use crate::cli::{AccountLimits, LimitOf, RateArguments, ScopeWord, SetLimit};
use crate::output::Output;
use crate::table;

const REPEAT: &str = "the command can be repeated safely";

/// Sets a limit of a model or a platform.
pub(super) async fn set(
    database: &Database,
    options: &SetLimit,
    output: &Output,
) -> anyhow::Result<()> {
    let limit = RateLimit {
        account: options.of.account.map(AccountId::new),
        scope: scope(options.of.scope),
        name: options.of.name.clone(),
        rates: rates(&options.rates),
    };
    let mut tx = database.begin().await?;
    let done = async {
        limits::set(&mut tx, &limit).await?;
        let subject = format!("limit of {}", whose(&limit));
        let new = NewAction {
            account: limit.account,
            ..action::action("set_limit", &subject, limit_json(&limit))
        };
        action::log(&mut tx, &new).await?;
        anyhow::Ok(())
    };
    let done = done.await.context("the limit was not set");
    database::finish(tx, done, REPEAT).await?;
    let text = format!("{}: {}.", whose(&limit), rates_text(&limit.rates));
    output.success(&text, &json!({ "ok": true, "limit": limit_json(&limit) }));
    Ok(())
}

pub(super) async fn remove(
    database: &Database,
    of: &LimitOf,
    output: &Output,
) -> anyhow::Result<()> {
    let account = of.account.map(AccountId::new);
    let mut tx = database.begin().await?;
    let done = async {
        let gone = limits::remove(&mut tx, account, scope(of.scope), &of.name).await?;
        if gone {
            let subject = format!("limit of {} {}", scope(of.scope).as_str(), of.name);
            let new = NewAction {
                account,
                ..action::action("remove_limit", &subject, Value::Null)
            };
            action::log(&mut tx, &new).await?;
        }
        anyhow::Ok(gone)
    };
    let done = done.await;
    let gone = database::finish(tx, done, REPEAT).await?;
    if !gone {
        bail!("limit not found; `trunkline limit list` lists all limits");
    }
    output.success("Limit removed.", &json!({ "ok": true }));
    Ok(())
}

pub(super) async fn list(database: &Database, output: &Output) -> anyhow::Result<()> {
    let mut session = database.session().await?;
    let all = limits::list(&mut session).await?;
    drop(session);
    let number = |value: Option<i64>| value.map_or_else(|| "-".to_owned(), |one| one.to_string());
    let cells: Vec<Vec<String>> = all
        .iter()
        .map(|limit| {
            vec![
                limit
                    .account
                    .map_or_else(|| "every".to_owned(), |id| id.to_string()),
                limit.scope.as_str().to_owned(),
                limit.name.clone(),
                number(limit.rates.requests_per_minute),
                number(limit.rates.tokens_per_minute),
                number(limit.rates.concurrent_calls),
            ]
        })
        .collect();
    let heads = [
        "account",
        "scope",
        "name",
        "requests/min",
        "tokens/min",
        "concurrent",
    ];
    let text = if cells.is_empty() {
        "There are no limits on models or platforms.".to_owned()
    } else {
        table::aligned(&heads, &[3, 4, 5], &cells)
    };
    let limits: Vec<Value> = all.iter().map(limit_json).collect();
    output.success(&text, &json!({ "ok": true, "limits": limits }));
    Ok(())
}

/// Sets what an account may use of everything together.
pub(super) async fn of_account(
    database: &Database,
    options: &AccountLimits,
    output: &Output,
) -> anyhow::Result<()> {
    let (id, rates) = (AccountId::new(options.id), rates(&options.rates));
    let mut tx = database.begin().await?;
    let done = async {
        let known = limits::set_account(&mut tx, id, rates).await?;
        if known {
            let subject = format!("customer {id}");
            let after = json!({ "limits": numbers(&rates) });
            let new = action::of_account("change_customer", id, &subject, after);
            action::log(&mut tx, &new).await?;
        }
        anyhow::Ok(known)
    };
    let done = done.await.context("the limits were not set");
    let is_there = database::finish(tx, done, REPEAT).await?;
    if !is_there {
        bail!(unknown(id));
    }
    let text = format!("Account {id}: {}.", rates_text(&rates));
    let object = json!({ "ok": true, "account": id, "limits": numbers(&rates) });
    output.success(&text, &object);
    Ok(())
}

const fn scope(word: ScopeWord) -> Scope {
    match word {
        ScopeWord::Model => Scope::Model,
        ScopeWord::Platform => Scope::Platform,
    }
}

const fn rates(arguments: &RateArguments) -> Rates {
    Rates {
        requests_per_minute: arguments.rpm,
        tokens_per_minute: arguments.tpm,
        concurrent_calls: arguments.concurrent,
    }
}

fn whose(limit: &RateLimit) -> String {
    let who = limit
        .account
        .map_or_else(|| "Every account".to_owned(), |id| format!("Account {id}"));
    format!("{who} with {} {}", limit.scope.as_str(), limit.name)
}

fn rates_text(rates: &Rates) -> String {
    let parts = [
        (rates.requests_per_minute, "requests per minute"),
        (rates.tokens_per_minute, "tokens per minute"),
        (rates.concurrent_calls, "concurrent calls"),
    ];
    let parts = parts
        .into_iter()
        .filter_map(|(number, what)| Some(format!("{} {what}", number?)));
    let parts: Vec<String> = parts.collect();
    if parts.is_empty() {
        return "no limits".to_owned();
    }
    parts.join(", ")
}

fn numbers(rates: &Rates) -> Value {
    json!({
        "requests_per_minute": rates.requests_per_minute,
        "tokens_per_minute": rates.tokens_per_minute,
        "concurrent_calls": rates.concurrent_calls,
    })
}

fn limit_json(limit: &RateLimit) -> Value {
    json!({
        "account": limit.account,
        "scope": limit.scope.as_str(),
        "name": limit.name,
        "limits": numbers(&limit.rates),
    })
}
