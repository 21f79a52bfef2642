//! Maintenance of deliveries: system events are expanded to deliveries, deliveries pause and resume
//! with their webhook, and old rows are deleted. Any worker runs it, in bounded steps.

use sqlx::Row as _;
use time::OffsetDateTime;
use trunkline_db::{Database, DbError, Tx};
use uuid::Uuid;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Maintenance {
    /// Deliveries paused with their webhook.
    pub paused: u64,
    /// Deliveries resumed with their webhook.
    pub resumed: u64,
    /// Deleted deliveries and task webhooks.
    pub purged: u64,
}

/// Expands the next system event to deliveries, for so many webhooks at most. True if there may be
/// more to do; false too if another worker is at it.
pub async fn expand_system_event(tx: &mut Tx, at_once: i64) -> Result<bool, DbError> {
    let mark: Option<(i64, Option<Uuid>)> =
        sqlx::query_as("SELECT seq, webhook_id FROM app.webhook_system FOR UPDATE SKIP LOCKED")
            .fetch_optional(&mut **tx)
            .await?;
    let Some((seq, after)) = mark else {
        return Ok(false);
    };
    let next: Option<(i64, Uuid, String, OffsetDateTime)> = sqlx::query_as(
        "SELECT seq, id, topic, created_at FROM app.event
         WHERE account_id = 0 AND seq > $1 ORDER BY seq LIMIT 1",
    )
    .bind(seq)
    .fetch_optional(&mut **tx)
    .await?;
    let Some((next, event, topic, created_at)) = next else {
        return Ok(false);
    };
    let page = sqlx::query(
        "WITH page AS MATERIALIZED (
             SELECT w.id, w.account_id, w.topics, w.wants_since FROM app.webhook AS w
             WHERE w.kind = 'endpoint' AND ($1::uuid IS NULL OR w.id > $1) ORDER BY w.id LIMIT $2),
         put AS (
             INSERT INTO app.webhook_delivery
                 (webhook_id, event_id, account_id, event_account, seq, topic, due_at, created_at)
             SELECT p.id, $3, p.account_id, 0, $4, $5, (SELECT app.now()), $6 FROM page AS p
             WHERE (p.topics IS NULL OR $5 = ANY (p.topics)) AND p.wants_since <= $6
             ON CONFLICT DO NOTHING)
         SELECT count(*) AS webhooks, (SELECT l.id FROM page AS l ORDER BY l.id DESC LIMIT 1) AS last FROM page",
    )
    .bind(after)
    .bind(at_once)
    .bind(event)
    .bind(next)
    .bind(topic)
    .bind(created_at)
    .fetch_one(&mut **tx)
    .await?;
    let is_last = page.try_get::<i64, _>("webhooks")? < at_once;
    let last: Option<Uuid> = page.try_get("last")?;
    sqlx::query("UPDATE app.webhook_system SET seq = $1, webhook_id = $2")
        .bind(if is_last { next } else { seq })
        .bind(last.filter(|_| !is_last))
        .execute(&mut **tx)
        .await?;
    Ok(true)
}

/// Runs one maintenance step, with at most so many rows of each kind.
pub async fn maintain(database: &Database, at_once: i64) -> Result<Maintenance, DbError> {
    let paused = step(database, REST, at_once).await?;
    let resumed = step(database, WAKE, at_once).await?;
    let mut purged: u64 = 0;
    for text in [FORGET, FORGET_NOBODYS, FORGET_TASKS] {
        let gone = step(database, text, at_once).await?;
        purged = purged.saturating_add(gone);
    }
    Ok(Maintenance {
        paused,
        resumed,
        purged,
    })
}

async fn step(database: &Database, text: &'static str, at_once: i64) -> Result<u64, DbError> {
    let mut tx = database.begin().await?;
    let done = sqlx::query(text).bind(at_once).execute(&mut *tx).await?;
    tx.commit().await?;
    Ok(done.rows_affected())
}

const REST: &str = "WITH tired AS MATERIALIZED (
        SELECT d.webhook_id, d.event_id FROM app.webhook_delivery AS d
        JOIN app.webhook AS w ON w.id = d.webhook_id AND w.paused_at IS NOT NULL
        WHERE d.state = 'waiting' AND d.due_at < 'infinity' LIMIT $1 FOR UPDATE OF d SKIP LOCKED)
    UPDATE app.webhook_delivery AS d SET due_at = 'infinity'
    FROM tired AS t WHERE d.webhook_id = t.webhook_id AND d.event_id = t.event_id";

const WAKE: &str = "WITH rested AS MATERIALIZED (
        SELECT d.webhook_id, d.event_id FROM app.webhook_delivery AS d
        JOIN app.webhook AS w ON w.id = d.webhook_id AND w.paused_at IS NULL
        WHERE d.state = 'waiting' AND d.due_at = 'infinity' LIMIT $1 FOR UPDATE OF d SKIP LOCKED)
    UPDATE app.webhook_delivery AS d SET due_at = app.now(), tries = 0, first_failed_at = NULL
    FROM rested AS r WHERE d.webhook_id = r.webhook_id AND d.event_id = r.event_id";

/// Deliveries have the same retention as events.
const FORGET: &str = "WITH old AS MATERIALIZED (
        SELECT d.webhook_id, d.event_id FROM app.webhook_delivery AS d
        WHERE d.created_at < app.now() - interval '7 days' ORDER BY d.created_at LIMIT $1
        FOR UPDATE SKIP LOCKED)
    DELETE FROM app.webhook_delivery AS d USING old AS o
    WHERE d.webhook_id = o.webhook_id AND d.event_id = o.event_id";

/// Deliveries of a deleted webhook.
const FORGET_NOBODYS: &str = "WITH nobodys AS MATERIALIZED (
        SELECT d.webhook_id, d.event_id FROM app.webhook_delivery AS d
        WHERE d.state = 'waiting' AND d.due_at <= app.now()
            AND NOT EXISTS (SELECT FROM app.webhook AS w WHERE w.id = d.webhook_id)
        LIMIT $1 FOR UPDATE SKIP LOCKED)
    DELETE FROM app.webhook_delivery AS d USING nobodys AS n
    WHERE d.webhook_id = n.webhook_id AND d.event_id = n.event_id";

/// As long as a task may take, and its deliveries after that.
const FORGET_TASKS: &str = "WITH old AS MATERIALIZED (
        SELECT h.task_id FROM app.task_webhook AS h
        WHERE h.created_at < app.now() - interval '10 days' LIMIT $1)
    DELETE FROM app.task_webhook AS h USING old AS o WHERE h.task_id = o.task_id";
