//! Lifecycle of a key: revoke, delete, rotate, disable, change. Every change takes the next
//! revision first, which serialises concurrent changes.

use serde_json::json;
use sha2::{Digest as _, Sha256};
use sqlx::Row as _;
use trunkline_db::events::{self, NewEvent};
use trunkline_db::{DbError, Tx, database_now, revision, to_sql_time};
use trunkline_types::{ApiKey, KeyId, Money, Timestamp, Topic};
use uuid::Uuid;

use super::{Key, KeyHash, KeyState, SECRET_BYTES, TOPIC, find};
use crate::accounts;
use crate::policy::{MaxPrice, PolicyFields, RoutePolicy};
use crate::validation::{FieldError, Problem, check_name};

/// Default overlap in which the previous secret stays valid after a rotation.
pub const OVERLAP_DEFAULT_SECONDS: u32 = 86_400;
pub const OVERLAP_MAX_SECONDS: u32 = 30 * 86_400;

/// The actor of a revocation by the operator.
pub const OPERATOR: &str = "operator";

/// What a revocation was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RevokeAnswer {
    /// Revoked now, the keys below included.
    Done {
        /// All that were revoked, lowest number first.
        keys: Vec<KeyId>,
    },
    /// It was revoked before.
    Before,
    /// There is no such key.
    UnknownKey,
}

/// A key with a new secret.
#[derive(Debug)]
pub struct Rotated {
    pub key: Key,
    /// The secret, to be shown once. It is kept nowhere.
    pub plain: ApiKey,
}

/// Why a key was not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChangeKeyError {
    /// No such key.
    #[error("there is no key {0}")]
    UnknownKey(KeyId),
    /// It is gone for good.
    #[error("key {0} is revoked, and stays so; make another one")]
    Revoked(KeyId),
    #[error(transparent)]
    Field(#[from] FieldError),
    /// The database refused, or did not answer.
    #[error(transparent)]
    Db(#[from] DbError),
}

/// Revokes a key and its descendants for good, as the operator, and writes the account's event.
pub async fn revoke(tx: &mut Tx, key: KeyId) -> Result<RevokeAnswer, DbError> {
    end(tx, key, OPERATOR, false).await
}

/// Revokes as another actor and hides the keys from lists. The rows stay: usage refers to them.
pub async fn delete(tx: &mut Tx, key: KeyId, by: &str) -> Result<RevokeAnswer, DbError> {
    end(tx, key, by, true).await
}

async fn end(tx: &mut Tx, key: KeyId, by: &str, hide: bool) -> Result<RevokeAnswer, DbError> {
    let number = revision::bump(tx, TOPIC).await?;
    let Some(head) = find(tx, key).await? else {
        return Ok(RevokeAnswer::UnknownKey);
    };
    let rows = sqlx::query(
        "WITH RECURSIVE family (id, account_id) AS (
             SELECT k.id, k.account_id FROM app.api_key AS k WHERE k.id = $1
             UNION
             SELECT k.id, k.account_id FROM app.api_key AS k
             JOIN family AS f ON k.account_id = f.account_id AND k.parent_id = f.id
         ), before AS (
             SELECT k.id, k.revoked_at IS NULL AS was_live FROM app.api_key AS k
             JOIN family AS f ON f.id = k.id
             WHERE k.revoked_at IS NULL OR $3 AND k.deleted_at IS NULL
         )
         UPDATE app.api_key AS k SET revoked_at = COALESCE(k.revoked_at, (SELECT app.now())),
             deleted_at = CASE WHEN $3 THEN COALESCE(k.deleted_at, (SELECT app.now())) ELSE k.deleted_at END,
             revision = $2
         FROM before AS b WHERE k.id = b.id
         RETURNING k.id, b.was_live",
    )
    .bind(key.number())
    .bind(number)
    .bind(hide)
    .fetch_all(&mut **tx)
    .await?;
    let mut revoked = Vec::new();
    for row in &rows {
        if row.try_get("was_live")? {
            revoked.push(KeyId::new(row.try_get("id")?));
        }
    }
    if revoked.is_empty() {
        return Ok(RevokeAnswer::Before);
    }
    revoked.sort_unstable();
    tell(tx, &head, &revoked, by, number, hide).await?;
    Ok(RevokeAnswer::Done { keys: revoked })
}

/// Writes one event for the revoked key, with the number of descendants.
async fn tell(
    tx: &mut Tx,
    head: &Key,
    revoked: &[KeyId],
    by: &str,
    number: i64,
    hide: bool,
) -> Result<(), DbError> {
    let below = revoked.iter().filter(|id| **id != head.id).count();
    let event = NewEvent {
        id: event_id(number),
        account: head.account,
        topic: Topic::KeyRevoked,
        task: None,
        body: json!({
            "key_id": head.id.number(),
            "name": head.name,
            "hint": head.hint,
            "what": if hide { "deleted" } else { "revoked" },
            "by": by,
            "keys_below": below,
        }),
    };
    events::append(tx, &[event]).await
}

/// An id derived from the revision of the change, which is unique.
fn event_id(number: i64) -> Uuid {
    let digest = Sha256::digest(format!("{}/{number}", Topic::KeyRevoked.name()));
    let mut bytes = [0; 16];
    for (byte, of_digest) in bytes.iter_mut().zip(digest) {
        *byte = of_digest;
    }
    uuid::Builder::from_random_bytes(bytes).into_uuid()
}

