//! The end of an account, and what is erased of it. Keys end when it is closed. Names and addresses of people, notes,
//! webhooks and emails go with the transaction that erases it, prompts and files by a job of the data plane. What
//! moved money stays, under the account's number.

use sqlx::{PgConnection, Row as _};
use trunkline_db::{Database, DbError, Tx, revision};
use trunkline_types::{AccountId, KeyId};
use uuid::Uuid;

use crate::accounts::TOPIC;
use crate::keys;

/// What an erased account or key is called.
const ERASED: &str = "erased";

/// What is erased of an account with its name.
const OF_ACCOUNT: [&str; 11] = [
    "DELETE FROM app.account_note WHERE account_id = $1",
    "DELETE FROM app.low_balance_email WHERE account_id = $1",
    "DELETE FROM app.low_balance_notice WHERE account_id = $1",
    "DELETE FROM app.webhook_delivery WHERE account_id = $1",
    "DELETE FROM app.task_webhook WHERE account_id = $1",
    "DELETE FROM app.webhook WHERE account_id = $1",
    "UPDATE app.invitation SET email = 'erased@invalid',
         revoked_at = CASE WHEN accepted_at IS NULL THEN COALESCE(revoked_at, app.now()) END
     WHERE account_id = $1",
    "UPDATE app.payment_profile SET customer_id = 'erased', method_id = 'erased', top_up_below = NULL,
         top_up_amount = NULL, top_up_month_max = NULL
     WHERE account_id = $1",
    "UPDATE app.sign_in SET account_id = NULL WHERE account_id = $1",
    "UPDATE app.sign_in SET viewing_id = NULL WHERE viewing_id = $1",
    "DELETE FROM app.member WHERE account_id = $1",
];
/// What is erased of people.
const OF_PEOPLE: [&str; 7] = [
    "DELETE FROM app.sign_in WHERE person_id = ANY ($1)",
    "DELETE FROM app.second_factor WHERE person_id = ANY ($1)",
    "DELETE FROM app.recovery_code WHERE person_id = ANY ($1)",
    "DELETE FROM app.person_token WHERE person_id = ANY ($1)",
    "DELETE FROM app.person_identity WHERE person_id = ANY ($1)",
    "DELETE FROM app.email WHERE to_address IN (SELECT email FROM app.person WHERE id = ANY ($1))",
    "UPDATE app.person SET email = 'erased-' || id || '@invalid', name = 'erased', password_hash = NULL,
         email_verified_at = NULL, disabled_at = app.now()
     WHERE id = ANY ($1)",
];

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

/// A video of an account that is being erased.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErasedTask {
    pub id: Uuid,
    /// Path in our object storage.
    pub media_path: Option<String>,
}

/// Closes an account for good: its keys end.
pub async fn close(tx: &mut Tx, id: AccountId, by: &str) -> Result<CloseAnswer, DbError> {
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
    sqlx::query("UPDATE app.account SET closed_at = app.now(), revision = $2 WHERE id = $1")
        .bind(id.number())
        .bind(number)
        .execute(&mut **tx)
        .await?;
    let keys = end_keys(tx, id, by).await?;
    Ok(CloseAnswer::Done { keys })
}

/// Ends all keys; how many were live.
async fn end_keys(tx: &mut Tx, id: AccountId, by: &str) -> Result<usize, DbError> {
    // A key takes those below it along.
    let heads: Vec<i64> = sqlx::query_scalar(
        "SELECT id FROM app.api_key WHERE account_id = $1 AND parent_id IS NULL AND deleted_at IS NULL ORDER BY id",
    )
    .bind(id.number())
    .fetch_all(&mut **tx)
    .await?;
    let mut ended: usize = 0;
    for head in heads {
        let answer = keys::delete(tx, KeyId::new(head), by).await?;
        if let keys::RevokeAnswer::Done { keys } = answer {
            ended = ended.saturating_add(keys.len());
        }
    }
    Ok(ended)
}

/// Erases what names people of a closed account, and leaves its prompts and files to the job. Members who have no
/// other account are erased with it.
pub async fn erase(tx: &mut Tx, account: AccountId) -> Result<(), DbError> {
    let number = revision::bump(tx, TOPIC).await?;
    let key_number = revision::bump(tx, keys::TOPIC).await?;
    let id = account.number();
    sqlx::query(
        "UPDATE app.account SET name = $2, aliases = '{}', erasing_since = COALESCE(erasing_since, app.now()),
             revision = $3
         WHERE id = $1",
    )
    .bind(id)
    .bind(ERASED)
    .bind(number)
    .execute(&mut **tx)
    .await?;
    sqlx::query("UPDATE app.api_key SET name = $2, revision = $3 WHERE account_id = $1")
        .bind(id)
        .bind(ERASED)
        .bind(key_number)
        .execute(&mut **tx)
        .await?;
    let alone: Vec<i64> = sqlx::query_scalar(
        "SELECT m.person_id FROM app.member AS m JOIN app.person AS p ON p.id = m.person_id AND NOT p.is_operator
         WHERE m.account_id = $1 AND NOT EXISTS (
             SELECT FROM app.member AS o WHERE o.person_id = m.person_id AND o.account_id <> $1)",
    )
    .bind(id)
    .fetch_all(&mut **tx)
    .await?;
    for text in OF_ACCOUNT {
        sqlx::query(text).bind(id).execute(&mut **tx).await?;
    }
    for text in OF_PEOPLE {
        sqlx::query(text).bind(&alone).execute(&mut **tx).await?;
    }
    Ok(())
}

/// Accounts that are being erased.
pub async fn to_erase(
    connection: &mut PgConnection,
    limit: i64,
) -> Result<Vec<AccountId>, DbError> {
    let ids: Vec<i64> = sqlx::query_scalar(
        "SELECT id FROM app.account WHERE erasing_since IS NOT NULL AND erased_at IS NULL ORDER BY id LIMIT $1",
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

/// Nothing is left to erase of an account.
pub async fn finish_erasure(database: &Database, account: AccountId) -> Result<(), DbError> {
    let mut tx = database.begin().await?;
    let done = async {
        let number = revision::bump(&mut tx, TOPIC).await?;
        sqlx::query("UPDATE app.account SET erased_at = app.now(), revision = $2 WHERE id = $1")
            .bind(account.number())
            .bind(number)
            .execute(&mut *tx)
            .await?;
        Ok(())
    };
    let done = done.await;
    tx.finish(done).await
}
