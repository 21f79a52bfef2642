//! Outbox: [`crate::events::append`] writes copies of events with their cause; they are published
//! later, at least once, and deleted.
//!
//! Several publishers may claim concurrently and never hold the same row; the rows of a failed
//! publisher are released with its transaction.

use serde_json::Value;
use sqlx::PgConnection;
use sqlx::types::Json;
use time::OffsetDateTime;
use trunkline_types::{AccountId, Timestamp};
use uuid::Uuid;

use crate::{DbError, Tx, from_sql_time};

/// Most rows that one call claims or takes away.
pub const BATCH_MAX_ROWS: u32 = 1_000;

#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// The id it was written with.
    pub id: Uuid,
    /// What kind of thing happened.
    pub topic: String,
    pub account: Option<AccountId>,
    /// Its number among the account's events, from 1, without holes.
    pub seq: i64,
    pub body: Value,
    /// When its transaction began, by the database's clock.
    pub created_at: Timestamp,
}

type Row = (Uuid, String, Option<i64>, i64, Json<Value>, OffsetDateTime);

/// The oldest unpublished events that no other publisher holds, locked until this transaction ends.
///
/// Oldest by id, that is, mostly by the clocks of the nodes that made them; who needs the order within
/// an account goes by `seq`.
pub async fn claim(tx: &mut Tx, limit: u32) -> Result<Vec<Event>, DbError> {
    let rows: Vec<Row> = sqlx::query_as(
        "SELECT id, topic, account_id, seq, body, created_at
         FROM app.outbox
         ORDER BY id
         LIMIT $1
         FOR UPDATE SKIP LOCKED",
    )
    .bind(i64::from(limit.min(BATCH_MAX_ROWS)))
    .fetch_all(&mut **tx)
    .await?;
    Ok(rows.into_iter().map(Event::from_row).collect())
}

/// Deletes published events; returns how many.
pub async fn remove(tx: &mut Tx, ids: &[Uuid]) -> Result<u64, DbError> {
    let done = sqlx::query("DELETE FROM app.outbox WHERE id = ANY($1)")
        .bind(ids)
        .execute(&mut **tx)
        .await?;
    Ok(done.rows_affected())
}

/// Deletes events that will not be published, the oldest first; returns how many.
pub async fn discard(connection: &mut PgConnection, limit: u32) -> Result<u64, DbError> {
    let done = sqlx::query(
        "DELETE FROM app.outbox WHERE id IN (
             SELECT id FROM app.outbox
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

/// Deletes events that have waited for so many days; returns how many. Consumers that were down for
/// so long read the event table.
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
         FROM (SELECT created_at FROM app.outbox
               ORDER BY id LIMIT $1) AS w",
    )
    .bind(most)
    .fetch_one(connection)
    .await?;
    Ok(Waiting { rows, seconds })
}

// === impl Event ===

impl Event {
    fn from_row(row: Row) -> Self {
        let (id, topic, account, seq, body, created_at) = row;
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
