//! Deliveries as customers see them, and their replay.

use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};
use time::OffsetDateTime;
use trunkline_db::{DbError, Tx, from_sql_time};
use trunkline_types::Timestamp;
use uuid::Uuid;

use super::row::strange;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryState {
    /// Queued, or waiting for a retry.
    Waiting,
    Delivered,
    Failed,
}

/// One event for one webhook.
#[derive(Debug, Clone)]
pub struct Delivery {
    pub event: Uuid,
    pub seq: i64,
    pub topic: String,
    pub task: Option<Uuid>,
    pub state: DeliveryState,
    pub tries: i32,
    /// Last HTTP status.
    pub last_status: Option<i32>,
    pub last_error: Option<String>,
    /// Time of the last attempt.
    pub last_try_at: Option<Timestamp>,
    /// Time of the next attempt; none if there is none, or while its webhook is paused.
    pub next_try_at: Option<Timestamp>,
    /// When it was delivered.
    pub delivered_at: Option<Timestamp>,
    /// When the event happened.
    pub created_at: Timestamp,
}

const COLUMNS: &str = "event_id, seq, topic, task_id, state, tries, last_status, last_error, last_try_at, \
    CASE WHEN state = 'waiting' AND due_at < 'infinity' THEN due_at END AS next_try_at, delivered_at, created_at";

/// A page of a webhook's deliveries, newest first, behind one of them.
pub async fn page(
    connection: &mut PgConnection,
    webhook: Uuid,
    after: Option<Uuid>,
    limit: i64,
) -> Result<Vec<Delivery>, DbError> {
    let text = format!(
        "SELECT {COLUMNS} FROM app.webhook_delivery AS d
         WHERE d.webhook_id = $1 AND ($2::uuid IS NULL OR (d.created_at, d.event_id) <
             (SELECT l.created_at, l.event_id FROM app.webhook_delivery AS l
              WHERE l.webhook_id = $1 AND l.event_id = $2))
         ORDER BY d.created_at DESC, d.event_id DESC LIMIT $3"
    );
    let rows = sqlx::query(sqlx::AssertSqlSafe(text))
        .bind(webhook)
        .bind(after)
        .bind(limit)
        .fetch_all(connection)
        .await?;
    rows.iter().map(Delivery::of_row).collect()
}

/// Queues a delivery again now, in any state; none if there is no such. The result of a running
/// attempt is ignored.
pub async fn replay(tx: &mut Tx, webhook: Uuid, event: Uuid) -> Result<Option<Delivery>, DbError> {
    let text = format!(
        "UPDATE app.webhook_delivery SET state = 'waiting', due_at = app.now(), claim = claim + 1, tries = 0,
             first_failed_at = NULL, delivered_at = NULL
         WHERE webhook_id = $1 AND event_id = $2 RETURNING {COLUMNS}"
    );
    let row = sqlx::query(sqlx::AssertSqlSafe(text))
        .bind(webhook)
        .bind(event)
        .fetch_optional(&mut **tx)
        .await?;
    row.as_ref().map(Delivery::of_row).transpose()
}

// === impl DeliveryState ===

impl DeliveryState {
    const ALL: [Self; 3] = [Self::Waiting, Self::Delivered, Self::Failed];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Delivered => "delivered",
            Self::Failed => "failed",
        }
    }
}

// === impl Delivery ===

impl Delivery {
    fn of_row(row: &PgRow) -> Result<Self, DbError> {
        let moment = |at: Option<OffsetDateTime>| at.map(from_sql_time);
        let state: String = row.try_get("state")?;
        let mut states = DeliveryState::ALL.into_iter();
        let state = states.find(|known| known.as_str() == state);
        Ok(Self {
            event: row.try_get("event_id")?,
            seq: row.try_get("seq")?,
            topic: row.try_get("topic")?,
            task: row.try_get("task_id")?,
            state: state.ok_or_else(|| strange("state"))?,
            tries: row.try_get("tries")?,
            last_status: row.try_get("last_status")?,
            last_error: row.try_get("last_error")?,
            last_try_at: moment(row.try_get("last_try_at")?),
            next_try_at: moment(row.try_get("next_try_at")?),
            delivered_at: moment(row.try_get("delivered_at")?),
            created_at: from_sql_time(row.try_get("created_at")?),
        })
    }
}
