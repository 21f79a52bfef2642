//! Transitions of a task. Each names the states it starts from; false means that another worker was
//! faster, and the caller must roll back.

use std::time::Duration;

use serde_json::Value;
use sqlx::{PgConnection, Row as _};
use trunkline_db::{DbError, Tx};
use trunkline_types::{AccountId, KeyId, Money};
use uuid::Uuid;

use super::claim::{Job, schedule, unschedule};
use super::row::TaskState;

/// Longest text of an error that is kept.
const MAX_MESSAGE: usize = 2_000;
const MAX_CODE: usize = 200;

#[derive(Debug, Clone)]
pub struct NewTask {
    /// Its name, here and in the ledger.
    pub id: Uuid,
    pub account: AccountId,
    pub key: KeyId,
    /// The public name of the model.
    pub model: String,
    /// The requested alias, where it was one.
    pub requested_model: Option<String>,
    /// The group whose prices apply.
    pub group: String,
    pub amount: Money,
    /// Whether that is the price, and not a bound.
    pub exact: bool,
    /// The prices it is sold at.
    pub prices: Value,
    /// The upstream request, sealed; none for a key that keeps nothing.
    pub sent: Option<Vec<u8>>,
    /// Whether its file is passed on from the vendor instead of being stored.
    pub zero_retention: bool,
    /// SHA-256 of the request.
    pub body_hash: [u8; 32],
    pub warnings: Value,
    /// The size as it is shown.
    pub size: Option<String>,
    /// Seconds that are asked for.
    pub seconds: Option<i32>,
    pub protocol: String,
    pub endpoint: String,
    /// How long it may wait for a channel.
    pub queue: Duration,
    pub deadline: Duration,
    /// After this lease another worker may claim it.
    pub lease: Duration,
}

/// The state of a task's money when it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failed {
    Charged,
    /// Its money was only held.
    Held,
}

/// Writes a task. Its creator submits it, or a worker if the creator fails.
pub async fn insert(tx: &mut Tx, new: &NewTask) -> Result<(), DbError> {
    sqlx::query(
        "INSERT INTO app.video_task (id, account_id, key_id, model, group_name, amount, exact, prices, sent,
             body_hash, warnings, size, seconds, protocol, endpoint, queue_until, deadline_at, requested_model,
             zero_retention)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15,
             app.now() + make_interval(secs => $16), app.now() + make_interval(secs => $17), $18, $19)",
    )
    .bind(new.id)
    .bind(new.account.number())
    .bind(new.key.number())
    .bind(&new.model)
    .bind(&new.group)
    .bind(new.amount.nanos())
    .bind(new.exact)
    .bind(&new.prices)
    .bind(&new.sent)
    .bind(new.body_hash.as_slice())
    .bind(&new.warnings)
    .bind(&new.size)
    .bind(new.seconds)
    .bind(&new.protocol)
    .bind(&new.endpoint)
    .bind(new.queue.as_secs_f64())
    .bind(new.deadline.as_secs_f64())
    .bind(&new.requested_model)
    .bind(new.zero_retention)
    .execute(&mut **tx)
    .await?;
    schedule(tx, new.id, new.account, Job::Submit, new.lease).await
}

/// The part of a channel's concurrent tasks that one account leaves to others: one divided by it.
const OTHERS_PART: i64 = 4;

/// Whether a channel with a limit of concurrent tasks can take one more of an account, tasks of unknown
/// state included. One account may have three quarters of them, so that others find some free. An advisory
/// lock serialises callers until their transaction ends, so that two never take the last slot.
pub async fn has_capacity(
    tx: &mut Tx,
    channel: i64,
    account: AccountId,
    most: i64,
) -> Result<bool, DbError> {
    sqlx::query(
        "SELECT pg_catalog.pg_advisory_xact_lock(
             pg_catalog.hashtextextended('tasks of channel ' || $1::text, 0))",
    )
    .bind(channel)
    .execute(&mut **tx)
    .await?;
    // Only open tasks are scheduled, so old ones are not read.
    let (open, own): (i64, i64) = sqlx::query_as(
        "SELECT count(*), count(*) FILTER (WHERE t.account_id = $2) FROM app.video_schedule AS s
         JOIN app.video_task AS t ON t.id = s.task_id
         WHERE s.job IN ('submit', 'poll') AND t.channel_id = $1
             AND t.state IN ('submitting', 'unknown', 'submitted', 'running')",
    )
    .bind(channel)
    .bind(account.number())
    .fetch_one(&mut **tx)
    .await?;
    let for_others = most.checked_div(OTHERS_PART).unwrap_or(0);
    Ok(open < most && own < most.saturating_sub(for_others))
}

