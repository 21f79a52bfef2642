//! A webhook: its URL, topics, secrets and state.

use std::time::Duration;

use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};
use time::OffsetDateTime;
use trunkline_db::{DbError, Tx, from_sql_time};
use trunkline_types::{AccountId, Timestamp};
use uuid::Uuid;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A URL for all events of an account.
    Endpoint,
    /// The signing secret of task webhooks.
    Tasks,
}

/// Why a webhook is paused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PausedReason {
    /// It answered 410 Gone.
    Gone,
    /// Its deliveries failed for too long.
    Failing,
}

#[derive(Debug, Clone)]
pub struct Webhook {
    pub id: Uuid,
    pub account: AccountId,
    pub kind: Kind,
    /// The URL, sealed; none for [`Kind::Tasks`].
    pub url: Option<Vec<u8>>,
    /// Subscribed topics; none for all.
    pub topics: Option<Vec<String>>,
    pub description: Option<String>,
    /// The signing secret, sealed.
    pub secret: Vec<u8>,
    /// The previous secret, sealed, and until when it also signs.
    pub old_secret: Option<(Vec<u8>, Timestamp)>,
    /// Since when nothing has succeeded.
    pub failing_since: Option<Timestamp>,
    /// Since when nothing is sent, and why.
    pub paused: Option<(Timestamp, PausedReason)>,
    pub created_at: Timestamp,
}

#[derive(Debug, Clone, Copy)]
pub struct NewWebhook<'a> {
    pub id: Uuid,
    pub account: AccountId,
    /// Where to, sealed.
    pub url: &'a [u8],
    /// Subscribed topics; none for all.
    pub topics: Option<&'a [String]>,
    pub description: Option<&'a str>,
    /// The signing secret, sealed.
    pub secret: &'a [u8],
}

/// Changes; an inner none removes the value.
#[derive(Debug, Clone, Default)]
pub struct Changes {
    /// Where to, sealed.
    pub url: Option<Vec<u8>>,
    pub topics: Option<Option<Vec<String>>>,
    pub description: Option<Option<String>>,
}

const COLUMNS: &str = "id, account_id, kind, url, topics, description, secret, failing_since, paused_at, \
    paused_reason, created_at, CASE WHEN old_secret_until > app.now() THEN old_secret END AS old_secret, \
    old_secret_until";

/// Creates a webhook; none if the account has reached its maximum.
pub async fn create(
    tx: &mut Tx,
    new: &NewWebhook<'_>,
    most: i64,
) -> Result<Option<Webhook>, DbError> {
    // Two concurrent requests could both see one slot left.
    sqlx::query("SELECT pg_advisory_xact_lock(hashtextextended('app.webhook', $1))")
        .bind(new.account.number())
        .execute(&mut **tx)
        .await?;
    let text = format!(
        "INSERT INTO app.webhook (id, account_id, kind, url, topics, description, secret)
         SELECT $1, $2, 'endpoint', $3, $4, $5, $6
         WHERE (SELECT count(*) FROM app.webhook WHERE account_id = $2 AND kind = 'endpoint') < $7
         RETURNING {COLUMNS}"
    );
    let row = sqlx::query(sqlx::AssertSqlSafe(text))
        .bind(new.id)
        .bind(new.account.number())
        .bind(new.url)
        .bind(new.topics)
        .bind(new.description)
        .bind(new.secret)
        .bind(most)
        .fetch_optional(&mut **tx)
        .await?;
    row.as_ref().map(Webhook::of_row).transpose()
}

