//! Closing an account. Keys end and names go with the transaction that closes it; a job of the data plane erases
//! prompts, files and webhooks afterwards. What books need stays, without a name.

use sqlx::{PgConnection, Row as _};
use trunkline_db::{Database, DbError, Tx, revision};
use trunkline_types::{AccountId, KeyId};
use uuid::Uuid;

use crate::accounts::TOPIC;
use crate::keys;

/// What stands where a name was.
const NAME: &str = "closed";

/// What closing came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CloseAnswer {
    Done {
        /// Keys that were live.
        keys: usize,
    },
    /// It was closed before.
    Before,
    UnknownAccount,
    /// So many videos are not done.
    Running(i64),
}

/// A file of a closed account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErasedTask {
    pub id: Uuid,
    /// Path in our object storage.
    pub media_path: Option<String>,
}

/// Closes an account for good.
pub async fn close(tx: &mut Tx, id: AccountId) -> Result<CloseAnswer, DbError> {
    // The revision first: it is the lock that all changes of accounts take.
    let number = revision::bump(tx, TOPIC).await?;
    let found: Option<bool> =
        sqlx::query_scalar("SELECT closed_at IS NOT NULL FROM app.account WHERE id = $1")
            .bind(id.number())
            .fetch_optional(&mut **tx)
            .await?;
    match found {
        None => return Ok(CloseAnswer::UnknownAccount),
        Some(true) => return Ok(CloseAnswer::Before),
        Some(false) => {}
    }
    let running: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM app.video_task WHERE account_id = $1 AND ended_at IS NULL",
    )
    .bind(id.number())
    .fetch_one(&mut **tx)
    .await?;
    if running > 0 {
        return Ok(CloseAnswer::Running(running));
    }
    let keys = end_keys(tx, id).await?;
    remove_people(tx, id).await?;
    sqlx::query(
        "UPDATE app.payment_profile SET customer_id = $2, method_id = $2, top_up_below = NULL,
             top_up_amount = NULL, top_up_month_max = NULL
         WHERE account_id = $1",
    )
    .bind(id.number())
    .bind(NAME)
    .execute(&mut **tx)
    .await?;
    sqlx::query(
        "UPDATE app.account SET closed_at = app.now(), name = $3, aliases = '{}', revision = $2 WHERE id = $1",
    )
    .bind(id.number())
    .bind(number)
    .bind(NAME)
    .execute(&mut **tx)
    .await?;
    Ok(CloseAnswer::Done { keys })
}

/// Ends all keys and takes their names away; how many were live.
async fn end_keys(tx: &mut Tx, id: AccountId) -> Result<usize, DbError> {
    let heads: Vec<i64> = sqlx::query_scalar(
        "SELECT id FROM app.api_key WHERE account_id = $1 AND parent_id IS NULL AND deleted_at IS NULL ORDER BY id",
    )
    .bind(id.number())
    .fetch_all(&mut **tx)
    .await?;
    let mut ended: usize = 0;
    for head in heads {
        let answer = keys::delete(tx, KeyId::new(head), keys::OPERATOR).await?;
        if let keys::RevokeAnswer::Done { keys } = answer {
            ended = ended.saturating_add(keys.len());
        }
    }
    let number = revision::bump(tx, keys::TOPIC).await?;
    sqlx::query("UPDATE app.api_key SET name = $2, revision = $3 WHERE account_id = $1")
        .bind(id.number())
        .bind(NAME)
        .bind(number)
        .execute(&mut **tx)
        .await?;
    Ok(ended)
}

/// Takes its members away. A person who is a member of nothing else, and no operator, has no name and no address any
/// more.
async fn remove_people(tx: &mut Tx, id: AccountId) -> Result<(), DbError> {
    for statement in [
        "DELETE FROM app.invitation WHERE account_id = $1",
        "UPDATE app.sign_in SET account_id = NULL WHERE account_id = $1",
        "UPDATE app.person AS p
         SET name = 'closed', email = 'closed-' || p.id || '@closed.invalid', password_hash = NULL,
             disabled_at = COALESCE(p.disabled_at, app.now())
         FROM app.member AS m
         WHERE m.account_id = $1 AND m.person_id = p.id AND NOT p.is_operator AND NOT EXISTS (
             SELECT FROM app.member AS other WHERE other.person_id = p.id AND other.account_id <> $1)",
        "DELETE FROM app.member WHERE account_id = $1",
    ] {
        sqlx::query(statement)
            .bind(id.number())
            .execute(&mut **tx)
            .await?;
    }
    Ok(())
}

/// Closed accounts that are not erased.
pub async fn to_erase(
    connection: &mut PgConnection,
    limit: i64,
) -> Result<Vec<AccountId>, DbError> {
    let ids: Vec<i64> = sqlx::query_scalar(
        "SELECT id FROM app.account WHERE closed_at IS NOT NULL AND erased_at IS NULL ORDER BY id LIMIT $1",
    )
    .bind(limit)
    .fetch_all(connection)
    .await?;
    Ok(ids.into_iter().map(AccountId::new).collect())
}

/// Videos of an account whose prompt or file is still there.
pub async fn tasks_to_erase(
    connection: &mut PgConnection,
    account: AccountId,
    limit: i64,
) -> Result<Vec<ErasedTask>, DbError> {
    let rows = sqlx::query(
        "SELECT id, media_path FROM app.video_task
         WHERE account_id = $1 AND (sent IS NOT NULL OR file IS NOT NULL OR media_path IS NOT NULL)
         ORDER BY id LIMIT $2",
    )
    .bind(account.number())
    .bind(limit)
    .fetch_all(connection)
    .await?;
    let read = |row: &sqlx::postgres::PgRow| {
        Ok(ErasedTask {
            id: row.try_get("id")?,
            media_path: row.try_get("media_path")?,
        })
    };
    rows.iter().map(read).collect()
}

/// The file of a video is gone: its prompt and its links go too.
pub async fn erase_task(connection: &mut PgConnection, task: Uuid) -> Result<(), DbError> {
    sqlx::query(
        "UPDATE app.video_task SET sent = NULL, file = NULL, media_path = NULL, media_bytes = NULL WHERE id = $1",
    )
    .bind(task)
    .execute(connection)
    .await?;
    Ok(())
}

/// Erases what else is the account's own, and writes down that it is done.
pub async fn finish_erasure(database: &Database, account: AccountId) -> Result<(), DbError> {
    let mut tx = database.begin().await?;
    let done = async {
        for statement in [
            "DELETE FROM app.webhook_delivery WHERE account_id = $1",
            "DELETE FROM app.task_webhook WHERE account_id = $1",
            "DELETE FROM app.webhook WHERE account_id = $1",
            "UPDATE app.account SET erased_at = app.now() WHERE id = $1",
        ] {
            sqlx::query(statement)
                .bind(account.number())
                .execute(&mut *tx)
                .await?;
        }
        Ok::<(), DbError>(())
    };
    let done = done.await;
    tx.finish(done).await
}