/// It is about to be sent to a channel. Commit before anything is sent.
pub async fn submitting(
    tx: &mut Tx,
    id: Uuid,
    channel: i64,
    credential: i64,
    lease: Duration,
) -> Result<bool, DbError> {
    let done = sqlx::query(
        "UPDATE app.video_task SET state = 'submitting', channel_id = $2, credential_id = $3
         WHERE id = $1 AND state = 'accepted'",
    )
    .bind(id)
    .bind(channel)
    .bind(credential)
    .execute(&mut **tx)
    .await?;
    if done.rows_affected() == 0 {
        return Ok(false);
    }
    super::claim::reschedule(tx, id, lease).await?;
    Ok(true)
}

/// The upstream certainly did not take it; it may be sent again later.
pub async fn return_to_accepted(tx: &mut Tx, id: Uuid, due_in: Duration) -> Result<bool, DbError> {
    let done = sqlx::query(
        "UPDATE app.video_task SET state = 'accepted', channel_id = NULL, credential_id = NULL
         WHERE id = $1 AND state = 'submitting'",
    )
    .bind(id)
    .execute(&mut **tx)
    .await?;
    if done.rows_affected() == 0 {
        return Ok(false);
    }
    super::claim::reschedule(tx, id, due_in).await?;
    Ok(true)
}

/// It is unknown whether the upstream took it.
pub async fn mark_unknown(tx: &mut Tx, id: Uuid, due_in: Duration) -> Result<bool, DbError> {
    let done = sqlx::query(
        "UPDATE app.video_task SET state = 'unknown' WHERE id = $1 AND state = 'submitting'",
    )
    .bind(id)
    .execute(&mut **tx)
    .await?;
    super::claim::reschedule(tx, id, due_in).await?;
    Ok(done.rows_affected() > 0)
}

/// Records the upstream's id without charging. The worker that claims the task next charges it.
pub async fn record_upstream_id(
    connection: &mut PgConnection,
    id: Uuid,
    upstream: &str,
) -> Result<(), DbError> {
    sqlx::query(
        "UPDATE app.video_task SET upstream_id = $2
         WHERE id = $1 AND state IN ('submitting', 'unknown') AND upstream_id IS NULL",
    )
    .bind(id)
    .bind(upstream)
    .execute(connection)
    .await?;
    Ok(())
}

/// The upstream took it. The charge is in the same transaction.
pub async fn submitted(
    tx: &mut Tx,
    id: Uuid,
    account: AccountId,
    upstream: &str,
    due_in: Duration,
) -> Result<bool, DbError> {
    let done = sqlx::query(
        "UPDATE app.video_task SET state = 'submitted', upstream_id = $2, submitted_at = app.now()
         WHERE id = $1 AND state IN ('submitting', 'unknown')",
    )
    .bind(id)
    .bind(upstream)
    .execute(&mut **tx)
    .await?;
    if done.rows_affected() == 0 {
        return Ok(false);
    }
    schedule(tx, id, account, Job::Poll, due_in).await?;
    Ok(true)
}

/// Records the status that the upstream reports.
pub async fn record_progress(
    connection: &mut PgConnection,
    id: Uuid,
    running: bool,
    progress: Option<i16>,
) -> Result<(), DbError> {
    sqlx::query(
        "UPDATE app.video_task SET state = CASE WHEN $2 THEN 'running' ELSE state END,
             progress = greatest(progress, COALESCE($3, 0)), progress_reported = progress_reported OR $3 IS NOT NULL
         WHERE id = $1 AND state IN ('submitted', 'running')
             AND ((state <> 'running' AND $2) OR progress < COALESCE($3, 0))",
    )
    .bind(id)
    .bind(running)
    .bind(progress)
    .execute(connection)
    .await?;
    Ok(())
}

/// It is completed, and its download is scheduled unless nothing is to be stored. Returns how long it took in
/// milliseconds; none if it had ended before.
pub async fn complete(
    tx: &mut Tx,
    id: Uuid,
    account: AccountId,
    file: &[u8],
) -> Result<Option<i64>, DbError> {
    let row = sqlx::query(
        "UPDATE app.video_task SET state = 'completed', progress = 100, file = $2, ended_at = app.now()
         WHERE id = $1 AND state IN ('submitted', 'running')
         RETURNING (extract(epoch FROM app.now() - submitted_at) * 1000)::bigint AS took, zero_retention",
    )
    .bind(id)
    .bind(file)
    .fetch_optional(&mut **tx)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let took: Option<i64> = row.try_get("took")?;
    if row.try_get::<bool, _>("zero_retention")? {
        unschedule(tx, id).await?;
    } else {
        schedule(tx, id, account, Job::Mirror, Duration::ZERO).await?;
    }
    Ok(Some(took.unwrap_or_default()))
}

