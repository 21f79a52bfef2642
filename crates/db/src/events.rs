//! Events of accounts, numbered without gaps and written in the transaction of their cause.
//!
//! The table is authoritative; [`crate::outbox`] gets a copy of each to publish. Writers define the
//! bodies of their topics.

use serde_json::Value;
use sqlx::types::Json;
use sqlx::{PgConnection, Row as _};
use time::OffsetDateTime;
use trunkline_types::{AccountId, Defect, Timestamp, Topic};
use uuid::Uuid;

use crate::{Database, DbError, Tx, from_sql_time, outbox};

/// The system account, whose events go to all accounts.
pub const SYSTEM_ACCOUNT: AccountId = AccountId::new(0);
/// Most rows of one page.
pub const PAGE_MAX_ROWS: u32 = 1_000;
/// Days that events are kept, at least.
pub const KEPT_DAYS: i32 = 7;

#[derive(Debug, Clone)]
pub struct NewEvent {
    /// A UUID v7 that the caller made, or one that names its cause: a second event of the same id
    /// is refused while the first waits in the outbox.
    pub id: Uuid,
    /// The account; [`SYSTEM_ACCOUNT`] for all accounts.
    pub account: AccountId,
    pub topic: Topic,
    /// The task it is about.
    pub task: Option<Uuid>,
    pub body: Value,
}

/// An event that was written.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// The id it was written with.
    pub id: Uuid,
    pub account: AccountId,
    /// Its number among the account's, from 1, without holes.
    pub seq: i64,
    /// The word of its topic.
    pub topic: String,
    /// The task it is about.
    pub task: Option<Uuid>,
    pub body: Value,
    /// When its transaction began, by the database's clock.
    pub created_at: Timestamp,
}

type Row = (
    Uuid,
    i64,
    i64,
    String,
    Option<Uuid>,
    Json<Value>,
    OffsetDateTime,
);

/// Writes events in the transaction of their cause. Later writers for the same accounts wait until
/// this transaction ends, so call it last; accounts of the ledger are locked before.
pub async fn append(tx: &mut Tx, events: &[NewEvent]) -> Result<(), DbError> {
    if events.is_empty() || Defect::LostEvent.is_on() {
        return Ok(());
    }
    let each = |of: fn(&NewEvent) -> i64| events.iter().map(of).collect::<Vec<_>>();
    sqlx::query(include_str!("sql/append_events.sql"))
        .bind(events.iter().map(|event| event.id).collect::<Vec<_>>())
        .bind(each(|event| event.account.number()))
        .bind(
            events
                .iter()
                .map(|event| event.topic.name())
                .collect::<Vec<_>>(),
        )
        .bind(events.iter().map(|event| event.task).collect::<Vec<_>>())
        .bind(
            events
                .iter()
                .map(|event| Json(&event.body))
                .collect::<Vec<_>>(),
        )
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// The events of an account after a number, in order. At most [`PAGE_MAX_ROWS`].
pub async fn after(
    connection: &mut PgConnection,
    account: AccountId,
    seq: i64,
    limit: u32,
) -> Result<Vec<Event>, DbError> {
    let rows: Vec<Row> = sqlx::query_as(
        "SELECT id, account_id, seq, topic, task_id, body, created_at FROM app.event
         WHERE account_id = $1 AND seq > $2 ORDER BY seq LIMIT $3",
    )
    .bind(account.number())
    .bind(seq)
    .bind(i64::from(limit.min(PAGE_MAX_ROWS)))
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(Event::from_row).collect())
}

/// Events of an account after a number, and its newest number, from one snapshot.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// The newest number; 0 if there never was an event.
    pub newest: i64,
    /// In order, without holes. The first may be further on than was asked for: then those between
    /// were forgotten. Those that fit; fewer than the limit are all there are.
    pub events: Vec<Event>,
}

