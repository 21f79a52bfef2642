//! Claims of due emails: each for the length of a lease; only the newest claim may report the
//! result.

use std::time::Duration;

use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};
use trunkline_db::{DbError, from_sql_time};
use trunkline_types::Timestamp;
use uuid::Uuid;

use super::Kind;

#[derive(Debug, Clone)]
pub struct Claimed {
    /// Its id, the same at every try.
    pub id: Uuid,
    pub kind: Kind,
    pub to: String,
    /// The content, sealed.
    pub sealed: Vec<u8>,
    /// The number of this claim: only the newest one counts.
    pub claim: i32,
    /// The number of this attempt.
    pub tries: i32,
    pub created_at: Timestamp,
    /// When its link expires.
    pub expires_at: Timestamp,
}

#[derive(Debug, Clone, Copy)]
pub struct Failure<'a> {
    /// Error text for the log and the console.
    pub error: &'a str,
    /// Backoff until the next attempt.
    pub wait: Duration,
    /// For how long it is retried after it was written.
    pub patience: Duration,
    pub is_final: bool,
}

/// Claims due emails, the longest waiting first. An email whose link has expired is left to
/// [`super::clean_up`].
pub async fn claim(
    connection: &mut PgConnection,
    limit: i64,
    lease: Duration,
) -> Result<Vec<Claimed>, DbError> {
    let rows = sqlx::query(
        "WITH chosen AS MATERIALIZED (
             SELECT l.id FROM app.email AS l
             WHERE l.state = 'waiting' AND l.due_at <= app.now() AND l.expires_at > app.now()
             ORDER BY l.due_at LIMIT $1 FOR UPDATE SKIP LOCKED)
         UPDATE app.email AS l
         SET due_at = app.now() + make_interval(secs => $2), claim = l.claim + 1, tries = l.tries + 1
         FROM chosen AS c WHERE l.id = c.id
         RETURNING l.id, l.kind, l.to_address, l.sealed, l.claim, l.tries, l.created_at, l.expires_at",
    )
    .bind(limit)
    .bind(lease.as_secs_f64())
    .fetch_all(connection)
    .await
    .map_err(DbError::of_commit)?;
    rows.iter().map(Claimed::of_row).collect()
}

/// Marks an email sent and deletes its content. False if another worker has claimed it since, which
/// will send it again.
pub async fn sent(connection: &mut PgConnection, claimed: &Claimed) -> Result<bool, DbError> {
    let done = sqlx::query(
        "UPDATE app.email SET state = 'sent', sealed = NULL, last_error = NULL, last_try_at = app.now()
         WHERE id = $1 AND claim = $2 AND state = 'waiting'",
    )
    .bind(claimed.id)
    .bind(claimed.claim)
    .execute(connection)
    .await
    .map_err(DbError::of_commit)?;
    Ok(done.rows_affected() > 0)
}

/// Records a failed attempt. True if it was given up: an operator can still pass its link on. None
/// if another worker has claimed it since.
pub async fn failed(
    connection: &mut PgConnection,
    claimed: &Claimed,
    failure: Failure<'_>,
) -> Result<Option<bool>, DbError> {
    let given_up: Option<bool> = sqlx::query_scalar(
        "UPDATE app.email SET last_error = left($3, 200), last_try_at = app.now(),
             due_at = app.now() + make_interval(secs => $4),
             state = CASE WHEN $5 OR app.now() + make_interval(secs => $4)
                     > LEAST(created_at + make_interval(secs => $6), expires_at)
                 THEN 'failed' ELSE 'waiting' END
         WHERE id = $1 AND claim = $2 AND state = 'waiting'
         RETURNING state = 'failed'",
    )
    .bind(claimed.id)
    .bind(claimed.claim)
    .bind(failure.error)
    .bind(failure.wait.as_secs_f64())
    .bind(failure.is_final)
    .bind(failure.patience.as_secs_f64())
    .fetch_optional(connection)
    .await
    .map_err(DbError::of_commit)?;
    Ok(given_up)
}

// === impl Claimed ===

impl Claimed {
    fn of_row(row: &PgRow) -> Result<Self, DbError> {
        Ok(Self {
            id: row.try_get("id")?,
            kind: Kind::of(row.try_get("kind")?)?,
            to: row.try_get("to_address")?,
            sealed: row.try_get("sealed")?,
            claim: row.try_get("claim")?,
            tries: row.try_get("tries")?,
            created_at: from_sql_time(row.try_get("created_at")?),
            expires_at: from_sql_time(row.try_get("expires_at")?),
        })
    }
}
