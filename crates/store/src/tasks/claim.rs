//! Claims of due tasks. A claim moves the row ahead by a lease; if the worker dies, it is due
//! again.

use std::time::Duration;

use sqlx::{PgConnection, Row as _};
use trunkline_db::{Database, DbError, Tx};
use trunkline_types::AccountId;
use uuid::Uuid;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Job {
    /// Submit it, or find out whether it was submitted.
    Submit,
    Poll,
    Mirror,
}

/// A task that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    pub task: Uuid,
    /// Earlier claims for this job.
    pub tries: i32,
    /// How late it is, in milliseconds.
    pub late_millis: i64,
}

/// Rows considered for fairness between accounts.
const FAIR_WINDOW: i64 = 1_000;

pub async fn schedule(
    tx: &mut Tx,
    task: Uuid,
    account: AccountId,
    job: Job,
    due_in: Duration,
) -> Result<(), DbError> {
    sqlx::query(
        "INSERT INTO app.video_schedule (task_id, account_id, job, due_at)
         VALUES ($1, $2, $3, app.now() + make_interval(secs => $4))
         ON CONFLICT (task_id) DO UPDATE SET job = EXCLUDED.job, due_at = EXCLUDED.due_at, tries = 0",
    )
    .bind(task)
    .bind(account.number())
    .bind(job.as_str())
    .bind(due_in.as_secs_f64())
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Changes when a task is due. No effect if it is not scheduled.
pub async fn reschedule(
    connection: &mut PgConnection,
    task: Uuid,
    due_in: Duration,
) -> Result<(), DbError> {
    sqlx::query(
        "UPDATE app.video_schedule SET due_at = app.now() + make_interval(secs => $2) WHERE task_id = $1",
    )
    .bind(task)
    .bind(due_in.as_secs_f64())
    .execute(connection)
    .await?;
    Ok(())
}

/// Removes a task from the schedule.
pub async fn unschedule(tx: &mut Tx, task: Uuid) -> Result<(), DbError> {
    sqlx::query("DELETE FROM app.video_schedule WHERE task_id = $1")
        .bind(task)
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// Claims due tasks, at most so many, for the length of a lease. Submissions alternate between
/// accounts: one with a thousand tasks does not delay another's first.
pub async fn claim(
    database: &Database,
    job: Job,
    limit: i64,
    lease: Duration,
) -> Result<Vec<Due>, DbError> {
    let mut session = database.session().await?;
    let text = match job {
        Job::Submit => FAIRLY,
        Job::Poll | Job::Mirror => IN_ORDER,
    };
    // Each job has an index of its own, which only a statement with a literal job can use. The
    // literal is one of our own names.
    let text = sqlx::AssertSqlSafe(text.replace("{job}", job.as_str()));
    let mut query = sqlx::query(text).bind(limit).bind(lease.as_secs_f64());
    if job == Job::Submit {
        query = query.bind(FAIR_WINDOW);
    }
    let rows = query.fetch_all(&mut *session).await?;
    let read = |row: &sqlx::postgres::PgRow| {
        Ok(Due {
            task: row.try_get("task_id")?,
            tries: row.try_get("tries")?,
            late_millis: row.try_get("late_millis")?,
        })
    };
    rows.iter().map(read).collect()
}

/// How long until the next of a kind is due; zero if one is, none if there is none.
pub async fn next_due(database: &Database, job: Job) -> Result<Option<Duration>, DbError> {
    let mut session = database.session().await?;
    let text = NEXT.replace("{job}", job.as_str());
    let seconds: Option<f64> = sqlx::query_scalar(sqlx::AssertSqlSafe(text))
        .fetch_one(&mut *session)
        .await?;
    Ok(seconds.map(|seconds| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::ZERO)))
}

const NEXT: &str =
    "SELECT extract(epoch FROM min(due_at) - app.now())::float8 FROM app.video_schedule
    WHERE job = '{job}'";

const IN_ORDER: &str = "WITH due AS MATERIALIZED (
        SELECT task_id, due_at FROM app.video_schedule
        WHERE job = '{job}' AND due_at <= app.now() ORDER BY due_at LIMIT $1 FOR UPDATE SKIP LOCKED)
    UPDATE app.video_schedule AS s SET due_at = app.now() + make_interval(secs => $2), tries = s.tries + 1
    FROM due WHERE s.task_id = due.task_id
    RETURNING s.task_id, s.tries, (extract(epoch FROM app.now() - due.due_at) * 1000)::bigint AS late_millis";

const FAIRLY: &str = "WITH waiting AS MATERIALIZED (
        SELECT task_id, account_id, due_at FROM app.video_schedule
        WHERE job = '{job}' AND due_at <= app.now() ORDER BY due_at LIMIT $3),
    ranked AS MATERIALIZED (
        SELECT task_id, row_number() OVER (PARTITION BY account_id ORDER BY task_id) AS turn FROM waiting
        ORDER BY turn, task_id LIMIT $1),
    due AS MATERIALIZED (
        SELECT s.task_id, s.due_at FROM app.video_schedule AS s JOIN ranked USING (task_id)
        WHERE s.job = '{job}' AND s.due_at <= app.now() FOR UPDATE OF s SKIP LOCKED)
    UPDATE app.video_schedule AS s SET due_at = app.now() + make_interval(secs => $2), tries = s.tries + 1
    FROM due WHERE s.task_id = due.task_id
    RETURNING s.task_id, s.tries, (extract(epoch FROM app.now() - due.due_at) * 1000)::bigint AS late_millis";

// === impl Job ===

impl Job {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Submit => "submit",
            Self::Poll => "poll",
            Self::Mirror => "mirror",
        }
    }
}
