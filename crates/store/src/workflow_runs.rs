//! Runs of workflows: which version was run, for whom, and by which call. What became of the call is not known here.

use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};
use time::OffsetDateTime;
use trunkline_db::{DbError, Tx, from_sql_time};
use trunkline_types::{AccountId, KeyId, Timestamp};
use uuid::Uuid;

/// Most runs that are read at once.
pub const MAX_PAGE: i64 = 100;

const COLUMNS: &str = "request_id, account_id, key_id, workflow_id, revision, semantic_digest, operation, model, \
     confirmations, body_hash, created_at, ended_at, error_code, app.now() AS read_at";

/// A run that begins.
#[derive(Debug, Clone)]
pub struct NewRun {
    /// The request id of its call.
    pub request: Uuid,
    pub account: AccountId,
    pub key: KeyId,
    pub workflow_id: String,
    /// The version that is run.
    pub revision: i64,
    pub digest: [u8; 32],
    /// The path of the operation.
    pub operation: String,
    pub model: String,
    /// What the caller said yes to.
    pub confirmations: Vec<String>,
    /// SHA-256 of what was sent, and of the workflow it was sent to.
    pub body_hash: [u8; 32],
}

/// A run that has begun.
#[derive(Debug, Clone)]
pub struct Run {
    pub facts: NewRun,
    pub created_at: Timestamp,
    /// When it was found to be over; none while the ledger has to be asked.
    pub ended_at: Option<Timestamp>,
    /// Why it was refused, where it was.
    pub error_code: Option<String>,
    /// When this was read, by the database's clock.
    pub read_at: Timestamp,
}

/// Writes a run, unless the same one is not known to be over: then that one is returned, and nothing is written.
/// Of two that begin at once, one finds the other.
pub async fn begin(tx: &mut Tx, run: &NewRun) -> Result<Option<Run>, DbError> {
    sqlx::query("SELECT pg_advisory_xact_lock(hashtextextended(encode($1, 'hex'), $2))")
        .bind(run.body_hash.as_slice())
        .bind(run.account.number())
        .execute(&mut **tx)
        .await?;
    let text = format!(
        "SELECT {COLUMNS} FROM app.workflow_run
         WHERE account_id = $1 AND body_hash = $2 AND ended_at IS NULL
         ORDER BY request_id DESC LIMIT 1"
    );
    let open = sqlx::query(sqlx::AssertSqlSafe(text))
        .bind(run.account.number())
        .bind(run.body_hash.as_slice())
        .fetch_optional(&mut **tx)
        .await?;
    if let Some(row) = open {
        return Run::of_row(&row).map(Some);
    }
    insert(tx, run).await?;
    Ok(None)
}

/// Writes a run beside others that are the same: the caller said that it is another one.
pub async fn insert(connection: &mut PgConnection, run: &NewRun) -> Result<(), DbError> {
    sqlx::query(
        "INSERT INTO app.workflow_run (request_id, account_id, key_id, workflow_id, revision, semantic_digest,
             operation, model, confirmations, body_hash)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
    )
    .bind(run.request)
    .bind(run.account.number())
    .bind(run.key.number())
    .bind(&run.workflow_id)
    .bind(run.revision)
    .bind(run.digest.as_slice())
    .bind(&run.operation)
    .bind(&run.model)
    .bind(&run.confirmations)
    .bind(run.body_hash.as_slice())
    .execute(connection)
    .await?;
    Ok(())
}

/// Notes that a run is over, and why it was refused if it was. The first note stays.
pub async fn end(
    connection: &mut PgConnection,
    account: AccountId,
    request: Uuid,
    error_code: Option<&str>,
) -> Result<(), DbError> {
    let code = error_code.map(|code| code.chars().take(200).collect::<String>());
    sqlx::query(
        "UPDATE app.workflow_run SET ended_at = app.now(), error_code = $3
         WHERE request_id = $1 AND account_id = $2 AND ended_at IS NULL",
    )
    .bind(request)
    .bind(account.number())
    .bind(code)
    .execute(connection)
    .await?;
    Ok(())
}

/// A run of an account; none if it is another's or there is none.
pub async fn find(
    connection: &mut PgConnection,
    account: AccountId,
    request: Uuid,
) -> Result<Option<Run>, DbError> {
    let text =
        format!("SELECT {COLUMNS} FROM app.workflow_run WHERE request_id = $1 AND account_id = $2");
    let row = sqlx::query(sqlx::AssertSqlSafe(text))
        .bind(request)
        .bind(account.number())
        .fetch_optional(connection)
        .await?;
    row.as_ref().map(Run::of_row).transpose()
}

/// The newest runs of a workflow by an account, at most [`MAX_PAGE`].
pub async fn newest(
    connection: &mut PgConnection,
    account: AccountId,
    workflow_id: &str,
    limit: i64,
) -> Result<Vec<Run>, DbError> {
    let text = format!(
        "SELECT {COLUMNS} FROM app.workflow_run WHERE account_id = $1 AND workflow_id = $2
         ORDER BY request_id DESC LIMIT $3"
    );
    let rows = sqlx::query(sqlx::AssertSqlSafe(text))
        .bind(account.number())
        .bind(workflow_id)
        .bind(limit.min(MAX_PAGE))
        .fetch_all(connection)
        .await?;
    rows.iter().map(Run::of_row).collect()
}

// === impl Run ===

impl Run {
    fn of_row(row: &PgRow) -> Result<Self, DbError> {
        let hash = |name: &str| -> Result<[u8; 32], DbError> {
            let bytes: Vec<u8> = row.try_get(name)?;
            Ok(bytes.try_into().unwrap_or_default())
        };
        let ended_at: Option<OffsetDateTime> = row.try_get("ended_at")?;
        Ok(Self {
            facts: NewRun {
                request: row.try_get("request_id")?,
                account: AccountId::new(row.try_get("account_id")?),
                key: KeyId::new(row.try_get("key_id")?),
                workflow_id: row.try_get("workflow_id")?,
                revision: row.try_get("revision")?,
                digest: hash("semantic_digest")?,
                operation: row.try_get("operation")?,
                model: row.try_get("model")?,
                confirmations: row.try_get("confirmations")?,
                body_hash: hash("body_hash")?,
            },
            created_at: from_sql_time(row.try_get("created_at")?),
            ended_at: ended_at.map(from_sql_time),
            error_code: row.try_get("error_code")?,
            read_at: from_sql_time(row.try_get("read_at")?),
        })
    }
}
