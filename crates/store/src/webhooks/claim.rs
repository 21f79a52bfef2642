//! Claims of due deliveries: each for the length of a lease; only the newest claim may report the
//! result.

use std::time::Duration;

use serde_json::Value;
use sqlx::postgres::PgRow;
use sqlx::types::Json;
use sqlx::{PgConnection, Row as _};
use time::OffsetDateTime;
use trunkline_db::{DbError, Tx, from_sql_time};
use trunkline_types::{AccountId, Timestamp};
use uuid::Uuid;

use super::row::Kind;

/// Rows considered for fairness between accounts.
const FAIR_WINDOW: i64 = 1_000;

/// A delivery in flight from this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InFlight {
    pub webhook: Uuid,
    pub account: AccountId,
}

#[derive(Debug, Clone, Copy)]
pub struct ClaimLimit {
    pub limit: i64,
    /// Per webhook, in-flight deliveries included.
    pub per_webhook: i64,
    /// Per account, in-flight deliveries included.
    pub per_account: i64,
    /// Its lifetime in days.
    pub lease: Duration,
}

#[derive(Debug, Clone)]
pub struct Claimed {
    pub webhook: Uuid,
    pub account: AccountId,
    /// The number of this claim: only the newest one counts.
    pub claim: i32,
    /// The number of this attempt.
    pub tries: i32,
    /// How late it was claimed, in milliseconds.
    pub late_millis: i64,
    pub kind: Kind,
    /// The URL, sealed; none if it was deleted.
    pub url: Option<Vec<u8>>,
    /// The signing secret, sealed.
    pub secret: Vec<u8>,
    /// The previous secret, while it is valid.
    pub old_secret: Option<Vec<u8>>,
    pub event: ClaimedEvent,
    /// The rest of it; none if it was purged.
    pub body: Option<Value>,
}

/// The event of a claimed delivery.
#[derive(Debug, Clone)]
pub struct ClaimedEvent {
    pub id: Uuid,
    pub seq: i64,
    pub topic: String,
    pub task: Option<Uuid>,
    /// When it happened.
    pub at: Timestamp,
}

#[derive(Debug, Clone, Copy)]
pub struct Failure {
    /// HTTP status, if there was a response.
    pub status: Option<u16>,
    pub error: &'static str,
    /// Backoff until the next attempt.
    pub wait: Duration,
    /// The endpoint answered 410 Gone.
    pub gone: bool,
    pub hopeless: bool,
}

/// Result of a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AfterFailure {
    /// The delivery was given up.
    pub given_up: bool,
    pub paused: bool,
}

pub async fn claim(
    connection: &mut PgConnection,
    in_flight: &[InFlight],
    limit: ClaimLimit,
) -> Result<Vec<Claimed>, DbError> {
    let webhooks: Vec<Uuid> = in_flight.iter().map(|one| one.webhook).collect();
    let accounts: Vec<i64> = in_flight.iter().map(|one| one.account.number()).collect();
    let rows = sqlx::query(include_str!("claim.sql"))
        .bind(webhooks)
        .bind(accounts)
        .bind(limit.per_webhook)
        .bind(limit.per_account)
        .bind(FAIR_WINDOW)
        .bind(limit.limit)
        .bind(limit.lease.as_secs_f64())
        .fetch_all(connection)
        .await?;
    rows.iter().map(Claimed::of_row).collect()
}

/// How long until the next delivery is due; zero if one is, none if none is queued. Deliveries of
/// paused webhooks do not count.
pub async fn next_due(connection: &mut PgConnection) -> Result<Option<Duration>, DbError> {
    let seconds: Option<f64> = sqlx::query_scalar(
        "SELECT extract(epoch FROM min(due_at) - app.now())::float8 FROM app.webhook_delivery
         WHERE state = 'waiting' AND due_at < 'infinity'",
    )
    .fetch_one(connection)
    .await?;
    Ok(seconds.map(|seconds| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::ZERO)))
}

