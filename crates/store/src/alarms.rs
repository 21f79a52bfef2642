//! Alarms of this installation and whether the operator was told of them.

use std::time::Duration;

use sha2::{Digest as _, Sha256};
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};
use time::OffsetDateTime;
use trunkline_db::{DbError, Tx, from_sql_time, to_sql_time};
use trunkline_types::Timestamp;
use uuid::Uuid;

/// Changes that one claim takes.
const AT_ONCE: i64 = 20;

/// Something that should not be, as one node or all of them see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    pub name: &'static str,
    /// A channel or a kind of loss; empty for the whole.
    pub subject: String,
    /// Who sees it; empty for what all nodes read from the database.
    pub node: String,
    pub summary: String,
}

/// A change that the operator has not been told of, by one way at least.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub name: String,
    pub subject: String,
    pub node: String,
    pub summary: String,
    pub is_firing: bool,
    pub changed_at: Timestamp,
    pub is_emailed: bool,
    pub is_posted: bool,
}

/// The ways by which an operator is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ways {
    pub email: bool,
    pub webhook: bool,
}

/// Alarms, those that fire first, then the newest.
pub async fn list(connection: &mut PgConnection, limit: i64) -> Result<Vec<Change>, DbError> {
    let rows = sqlx::query(
        "SELECT name, subject, node, summary, is_firing, changed_at, emailed_at IS NOT NULL AS is_emailed,
             posted_at IS NOT NULL AS is_posted
         FROM app.alarm ORDER BY is_firing DESC, changed_at DESC, name, subject, node LIMIT $1",
    )
    .bind(limit)
    .fetch_all(connection)
    .await?;
    rows.iter().map(Change::of_row).collect()
}

/// Makes alarms fire whose condition has lasted.
pub async fn fire(connection: &mut PgConnection, lasting: &[Condition]) -> Result<(), DbError> {
    let (names, subjects, nodes) = keys(lasting);
    let summaries: Vec<&str> = lasting.iter().map(|one| one.summary.as_str()).collect();
    sqlx::query(
        "INSERT INTO app.alarm AS a (name, subject, node, summary, is_firing)
         SELECT *, true FROM unnest($1::text[], $2::text[], $3::text[], $4::text[])
         ON CONFLICT (name, subject, node) DO UPDATE
         SET is_firing = true, summary = excluded.summary, changed_at = app.now(), claimed_until = '-infinity',
             emailed_at = NULL, posted_at = NULL
         WHERE NOT a.is_firing",
    )
    .bind(names)
    .bind(subjects)
    .bind(nodes)
    .bind(summaries)
    .execute(connection)
    .await?;
    Ok(())
}

/// Resolves alarms of a node, and of the whole, whose condition is gone. What is left of old ones is deleted.
pub async fn resolve(tx: &mut Tx, node: &str, present: &[Condition]) -> Result<(), DbError> {
    let (names, subjects, nodes) = keys(present);
    sqlx::query(
        "UPDATE app.alarm AS a
         SET is_firing = false, changed_at = app.now(), claimed_until = '-infinity', emailed_at = NULL, posted_at = NULL
         WHERE a.is_firing AND a.node IN ('', $1) AND NOT EXISTS (
             SELECT FROM unnest($2::text[], $3::text[], $4::text[]) AS p (name, subject, node)
             WHERE (p.name, p.subject, p.node) = (a.name, a.subject, a.node))",
    )
    .bind(node)
    .bind(names)
    .bind(subjects)
    .bind(nodes)
    .execute(&mut **tx)
    .await?;
    sqlx::query(
        "DELETE FROM app.alarm WHERE NOT is_firing AND changed_at < app.now() - interval '30 days'",
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Claims changes that are not told yet by one of these ways. A change that cannot be told for a day is old news.
pub async fn claim(
    connection: &mut PgConnection,
    ways: Ways,
    lease: Duration,
) -> Result<Vec<Change>, DbError> {
    let rows = sqlx::query(
        "UPDATE app.alarm AS a SET claimed_until = app.now() + make_interval(secs => $3)
         WHERE (a.name, a.subject, a.node) IN (
             SELECT d.name, d.subject, d.node FROM app.alarm AS d
             WHERE (($1 AND d.emailed_at IS NULL) OR ($2 AND d.posted_at IS NULL))
                 AND d.claimed_until < app.now() AND d.changed_at > app.now() - interval '1 day'
             ORDER BY d.changed_at LIMIT $4 FOR UPDATE SKIP LOCKED)
         RETURNING a.name, a.subject, a.node, a.summary, a.is_firing, a.changed_at,
             a.emailed_at IS NOT NULL AS is_emailed, a.posted_at IS NOT NULL AS is_posted",
    )
    .bind(ways.email)
    .bind(ways.webhook)
    .bind(lease.as_secs_f64())
    .bind(AT_ONCE)
    .fetch_all(connection)
    .await?;
    rows.iter().map(Change::of_row).collect()
}

/// A change was told by these ways. One that has changed since is not touched.
pub async fn reported(
    connection: &mut PgConnection,
    change: &Change,
    by: Ways,
) -> Result<(), DbError> {
    sqlx::query(
        "UPDATE app.alarm SET emailed_at = CASE WHEN $5 THEN app.now() ELSE emailed_at END,
             posted_at = CASE WHEN $6 THEN app.now() ELSE posted_at END
         WHERE (name, subject, node) = ($1, $2, $3) AND changed_at = $4",
    )
    .bind(&change.name)
    .bind(&change.subject)
    .bind(&change.node)
    .bind(to_sql_time(change.changed_at))
    .bind(by.email)
    .bind(by.webhook)
    .execute(connection)
    .await?;
    Ok(())
}

fn keys(conditions: &[Condition]) -> (Vec<&str>, Vec<&str>, Vec<&str>) {
    let names = conditions.iter().map(|one| one.name).collect();
    let subjects = conditions.iter().map(|one| one.subject.as_str()).collect();
    let nodes = conditions.iter().map(|one| one.node.as_str()).collect();
    (names, subjects, nodes)
}

// === impl Change ===

impl Change {
    /// The same for every attempt to tell it, and another for every other change.
    #[must_use]
    pub fn id(&self) -> Uuid {
        let mut hash = Sha256::new();
        for part in [&self.name, &self.subject, &self.node] {
            hash.update(part.as_bytes());
            hash.update([0]);
        }
        hash.update(self.changed_at.micros().to_be_bytes());
        let half = hash.finalize().first_chunk().copied();
        Uuid::from_bytes(half.unwrap_or_default())
    }

    fn of_row(row: &PgRow) -> Result<Self, DbError> {
        let changed_at: OffsetDateTime = row.try_get("changed_at")?;
        Ok(Self {
            name: row.try_get("name")?,
            subject: row.try_get("subject")?,
            node: row.try_get("node")?,
            summary: row.try_get("summary")?,
            is_firing: row.try_get("is_firing")?,
            changed_at: from_sql_time(changed_at),
            is_emailed: row.try_get("is_emailed")?,
            is_posted: row.try_get("is_posted")?,
        })
    }
}
