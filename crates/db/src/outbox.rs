//! Events on their way out: written with their cause, carried later, at least once.
//!
//! This room does not know NATS, webhooks or what an event means. Several carriers may claim at once
//! and never hold the same row; a carrier that dies gives its rows back by its transaction's end.

use serde_json::Value;
use sqlx::PgConnection;
use sqlx::types::Json;
use time::OffsetDateTime;
use trunkline_terms::{AccountId, Moment};
use uuid::Uuid;

use crate::error::Cause;
use crate::{DbError, Tx, from_sql_time, to_sql_time};

/// Largest body as PostgreSQL prints it, with a blank after each colon and comma. The constraint
/// [`BODY_CONSTRAINT`] has the same number.
pub const BODY_MAX_BYTES: usize = 65_536;
/// What a larger body breaks.
pub const BODY_CONSTRAINT: &str = "outbox_body_bounded";
/// Most rows that one call claims or trims.
pub const BATCH_MAX_ROWS: u32 = 1_000;

/// An event to write.
#[derive(Debug, Clone)]
pub struct NewEvent<'a> {
    /// A UUID v7 that the caller made. A second event of the same id is refused.
    pub id: Uuid,
    /// What kind of thing happened.
    pub topic: &'a str,
    /// To whom; nobody for the house's own events.
    pub account: Option<AccountId>,
    /// The rest.
    pub body: &'a Value,
}

/// An event that was written and not yet published.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// The id it was written with.
    pub id: Uuid,
    /// What kind of thing happened.
    pub topic: String,
    /// To whom.
    pub account: Option<AccountId>,
    /// Its number among the events of this topic and account, from 1, without holes.
    pub seq: i64,
    /// The rest.
    pub body: Value,
    /// When its transaction began, by the database's clock.
    pub created_at: Moment,
}

type Row = (Uuid, String, Option<i64>, i64, Json<Value>, OffsetDateTime);

/// Writes an event in the transaction that makes it true, and tells its number. Other writers of the
/// same topic and account wait until this transaction ends, so do it late.
pub async fn append(tx: &mut Tx, event: &NewEvent<'_>) -> Result<i64, DbError> {
    let body = event.body.to_string();
    if body.len() > BODY_MAX_BYTES {
        return Err(DbError::Refused {
            constraint: Some(BODY_CONSTRAINT.to_owned()),
            cause: Cause::ours(format!("an event of {} bytes", body.len())),
        });
    }
    let seq = sqlx::query_scalar(
        "WITH counter AS (
             INSERT INTO app.outbox_counter AS c (topic, account_id, value) VALUES ($2, $3, 1)
             ON CONFLICT (topic, account_id) DO UPDATE SET value = c.value + 1
             RETURNING c.value
         )
         INSERT INTO app.outbox (id, topic, account_id, seq, body)
         SELECT $1, $2, $3, counter.value, $4::jsonb FROM counter
         RETURNING seq",
    )
    .bind(event.id)
    .bind(event.topic)
    .bind(event.account.map(AccountId::number))
    .bind(body)
    .fetch_one(&mut **tx)
    .await?;
    Ok(seq)
}

/// The oldest unpublished events that nobody else holds, held until this transaction ends.
///
/// Oldest by id, that is, by the clocks of the nodes that made them; who needs the order within a
/// topic goes by `seq`.
pub async fn claim(tx: &mut Tx, limit: u32) -> Result<Vec<Event>, DbError> {
    let rows: Vec<Row> = sqlx::query_as(
        "SELECT id, topic, account_id, seq, body, created_at
         FROM app.outbox
         WHERE published_at IS NULL
         ORDER BY id
         LIMIT $1
         FOR UPDATE SKIP LOCKED",
    )
    .bind(i64::from(limit.min(BATCH_MAX_ROWS)))
    .fetch_all(&mut **tx)
    .await?;
    Ok(rows.into_iter().map(Event::from_row).collect())
}

