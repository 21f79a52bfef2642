//! Retention of emails: content with expired links is deleted, old rows are deleted, and without a
//! mail server queued emails are held for the operator. Any worker runs it, in bounded steps.

use trunkline_db::{Database, DbError};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cleanup {
    /// Emails with expired links whose content was deleted.
    pub emptied: u64,
    /// Deleted emails and attempt counters.
    pub forgotten: u64,
}

/// Runs one step, with at most so many rows of each kind.
pub async fn clean_up(database: &Database, at_once: i64) -> Result<Cleanup, DbError> {
    let emptied = step(database, EMPTY, at_once).await?;
    let emails = step(database, FORGET, at_once).await?;
    let tries = step(database, FORGET_TRIES, at_once).await?;
    Ok(Cleanup {
        emptied,
        forgotten: emails.saturating_add(tries),
    })
}

/// Holds queued emails for the operator, because no mail server is configured. Returns how many.
pub async fn hold_for_operator(database: &Database, at_once: i64) -> Result<u64, DbError> {
    step(database, KEEP, at_once).await
}

async fn step(database: &Database, text: &'static str, at_once: i64) -> Result<u64, DbError> {
    let mut tx = database.begin().await?;
    let done = sqlx::query(text)
        .bind(at_once)
        .execute(&mut *tx)
        .await
        .map_err(DbError::from);
    let done = tx.finish(done).await?;
    Ok(done.rows_affected())
}

const EMPTY: &str = "WITH over AS MATERIALIZED (
        SELECT l.id FROM app.email AS l
        WHERE l.sealed IS NOT NULL AND l.expires_at <= app.now() LIMIT $1 FOR UPDATE SKIP LOCKED)
    UPDATE app.email AS l SET sealed = NULL,
        state = CASE WHEN l.state = 'waiting' THEN 'failed' ELSE l.state END,
        last_error = CASE WHEN l.state = 'waiting'
            THEN COALESCE(l.last_error, 'its link was over before a mail server took it') ELSE l.last_error END
    FROM over AS o WHERE l.id = o.id";

const KEEP: &str = "WITH waiting AS MATERIALIZED (
        SELECT l.id FROM app.email AS l
        WHERE l.state = 'waiting' AND l.due_at <= app.now() LIMIT $1 FOR UPDATE SKIP LOCKED)
    UPDATE app.email AS l SET state = 'kept', claim = l.claim + 1
    FROM waiting AS w WHERE l.id = w.id";

const FORGET: &str = "WITH old AS MATERIALIZED (
        SELECT l.id FROM app.email AS l
        WHERE l.created_at < app.now() - interval '30 days' AND l.sealed IS NULL
        ORDER BY l.created_at LIMIT $1 FOR UPDATE SKIP LOCKED)
    DELETE FROM app.email AS l USING old AS o WHERE l.id = o.id";

const FORGET_TRIES: &str = "WITH old AS MATERIALIZED (
        SELECT t.kind, t.subject_hash FROM app.attempt_counter AS t
        WHERE t.window_start < app.now() - interval '1 day' LIMIT $1)
    DELETE FROM app.attempt_counter AS t USING old AS o
    WHERE t.kind = o.kind AND t.subject_hash = o.subject_hash AND t.window_start < app.now() - interval '1 day'";
