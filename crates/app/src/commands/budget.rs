//! `trunkline budget set`.

use anyhow::bail;
use serde_json::json;
use trunkline_db::{Database, Tx};
use trunkline_ledger::accounts::{self as ledger_accounts, Period};
use trunkline_ledger::statement;
use trunkline_store::{accounts, time_zones};
use trunkline_types::{AccountId, KeyId};

use super::{account, action, format};
use crate::cli::{Limit, PeriodWord, SetBudget};
use crate::output::Output;

const DEFAULT_ZONE: &str = "UTC";

/// Sets a limit or takes it away.
pub(super) async fn set(
    database: &Database,
    options: &SetBudget,
    output: &Output,
) -> anyhow::Result<()> {
    let mut tx = database.begin().await?;
    let done = set_in(&mut tx, options).await;
    tx.finish(done).await?;
    let account = AccountId::new(options.account);
    let keys: Vec<KeyId> = options.key.map(KeyId::new).into_iter().collect();
    let budgets = statement::budgets(database, account, &keys).await?;
    let period = period_of(options.period).as_str();
    let stands = budgets
        .iter()
        .find(|budget| budget.key == options.key.map(KeyId::new) && budget.period == period);
    let whose = match options.key {
        Some(key) => format!("Key {key} of account {account}"),
        None => format!("Account {account}"),
    };
    let mut text = match stands {
        Some(budget) => format!("{whose} has the budget {}.", format::budget_line(budget)),
        None => format!("{whose} has no {period} budget."),
    };
    if let (Some(budget), Some(zone)) = (stands, &options.timezone)
        && budget.timezone != *zone
    {
        text.push_str(&format!(
            "\nIt keeps the time zone {} it was created with; to change it, set --limit none first.",
            budget.timezone
        ));
    }
    let object = json!({
        "ok": true,
        "account": account,
        "key": options.key,
        "period": period,
        "budget": stands.map(format::budget),
    });
    output.success(&text, &object);
    Ok(())
}

async fn set_in(tx: &mut Tx, options: &SetBudget) -> anyhow::Result<()> {
    let Limit(limit) = options.limit;
    let zone = checked_zone(tx, options).await?;
    let account = AccountId::new(options.account);
    let period = period_of(options.period);
    if ledger_accounts::set_budget(
        tx,
        account,
        options.key.map(KeyId::new),
        period,
        &zone,
        limit,
    )
    .await?
    {
        let subject = match options.key {
            Some(key) => format!("key {key}"),
            None => format!("customer {account}"),
        };
        let after = json!({
            "period": period.as_str(), "limit_usd": limit.map(|limit| limit.to_string()),
        });
        let new = action::of_account("set_budget", account, &subject, after);
        action::log(tx, &new).await?;
        return Ok(());
    }
    match (accounts::find(tx, account).await?, options.key) {
        (Some(_), Some(key)) => bail!(
            "account {account} has no key {key}; `trunkline key list {account}` shows its keys"
        ),
        (None, _) | (Some(_), None) => bail!(account::unknown(account)),
    }
}

/// The zone to count in. One that would change nothing is refused, not ignored.
async fn checked_zone(tx: &mut Tx, options: &SetBudget) -> anyhow::Result<String> {
    let Some(zone) = &options.timezone else {
        return Ok(DEFAULT_ZONE.to_owned());
    };
    let needless = match options.period {
        PeriodWord::Total => Some("a total budget has no time zone; omit --timezone"),
        PeriodWord::Daily | PeriodWord::Weekly | PeriodWord::Monthly => options
            .limit
            .0
            .is_none()
            .then_some("--limit none removes the budget; omit --timezone"),
    };
    if let Some(reason) = needless {
        bail!(reason);
    }
    if !time_zones::is_known(tx, zone).await? {
        let shortened: String = zone.chars().take(64).collect();
        bail!(
            "{shortened:?} is not a time zone that the database knows; write an IANA name such as Europe/Berlin"
        );
    }
    Ok(zone.clone())
}

const fn period_of(word: PeriodWord) -> Period {
    match word {
        PeriodWord::Total => Period::Total,
        PeriodWord::Daily => Period::Daily,
        PeriodWord::Weekly => Period::Weekly,
        PeriodWord::Monthly => Period::Monthly,
    }
}
