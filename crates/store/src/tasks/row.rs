//! A task as it is read.

use serde_json::Value;
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};
use time::OffsetDateTime;
use trunkline_db::{DbError, from_sql_time};
use trunkline_types::{AccountId, KeyId, Money, Timestamp};
use uuid::Uuid;

/// How far a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskState {
    /// Its money is held; nothing was sent.
    Accepted,
    /// It is being sent, or its sender failed.
    Submitting,
    /// It was sent, and it is unknown whether the upstream took it.
    Unknown,
    /// An upstream has it, and it is charged.
    Submitted,
    /// The upstream reports that it runs.
    Running,
    Completed,
    /// It failed, and cost nothing.
    Failed,
}

#[derive(Debug, Clone)]
pub struct Task {
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
    pub state: TaskState,
    /// What is held and then charged.
    pub amount: Money,
    /// Whether that is the price, and not a bound.
    pub exact: bool,
    /// The prices it was sold at.
    pub prices: Value,
    /// The upstream request, sealed; none after retention.
    pub sent: Option<Vec<u8>>,
    pub warnings: Value,
    /// The size as it is shown.
    pub size: Option<String>,
    /// Seconds that are asked for.
    pub seconds: Option<i32>,
    pub channel: Option<i64>,
    /// The credential it was sent with.
    pub credential: Option<i64>,
    pub protocol: String,
    pub endpoint: String,
    pub upstream: Option<String>,
    /// From 0 to 100.
    pub progress: i16,
    /// The vendor reported the progress.
    pub progress_reported: bool,
    /// Why it failed: code and text.
    pub error: Option<(String, String)>,
    /// Where the upstream has the file, sealed.
    pub file: Option<Vec<u8>>,
    /// Path in our object storage.
    pub media_path: Option<String>,
    /// Size in our object storage.
    pub media_bytes: Option<i64>,
    pub created_at: Timestamp,
    /// Until when it may wait for a channel.
    pub queue_until: Timestamp,
    pub deadline_at: Timestamp,
    /// When an upstream took it.
    pub submitted_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// The database's clock when this was read.
    pub read_at: Timestamp,
}

pub(super) const COLUMNS: &str = "id, account_id, key_id, model, requested_model, group_name, state, amount, exact, prices, sent, warnings, \
    size, seconds, channel_id, credential_id, protocol, endpoint, upstream_id, progress, progress_reported, \
    error_code, error_message, file, media_path, media_bytes, created_at, queue_until, deadline_at, submitted_at, ended_at, \
    app.now() AS read_at";

/// A task of any account.
pub async fn find(connection: &mut PgConnection, id: Uuid) -> Result<Option<Task>, DbError> {
    let text = format!("SELECT {COLUMNS} FROM app.video_task WHERE id = $1");
    let row = sqlx::query(sqlx::AssertSqlSafe(text))
        .bind(id)
        .fetch_optional(connection)
        .await?;
    row.as_ref().map(Task::of_row).transpose()
}

/// A task of an account; a key of another account is treated as unknown.
pub async fn of_account(
    connection: &mut PgConnection,
    account: AccountId,
    id: Uuid,
) -> Result<Option<Task>, DbError> {
    Ok(find(connection, id)
        .await?
        .filter(|task| task.account == account))
}

/// The newest recent task of an account with the same request body.
pub async fn newest_like(
    connection: &mut PgConnection,
    account: AccountId,
    body_hash: &[u8; 32],
    within_seconds: i32,
) -> Result<Option<Task>, DbError> {
    let text = format!(
        "SELECT {COLUMNS} FROM app.video_task WHERE account_id = $1 AND body_hash = $2
             AND created_at > app.now() - make_interval(secs => $3)
         ORDER BY id DESC LIMIT 1"
    );
    let row = sqlx::query(sqlx::AssertSqlSafe(text))
        .bind(account.number())
        .bind(body_hash.as_slice())
        .bind(f64::from(within_seconds))
        .fetch_optional(connection)
        .await?;
    row.as_ref().map(Task::of_row).transpose()
}

