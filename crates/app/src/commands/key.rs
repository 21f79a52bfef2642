//! `trunkline key create | revoke | list`. The key itself is printed by `create` and by nothing else.

use anyhow::{Context as _, bail};
use serde_json::{Value, json};
use trunkline_db::{Database, DbError, Tx};
use trunkline_ledger::accounts as ledger_accounts;
use trunkline_ledger::statement::{self, Budget};
use trunkline_store::keys::{self, CreatedKey, Key, NewKey, RevokeAnswer};
use trunkline_store::{KeyGroup, Policy, PolicyFields, accounts};
use trunkline_types::{AccountId, KeyId, Timestamp};

use super::key_lifecycle::{ended, log};
use super::{account, database, format};
use crate::cli::{CreateKey, Expiry};
use crate::output::Output;
use crate::{random, table};

pub(super) const DAY_SECONDS: i64 = 86_400;
/// What a family of keys that is too deep breaks in the ledger.
const DEPTH_CONSTRAINT: &str = "spender_chain_bounded";

/// Makes a key and prints it, this once.
pub(super) async fn create(
    database: &Database,
    options: CreateKey,
    output: &Output,
) -> anyhow::Result<()> {
    let secret = random::bytes()?;
    let mut tx = database.begin().await?;
    let done = create_in(&mut tx, options, &secret).await;
    let advice = "if `trunkline key list` shows the key, revoke it and create another";
    let CreatedKey { key, plain } = database::finish(tx, done, advice).await?;
    let words = format::policy_words(&key);
    let may = if words.is_empty() {
        "everything the account can use"
    } else {
        &words
    };
    let text = format!(
        "Key {} of account {} ({}), allowed: {may}\n\n  {}\n\nIt is shown only once; only its hash is stored.",
        key.id,
        key.account,
        key.name,
        plain.reveal()
    );
    // Its own beginning is a moment at which it is not over.
    let row = format::key(&key, key.created_at, &[]);
    let object = json!({ "ok": true, "key": plain.reveal(), "row": row });
    output.success(&text, &object);
    Ok(())
}

async fn create_in(
    tx: &mut Tx,
    options: CreateKey,
    secret: &[u8; keys::SECRET_BYTES],
) -> anyhow::Result<CreatedKey> {
    let now = database::now_in(tx).await?;
    let account = AccountId::new(options.account);
    let parent = options.parent.map(KeyId::new);
    let name = options.name.clone();
    let new = NewKey {
        account,
        parent,
        name: &name,
        policy: Policy::new(policy_fields(options, now))?,
    };
    let created = keys::create(tx, &new, secret).await?;
    let registered = ledger_accounts::register_key(tx, account, created.key.id, parent)
        .await
        .map_err(too_deep)?;
    if !registered {
        bail!("the ledger does not know the parent key; run `trunkline audit`");
    }
    log(tx, "create_key", &created.key).await?;
    Ok(created)
}

fn policy_fields(options: CreateKey, now: Timestamp) -> PolicyFields {
    let expires_at = options.expires.map(|expiry| match expiry {
        Expiry::Days(days) => now.plus_seconds(i64::from(days).saturating_mul(DAY_SECONDS)),
        Expiry::At(moment) => moment,
    });
    PolicyFields {
        group: KeyGroup::of_word(options.group),
        models: options.models,
        endpoints: options.endpoints,
        platforms: options.platforms,
        addresses: options.addresses,
        regions: options.regions,
        residencies: options.residencies,
        upstream_zero_retention: options.upstream_zero_retention,
        policy: options.policy,
        max_price: options.max_price.unwrap_or_default(),
        requests_per_minute: options.rpm,
        tokens_per_minute: options.tpm,
        concurrent_calls: options.concurrent,
        strict: options.strict,
        fit_to_balance: options.fit_to_balance,
        zero_retention: options.zero_retention,
        on_disconnect: options.on_disconnect,
        expires_at,
    }
}

fn too_deep(error: DbError) -> anyhow::Error {
    if error.constraint() == Some(DEPTH_CONSTRAINT) {
        return anyhow::anyhow!("the parent key is nested too deeply; choose one higher up");
    }
    error.into()
}

/// Revokes a key and those below it.
pub(super) async fn revoke(database: &Database, key: i64, output: &Output) -> anyhow::Result<()> {
    let key = KeyId::new(key);
    let mut tx = database.begin().await?;
    let done = ended(&mut tx, key, "revoke_key").await;
    let revoked = match tx.finish(done).await? {
        RevokeAnswer::Done { keys } => keys,
        RevokeAnswer::Before => Vec::new(),
        RevokeAnswer::UnknownKey => {
            bail!("there is no key {key}; `trunkline key list ACCOUNT` shows the numbers")
        }
    };
    let numbers: Vec<i64> = revoked.iter().map(|key| key.number()).collect();
    let others: Vec<String> = revoked
        .iter()
        .filter(|other| **other != key)
        .map(ToString::to_string)
        .collect();
    let text = if revoked.is_empty() {
        format!("Key {key} was revoked before; nothing was done.")
    } else if others.is_empty() {
        format!("Key {key} is revoked.")
    } else {
        let below = others.join(", ");
        format!("Key {key} is revoked, with its child keys: {below}.")
    };
    output.success(&text, &json!({ "ok": true, "revoked": numbers }));
    Ok(())
}

pub(super) async fn list(
    database: &Database,
    account: i64,
    after: Option<i64>,
    limit: u32,
    output: &Output,
) -> anyhow::Result<()> {
    let account = AccountId::new(account);
    let found = page(database, account, after, limit).await?;
    let ids: Vec<KeyId> = found.iter().map(|key| key.id).collect();
    let budgets = statement::budgets(database, account, &ids).await?;
    let now = database::now(database).await?;
    let full = u32::try_from(found.len()).is_ok_and(|count| count == limit);
    let next = found.last().filter(|_| full).map(|key| key.id.number());
    let rows: Vec<Value> = found
        .iter()
        .map(|key| format::key(key, now, &budgets))
        .collect();
    let object = json!({ "ok": true, "account": account, "keys": rows, "next_after": next });
    let cells: Vec<Vec<String>> = found.iter().map(|key| cells(key, now, &budgets)).collect();
    let mut text = if cells.is_empty() {
        format!(
            "Account {account} has no keys here; `trunkline key create {account} --name NAME` creates one."
        )
    } else {
        let heads = ["id", "key", "name", "state", "parent", "allowed", "budgets"];
        table::aligned(&heads, &[0], &cells)
    };
    if let Some(next) = next {
        text.push_str(&format!("\nThere may be more: --after {next}"));
    }
    output.success(&text, &object);
    Ok(())
}

async fn page(
    database: &Database,
    account: AccountId,
    after: Option<i64>,
    limit: u32,
) -> anyhow::Result<Vec<Key>> {
    let mut session = database.session().await?;
    let known = accounts::find(&mut session, account).await?;
    known.with_context(|| account::unknown(account))?;
    Ok(keys::list(&mut session, account, after.map(KeyId::new), limit).await?)
}

fn cells(key: &Key, now: Timestamp, budgets: &[Budget]) -> Vec<String> {
    let own: Vec<String> = budgets
        .iter()
        .filter(|budget| budget.key.is_some_and(|id| id == key.id))
        .map(format::budget_line)
        .collect();
    vec![
        key.id.to_string(),
        key.hint.clone(),
        key.name.clone(),
        key.state(now).to_string(),
        key.parent
            .map_or_else(String::new, |parent| parent.to_string()),
        format::policy_words(key),
        own.join("; "),
    ]
}
