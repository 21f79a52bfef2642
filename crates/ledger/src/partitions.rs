//! Daily partitions of hold, usage and transfer, created in advance; retention of the daily usage
//! sums.

use trunkline_db::{Database, DbError, Tx, events};

/// Days created in advance. The audit reports when fewer than half of them are left.
pub const DAYS_AHEAD: i32 = 7;
/// Retention of the daily usage sums, in days.
pub const USAGE_DAYS_KEPT: i32 = 400;
/// Rows of such sums that one run deletes. The job runs every hour, which is more than are written.
const FORGOTTEN_AT_ONCE: i32 = 50_000;

/// Makes the partitions from yesterday to [`DAYS_AHEAD`] days ahead of the database's clock. Returns
/// how many tables were new. Safe to repeat and to run from many nodes.
pub async fn ensure(database: &Database) -> Result<i32, DbError> {
    let mut tx = database.begin().await?;
    let made = make(&mut tx).await;
    tx.finish(made).await
}

async fn make(tx: &mut Tx) -> Result<i32, DbError> {
    let made = sqlx::query_scalar(
        "SELECT ledger.make_partitions((app.now() AT TIME ZONE 'UTC')::date - 1, $1 + 2)",
    )
    .bind(DAYS_AHEAD)
    .fetch_one(&mut **tx)
    .await?;
    forget_usage_days(tx).await?;
    // Events are partitioned by the same days.
    events::make_partitions(tx, DAYS_AHEAD).await?;
    Ok(made)
}

async fn forget_usage_days(tx: &mut Tx) -> Result<(), DbError> {
    sqlx::query("SELECT ledger.purge_usage_days((app.now() AT TIME ZONE 'UTC')::date - $1, $2)")
        .bind(USAGE_DAYS_KEPT)
        .bind(FORGOTTEN_AT_ONCE)
        .execute(&mut **tx)
        .await?;
    Ok(())
}