/// Records a successful attempt. False if another worker has claimed it since.
pub async fn delivered(tx: &mut Tx, claimed: &Claimed, status: u16) -> Result<bool, DbError> {
    sqlx::query(
        "UPDATE app.webhook SET failing_since = NULL WHERE id = $1 AND failing_since IS NOT NULL",
    )
    .bind(claimed.webhook)
    .execute(&mut **tx)
    .await?;
    let done = sqlx::query(
        "UPDATE app.webhook_delivery SET state = 'delivered', delivered_at = app.now(), last_try_at = app.now(),
             last_status = $4, last_error = NULL
         WHERE webhook_id = $1 AND event_id = $2 AND claim = $3 AND state = 'waiting'",
    )
    .bind(claimed.webhook)
    .bind(claimed.event.id)
    .bind(claimed.claim)
    .bind(i32::from(status))
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Records a failed attempt. None if another worker has claimed it since: then the caller rolls
/// back. A delivery is given up when it has failed for `patience`, and a webhook without a success
/// for as long is paused.
pub async fn failed(
    tx: &mut Tx,
    claimed: &Claimed,
    failure: Failure,
    patience: Duration,
) -> Result<Option<AfterFailure>, DbError> {
    let paused: Option<bool> = sqlx::query_scalar(
        "WITH late AS (SELECT app.now() - make_interval(secs => $3) AS since)
         UPDATE app.webhook AS w SET failing_since = COALESCE(w.failing_since, app.now()),
             paused_at = CASE WHEN $2 OR w.failing_since <= late.since THEN app.now() END,
             paused_reason = CASE WHEN $2 THEN 'gone' WHEN w.failing_since <= late.since THEN 'failing' END
         FROM late
         WHERE w.id = $1 AND w.kind = 'endpoint' AND w.paused_at IS NULL
             AND ($2 OR w.failing_since IS NULL OR w.failing_since <= late.since)
         RETURNING w.paused_at IS NOT NULL",
    )
    .bind(claimed.webhook)
    .bind(failure.gone)
    .bind(patience.as_secs_f64())
    .fetch_optional(&mut **tx)
    .await?;
    let given_up: Option<bool> = sqlx::query_scalar(
        "WITH over AS (SELECT d.webhook_id, d.event_id, COALESCE(d.first_failed_at, app.now()) AS first,
                 $7 OR COALESCE(d.first_failed_at <= app.now() - make_interval(secs => $6), false) AS given_up
             FROM app.webhook_delivery AS d
             WHERE d.webhook_id = $1 AND d.event_id = $2 AND d.claim = $3 AND d.state = 'waiting' FOR UPDATE)
         UPDATE app.webhook_delivery AS d SET last_try_at = app.now(), last_status = $4, last_error = $5,
             first_failed_at = over.first,
             state = CASE WHEN over.given_up THEN 'failed' ELSE 'waiting' END,
             due_at = LEAST(app.now() + make_interval(secs => $8), over.first + make_interval(secs => $6))
         FROM over WHERE d.webhook_id = over.webhook_id AND d.event_id = over.event_id
         RETURNING over.given_up",
    )
    .bind(claimed.webhook)
    .bind(claimed.event.id)
    .bind(claimed.claim)
    .bind(failure.status.map(i32::from))
    .bind(failure.error)
    .bind(patience.as_secs_f64())
    .bind(failure.hopeless)
    .bind(failure.wait.as_secs_f64())
    .fetch_optional(&mut **tx)
    .await?;
    Ok(given_up.map(|given_up| AfterFailure {
        given_up,
        paused: paused.unwrap_or(false),
    }))
}

// === impl Claimed ===

impl Claimed {
    fn of_row(row: &PgRow) -> Result<Self, DbError> {
        let kind: String = row.try_get("kind")?;
        let at: OffsetDateTime = row.try_get("created_at")?;
        let body: Option<Json<Value>> = row.try_get("body")?;
        Ok(Self {
            webhook: row.try_get("webhook_id")?,
            account: AccountId::new(row.try_get("account_id")?),
            claim: row.try_get("claim")?,
            tries: row.try_get("tries")?,
            late_millis: row.try_get("late_millis")?,
            kind: Kind::of(&kind)?,
            url: row.try_get("url")?,
            secret: row.try_get("secret")?,
            old_secret: row.try_get("old_secret")?,
            event: ClaimedEvent {
                id: row.try_get("event_id")?,
                seq: row.try_get("seq")?,
                topic: row.try_get("topic")?,
                task: row.try_get("task_id")?,
                at: from_sql_time(at),
            },
            body: body.map(|body| body.0),
        })
    }
}
