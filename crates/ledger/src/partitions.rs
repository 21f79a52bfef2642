//! Days of hold, usage and transfer, made before they are needed; sums of days, forgotten when they are old.

use trunkline_db::{Database, DbError, Tx, events};

/// Days that are made in advance. The audit raises the alarm when fewer than half of them are left.
pub const DAYS_AHEAD: i32 = 7;
/// Days that sums of usage are kept.
pub const USAGE_DAYS_KEPT: i32 = 400;
/// Rows of such sums that are forgotten at once. The job comes every hour: more than ever are written.
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
    // Beside the money stand the events that tell of it, by the same days.
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