/// Records how long a video of a model took. Not in a task's own transaction: all tasks of a model
/// share this row, and must not wait for each other. A moving average; the first tasks count
/// equally.
pub async fn note_millis(
    connection: &mut PgConnection,
    model: &str,
    millis: i64,
) -> Result<(), DbError> {
    sqlx::query(
        "INSERT INTO app.video_duration AS d (model, tasks, mean_millis) VALUES ($1, 1, greatest($2, 0))
         ON CONFLICT (model) DO UPDATE SET tasks = d.tasks + 1,
             mean_millis = d.mean_millis + (EXCLUDED.mean_millis - d.mean_millis) / least(d.tasks + 1, 20)",
    )
    .bind(model)
    .bind(millis)
    .execute(connection)
    .await?;
    Ok(())
}

/// It failed. The caller voids or refunds its money in the same transaction, by the result: none if
/// it had ended before.
pub async fn fail(
    tx: &mut Tx,
    id: Uuid,
    code: &str,
    message: &str,
) -> Result<Option<Failed>, DbError> {
    let row = sqlx::query("SELECT state FROM app.video_task WHERE id = $1 FOR UPDATE")
        .bind(id)
        .fetch_optional(&mut **tx)
        .await?;
    let Some(row) = row else { return Ok(None) };
    let word: String = row.try_get("state")?;
    let state = TaskState::of(&word)?;
    if state.is_over() {
        return Ok(None);
    }
    sqlx::query(
        "UPDATE app.video_task SET state = 'failed', error_code = $2, error_message = $3, ended_at = app.now()
         WHERE id = $1",
    )
    .bind(id)
    .bind(cut(code, MAX_CODE))
    .bind(cut(message, MAX_MESSAGE))
    .execute(&mut **tx)
    .await?;
    unschedule(tx, id).await?;
    Ok(Some(if state.is_charged() {
        Failed::Charged
    } else {
        Failed::Held
    }))
}

/// Whether it is in this state; if so, it stays there until this transaction ends.
pub async fn lock_in_state(tx: &mut Tx, id: Uuid, state: TaskState) -> Result<bool, DbError> {
    let row = sqlx::query("SELECT 1 FROM app.video_task WHERE id = $1 AND state = $2 FOR UPDATE")
        .bind(id)
        .bind(state.as_str())
        .fetch_optional(&mut **tx)
        .await?;
    Ok(row.is_some())
}

/// Deletes a task, only in the expected state: a worker may have continued it.
pub async fn remove(tx: &mut Tx, id: Uuid, from: TaskState) -> Result<bool, DbError> {
    let done = sqlx::query("DELETE FROM app.video_task WHERE id = $1 AND state = $2")
        .bind(id)
        .bind(from.as_str())
        .execute(&mut **tx)
        .await?;
    if done.rows_affected() == 0 {
        return Ok(false);
    }
    unschedule(tx, id).await?;
    Ok(true)
}

/// Updates the upstream's link of its file.
pub async fn update_file(
    connection: &mut PgConnection,
    id: Uuid,
    file: &[u8],
) -> Result<(), DbError> {
    sqlx::query("UPDATE app.video_task SET file = $2 WHERE id = $1 AND state = 'completed'")
        .bind(id)
        .bind(file)
        .execute(connection)
        .await?;
    Ok(())
}

/// Its file is in our object storage.
pub async fn mirrored(tx: &mut Tx, id: Uuid, path: &str, bytes: i64) -> Result<(), DbError> {
    sqlx::query("UPDATE app.video_task SET media_path = $2, media_bytes = $3 WHERE id = $1")
        .bind(id)
        .bind(path)
        .bind(bytes)
        .execute(&mut **tx)
        .await?;
    unschedule(tx, id).await
}

/// Deletes the stored requests of tasks that ended long ago; returns how many.
pub async fn purge_sent(
    connection: &mut PgConnection,
    after: Duration,
    limit: i64,
) -> Result<u64, DbError> {
    let done = sqlx::query(
        "UPDATE app.video_task SET sent = NULL WHERE id IN (
             SELECT id FROM app.video_task
             WHERE sent IS NOT NULL AND ended_at < app.now() - make_interval(secs => $1)
             ORDER BY ended_at LIMIT $2)",
    )
    .bind(after.as_secs_f64())
    .bind(limit)
    .execute(connection)
    .await?;
    Ok(done.rows_affected())
}

/// How long videos of a model took lately; none if unknown.
pub async fn usual_millis(
    connection: &mut PgConnection,
    model: &str,
) -> Result<Option<i64>, DbError> {
    let row = sqlx::query("SELECT mean_millis FROM app.video_duration WHERE model = $1")
        .bind(model)
        .fetch_optional(connection)
        .await?;
    Ok(row.map(|row| row.try_get("mean_millis")).transpose()?)
}

fn cut(text: &str, most: usize) -> String {
    // PostgreSQL stores no NUL in a text.
    text.chars()
        .filter(|character| *character != '\0')
        .take(most)
        .collect()
}
