//! Pauses of social cells, and their history. A cell is named by its platform and its capability;
//! which cells exist is not known here.

use serde_json::json;
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};
use trunkline_db::events::{self, NewEvent, SYSTEM_ACCOUNT};
use trunkline_db::{DbError, Tx, from_sql_time, revision};
use trunkline_types::{Timestamp, Topic};
use uuid::Uuid;

use crate::validation;

/// The topic whose numbers the events carry.
pub const TOPIC: &str = "social";
/// Most pauses that are read: far above what all platforms together can have.
pub const MAX_PAUSES: i64 = 10_000;
/// Events that a list shows at most.
pub const EVENTS_MAX_ROWS: i64 = 1_000;

/// PauseAction the ids of events of cells begin with; the number of the change follows.
const EVENT_MARK: u64 = 0x736f_6369_616c_0000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PausedBy {
    Operator,
    /// A node that found the data source's path gone.
    Gateway,
}

/// PauseAction happened to a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PauseAction {
    /// Not sold until resumed.
    Paused,
    Resumed,
}

/// A cell that is not sold for now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pause {
    pub platform: String,
    pub capability: String,
    pub reason: String,
    pub by: PausedBy,
    /// Since when, by the database's clock.
    pub paused_at: Timestamp,
}

/// Something that happened to a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PauseEvent {
    /// Its number in the topic.
    pub number: i64,
    /// When, by the database's clock.
    pub at: Timestamp,
    pub platform: String,
    pub capability: String,
    pub action: PauseAction,
    pub reason: String,
    pub by: PausedBy,
}

/// All pauses, by platform and capability. At most [`MAX_PAUSES`].
///
/// A follower reads the topic's revision first and the pauses after, so they are never older than
/// their revision.
pub async fn paused(connection: &mut PgConnection) -> Result<Vec<Pause>, DbError> {
    let rows = sqlx::query(
        "SELECT platform, capability, reason, actor, paused_at FROM app.social_pause
         ORDER BY platform, capability LIMIT $1",
    )
    .bind(MAX_PAUSES)
    .fetch_all(connection)
    .await?;
    rows.iter().map(Pause::of_row).collect()
}

/// Pauses a cell. The first reason stays: false, and nothing written, if it is paused already. A
/// long reason is truncated. A node that knows it to be paused should not call this for every
/// error: writers of a topic are serialised.
pub async fn pause(
    tx: &mut Tx,
    platform: &str,
    capability: &str,
    reason: &str,
    by: PausedBy,
) -> Result<bool, DbError> {
    if is_paused(tx, platform, capability).await? {
        return Ok(false);
    }
    let number = revision::bump(tx, TOPIC).await?;
    let reason = validation::reason(reason);
    // Another writer may have paused it while this one waited for the revision.
    let written = sqlx::query(
        "INSERT INTO app.social_pause (platform, capability, reason, actor, revision)
         VALUES ($1, $2, $3, $4, $5) ON CONFLICT (platform, capability) DO NOTHING",
    )
    .bind(platform)
    .bind(capability)
    .bind(&reason)
    .bind(by.as_str())
    .bind(number)
    .execute(&mut **tx)
    .await?;
    if written.rows_affected() == 0 {
        return Ok(false);
    }
    note(
        tx,
        number,
        platform,
        capability,
        PauseAction::Paused,
        &reason,
        by,
    )
    .await?;
    Ok(true)
}

/// Resumes a cell. False, and nothing written, if it is not paused.
pub async fn resume(
    tx: &mut Tx,
    platform: &str,
    capability: &str,
    reason: &str,
    by: PausedBy,
) -> Result<bool, DbError> {
    if !is_paused(tx, platform, capability).await? {
        return Ok(false);
    }
    let number = revision::bump(tx, TOPIC).await?;
    let gone = sqlx::query("DELETE FROM app.social_pause WHERE platform = $1 AND capability = $2")
        .bind(platform)
        .bind(capability)
        .execute(&mut **tx)
        .await?;
    if gone.rows_affected() == 0 {
        return Ok(false);
    }
    let reason = validation::reason(reason);
    note(
        tx,
        number,
        platform,
        capability,
        PauseAction::Resumed,
        &reason,
        by,
    )
    .await?;
    Ok(true)
}

