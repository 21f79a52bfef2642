//! Daily partitions of holds, usage and transfers, created in advance; retention of calls and of their daily sums.

use trunkline_db::{Database, DbError, Tx, events};

/// Days created in advance. The audit reports when fewer than half of them are left.
pub const DAYS_AHEAD: i32 = 7;
/// Retention of calls and of their daily sums, in days, unless the operator sets another.
pub const USAGE_DAYS_KEPT: i32 = 400;
/// The shortest retention that can be set: a task is settled long before.
pub const MIN_USAGE_DAYS_KEPT: i32 = 30;
/// Rows of such sums that one run deletes. The job runs every hour, which is more than are written.
const FORGOTTEN_AT_ONCE: i32 = 50_000;
/// Links of hash chains that one transaction deletes; a run deletes all that are due.
const LINKS_AT_ONCE: i32 = 10_000;

/// Queries over all days that run at once: a report, the audit and the search for dead nodes.
const QUERIES_AT_ONCE: i64 = 3;

/// The server has fewer locks than queries over all days take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockShortage {
    /// Tables and indexes of all days, each of which such a query locks.
    pub relations: i64,
    /// Locks of the whole server, by its settings.
    pub locks: i64,
}

/// Makes the partitions from yesterday to [`DAYS_AHEAD`] days ahead of the database's clock. Returns
/// how many tables were new. Safe to repeat and to run from many nodes.
pub async fn ensure(database: &Database) -> Result<i32, DbError> {
    let mut tx = database.begin().await?;
    let made = make(&mut tx).await;
    tx.finish(made).await
}

/// Whether the server's lock table is too small for queries over the days that there are now. Without free locks such a
/// query fails with "out of shared memory", and any other statement with it, so it is better known some days before.
pub async fn lock_shortage(database: &Database) -> Result<Option<LockShortage>, DbError> {
    let mut tx = database.begin().await?;
    let read = read_locks(&mut tx).await;
    let (relations, locks) = tx.finish(read).await?;
    let needed = relations.saturating_mul(QUERIES_AT_ONCE);
    Ok((needed > locks).then_some(LockShortage { relations, locks }))
}

/// Drops the days that are older than `days`, oldest first, then their sums and the links of their chains. Returns how
/// many days were dropped.
/// Holds and usage rows go, with the totals of their charges written as transfers. A day of which something is not over
/// stays, and so do those after it. Safe to repeat and to run from many nodes.
pub async fn drop_usage(database: &Database, days: i32) -> Result<i32, DbError> {
    let mut dropped: i32 = 0;
    // A transaction each, because a dropped day locks the whole log until its transaction ends.
    loop {
        let mut tx = database.begin().await?;
        let is_dropped = drop_oldest_day(&mut tx, days).await;
        if !tx.finish(is_dropped).await? {
            break;
        }
        dropped = dropped.saturating_add(1);
    }
    let mut tx = database.begin().await?;
    let forgotten = forget_usage_days(&mut tx, days).await;
    tx.finish(forgotten).await?;
    purge_chain_links(database).await?;
    Ok(dropped)
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

/// The relations of all days, and the server's locks.
async fn read_locks(tx: &mut Tx) -> Result<(i64, i64), DbError> {
    let read = sqlx::query_as(
        "SELECT (SELECT count(*) FROM pg_catalog.pg_class AS c
                 WHERE c.relnamespace = 'ledger'::regnamespace AND c.relkind IN ('r', 'p', 'i', 'I')),
             current_setting('max_locks_per_transaction')::bigint
                 * (current_setting('max_connections')::bigint + current_setting('max_prepared_transactions')::bigint)",
    );
    Ok(read.fetch_one(&mut **tx).await?)
}

async fn drop_oldest_day(tx: &mut Tx, days: i32) -> Result<bool, DbError> {
    // All calls of the day are summed up, however many.
    sqlx::raw_sql("SET LOCAL statement_timeout = 0")
        .execute(&mut **tx)
        .await?;
    let is_dropped = sqlx::query_scalar(
        "SELECT ledger.drop_oldest_day((app.now() AT TIME ZONE 'UTC')::date - $1)",
    )
    .bind(days)
    .fetch_one(&mut **tx)
    .await?;
    Ok(is_dropped)
}

async fn forget_usage_days(tx: &mut Tx, days: i32) -> Result<(), DbError> {
    sqlx::query("SELECT ledger.purge_usage_days((app.now() AT TIME ZONE 'UTC')::date - $1, $2)")
        .bind(days)
        .bind(FORGOTTEN_AT_ONCE)
        .execute(&mut **tx)
        .await?;
    Ok(())
}

async fn purge_chain_links(database: &Database) -> Result<(), DbError> {
    loop {
        let mut tx = database.begin().await?;
        let gone = sqlx::query_scalar::<_, i32>("SELECT ledger.purge_chain_links($1)")
            .bind(LINKS_AT_ONCE)
            .fetch_one(&mut *tx)
            .await
            .map_err(DbError::from);
        if tx.finish(gone).await? < LINKS_AT_ONCE {
            return Ok(());
        }
    }
}