/// Rotates a key's secret. The previous one stays valid for the overlap; an older one ends now.
pub async fn rotate(
    tx: &mut Tx,
    key: KeyId,
    secret: &[u8; SECRET_BYTES],
    overlap_seconds: u32,
) -> Result<Rotated, ChangeKeyError> {
    if overlap_seconds > OVERLAP_MAX_SECONDS {
        let (least, most) = (0, i64::from(OVERLAP_MAX_SECONDS));
        let problem = Problem::OutOfRange { least, most };
        return Err(FieldError::new("overlap_seconds", problem).into());
    }
    let number = revision::bump(tx, TOPIC).await?;
    let (known, now) = changeable(tx, key).await?;
    let account = accounts::find(tx, known.account).await?;
    let account = account.ok_or(ChangeKeyError::UnknownKey(key))?;
    let plain = ApiKey::new(account.shard, secret);
    let until = now.plus_seconds(i64::from(overlap_seconds));
    sqlx::query(
        "UPDATE app.api_key SET previous_hash = key_hash, previous_until = $2, key_hash = $3, hint = $4,
             revision = $5 WHERE id = $1",
    )
    .bind(key.number())
    .bind(to_sql_time(until))
    .bind(KeyHash::of(&plain).bytes().as_slice())
    .bind(plain.hint())
    .bind(number)
    .execute(&mut **tx)
    .await
    .map_err(DbError::from)?;
    let key = reload(tx, key).await?;
    Ok(Rotated { key, plain })
}

/// Disables or enables a key. Idempotent.
pub async fn set_disabled(tx: &mut Tx, key: KeyId, off: bool) -> Result<Key, ChangeKeyError> {
    let number = revision::bump(tx, TOPIC).await?;
    changeable(tx, key).await?;
    sqlx::query(
        "UPDATE app.api_key SET revision = $3,
             disabled_at = CASE WHEN $2 THEN COALESCE(disabled_at, app.now()) END
         WHERE id = $1",
    )
    .bind(key.number())
    .bind(off)
    .bind(number)
    .execute(&mut **tx)
    .await
    .map_err(DbError::from)?;
    reload(tx, key).await
}

/// What is to change of a key. What is none stays.
#[derive(Debug, Clone, Copy, Default)]
pub struct KeyChange<'a> {
    pub name: Option<&'a str>,
    /// No expiry means the parent's; it cannot be later than that.
    pub expires_at: Option<Option<Timestamp>>,
    /// No policy means the parent's.
    pub policy: Option<Option<RoutePolicy>>,
    /// All limits together; one that is not set is the parent's, and none can be above that.
    pub max_price: Option<MaxPrice>,
}

/// Changes a key. Keys below it keep what they have.
pub async fn change(tx: &mut Tx, key: KeyId, change: KeyChange<'_>) -> Result<Key, ChangeKeyError> {
    if let Some(name) = change.name {
        check_name("name", name)?;
    }
    let number = revision::bump(tx, TOPIC).await?;
    let (known, now) = changeable(tx, key).await?;
    let above = match known.parent {
        Some(parent) => reload(tx, parent).await?.policy.fields().clone(),
        None => PolicyFields::default(),
    };
    let fields = known.policy.fields();
    let ends = match change.expires_at {
        None => fields.expires_at,
        Some(requested) => {
            if requested.is_some_and(|end| end <= now) {
                return Err(FieldError::new("expires_at", Problem::Past).into());
            }
            crate::policy::earlier(requested, above.expires_at)?
        }
    };
    sqlx::query("UPDATE app.api_key SET name = $2, expires_at = $3, revision = $4 WHERE id = $1")
        .bind(key.number())
        .bind(change.name.unwrap_or(&known.name))
        .bind(ends.map(to_sql_time))
        .bind(number)
        .execute(&mut **tx)
        .await
        .map_err(DbError::from)?;
    if change.policy.is_some() || change.max_price.is_some() {
        change_routes(tx, &known, &above, change).await?;
    }
    reload(tx, key).await
}

/// Changes which routes a key is served by. Nodes may not, so this is a statement of its own.
async fn change_routes(
    tx: &mut Tx,
    known: &Key,
    above: &PolicyFields,
    change: KeyChange<'_>,
) -> Result<(), ChangeKeyError> {
    let fields = known.policy.fields();
    let policy = match change.policy {
        None => fields.policy,
        Some(requested) => requested.or(above.policy),
    };
    let max_price = match change.max_price {
        None => fields.max_price,
        Some(requested) => {
            requested.check()?;
            requested.below(above.max_price)?
        }
    };
    // A second statement takes a second number.
    let number = revision::bump(tx, TOPIC).await?;
    sqlx::query(
        "UPDATE app.api_key SET policy = $2, max_input_nanos = $3, max_output_nanos = $4, max_unit_nanos = $5,
             revision = $6
         WHERE id = $1",
    )
    .bind(known.id.number())
    .bind(policy.map(RoutePolicy::as_str))
    .bind(max_price.input.map(Money::nanos))
    .bind(max_price.output.map(Money::nanos))
    .bind(max_price.unit.map(Money::nanos))
    .bind(number)
    .execute(&mut **tx)
    .await
    .map_err(DbError::from)?;
    Ok(())
}

/// A key that is not revoked, and the database's time.
async fn changeable(tx: &mut Tx, key: KeyId) -> Result<(Key, Timestamp), ChangeKeyError> {
    let now = database_now(tx).await?;
    let known = reload(tx, key).await?;
    match known.state(now) {
        KeyState::Revoked => Err(ChangeKeyError::Revoked(key)),
        KeyState::Live | KeyState::Disabled | KeyState::Expired => Ok((known, now)),
    }
}

async fn reload(tx: &mut Tx, key: KeyId) -> Result<Key, ChangeKeyError> {
    let found = find(tx, key).await?;
    found.ok_or(ChangeKeyError::UnknownKey(key))
}