/// The latest events, newest first; at most [`EVENTS_MAX_ROWS`].
pub async fn events(connection: &mut PgConnection, limit: i64) -> Result<Vec<PauseEvent>, DbError> {
    let rows = sqlx::query(
        "SELECT revision, at, platform, capability, action, reason, actor FROM app.social_event
         ORDER BY revision DESC LIMIT $1",
    )
    .bind(limit.clamp(1, EVENTS_MAX_ROWS))
    .fetch_all(connection)
    .await?;
    rows.iter().map(PauseEvent::of_row).collect()
}

async fn is_paused(tx: &mut Tx, platform: &str, capability: &str) -> Result<bool, DbError> {
    let is_paused = sqlx::query_scalar(
        "SELECT EXISTS (SELECT FROM app.social_pause WHERE platform = $1 AND capability = $2)",
    )
    .bind(platform)
    .bind(capability)
    .fetch_one(&mut **tx)
    .await?;
    Ok(is_paused)
}

async fn note(
    tx: &mut Tx,
    number: i64,
    platform: &str,
    capability: &str,
    action: PauseAction,
    reason: &str,
    by: PausedBy,
) -> Result<(), DbError> {
    sqlx::query(
        "INSERT INTO app.social_event (revision, platform, capability, action, reason, actor)
         VALUES ($1, $2, $3, $4, $5, $6)",
    )
    .bind(number)
    .bind(platform)
    .bind(capability)
    .bind(action.as_str())
    .bind(reason)
    .bind(by.as_str())
    .execute(&mut **tx)
    .await?;
    // Customers get an event without the reason, which is for the operator.
    let event = NewEvent {
        id: Uuid::from_u64_pair(EVENT_MARK, u64::try_from(number).unwrap_or_default()),
        account: SYSTEM_ACCOUNT,
        topic: match action {
            PauseAction::Paused => Topic::CellPaused,
            PauseAction::Resumed => Topic::CellResumed,
        },
        task: None,
        body: json!({ "platform": platform, "capability": capability }),
    };
    events::append(tx, &[event]).await
}

// === impl PausedBy ===

impl PausedBy {
    pub const ALL: [Self; 2] = [Self::Operator, Self::Gateway];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::Gateway => "gateway",
        }
    }

    fn of_row(row: &PgRow) -> Result<Self, DbError> {
        let word: &str = row.try_get("actor")?;
        let known = Self::ALL.into_iter().find(|by| by.as_str() == word);
        known.ok_or_else(|| wrong("unknown actor of a pause"))
    }
}

// === impl PauseAction ===

impl PauseAction {
    pub const ALL: [Self; 2] = [Self::Paused, Self::Resumed];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Paused => "paused",
            Self::Resumed => "resumed",
        }
    }

    fn of_row(row: &PgRow) -> Result<Self, DbError> {
        let word: &str = row.try_get("action")?;
        let known = Self::ALL.into_iter().find(|action| action.as_str() == word);
        known.ok_or_else(|| wrong("unknown kind of pause event"))
    }
}

// === impl Pause, PauseEvent ===

impl Pause {
    fn of_row(row: &PgRow) -> Result<Self, DbError> {
        Ok(Self {
            platform: row.try_get("platform")?,
            capability: row.try_get("capability")?,
            reason: row.try_get("reason")?,
            by: PausedBy::of_row(row)?,
            paused_at: from_sql_time(row.try_get("paused_at")?),
        })
    }
}

impl PauseEvent {
    fn of_row(row: &PgRow) -> Result<Self, DbError> {
        Ok(Self {
            number: row.try_get("revision")?,
            at: from_sql_time(row.try_get("at")?),
            platform: row.try_get("platform")?,
            capability: row.try_get("capability")?,
            action: PauseAction::of_row(row)?,
            reason: row.try_get("reason")?,
            by: PausedBy::of_row(row)?,
        })
    }
}

fn wrong(what: &str) -> DbError {
    DbError::from(sqlx::Error::Decode(what.into()))
}
