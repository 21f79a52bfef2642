//! Days of hold, usage and transfer, made before they are needed.

use trunkline_db::{Database, DbError};

/// Days that are made in advance. The audit raises the alarm when fewer than half of them are left.
pub const DAYS_AHEAD: i32 = 7;

/// Makes the partitions from yesterday to [`DAYS_AHEAD`] days ahead of the database's clock. Returns
/// how many tables were new. Safe to repeat and to run from many nodes.
pub async fn ensure(database: &Database) -> Result<i32, DbError> {
    let mut tx = database.begin().await?;
    let made = sqlx::query_scalar(
        "SELECT ledger.make_partitions((app.now() AT TIME ZONE 'UTC')::date - 1, $1 + 2)",
    )
    .bind(DAYS_AHEAD)
    .fetch_one(&mut *tx)
    .await
    .map_err(DbError::from);
    tx.finish(made).await
}