/// A page of an account's tasks, newest first or oldest first, behind a task.
pub async fn page(
    connection: &mut PgConnection,
    account: AccountId,
    after: Option<Uuid>,
    newest_first: bool,
    limit: i64,
) -> Result<Vec<Task>, DbError> {
    let (compare, order) = if newest_first {
        ("<", "DESC")
    } else {
        (">", "ASC")
    };
    let text = format!(
        "SELECT {COLUMNS} FROM app.video_task
         WHERE account_id = $1 AND ($2::uuid IS NULL OR id {compare} $2) ORDER BY id {order} LIMIT $3"
    );
    let rows = sqlx::query(sqlx::AssertSqlSafe(text))
        .bind(account.number())
        .bind(after)
        .bind(limit)
        .fetch_all(connection)
        .await?;
    rows.iter().map(Task::of_row).collect()
}

// === impl TaskState ===

impl TaskState {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Submitting => "submitting",
            Self::Unknown => "unknown",
            Self::Submitted => "submitted",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
        }
    }

    #[must_use]
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Completed | Self::Failed)
    }

    /// Whether it was charged, as long as it has not ended.
    #[must_use]
    pub const fn is_charged(self) -> bool {
        matches!(self, Self::Submitted | Self::Running | Self::Completed)
    }

    pub(super) fn of(word: &str) -> Result<Self, DbError> {
        let all = [
            Self::Accepted,
            Self::Submitting,
            Self::Unknown,
            Self::Submitted,
            Self::Running,
            Self::Completed,
            Self::Failed,
        ];
        let known = all.into_iter().find(|state| state.as_str() == word);
        known.ok_or_else(|| sqlx::Error::Decode(format!("no state {word:?}").into()).into())
    }
}

// === impl Task ===

impl Task {
    pub(super) fn of_row(row: &PgRow) -> Result<Self, DbError> {
        let at = |name: &str| -> Result<Timestamp, DbError> {
            let time: OffsetDateTime = row.try_get(name)?;
            Ok(from_sql_time(time))
        };
        let maybe_at = |name: &str| -> Result<Option<Timestamp>, DbError> {
            let time: Option<OffsetDateTime> = row.try_get(name)?;
            Ok(time.map(from_sql_time))
        };
        let state: String = row.try_get("state")?;
        let code: Option<String> = row.try_get("error_code")?;
        let message: Option<String> = row.try_get("error_message")?;
        Ok(Self {
            id: row.try_get("id")?,
            account: AccountId::new(row.try_get("account_id")?),
            key: KeyId::new(row.try_get("key_id")?),
            model: row.try_get("model")?,
            requested_model: row.try_get("requested_model")?,
            group: row.try_get("group_name")?,
            state: TaskState::of(&state)?,
            amount: Money::from_nanos(row.try_get("amount")?),
            exact: row.try_get("exact")?,
            prices: row.try_get("prices")?,
            sent: row.try_get("sent")?,
            warnings: row.try_get("warnings")?,
            size: row.try_get("size")?,
            seconds: row.try_get("seconds")?,
            channel: row.try_get("channel_id")?,
            credential: row.try_get("credential_id")?,
            protocol: row.try_get("protocol")?,
            endpoint: row.try_get("endpoint")?,
            upstream: row.try_get("upstream_id")?,
            progress: row.try_get("progress")?,
            progress_reported: row.try_get("progress_reported")?,
            error: code.map(|code| (code, message.unwrap_or_default())),
            file: row.try_get("file")?,
            media_path: row.try_get("media_path")?,
            media_bytes: row.try_get("media_bytes")?,
            created_at: at("created_at")?,
            queue_until: at("queue_until")?,
            deadline_at: at("deadline_at")?,
            submitted_at: maybe_at("submitted_at")?,
            ended_at: maybe_at("ended_at")?,
            read_at: at("read_at")?,
        })
    }
}
