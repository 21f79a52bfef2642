//! Responses stored for idempotency keys. A response is written into its key's row while the call
//! still runs, and counts only once the charge has made the row `finished`: no crash leaves a
//! charge without its response, and no large response delays the settlements of other calls. A void
//! deletes the row and the response with it. Responses are encrypted; this crate cannot read them.

use trunkline_db::{Database, DbError};
use trunkline_types::{AccountId, RequestId};

use crate::columns::{column, request_of};

/// Prefix of keys that the gateway generated for calls without one: no HTTP header can contain it.
pub const GENERATED_KEY_PREFIX: char = '\u{1}';
/// Rows that one statement deletes.
pub const PURGE_BATCH: i64 = 500;

/// The row of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The request of the key.
    pub request: RequestId,
    /// SHA-256 of that call's body.
    pub body_hash: [u8; 32],
    pub finished: bool,
    /// Bytes of its answer; none if it has none that may be given.
    pub answer_bytes: Option<u64>,
}

/// Which answers may be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Include {
    /// None: only the row.
    Nothing,
    Charged,
    /// Also those of tasks, which may be charged later.
    Any,
}

/// Stores the response of a call under its key. False if the key belongs to another call by now.
pub async fn store(
    database: &Database,
    account: AccountId,
    key: &str,
    request: RequestId,
    answer: &[u8],
) -> Result<bool, DbError> {
    let mut session = database.session().await?;
    let done = sqlx::query(
        "UPDATE ledger.idempotency SET response = $4
         WHERE account_id = $1 AND key = $2 AND request_id = $3",
    )
    .bind(account.number())
    .bind(key)
    .bind(request.uuid())
    .bind(answer)
    .execute(&mut *session)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// The row of a key that is younger than a day.
pub async fn find(
    database: &Database,
    account: AccountId,
    key: &str,
    include: Include,
) -> Result<Option<Row>, DbError> {
    let mut session = database.session().await?;
    let row = sqlx::query(
        "SELECT i.request_id, i.body_hash, i.state,
             CASE WHEN $3 OR ($4 AND i.state = 'finished') THEN octet_length(i.response) END AS bytes
         FROM ledger.idempotency AS i
         WHERE i.account_id = $1 AND i.key = $2 AND i.created_at > app.now() - interval '24 hours'",
    )
    .bind(account.number())
    .bind(key)
    .bind(include == Include::Any)
    .bind(include == Include::Charged)
    .fetch_optional(&mut *session)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let hash: Vec<u8> = column(&row, "body_hash")?;
    Ok(Some(Row {
        request: request_of(&row)?,
        body_hash: hash.try_into().unwrap_or_default(),
        finished: column::<&str>(&row, "state")? == "finished",
        answer_bytes: column::<Option<i32>>(&row, "bytes")?
            .and_then(|bytes| u64::try_from(bytes).ok()),
    }))
}

/// The answer of a key's call. None if the key belongs to another call by now.
pub async fn answer(
    database: &Database,
    account: AccountId,
    key: &str,
    request: RequestId,
) -> Result<Option<Vec<u8>>, DbError> {
    let mut session = database.session().await?;
    let row = sqlx::query(
        "SELECT i.response FROM ledger.idempotency AS i
         WHERE i.account_id = $1 AND i.key = $2 AND i.request_id = $3",
    )
    .bind(account.number())
    .bind(key)
    .bind(request.uuid())
    .fetch_optional(&mut *session)
    .await?;
    row.map_or(Ok(None), |row| column(&row, "response"))
}

/// The newest call of the last two minutes with a generated key and this body.
pub async fn newest_generated(
    database: &Database,
    account: AccountId,
    body_hash: &[u8; 32],
) -> Result<Option<(String, RequestId)>, DbError> {
    let mut session = database.session().await?;
    let row = sqlx::query(
        "SELECT i.key, i.request_id FROM ledger.idempotency AS i
         WHERE i.account_id = $1 AND i.body_hash = $2 AND starts_with(i.key, E'\\x01')
             AND i.created_at > app.now() - interval '2 minutes'
         ORDER BY i.created_at DESC LIMIT 1",
    )
    .bind(account.number())
    .bind(body_hash.as_slice())
    .fetch_optional(&mut *session)
    .await?;
    row.map(|row| Ok((column(&row, "key")?, request_of(&row)?)))
        .transpose()
}

/// Deletes all rows of an account.
pub async fn purge_account(database: &Database, account: AccountId) -> Result<u64, DbError> {
    let mut session = database.session().await?;
    let done = sqlx::query("DELETE FROM ledger.idempotency WHERE account_id = $1")
        .bind(account.number())
        .execute(&mut *session)
        .await?;
    Ok(done.rows_affected())
}

/// Deletes rows older than a day, and rows of finished calls with generated keys after two minutes,
/// a bounded number of each. Returns how many. Locked rows are skipped.
pub async fn purge(database: &Database) -> Result<u64, DbError> {
    let mut forgotten: u64 = 0;
    for old in [
        "DELETE FROM ledger.idempotency AS i
         USING (SELECT account_id, key FROM ledger.idempotency
             WHERE created_at < (SELECT app.now()) - interval '24 hours'
             LIMIT $1 FOR UPDATE SKIP LOCKED) AS old
         WHERE i.account_id = old.account_id AND i.key = old.key",
        "DELETE FROM ledger.idempotency AS i
         USING (SELECT account_id, key FROM ledger.idempotency
             WHERE created_at < (SELECT app.now()) - interval '2 minutes'
                 AND starts_with(key, E'\\x01') AND state = 'finished'
             LIMIT $1 FOR UPDATE SKIP LOCKED) AS old
         WHERE i.account_id = old.account_id AND i.key = old.key",
    ] {
        let mut session = database.session().await?;
        let done = sqlx::query(old)
            .bind(PURGE_BATCH)
            .execute(&mut *session)
            .await?;
        forgotten = forgotten.saturating_add(done.rows_affected());
    }
    Ok(forgotten)
}
