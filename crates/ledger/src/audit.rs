//! The audit: one SQL view per invariant; every view must be empty.
//!
//! The views are in `migrations/` so that an operator can read and query them; this file queries
//! each one.

use sqlx::Row as _;
use trunkline_db::{Database, DbError};

/// Rows of one view that are returned at most; the count is of all.
pub const MAX_ROWS_SHOWN: i64 = 20;

/// One view that is not empty.
#[derive(Debug, Clone, PartialEq)]
pub struct Violation {
    pub view: String,
    /// What it means, from the view's comment.
    pub meaning: String,
    /// How many rows it has.
    pub count: i64,
    /// The first of them.
    pub rows: Vec<serde_json::Value>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The views that were queried.
    pub views: Vec<String>,
    /// Those that are not empty.
    pub violations: Vec<Violation>,
}

/// Queries every view named `audit_…` in one read-only snapshot.
pub async fn run(database: &Database) -> Result<Report, DbError> {
    let mut tx = database.begin().await?;
    let done = ask_all(&mut tx).await;
    // Nothing was written; the snapshot is released either way.
    drop(tx.rollback().await);
    done
}

async fn ask_all(tx: &mut trunkline_db::Tx) -> Result<Report, DbError> {
    // Holds are joined by epoch, lane, sequence and position. For a day whose tables have no statistics yet the planner
    // merges by the first two, of which a node has a handful, and compares every hold with every call.
    sqlx::raw_sql(
        "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY;
         SET LOCAL statement_timeout = 0;
         SET LOCAL enable_mergejoin = off",
    )
    .execute(&mut **tx)
    .await?;
    let views = sqlx::query(
        "SELECT n.nspname || '.' || c.relname AS view,
             COALESCE(obj_description(c.oid, 'pg_class'), '') AS meaning
         FROM pg_catalog.pg_class AS c
         JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
         WHERE c.relkind = 'v' AND n.nspname IN ('app', 'ledger') AND c.relname LIKE 'audit\\_%'
         ORDER BY 1",
    )
    .fetch_all(&mut **tx)
    .await?;
    let mut report = Report {
        views: Vec::new(),
        violations: Vec::new(),
    };
    for row in &views {
        let view: String = row.try_get("view")?;
        let meaning: String = row.try_get("meaning")?;
        report.violations.extend(ask(tx, &view, meaning).await?);
        report.views.push(view);
    }
    Ok(report)
}

async fn ask(
    tx: &mut trunkline_db::Tx,
    view: &str,
    meaning: String,
) -> Result<Option<Violation>, DbError> {
    // The name comes from the database's own catalog and needs no quoting.
    let text = format!(
        "WITH found AS MATERIALIZED (SELECT * FROM {view})
         SELECT (SELECT count(*) FROM found) AS total, to_jsonb(f) AS row FROM found AS f LIMIT {MAX_ROWS_SHOWN}"
    );
    let rows = sqlx::query(sqlx::AssertSqlSafe(text))
        .fetch_all(&mut **tx)
        .await?;
    let Some(first) = rows.first() else {
        return Ok(None);
    };
    Ok(Some(Violation {
        view: view.to_owned(),
        meaning,
        count: first.try_get("total")?,
        rows: rows
            .iter()
            .map(|row| row.try_get("row"))
            .collect::<Result<_, _>>()?,
    }))
}
