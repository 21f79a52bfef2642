//! Changes of the catalog that are published later. What a change is made of is the caller's.

use serde_json::Value;
use sqlx::postgres::PgRow;
use sqlx::types::Json;
use sqlx::{PgConnection, Row as _};
use time::OffsetDateTime;
use trunkline_db::{DbError, Tx, from_sql_time, to_sql_time};
use trunkline_types::Timestamp;

/// Changes of one list, the newest.
const LIST_MAX: i64 = 200;
const PROBLEM_MAX_CHARACTERS: usize = 1_000;

#[derive(Debug, Clone)]
pub struct NewScheduled<'a> {
    pub publish_at: Timestamp,
    pub note: &'a str,
    pub author: &'a str,
    pub change: &'a Value,
    pub allow_below_cost: bool,
}

#[derive(Debug, Clone)]
pub struct Scheduled {
    pub id: i64,
    pub publish_at: Timestamp,
    pub note: String,
    pub author: String,
    pub change: Value,
    pub allow_below_cost: bool,
    pub state: String,
    pub problem: Option<String>,
    pub revision: Option<i64>,
    pub created_at: Timestamp,
}

/// How a scheduled change ends.
#[derive(Debug, Clone, Copy)]
pub enum Ending<'a> {
    Published(i64),
    Refused(&'a str),
    Cancelled,
}

const COLUMNS: &str =
    "id, publish_at, note, author, change, allow_below_cost, state, problem, revision, created_at";

pub async fn create(tx: &mut Tx, new: &NewScheduled<'_>) -> Result<Scheduled, DbError> {
    let text = format!(
        "INSERT INTO app.scheduled_prices (publish_at, note, author, change, allow_below_cost)
         VALUES ($1, $2, $3, $4, $5) RETURNING {COLUMNS}"
    );
    let row = sqlx::query(sqlx::AssertSqlSafe(text))
        .bind(to_sql_time(new.publish_at))
        .bind(new.note)
        .bind(new.author)
        .bind(Json(new.change))
        .bind(new.allow_below_cost)
        .fetch_one(&mut **tx)
        .await?;
    Scheduled::of_row(&row)
}

/// The newest changes, those that wait first.
pub async fn list(connection: &mut PgConnection) -> Result<Vec<Scheduled>, DbError> {
    let text = format!(
        "SELECT {COLUMNS} FROM app.scheduled_prices ORDER BY state <> 'waiting', id DESC LIMIT $1"
    );
    let rows = sqlx::query(sqlx::AssertSqlSafe(text))
        .bind(LIST_MAX)
        .fetch_all(connection)
        .await?;
    rows.iter().map(Scheduled::of_row).collect()
}

/// The next change that is due, locked for this transaction; none if there is none, or if others have all.
pub async fn next_due(tx: &mut Tx) -> Result<Option<Scheduled>, DbError> {
    let text = format!(
        "SELECT {COLUMNS} FROM app.scheduled_prices WHERE state = 'waiting' AND publish_at <= app.now()
         ORDER BY publish_at, id LIMIT 1 FOR UPDATE SKIP LOCKED"
    );
    let row = sqlx::query(sqlx::AssertSqlSafe(text))
        .fetch_optional(&mut **tx)
        .await?;
    row.as_ref().map(Scheduled::of_row).transpose()
}

/// Ends a change that waits. None if it does not.
pub async fn end(tx: &mut Tx, id: i64, ending: Ending<'_>) -> Result<Option<Scheduled>, DbError> {
    let (state, problem, revision) = match ending {
        Ending::Published(revision) => ("published", None, Some(revision)),
        Ending::Refused(problem) => ("refused", Some(problem), None),
        Ending::Cancelled => ("cancelled", None, None),
    };
    let problem: Option<String> =
        problem.map(|text| text.chars().take(PROBLEM_MAX_CHARACTERS).collect());
    let text = format!(
        "UPDATE app.scheduled_prices SET state = $2, problem = $3, revision = $4
         WHERE id = $1 AND state = 'waiting' RETURNING {COLUMNS}"
    );
    let row = sqlx::query(sqlx::AssertSqlSafe(text))
        .bind(id)
        .bind(state)
        .bind(problem)
        .bind(revision)
        .fetch_optional(&mut **tx)
        .await?;
    row.as_ref().map(Scheduled::of_row).transpose()
}

// === impl Scheduled ===

impl Scheduled {
    fn of_row(row: &PgRow) -> Result<Self, DbError> {
        let publish_at: OffsetDateTime = row.try_get("publish_at")?;
        let created_at: OffsetDateTime = row.try_get("created_at")?;
        Ok(Self {
            id: row.try_get("id")?,
            publish_at: from_sql_time(publish_at),
            note: row.try_get("note")?,
            author: row.try_get("author")?,
            change: row.try_get::<Json<Value>, _>("change")?.0,
            allow_below_cost: row.try_get("allow_below_cost")?,
            state: row.try_get("state")?,
            problem: row.try_get("problem")?,
            revision: row.try_get("revision")?,
            created_at: from_sql_time(created_at),
        })
    }
}