/// Creates the account's secret for task webhooks, unless there is one.
pub async fn make_for_tasks(
    tx: &mut Tx,
    account: AccountId,
    id: Uuid,
    secret: &[u8],
) -> Result<(), DbError> {
    sqlx::query(
        "INSERT INTO app.webhook (id, account_id, kind, secret) VALUES ($1, $2, 'tasks', $3)
         ON CONFLICT (account_id) WHERE kind = 'tasks' DO NOTHING",
    )
    .bind(id)
    .bind(account.number())
    .bind(secret)
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Writes a task's webhook; the URL is sealed.
pub async fn set_task_webhook(
    tx: &mut Tx,
    task: Uuid,
    account: AccountId,
    url: &[u8],
) -> Result<(), DbError> {
    sqlx::query("INSERT INTO app.task_webhook (task_id, account_id, url) VALUES ($1, $2, $3)")
        .bind(task)
        .bind(account.number())
        .bind(url)
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// All of an account, oldest first; their number is bounded.
pub async fn list(
    connection: &mut PgConnection,
    account: AccountId,
) -> Result<Vec<Webhook>, DbError> {
    let text =
        format!("SELECT {COLUMNS} FROM app.webhook WHERE account_id = $1 ORDER BY created_at, id");
    let rows = sqlx::query(sqlx::AssertSqlSafe(text))
        .bind(account.number())
        .fetch_all(connection)
        .await?;
    rows.iter().map(Webhook::of_row).collect()
}

/// One of an account; a key of another account is treated as unknown.
pub async fn find(
    connection: &mut PgConnection,
    account: AccountId,
    id: Uuid,
) -> Result<Option<Webhook>, DbError> {
    let text = format!("SELECT {COLUMNS} FROM app.webhook WHERE account_id = $1 AND id = $2");
    let row = sqlx::query(sqlx::AssertSqlSafe(text))
        .bind(account.number())
        .bind(id)
        .fetch_optional(connection)
        .await?;
    row.as_ref().map(Webhook::of_row).transpose()
}

/// The account's secret for tasks, if there is one.
pub async fn for_tasks(
    connection: &mut PgConnection,
    account: AccountId,
) -> Result<Option<Webhook>, DbError> {
    let text =
        format!("SELECT {COLUMNS} FROM app.webhook WHERE account_id = $1 AND kind = 'tasks'");
    let row = sqlx::query(sqlx::AssertSqlSafe(text))
        .bind(account.number())
        .fetch_optional(connection)
        .await?;
    row.as_ref().map(Webhook::of_row).transpose()
}

/// Changes a webhook; none if there is no such.
pub async fn change(
    tx: &mut Tx,
    account: AccountId,
    id: Uuid,
    changes: &Changes,
) -> Result<Option<Webhook>, DbError> {
    let text = format!(
        "UPDATE app.webhook SET url = COALESCE($3, url),
             topics = CASE WHEN $4 THEN $5 ELSE topics END,
             wants_since = CASE WHEN $4 THEN app.now() ELSE wants_since END,
             description = CASE WHEN $6 THEN $7 ELSE description END
         WHERE account_id = $1 AND id = $2 AND kind = 'endpoint' RETURNING {COLUMNS}"
    );
    let row = sqlx::query(sqlx::AssertSqlSafe(text))
        .bind(account.number())
        .bind(id)
        .bind(changes.url.as_deref())
        .bind(changes.topics.is_some())
        .bind(changes.topics.clone().flatten())
        .bind(changes.description.is_some())
        .bind(changes.description.clone().flatten())
        .fetch_optional(&mut **tx)
        .await?;
    row.as_ref().map(Webhook::of_row).transpose()
}

/// Deletes a webhook; its queued deliveries are never sent. False if there is no such.
pub async fn delete(tx: &mut Tx, account: AccountId, id: Uuid) -> Result<bool, DbError> {
    let gone = sqlx::query(
        "DELETE FROM app.webhook WHERE account_id = $1 AND id = $2 AND kind = 'endpoint'",
    )
    .bind(account.number())
    .bind(id)
    .execute(&mut **tx)
    .await?;
    Ok(gone.rows_affected() > 0)
}

/// Rotates a webhook's secret; the previous one also signs for a while.
pub async fn rotate(
    tx: &mut Tx,
    account: AccountId,
    id: Uuid,
    secret: &[u8],
    overlap: Duration,
) -> Result<Option<Webhook>, DbError> {
    let text = format!(
        "UPDATE app.webhook SET old_secret = secret, secret = $3,
             old_secret_until = app.now() + make_interval(secs => $4)
         WHERE account_id = $1 AND id = $2 RETURNING {COLUMNS}"
    );
    let row = sqlx::query(sqlx::AssertSqlSafe(text))
        .bind(account.number())
        .bind(id)
        .bind(secret)
        .bind(overlap.as_secs_f64())
        .fetch_optional(&mut **tx)
        .await?;
    row.as_ref().map(Webhook::of_row).transpose()
}

/// Resumes a webhook. Its deliveries are resumed by [`super::maintain`].
pub async fn resume(tx: &mut Tx, account: AccountId, id: Uuid) -> Result<Option<Webhook>, DbError> {
    let text = format!(
        "UPDATE app.webhook SET paused_at = NULL, paused_reason = NULL, failing_since = NULL
         WHERE account_id = $1 AND id = $2 AND kind = 'endpoint' RETURNING {COLUMNS}"
    );
    let row = sqlx::query(sqlx::AssertSqlSafe(text))
        .bind(account.number())
        .bind(id)
        .fetch_optional(&mut **tx)
        .await?;
    row.as_ref().map(Webhook::of_row).transpose()
}

// === impl Kind ===

impl Kind {
    const ALL: [Self; 2] = [Self::Endpoint, Self::Tasks];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Endpoint => "endpoint",
            Self::Tasks => "tasks",
        }
    }

    pub(super) fn of(word: &str) -> Result<Self, DbError> {
        let known = Self::ALL.into_iter().find(|kind| kind.as_str() == word);
        known.ok_or_else(|| strange("kind"))
    }
}

// === impl PausedReason ===

impl PausedReason {
    const ALL: [Self; 2] = [Self::Gone, Self::Failing];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Gone => "gone",
            Self::Failing => "failing",
        }
    }

    fn of(word: &str) -> Result<Self, DbError> {
        let known = Self::ALL.into_iter().find(|reason| reason.as_str() == word);
        known.ok_or_else(|| strange("paused_reason"))
    }
}

// === impl Webhook ===

impl Webhook {
    fn of_row(row: &PgRow) -> Result<Self, DbError> {
        let moment = |at: Option<OffsetDateTime>| at.map(from_sql_time);
        let kind: String = row.try_get("kind")?;
        let old_secret: Option<Vec<u8>> = row.try_get("old_secret")?;
        let reason: Option<String> = row.try_get("paused_reason")?;
        let reason = reason.map(|word| PausedReason::of(&word)).transpose()?;
        Ok(Self {
            id: row.try_get("id")?,
            account: AccountId::new(row.try_get("account_id")?),
            kind: Kind::of(&kind)?,
            url: row.try_get("url")?,
            topics: row.try_get("topics")?,
            description: row.try_get("description")?,
            secret: row.try_get("secret")?,
            old_secret: old_secret.zip(moment(row.try_get("old_secret_until")?)),
            failing_since: moment(row.try_get("failing_since")?),
            paused: moment(row.try_get("paused_at")?).zip(reason),
            created_at: from_sql_time(row.try_get("created_at")?),
        })
    }
}

pub(super) fn strange(column: &str) -> DbError {
    let source = format!("a word in app.webhook* that is not on the list: {column}");
    DbError::from(sqlx::Error::Decode(source.into()))
}
