//! Search of tasks, newest first. A page scans a bounded number of rows.

use sqlx::{PgConnection, Row as _};
use trunkline_db::DbError;
use trunkline_types::{AccountId, KeyId};
use uuid::Uuid;

use super::row::{COLUMNS, Task, TaskState};

/// Rows that one page scans.
pub const SEARCH_MAX_ROWS: u32 = 5_000;
/// Error code of a cancelled task.
pub const CANCELLED: &str = "cancelled";

/// Stage of a task, as customers see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Waits, here or at the upstream.
    Queued,
    /// An upstream works on it.
    InProgress,
    Completed,
    /// It failed, and cost nothing.
    Failed,
    /// Cancelled by the customer, without cost.
    Cancelled,
}

/// Which tasks. What is none does not narrow.
#[derive(Debug, Clone)]
pub struct TasksQuery {
    pub account: AccountId,
    pub stage: Option<Stage>,
    /// Those of this model.
    pub model: Option<String>,
    /// Those made with this key.
    pub key: Option<KeyId>,
    /// Those before this one.
    pub before: Option<Uuid>,
    pub limit: u32,
}

#[derive(Debug, Clone)]
pub struct TasksPage {
    /// Newest first.
    pub tasks: Vec<Task>,
    /// Where the next page goes on: before this task.
    pub next: Option<Uuid>,
}

/// A page of the tasks that fit.
pub async fn search(
    connection: &mut PgConnection,
    query: &TasksQuery,
) -> Result<TasksPage, DbError> {
    let most = usize::try_from(query.limit.max(1)).unwrap_or(usize::MAX);
    // The row is wide, so rows that are only scanned are read through the index.
    let text = format!(
        "SELECT t.*, s.place, s.fits FROM (
             SELECT t.id AS found, row_number() OVER (ORDER BY t.id DESC) AS place,
                 ($2::text[] IS NULL OR t.state = ANY ($2))
                     AND ($3::boolean IS NULL OR $3 = (t.error_code IS NOT DISTINCT FROM $4))
                     AND ($5::text IS NULL OR t.model = $5)
                     AND ($6::bigint IS NULL OR t.key_id = $6) AS fits
             FROM (SELECT id, state, error_code, model, key_id FROM app.video_task
                 WHERE account_id = $1 AND id < COALESCE($7, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)
                 ORDER BY id DESC LIMIT $8) AS t) AS s
         CROSS JOIN LATERAL (SELECT {COLUMNS} FROM app.video_task WHERE id = s.found OFFSET 0) AS t
         WHERE s.fits OR s.place = $8
         ORDER BY s.place LIMIT $9"
    );
    let rows = sqlx::query(sqlx::AssertSqlSafe(text))
        .bind(query.account.number())
        .bind(query.stage.map(Stage::words))
        .bind(query.stage.and_then(Stage::is_cancelled))
        .bind(CANCELLED)
        .bind(query.model.as_deref())
        .bind(query.key.map(KeyId::number))
        .bind(query.before)
        .bind(i64::from(SEARCH_MAX_ROWS))
        .bind(i64::try_from(most.saturating_add(1)).unwrap_or(i64::MAX))
        .fetch_all(connection)
        .await?;
    let mut found = TasksPage {
        tasks: Vec::new(),
        next: None,
    };
    for row in &rows {
        if row.try_get("fits")? {
            found.tasks.push(Task::of_row(row)?);
        }
        let place: i64 = row.try_get("place")?;
        if place >= i64::from(SEARCH_MAX_ROWS) {
            found.next = Some(row.try_get("id")?);
        }
    }
    if found.tasks.len() > most {
        found.tasks.truncate(most);
        found.next = found.tasks.last().map(|task| task.id);
    }
    Ok(found)
}

// === impl Stage ===

impl Stage {
    /// The stage of a task.
    #[must_use]
    pub fn of(task: &Task) -> Self {
        match task.state {
            TaskState::Accepted
            | TaskState::Submitting
            | TaskState::Unknown
            | TaskState::Submitted => Self::Queued,
            TaskState::Running => Self::InProgress,
            TaskState::Completed => Self::Completed,
            TaskState::Failed => match &task.error {
                Some((code, _)) if code == CANCELLED => Self::Cancelled,
                Some(_) | None => Self::Failed,
            },
        }
    }

    /// The states of this stage.
    fn words(self) -> Vec<&'static str> {
        let states: &[TaskState] = match self {
            Self::Queued => &[
                TaskState::Accepted,
                TaskState::Submitting,
                TaskState::Unknown,
                TaskState::Submitted,
            ],
            Self::InProgress => &[TaskState::Running],
            Self::Completed => &[TaskState::Completed],
            Self::Failed | Self::Cancelled => &[TaskState::Failed],
        };
        states.iter().map(|state| state.as_str()).collect()
    }

    /// Whether a failed task must be cancelled; none where that does not matter.
    const fn is_cancelled(self) -> Option<bool> {
        match self {
            Self::Failed => Some(false),
            Self::Cancelled => Some(true),
            Self::Queued | Self::InProgress | Self::Completed => None,
        }
    }
}
