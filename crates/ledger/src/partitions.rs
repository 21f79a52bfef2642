//! Daily partitions of hold, usage and transfer, created in advance; retention of the usage log and of its daily sums.

use trunkline_db::{Database, DbError, Tx, events};

/// Days created in advance. The audit reports when fewer than half of them are left.
pub const DAYS_AHEAD: i32 = 7;
/// Retention of the usage log and of its daily sums, in days, unless the operator sets another.
pub const USAGE_DAYS_KEPT: i32 = 400;
/// The shortest retention that can be set: a task is settled long before.
pub const MIN_USAGE_DAYS_KEPT: i32 = 30;
/// Rows of such sums that one run deletes. The job runs every hour, which is more than are written.
const FORGOTTEN_AT_ONCE: i32 = 50_000;

/// Makes the partitions from yesterday to [`DAYS_AHEAD`] days ahead of the database's clock. Returns
/// how many tables were new. Safe to repeat and to run from many nodes.
pub async fn ensure(database: &Database) -> Result<i32, DbError> {
    let mut tx = database.begin().await?;
    let made = make(&mut tx).await;
    tx.finish(made).await
}

/// Drops the days of the usage log that are older than `days`, and then their sums. Returns how many days were
/// dropped. Holds and transfers stay. Safe to repeat and to run from many nodes.
pub async fn drop_usage(database: &Database, days: i32) -> Result<i32, DbError> {
    let mut tx = database.begin().await?;
    let dropped = drop_days(&mut tx, days).await;
    let dropped = tx.finish(dropped).await?;
    // Apart, because a dropped day locks the whole log until its transaction ends.
    let mut tx = database.begin().await?;
    let forgotten = forget_usage_days(&mut tx, days).await;
    tx.finish(forgotten).await?;
    Ok(dropped)
}

/// Drops the oldest day that is no longer kept, its charges summed up as transfers in the same
/// transaction. Returns whether one was dropped; one that has something open is left.
pub async fn drop_oldest_day(database: &Database) -> Result<bool, DbError> {
    let mut tx = database.begin().await?;
    let dropped = sqlx::query_scalar(
        "SELECT ledger.drop_day(d.day) FROM (SELECT ledger.next_day_to_drop() AS day) AS d
         WHERE d.day IS NOT NULL",
    )
    .fetch_optional(&mut *tx)
    .await
    .map_err(DbError::from);
    tx.finish(dropped)
        .await
        .map(|dropped| dropped.unwrap_or(false))
}

async fn make(tx: &mut Tx) -> Result<i32, DbError> {
    let made = sqlx::query_scalar(
        "SELECT ledger.make_partitions((app.now() AT TIME ZONE 'UTC')::date - 1, $1 + 2)",
    )
    .bind(DAYS_AHEAD)
    .fetch_one(&mut **tx)
    .await?;
    // Events are partitioned by the same days.
    events::make_partitions(tx, DAYS_AHEAD).await?;
    Ok(made)
}

async fn drop_days(tx: &mut Tx, days: i32) -> Result<i32, DbError> {
    let dropped = sqlx::query_scalar(
        "SELECT ledger.drop_usage_partitions((app.now() AT TIME ZONE 'UTC')::date - $1)",
    )
    .bind(days)
    .fetch_one(&mut **tx)
    .await?;
    Ok(dropped)
}

async fn forget_usage_days(tx: &mut Tx, days: i32) -> Result<(), DbError> {
    sqlx::query("SELECT ledger.purge_usage_days((app.now() AT TIME ZONE 'UTC')::date - $1, $2)")
        .bind(days)
        .bind(FORGOTTEN_AT_ONCE)
        .execute(&mut **tx)
        .await?;
    Ok(())
}