/// The events of an account after a number, beside its newest number. At most [`PAGE_MAX_ROWS`].
///
/// One statement, so that a reader who finds nothing although there is a newer number knows: what it
/// asks for was forgotten, and did not become true a moment later.
pub async fn page(
    connection: &mut PgConnection,
    account: AccountId,
    seq: i64,
    limit: u32,
) -> Result<Page, DbError> {
    let rows = sqlx::query(
        "SELECT c.value, e.id, e.seq, e.topic, e.task_id, e.body, e.created_at
         FROM app.event_counter AS c
         LEFT JOIN LATERAL (
             SELECT * FROM app.event WHERE account_id = $1 AND seq > $2 ORDER BY seq LIMIT $3
         ) AS e ON true
         WHERE c.account_id = $1
         ORDER BY e.seq",
    )
    .bind(account.number())
    .bind(seq)
    .bind(i64::from(limit.min(PAGE_MAX_ROWS)))
    .fetch_all(connection)
    .await?;
    let mut page = Page {
        newest: 0,
        events: Vec::with_capacity(rows.len()),
    };
    for row in rows {
        page.newest = row.try_get("value")?;
        let id: Option<Uuid> = row.try_get("id")?;
        let Some(id) = id else { continue };
        let body: Json<Value> = row.try_get("body")?;
        page.events.push(Event {
            id,
            account,
            seq: row.try_get("seq")?,
            topic: row.try_get("topic")?,
            task: row.try_get("task_id")?,
            body: body.0,
            created_at: from_sql_time(row.try_get("created_at")?),
        });
    }
    Ok(page)
}

/// The newest number of each of these accounts that has one.
pub async fn newest(
    connection: &mut PgConnection,
    accounts: &[AccountId],
) -> Result<Vec<(AccountId, i64)>, DbError> {
    let numbers: Vec<i64> = accounts.iter().map(|account| account.number()).collect();
    let rows: Vec<(i64, i64)> = sqlx::query_as(
        "SELECT account_id, value FROM app.event_counter WHERE account_id = ANY($1)",
    )
    .bind(numbers)
    .fetch_all(connection)
    .await?;
    let named = |(account, value)| (AccountId::new(account), value);
    Ok(rows.into_iter().map(named).collect())
}

/// Makes the tables of the days from yesterday to so many ahead. Safe to repeat.
pub async fn make_partitions(tx: &mut Tx, days_ahead: i32) -> Result<i32, DbError> {
    let made = sqlx::query_scalar(
        "SELECT app.make_event_partitions((app.now() AT TIME ZONE 'UTC')::date - 1, $1 + 2)",
    )
    .bind(days_ahead)
    .fetch_one(&mut **tx)
    .await?;
    Ok(made)
}

/// Drops the partitions older than [`KEPT_DAYS`]; returns how many.
pub async fn drop_old_partitions(tx: &mut Tx) -> Result<i32, DbError> {
    let gone = sqlx::query_scalar(
        "SELECT app.drop_event_partitions((app.now() AT TIME ZONE 'UTC')::date - $1)",
    )
    .bind(KEPT_DAYS)
    .fetch_one(&mut **tx)
    .await?;
    Ok(gone)
}

/// What [`purge`] deleted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Purged {
    /// Partitions of events, one for each day.
    pub days: i32,
    /// Copies that no node carried.
    pub copies: u64,
}

/// Deletes events, and copies of them that no node carried, after [`KEPT_DAYS`].
pub async fn purge(database: &Database) -> Result<Purged, DbError> {
    let mut tx = database.begin().await?;
    let days = drop_old_partitions(&mut tx).await;
    let days = tx.finish(days).await?;
    let mut session = database.session().await?;
    let mut copies: u64 = 0;
    loop {
        let most = outbox::BATCH_MAX_ROWS;
        let gone = outbox::expire(&mut session, KEPT_DAYS, most).await?;
        copies = copies.saturating_add(gone);
        if gone < u64::from(most) {
            return Ok(Purged { days, copies });
        }
    }
}

// === impl Event ===

impl Event {
    fn from_row(row: Row) -> Self {
        let (id, account, seq, topic, task, body, created_at) = row;
        Self {
            id,
            account: AccountId::new(account),
            seq,
            topic,
            task,
            body: body.0,
            created_at: from_sql_time(created_at),
        }
    }
}
