//! Users of another gateway as accounts, each once, with their balance and their keys.

use std::collections::BTreeSet;

use anyhow::bail;
use trunkline_db::Tx;
use trunkline_ledger::accounts::{self as ledger_accounts, TopUp, TopUpAnswer, Wallet};
use trunkline_store::imported_accounts::{self, ImportedAccount};
use trunkline_store::keys::{self, NewKey};
use trunkline_store::{KeyGroup, Policy, PolicyFields, accounts};
use trunkline_types::{AccountId, Money};

use super::plan::{Plan, PlannedKey, PlannedUser, Remark};
use super::report::Report;
use super::write::Target;
use crate::cli::{CreateAccount, Kind};
use crate::commands::{account, database};
use crate::random;

/// Who has booked the balance: names the payment together with the user.
const PROVIDER: &str = "import";

/// Writes users that are not there, and returns the lines of issued keys.
pub(super) async fn write(
    tx: &mut Tx,
    plan: &Plan,
    target: &Target<'_>,
    report: &mut Report,
) -> anyhow::Result<Vec<String>> {
    let there = imported_accounts::of_source(tx, target.source).await?;
    let mut lines = Vec::new();
    for user in &plan.users {
        if let Some(known) = there.get(&user.id) {
            report.users.find();
            if known.balance != user.balance {
                let reason = format!(
                    "account {} was given {} USD, and it has {} USD there now; nothing was booked",
                    known.account, known.balance, user.balance
                );
                report
                    .differences
                    .push(Remark::new("user", &user.name, reason));
            }
            continue;
        }
        let account = create(tx, plan, user, target.source).await?;
        report.users.add();
        report.balance = report.balance.checked_add(user.balance)?;
        if target.keys_file.is_some() {
            for key in &user.keys {
                lines.extend(issue(tx, account, user, key, report).await?);
            }
        } else if !user.keys.is_empty() {
            let reason = "its keys are issued anew only with --keys-file";
            report.skipped.push(Remark::new("key", &user.name, reason));
        }
    }
    Ok(lines)
}

/// Makes the account with its money, and notes whose it is.
async fn create(
    tx: &mut Tx,
    plan: &Plan,
    user: &PlannedUser,
    source: &str,
) -> anyhow::Result<AccountId> {
    let others = user.keys.iter().filter_map(|key| key.group.clone());
    let others: BTreeSet<String> = others
        .filter(|group| *group != user.group && plan.groups.contains_key(group))
        .collect();
    let new = CreateAccount {
        name: user.name.clone(),
        kind: Kind::Live,
        group: user.group.clone(),
        allowed_groups: others.into_iter().collect(),
    };
    let account = account::create_in(tx, &new).await?;
    if !user.is_on {
        accounts::set_suspended(tx, account, true).await?;
    }
    if user.balance > Money::ZERO {
        let top_up = TopUp {
            request: random::request(database::now_in(tx).await?)?,
            account,
            wallet: Wallet::Paid,
            amount: user.balance,
            provider: PROVIDER.to_owned(),
            event: format!("{source}:user:{}", user.id),
        };
        match ledger_accounts::top_up(tx, &top_up).await? {
            TopUpAnswer::Done => {}
            TopUpAnswer::Before | TopUpAnswer::Different | TopUpAnswer::Refused => bail!(
                "the balance of user {} was booked before by another import: give this one another --source",
                user.id
            ),
        }
    }
    let imported = ImportedAccount {
        account,
        balance: user.balance,
    };
    imported_accounts::note(tx, source, &user.id, imported).await?;
    Ok(account)
}

/// Issues a key like the one it had, and returns its line.
async fn issue(
    tx: &mut Tx,
    account: AccountId,
    user: &PlannedUser,
    key: &PlannedKey,
    report: &mut Report,
) -> anyhow::Result<Option<String>> {
    let fields = PolicyFields {
        group: KeyGroup::of_word(key.group.clone()),
        models: key.models.clone(),
        addresses: key.addresses.clone(),
        expires_at: key.expires,
        ..PolicyFields::default()
    };
    let policy = match Policy::new(fields) {
        Ok(policy) => policy,
        Err(error) => return Ok(left_out(report, user, key, &error.to_string())),
    };
    if key.expires.is_some() && key.expires <= Some(database::now_in(tx).await?) {
        return Ok(left_out(report, user, key, "it has expired there"));
    }
    let new = NewKey {
        account,
        parent: None,
        name: &key.name,
        policy,
    };
    let created = match keys::create(tx, &new, &random::bytes()?).await {
        Ok(created) => created,
        Err(keys::CreateKeyError::Db(error)) => return Err(error.into()),
        Err(error) => return Ok(left_out(report, user, key, &error.to_string())),
    };
    let id = created.key.id;
    if !ledger_accounts::register_key(tx, account, id, None).await? {
        bail!("the ledger refused the key {id}; run `trunkline audit`");
    }
    if let Some(cap) = key.cap {
        ledger_accounts::cap_new_key(tx, account, id, cap).await?;
    }
    report.keys = report.keys.saturating_add(1);
    let account = account.to_string();
    let cells = [
        &account,
        &user.name,
        &user.email,
        &key.name,
        created.plain.reveal(),
    ];
    let cells: Vec<String> = cells.iter().map(|cell| quoted(cell)).collect();
    Ok(Some(format!("{}\n", cells.join(","))))
}

fn left_out(
    report: &mut Report,
    user: &PlannedUser,
    key: &PlannedKey,
    reason: &str,
) -> Option<String> {
    let name = format!("{} of {}", key.name, user.name);
    report.skipped.push(Remark::new("key", &name, reason));
    None
}

/// A cell of CSV, in which a spreadsheet sees no formula.
fn quoted(cell: &str) -> String {
    let safe = if cell.starts_with(['=', '+', '-', '@']) {
        format!("'{cell}")
    } else {
        cell.to_owned()
    };
    format!("\"{}\"", safe.replace('"', "\"\""))
}
