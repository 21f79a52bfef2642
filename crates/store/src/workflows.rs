//! Workflow records and their versions. Versions are immutable.
//!
//! [`trunkline_catalog::workflow::next`] decides which version may follow which; it is called here
//! because only the holder of the topic's revision knows the previous version.

use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};
use trunkline_catalog::workflow::{Transition, TransitionError, Workflow, next};
use trunkline_db::{DbError, Tx, from_sql_time, revision};
use trunkline_types::Timestamp;

/// The topic whose numbers the versions carry.
pub const TOPIC: &str = "workflows";
/// Most workflows.
pub const MAX_WORKFLOWS: usize = 10_000;
/// Most versions that are read at once: the largest page that is shown and one more, by which a reader
/// knows that there is a next one.
pub const MAX_PAGE: u32 = 101;

/// A version of a workflow.
#[derive(Debug, Clone, PartialEq)]
pub struct Version {
    pub workflow: Workflow,
    pub revision: i64,
    /// When it was written, by the database's clock.
    pub created_at: Timestamp,
}

/// What became of a record that was imported.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// The newest version, which is this record or, if it is the same, the one before.
    pub version: Version,
    pub how: Transition,
}

/// Why a record was not stored.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ImportError {
    /// Its states may not follow those it had.
    #[error(transparent)]
    Move(#[from] TransitionError),
    /// Another slug has the workflow.
    #[error(
        "the workflow {workflow_id:?} is kept under the slug {slug:?}; a workflow has one slug"
    )]
    OtherSlug { workflow_id: String, slug: String },
    #[error("there are {MAX_WORKFLOWS} workflows, which is the most")]
    TooMany,
    /// The database refused, or did not answer.
    #[error(transparent)]
    Db(#[from] DbError),
}

/// Stores a record as the next version of its slug. Importing the same record twice gives one
/// version and takes one revision.
///
/// The revision is taken before the previous version is read: a concurrent import waits, and then
/// sees this one.
pub async fn import(tx: &mut Tx, came: Workflow) -> Result<Imported, ImportError> {
    let kept = find(tx, &came.record().slug).await?;
    if let Some(version) = kept.filter(|version| version.workflow == came) {
        let how = Transition::Same;
        return Ok(Imported { version, how });
    }
    let number = revision::bump(tx, TOPIC).await?;
    let before = find(tx, &came.record().slug).await?;
    let step = next(before.as_ref().map(|version| &version.workflow), came)?;
    if let (Transition::Same, Some(version)) = (step.how, before) {
        let how = Transition::Same;
        return Ok(Imported { version, how });
    }
    let record = step.workflow.record();
    if let Some(slug) = other_slug(tx, &record.workflow_id, &record.slug).await? {
        let workflow_id = record.workflow_id.clone();
        return Err(ImportError::OtherSlug { workflow_id, slug });
    }
    if step.how == Transition::First && count(tx).await? >= MAX_WORKFLOWS {
        return Err(ImportError::TooMany);
    }
    let created_at = insert(tx, &step.workflow, number).await?;
    let version = Version {
        workflow: step.workflow,
        revision: number,
        created_at,
    };
    Ok(Imported {
        version,
        how: step.how,
    })
}

/// The newest version of a workflow, none if there is no such one.
pub async fn find(connection: &mut PgConnection, slug: &str) -> Result<Option<Version>, DbError> {
    let row = sqlx::query(
        "SELECT record::text AS record, revision, created_at FROM app.workflow_version
         WHERE slug = $1 ORDER BY revision DESC LIMIT 1",
    )
    .bind(slug)
    .fetch_optional(connection)
    .await?;
    row.as_ref().map(Version::of_row).transpose()
}

/// The newest version of the workflow of an id, none if there is no such one.
pub async fn find_by_id(
    connection: &mut PgConnection,
    workflow_id: &str,
) -> Result<Option<Version>, DbError> {
    let row = sqlx::query(
        "SELECT record::text AS record, revision, created_at FROM app.workflow_version
         WHERE workflow_id = $1 ORDER BY revision DESC LIMIT 1",
    )
    .bind(workflow_id)
    .fetch_optional(connection)
    .await?;
    row.as_ref().map(Version::of_row).transpose()
}

/// The newest versions of the workflows after a slug, in the order of their slugs; at most `limit`,
/// and at most [`MAX_PAGE`]. The empty slug is before all others.
pub async fn page(
    connection: &mut PgConnection,
    after: &str,
    limit: u32,
) -> Result<Vec<Version>, DbError> {
    let rows = sqlx::query(
        "SELECT DISTINCT ON (slug) record::text AS record, revision, created_at
         FROM app.workflow_version WHERE slug > $1
         ORDER BY slug, revision DESC LIMIT $2",
    )
    .bind(after)
    .bind(i64::from(limit.min(MAX_PAGE)))
    .fetch_all(connection)
    .await?;
    rows.iter().map(Version::of_row).collect()
}

// === impl Version ===

impl Version {
    fn of_row(row: &PgRow) -> Result<Self, DbError> {
        let text: String = row.try_get("record")?;
        let wrong = |what: String| DbError::from(sqlx::Error::Decode(what.into()));
        let workflow = Workflow::read(&text).map_err(|found| {
            let first = found.first().map(ToString::to_string).unwrap_or_default();
            wrong(format!("a stored workflow record is not valid: {first}"))
        })?;
        Ok(Self {
            workflow,
            revision: row.try_get("revision")?,
            created_at: from_sql_time(row.try_get("created_at")?),
        })
    }
}

async fn other_slug(tx: &mut Tx, workflow_id: &str, slug: &str) -> Result<Option<String>, DbError> {
    let other = sqlx::query_scalar(
        "SELECT slug FROM app.workflow_version WHERE workflow_id = $1 AND slug <> $2 LIMIT 1",
    )
    .bind(workflow_id)
    .bind(slug)
    .fetch_optional(&mut **tx)
    .await?;
    Ok(other)
}

async fn count(tx: &mut Tx) -> Result<usize, DbError> {
    let count: i64 = sqlx::query_scalar("SELECT count(DISTINCT slug) FROM app.workflow_version")
        .fetch_one(&mut **tx)
        .await?;
    Ok(usize::try_from(count).unwrap_or(usize::MAX))
}

async fn insert(tx: &mut Tx, workflow: &Workflow, number: i64) -> Result<Timestamp, DbError> {
    let record = workflow.record();
    let created_at = sqlx::query_scalar(
        "INSERT INTO app.workflow_version
             (slug, revision, workflow_id, contract_status, binding_status, semantic_digest, record)
         VALUES ($1, $2, $3, $4, $5, $6, $7::json) RETURNING created_at",
    )
    .bind(&record.slug)
    .bind(number)
    .bind(&record.workflow_id)
    .bind(record.contract_status.as_str())
    .bind(record.runtime_binding.status.as_str())
    .bind(&workflow.digest().bytes()[..])
    .bind(workflow.to_text())
    .fetch_one(&mut **tx)
    .await?;
    Ok(from_sql_time(created_at))
}
