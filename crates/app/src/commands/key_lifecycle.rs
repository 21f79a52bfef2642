//! `trunkline key rotate | disable | enable | set | expire | delete`.

use anyhow::bail;
use serde_json::json;
use trunkline_db::{Database, Tx};
use trunkline_store::keys::{self, ChangeKeyError, Key, KeyChange, OPERATOR, RevokeAnswer};
use trunkline_types::KeyId;

use super::key::DAY_SECONDS;
use super::{action, database, format};
use crate::cli::{Expiry, KeyRoutes};
use crate::output::Output;
use crate::random;

/// Gives a key another secret and prints it, this once.
pub(super) async fn rotate(
    database: &Database,
    key: i64,
    overlap: u32,
    output: &Output,
) -> anyhow::Result<()> {
    let secret = random::bytes()?;
    let mut tx = database.begin().await?;
    let done = async {
        let rotated = keys::rotate(&mut tx, KeyId::new(key), &secret, overlap).await?;
        log(&mut tx, "rotate_key", &rotated.key).await?;
        anyhow::Ok(rotated)
    };
    let done = done.await;
    let advice = "if calls with the key are rejected, rotate it again";
    let rotated = database::finish(tx, done, advice).await?;
    let text = format!(
        "Key {key} ({}) has a new secret:\n\n  {}\n\nIt is shown only once. The previous secret stays valid for {overlap} seconds.",
        rotated.key.name,
        rotated.plain.reveal()
    );
    let row = format::key(&rotated.key, database::now(database).await?, &[]);
    let object = json!({ "ok": true, "key": rotated.plain.reveal(), "row": row });
    output.success(&text, &object);
    Ok(())
}

/// Switches a key off or on.
pub(super) async fn switch(
    database: &Database,
    key: i64,
    off: bool,
    output: &Output,
) -> anyhow::Result<()> {
    let mut tx = database.begin().await?;
    let done = keys::set_disabled(&mut tx, KeyId::new(key), off).await;
    let name = if off { "disable_key" } else { "enable_key" };
    let done = changed(&mut tx, name, done).await;
    tell(database, &tx.finish(done).await?, output).await
}

/// Changes which routes a key is served by.
pub(super) async fn set(
    database: &Database,
    key: i64,
    changes: &KeyRoutes,
    output: &Output,
) -> anyhow::Result<()> {
    let change = KeyChange {
        policy: changes.policy.map(Some),
        max_price: changes.max_price,
        ..KeyChange::default()
    };
    let mut tx = database.begin().await?;
    let done = keys::change(&mut tx, KeyId::new(key), change).await;
    let done = changed(&mut tx, "change_key", done).await;
    tell(database, &tx.finish(done).await?, output).await
}

/// Changes when a key ends.
pub(super) async fn expire(
    database: &Database,
    key: i64,
    at: Option<Expiry>,
    output: &Output,
) -> anyhow::Result<()> {
    let now = database::now(database).await?;
    let end = at.map(|expiry| match expiry {
        Expiry::Days(days) => now.plus_seconds(i64::from(days).saturating_mul(DAY_SECONDS)),
        Expiry::At(moment) => moment,
    });
    let mut tx = database.begin().await?;
    let change = KeyChange {
        expires_at: Some(end),
        ..KeyChange::default()
    };
    let done = keys::change(&mut tx, KeyId::new(key), change).await;
    let done = changed(&mut tx, "change_key", done).await;
    tell(database, &tx.finish(done).await?, output).await
}

/// Revokes a key and those below it, and hides them.
pub(super) async fn delete(database: &Database, key: i64, output: &Output) -> anyhow::Result<()> {
    let mut tx = database.begin().await?;
    let done = ended(&mut tx, KeyId::new(key), "delete_key").await;
    let revoked = match tx.finish(done).await? {
        RevokeAnswer::Done { keys } => keys,
        RevokeAnswer::Before => Vec::new(),
        RevokeAnswer::UnknownKey => {
            bail!("key {key} not found; `trunkline key list ACCOUNT` lists the ids")
        }
    };
    let numbers: Vec<i64> = revoked.iter().map(|key| key.number()).collect();
    let text = format!(
        "Key {key} deleted; {} keys revoked, including its child keys.",
        numbers.len()
    );
    output.success(&text, &json!({ "ok": true, "revoked": numbers }));
    Ok(())
}

/// Revokes a key, hidden from lists or not, and logs it.
pub(super) async fn ended(tx: &mut Tx, key: KeyId, name: &str) -> anyhow::Result<RevokeAnswer> {
    let known = keys::find(tx, key).await?;
    let answer = match name {
        "delete_key" => keys::delete(tx, key, OPERATOR).await?,
        _ => keys::revoke(tx, key).await?,
    };
    if let (RevokeAnswer::Done { .. }, Some(known)) = (&answer, &known) {
        log(tx, name, known).await?;
    }
    Ok(answer)
}

async fn changed(
    tx: &mut Tx,
    name: &str,
    done: Result<Key, ChangeKeyError>,
) -> anyhow::Result<Key> {
    let key = done?;
    log(tx, name, &key).await?;
    Ok(key)
}

/// Writes a change of a key to the log of actions.
pub(super) async fn log(tx: &mut Tx, name: &str, key: &Key) -> anyhow::Result<()> {
    let now = database::now_in(tx).await?;
    let subject = format!("key {} {}", key.id, key.hint);
    let after = format::key(key, now, &[]);
    let new = action::of_account(name, key.account, &subject, after);
    Ok(action::log(tx, &new).await?)
}

async fn tell(database: &Database, key: &Key, output: &Output) -> anyhow::Result<()> {
    let now = database::now(database).await?;
    let text = format!("Key {} ({}) is {}.", key.id, key.name, key.state(now));
    let object = json!({ "ok": true, "row": format::key(key, now, &[]) });
    output.success(&text, &object);
    Ok(())
}