/// Marks claimed events as carried, and tells how many were not marked before.
pub async fn mark_published(tx: &mut Tx, ids: &[Uuid]) -> Result<u64, DbError> {
    let done = sqlx::query(
        "UPDATE app.outbox SET published_at = (SELECT app.now())
         WHERE id = ANY($1) AND published_at IS NULL",
    )
    .bind(ids)
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected())
}

/// Takes claimed events away that were carried, and tells how many.
pub async fn remove(tx: &mut Tx, ids: &[Uuid]) -> Result<u64, DbError> {
    let done = sqlx::query("DELETE FROM app.outbox WHERE id = ANY($1)")
        .bind(ids)
        .execute(&mut **tx)
        .await?;
    Ok(done.rows_affected())
}

/// Takes away events that nobody will carry, the oldest first, and tells how many.
pub async fn discard(connection: &mut PgConnection, limit: u32) -> Result<u64, DbError> {
    let done = sqlx::query(
        "DELETE FROM app.outbox WHERE id IN (
             SELECT id FROM app.outbox WHERE published_at IS NULL
             ORDER BY id
             LIMIT $1
             FOR UPDATE SKIP LOCKED
         )",
    )
    .bind(i64::from(limit.min(BATCH_MAX_ROWS)))
    .execute(connection)
    .await?;
    Ok(done.rows_affected())
}

/// Takes away events that have waited for so many days, and tells how many: whoever was away for so
/// long reads what the table of events has kept.
pub async fn expire(connection: &mut PgConnection, days: i32, limit: u32) -> Result<u64, DbError> {
    let done = sqlx::query(
        "DELETE FROM app.outbox WHERE id IN (
             SELECT id FROM app.outbox
             WHERE created_at < app.now() - make_interval(days => $1)
             ORDER BY id
             LIMIT $2
             FOR UPDATE SKIP LOCKED
         )",
    )
    .bind(days)
    .bind(i64::from(limit.min(BATCH_MAX_ROWS)))
    .execute(connection)
    .await?;
    Ok(done.rows_affected())
}

/// What waits to be carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Waiting {
    /// How many, as far as they are counted.
    pub rows: i64,
    /// How long the oldest of these has waited, in seconds.
    pub seconds: i64,
}

/// How many events wait, counted up to `most`, and for how long.
pub async fn waiting(connection: &mut PgConnection, most: i64) -> Result<Waiting, DbError> {
    let (rows, seconds) = sqlx::query_as(
        "SELECT count(*), COALESCE(extract(epoch FROM app.now() - min(w.created_at)), 0)::bigint
         FROM (SELECT created_at FROM app.outbox WHERE published_at IS NULL
               ORDER BY id LIMIT $1) AS w",
    )
    .bind(most)
    .fetch_one(connection)
    .await?;
    Ok(Waiting { rows, seconds })
}

/// Sweeps up events that were published before `older_than`, the oldest first, and tells how many.
///
/// The bound on the id lets the sweep stop early: what was published by then was made by then.
pub async fn trim(tx: &mut Tx, older_than: Moment, limit: u32) -> Result<u64, DbError> {
    let done = sqlx::query(
        "DELETE FROM app.outbox WHERE id IN (
             SELECT id FROM app.outbox
             WHERE id < app.uuid_v7_floor($1) AND published_at < $1
             ORDER BY id
             LIMIT $2
             FOR UPDATE SKIP LOCKED
         )",
    )
    .bind(to_sql_time(older_than))
    .bind(i64::from(limit.min(BATCH_MAX_ROWS)))
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected())
}

// === impl Event ===

impl Event {
    fn from_row((id, topic, account, seq, body, created_at): Row) -> Self {
        Self {
            id,
            topic,
            account: account.map(AccountId::new),
            seq,
            body: body.0,
            created_at: from_sql_time(created_at),
        }
    }
}
