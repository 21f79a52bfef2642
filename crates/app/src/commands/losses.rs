//! `trunkline losses`: what upstreams may bill and customers do not pay, and which accounts are above a threshold.

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::Context as _;
use serde_json::{Value, json};
use trunkline_db::Role;
use trunkline_ledger::losses::{self, AccountLosses, LossTotals};
use trunkline_types::{AccountId, Money};

use super::database;
use crate::cli::LossArguments;
use crate::config::Config;
use crate::output::Output;
use crate::table;

const HEADS: [&str; 6] = [
    "account",
    "kind",
    "calls",
    "usd",
    "calls today",
    "usd today",
];
const NUMBERS: [usize; 5] = [0, 2, 3, 4, 5];

/// An account that is above a threshold today.
struct Alarm {
    account: AccountId,
    calls: i64,
    sale: Money,
}

/// Lists the losses. The exit code says whether an account is above a threshold.
pub(super) async fn run(
    config: &Config,
    arguments: &LossArguments,
    output: &Output,
) -> anyhow::Result<ExitCode> {
    let database = database::open(config, Role::Audit).await?;
    let losses = losses::by_account(&database, arguments.days).await;
    database::close(&database).await;
    let losses = losses.context("cannot read the losses")?;
    let alarms = alarms(&losses, arguments);
    let object = json!({
        "ok": alarms.is_empty(),
        "days": arguments.days,
        "losses": losses.iter().map(line).collect::<Vec<Value>>(),
        "alarms": alarms.iter().map(alarm).collect::<Vec<Value>>(),
    });
    let text = text(&losses, &alarms);
    if alarms.is_empty() {
        output.success(&text, &object);
        return Ok(ExitCode::SUCCESS);
    }
    output.finding(&text, &object);
    Ok(ExitCode::FAILURE)
}

/// Accounts above a threshold today, all kinds together.
fn alarms(losses: &[AccountLosses], arguments: &LossArguments) -> Vec<Alarm> {
    let mut accounts: BTreeMap<AccountId, (i64, Money)> = BTreeMap::new();
    for loss in losses {
        let (calls, sale) = accounts.entry(loss.account).or_default();
        *calls = calls.saturating_add(loss.today.calls);
        let today = loss.today.sale.unwrap_or(Money::ZERO);
        *sale = sale.checked_add(today).unwrap_or(Money::MAX);
    }
    let too_many = |calls: i64| {
        arguments
            .alarm_calls
            .is_some_and(|most| calls > i64::from(most))
    };
    let too_much = |sale: Money| arguments.alarm_usd.is_some_and(|most| sale > most);
    accounts
        .into_iter()
        .filter(|(_, (calls, sale))| too_many(*calls) || too_much(*sale))
        .map(|(account, (calls, sale))| Alarm {
            account,
            calls,
            sale,
        })
        .collect()
}

fn text(losses: &[AccountLosses], alarms: &[Alarm]) -> String {
    if losses.is_empty() {
        return "No losses.".to_owned();
    }
    let rows: Vec<Vec<String>> = losses
        .iter()
        .map(|loss| {
            vec![
                loss.account.to_string(),
                loss.kind.as_str().to_owned(),
                loss.total.calls.to_string(),
                usd(loss.total),
                loss.today.calls.to_string(),
                usd(loss.today),
            ]
        })
        .collect();
    let mut text = table::aligned(&HEADS, &NUMBERS, &rows);
    for Alarm {
        account,
        calls,
        sale,
    } in alarms
    {
        text.push_str(&format!(
            "\nALARM  account {account}: {calls} calls and {sale} USD today"
        ));
    }
    text
}

/// The amount, or that it is not known.
fn usd(totals: LossTotals) -> String {
    match totals.sale {
        Some(sale) => sale.to_string(),
        None if totals.calls == 0 => Money::ZERO.to_string(),
        None => "unknown".to_owned(),
    }
}

fn line(loss: &AccountLosses) -> Value {
    json!({
        "account": loss.account,
        "kind": loss.kind.as_str(),
        "total": amounts(loss.total),
        "today": amounts(loss.today),
    })
}

/// `usd` is null where it is known of no call.
fn amounts(totals: LossTotals) -> Value {
    let sale = totals.sale.map(|sale| sale.to_string());
    json!({ "calls": totals.calls, "usd": sale })
}

fn alarm(alarm: &Alarm) -> Value {
    json!({ "account": alarm.account, "calls": alarm.calls, "usd": alarm.sale.to_string() })
}
