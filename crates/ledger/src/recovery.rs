//! Crash recovery: a node's next epoch voids the open holds of earlier ones, and the sweeper voids
//! those of nodes that do not return. Holds of tasks stay open: another node continues the task.

use std::collections::HashSet;
use std::time::Duration;

use sqlx::PgConnection;
use sqlx::postgres::PgRow;
use trunkline_db::{Database, DbError, Tx};
use trunkline_types::{AccountId, NodeId, RequestId};

use crate::batch::refund::insert_write_offs;
use crate::batch::{BatchError, Resolution, check_epoch, lock_accounts, resolve};
use crate::columns::{account_of, column, request_of};
use crate::node_epoch::NodeEpoch;
use crate::operations::{Detail, Outcome, WriteOff, WriteOffReason};
use crate::packed::recovery as packed;
use crate::{unconfirmed, usage_report};

/// Holds that one statement of a sweep resolves.
const SWEEP_ROWS: i64 = 1_000;
/// Attempts to change an epoch when another transaction conflicts.
const CONFLICT_TRIES: u32 = 3;

/// An open hold whose node epoch ended.
struct Orphan {
    request: RequestId,
    account: AccountId,
}

/// Registers a node's next epoch and, in the same transaction, voids the open holds of earlier
/// ones. Returns the epoch and how many holds were voided.
pub async fn register(database: &Database, node: &NodeId) -> Result<(NodeEpoch, u64), DbError> {
    let mut tries: u32 = 0;
    loop {
        let mut tx = database.begin().await?;
        let done = begin_epoch(&mut tx, node).await;
        let done = tx.finish(done).await;
        if !is_retryable_conflict(&done, &mut tries) {
            return done;
        }
    }
}

/// Writes a node's heartbeat. False means that it was replaced or swept and must stop.
pub async fn heartbeat(database: &Database, node_epoch: &NodeEpoch) -> Result<bool, DbError> {
    let mut tx = database.begin().await?;
    let beat = sqlx::query(
        "UPDATE ledger.node SET heartbeat_at = app.now() WHERE name = $1 AND epoch = $2",
    )
    .bind(node_epoch.node.as_str())
    .bind(node_epoch.epoch)
    .execute(&mut *tx)
    .await
    .map_err(DbError::from);
    tx.finish(beat)
        .await
        .map(|result| result.rows_affected() == 1)
}

/// Says that a node serves its last calls and leaves new ones to its successor.
pub async fn leave(database: &Database, node_epoch: &NodeEpoch) -> Result<(), DbError> {
    let mut tx = database.begin().await?;
    let marked =
        sqlx::query("UPDATE ledger.node SET is_leaving = true WHERE name = $1 AND epoch = $2")
            .bind(node_epoch.node.as_str())
            .bind(node_epoch.epoch)
            .execute(&mut *tx)
            .await
            .map_err(DbError::from);
    tx.finish(marked).await.map(drop)
}

/// Whether a node's epoch is the current one.
pub async fn is_current_epoch(
    connection: &mut PgConnection,
    node_epoch: &NodeEpoch,
) -> Result<bool, DbError> {
    let lives = sqlx::query_scalar(
        "SELECT EXISTS (SELECT FROM ledger.node WHERE name = $1 AND epoch = $2)",
    )
    .bind(node_epoch.node.as_str())
    .bind(node_epoch.epoch)
    .fetch_one(connection)
    .await?;
    Ok(lives)
}

/// How many nodes have a recent heartbeat and accept calls.
pub async fn live_nodes(database: &Database, within: Duration) -> Result<u64, DbError> {
    let mut session = database.session().await?;
    let millis = i64::try_from(within.as_millis()).unwrap_or(i64::MAX);
    let count: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM ledger.node
         WHERE heartbeat_at > app.now() - $1::bigint * interval '1 millisecond' AND NOT is_leaving",
    )
    .bind(millis)
    .fetch_one(&mut *session)
    .await?;
    Ok(u64::try_from(count).unwrap_or(0))
}

/// Says whether a node uses NATS, unless other nodes with a recent heartbeat say otherwise: then nothing is
/// written, and those are returned.
pub async fn agree_on_nats(
    database: &Database,
    node_epoch: &NodeEpoch,
    uses_nats: bool,
    within: Duration,
) -> Result<Vec<String>, DbError> {
    let mut tx = database.begin().await?;
    let agreed = agree(&mut tx, node_epoch, uses_nats, within).await;
    tx.finish(agreed).await
}

async fn agree(
    tx: &mut Tx,
    node_epoch: &NodeEpoch,
    uses_nats: bool,
    within: Duration,
) -> Result<Vec<String>, DbError> {
    // Of two that start at once, one sees the other.
    sqlx::query("SELECT pg_advisory_xact_lock(hashtextextended('ledger.node.uses_nats', 7166402))")
        .execute(&mut **tx)
        .await?;
    let others: Vec<String> = sqlx::query_scalar(
        "SELECT name FROM ledger.node
         WHERE name <> $1 AND uses_nats <> $2
             AND heartbeat_at > app.now() - $3::bigint * interval '1 millisecond'
         ORDER BY name",
    )
    .bind(node_epoch.node.as_str())
    .bind(uses_nats)
    .bind(i64::try_from(within.as_millis()).unwrap_or(i64::MAX))
    .fetch_all(&mut **tx)
    .await?;
    let own = others.is_empty().then_some(uses_nats);
    sqlx::query("UPDATE ledger.node SET uses_nats = $3 WHERE name = $1 AND epoch = $2")
        .bind(node_epoch.node.as_str())
        .bind(node_epoch.epoch)
        .bind(own)
        .execute(&mut **tx)
        .await?;
    Ok(others)
}

/// Voids open holds of nodes without a heartbeat, and open holds past their deadline. Returns how
/// many. Also sums up settled calls, which any node may do.
pub async fn sweep(
    database: &Database,
    sweeper: &NodeEpoch,
    dead_after: Duration,
) -> Result<u64, DbError> {
    let mut swept: u64 = 0;
    // A node that cannot be swept now must not delay the others; its error is returned at the end.
    let mut failed = usage_report::sum_up(database).await.err();
    if let Err(error) = move_long(database, sweeper).await {
        failed = Some(error);
    }
    match dead_nodes(database, dead_after).await {
        Ok(nodes) => {
            for node in nodes {
                match end_epoch(database, &node, dead_after).await {
                    Ok(voided) => swept = swept.saturating_add(voided),
                    Err(error) => failed = Some(error),
                }
            }
        }
        Err(error) => failed = Some(error),
    }
    loop {
        let mut tx = database.begin().await?;
        let done = expire_some(&mut tx, sweeper).await;
        let expired = tx.finish(done).await?;
        swept = swept.saturating_add(expired);
        if expired == 0 {
            return failed.map_or(Ok(swept), Err);
        }
    }
}

/// Packed holds that are open for long become rows. A transaction for each part of a lane: it locks their accounts, for
/// which calls wait.
async fn move_long(database: &Database, node_epoch: &NodeEpoch) -> Result<(), DbError> {
    let mut tx = database.begin().await?;
    let lanes = packed::lanes(&mut tx, node_epoch).await;
    for lane in tx.finish(lanes).await? {
        let mut has_more = true;
        while has_more {
            let mut tx = database.begin().await?;
            let moved = move_long_of_lane(&mut tx, node_epoch, lane).await;
            has_more = tx.finish(moved).await?;
        }
    }
    Ok(())
}

async fn move_long_of_lane(
    tx: &mut Tx,
    node_epoch: &NodeEpoch,
    lane: i16,
) -> Result<bool, DbError> {
    match check_epoch(tx, node_epoch).await {
        Ok(()) => packed::move_long(tx, node_epoch, lane).await,
        Err(BatchError::StaleEpoch) => Ok(false),
        Err(BatchError::Db(error)) => Err(error),
    }
}

async fn end_epoch(
    database: &Database,
    node: &NodeId,
    dead_after: Duration,
) -> Result<u64, DbError> {
    let mut tries: u32 = 0;
    loop {
        let mut tx = database.begin().await?;
        let done = end_epoch_of_dead_node(&mut tx, node, dead_after).await;
        let done = tx.finish(done).await;
        if !is_retryable_conflict(&done, &mut tries) {
            return done;
        }
    }
}

/// Whether a conflict with another transaction is worth another attempt.
fn is_retryable_conflict<T>(done: &Result<T, DbError>, tries: &mut u32) -> bool {
    *tries = tries.saturating_add(1);
    matches!(done, Err(DbError::Conflict(_))) && *tries < CONFLICT_TRIES
}

async fn begin_epoch(tx: &mut Tx, node: &NodeId) -> Result<(NodeEpoch, u64), DbError> {
    sqlx::query(
        "INSERT INTO ledger.node (name, epoch) VALUES ($1, 1) ON CONFLICT (name) DO NOTHING",
    )
    .bind(node.as_str())
    .execute(&mut **tx)
    .await?;
    let before = lock_node(tx, node).await?;
    next_epoch(tx, node, before).await
}

/// Ends the epoch of a node without a heartbeat, unless one was written since.
async fn end_epoch_of_dead_node(
    tx: &mut Tx,
    node: &NodeId,
    dead_after: Duration,
) -> Result<u64, DbError> {
    let epoch = lock_node(tx, node).await?;
    let still = sqlx::query(
        "SELECT 1 FROM ledger.node WHERE name = $1 AND heartbeat_at < app.now() - $2::bigint * interval '1 millisecond'",
    )
    .bind(node.as_str())
    .bind(millis(dead_after))
    .fetch_optional(&mut **tx)
    .await?;
    if still.is_none() {
        return Ok(0);
    }
    next_epoch(tx, node, epoch).await.map(|(_, voided)| voided)
}

/// Waits for running batches of the node and blocks new ones.
async fn lock_node(tx: &mut Tx, node: &NodeId) -> Result<i64, DbError> {
    let epoch = sqlx::query_scalar("SELECT ledger.fence_node($1)").bind(node.as_str());
    Ok(epoch.fetch_one(&mut **tx).await?)
}

/// Locks every account with open holds of the node's earlier epochs, all at once: in several rounds
/// two transactions could deadlock. Returns the packed ones, of which there can be no more: those epochs are over.
async fn lock_orphaned(
    tx: &mut Tx,
    node_epoch: &NodeEpoch,
) -> Result<Vec<packed::Orphan>, DbError> {
    let accounts: Vec<i64> = sqlx::query_scalar(
        "SELECT DISTINCT account_id FROM ledger.hold
         WHERE node = $1 AND epoch < $2 AND state = 'open' AND owner <> 'task'",
    )
    .bind(node_epoch.node.as_str())
    .bind(node_epoch.epoch)
    .fetch_all(&mut **tx)
    .await?;
    let orphans = packed::orphans(tx, node_epoch).await?;
    let accounts = accounts
        .into_iter()
        .map(AccountId::new)
        .chain(orphans.iter().map(|orphan| orphan.account))
        .collect();
    lock_accounts(tx, accounts).await?;
    Ok(orphans)
}

async fn next_epoch(tx: &mut Tx, node: &NodeId, before: i64) -> Result<(NodeEpoch, u64), DbError> {
    let node_epoch = NodeEpoch {
        node: node.clone(),
        epoch: before.saturating_add(1),
    };
    // By the heartbeat of the epoch that ends.
    unconfirmed::note(tx, node, before).await?;
    sqlx::query(
        "UPDATE ledger.node SET epoch = $2, heartbeat_at = app.now(), is_leaving = false WHERE name = $1",
    )
        .bind(node.as_str())
        .bind(node_epoch.epoch)
        .execute(&mut **tx)
        .await?;
    sqlx::query("INSERT INTO ledger.node_epoch (node, epoch) VALUES ($1, $2)")
        .bind(node.as_str())
        .bind(node_epoch.epoch)
        .execute(&mut **tx)
        .await?;
    let orphans = lock_orphaned(tx, &node_epoch).await?;
    let mut voided = void_packed(tx, &node_epoch, orphans).await?;
    loop {
        let rows = sqlx::query(
            "SELECT request_id, account_id FROM ledger.hold
             WHERE node = $1 AND epoch < $2 AND state = 'open' AND owner <> 'task' LIMIT $3",
        )
        .bind(node.as_str())
        .bind(node_epoch.epoch)
        .bind(SWEEP_ROWS)
        .fetch_all(&mut **tx)
        .await?;
        let now = void(
            tx,
            &node_epoch,
            &rows,
            Outcome::Interrupted,
            WriteOffReason::Crash,
        )
        .await?;
        voided = voided.saturating_add(now);
        if now == 0 {
            return Ok((node_epoch, voided));
        }
    }
}

/// Voids the packed holds of a node's earlier epochs.
async fn void_packed(
    tx: &mut Tx,
    node_epoch: &NodeEpoch,
    mut orphans: Vec<packed::Orphan>,
) -> Result<u64, DbError> {
    let most = usize::try_from(SWEEP_ROWS).unwrap_or(usize::MAX);
    let mut voided: u64 = 0;
    while !orphans.is_empty() {
        // Two copies of one machine may hold a request each: the second hold ends after the first one's usage row.
        let mut requests = HashSet::new();
        let (now, later): (Vec<_>, Vec<_>) = orphans
            .into_iter()
            .partition(|orphan| requests.len() < most && requests.insert(orphan.request));
        voided = voided.saturating_add(packed::void(tx, node_epoch, &now).await?);
        orphans = later;
    }
    packed::mark_swept(tx, node_epoch).await?;
    Ok(voided)
}

async fn expire_some(tx: &mut Tx, sweeper: &NodeEpoch) -> Result<u64, DbError> {
    // A sweeper that was replaced meanwhile must not write under its old epoch.
    match check_epoch(tx, sweeper).await {
        Ok(()) => {}
        Err(BatchError::StaleEpoch) => return Ok(0),
        Err(BatchError::Db(error)) => return Err(error),
    }
    let rows = sqlx::query(
        "SELECT request_id, account_id FROM ledger.hold
         WHERE state = 'open' AND owner <> 'task' AND deadline < app.now() LIMIT $1",
    )
    .bind(SWEEP_ROWS)
    .fetch_all(&mut **tx)
    .await?;
    void(
        tx,
        sweeper,
        &rows,
        Outcome::Expired,
        WriteOffReason::Expired,
    )
    .await
}

/// Voids holds and writes the loss off: the upstream may bill the work.
async fn void(
    tx: &mut Tx,
    node_epoch: &NodeEpoch,
    rows: &[PgRow],
    outcome: Outcome,
    reason: WriteOffReason,
) -> Result<u64, DbError> {
    let orphans: Vec<Orphan> = rows
        .iter()
        .map(|row| {
            Ok(Orphan {
                request: request_of(row)?,
                account: account_of(row)?,
            })
        })
        .collect::<Result<_, DbError>>()?;
    if orphans.is_empty() {
        return Ok(0);
    }
    lock_accounts(tx, orphans.iter().map(|orphan| orphan.account).collect()).await?;
    let detail = Detail::nothing(outcome);
    let resolutions: Vec<Resolution<'_>> = orphans
        .iter()
        .map(|orphan| Resolution {
            request: orphan.request,
            account: orphan.account,
            amount: 0,
            unpaid: None,
            detail: &detail,
        })
        .collect();
    // A void fills no budget and changes no posted balance, so there are no events.
    let voided = resolve(tx, node_epoch, &resolutions, true).await?.done;
    let losses: Vec<WriteOff> = orphans
        .iter()
        .filter(|orphan| voided.contains_key(&orphan.request))
        .map(|orphan| WriteOff {
            request: orphan.request,
            account: orphan.account,
            reason,
            sale: None,
            cost: None,
        })
        .collect();
    insert_write_offs(tx, &losses.iter().collect::<Vec<_>>()).await?;
    Ok(u64::try_from(voided.len()).unwrap_or(u64::MAX))
}

/// Nodes without a heartbeat that have something open. One that has been away for an hour is ended with nothing open too,
/// once, so that what it wrote is not read for ever.
async fn dead_nodes(database: &Database, dead_after: Duration) -> Result<Vec<NodeId>, DbError> {
    let mut session = database.session().await?;
    let rows = sqlx::query(
        "SELECT n.name FROM ledger.node AS n
         WHERE n.heartbeat_at < app.now() - $1::bigint * interval '1 millisecond'
             AND (EXISTS (SELECT FROM ledger.hold AS h
                     WHERE h.node = n.name AND h.state = 'open' AND h.owner <> 'task')
                 OR EXISTS (SELECT FROM ledger.open_packed_holds(n.name, n.epoch + 1, 1))
                 OR n.heartbeat_at < app.now() - interval '1 hour' AND EXISTS (
                     SELECT FROM ledger.node_epoch AS e
                     WHERE e.node = n.name AND e.swept_at IS NULL AND EXISTS (SELECT FROM ledger.hold_batch AS b
                         WHERE b.epoch_id = e.id AND b.lane >= 0)))
         ORDER BY n.name",
    )
    .bind(millis(dead_after))
    .fetch_all(&mut *session)
    .await?;
    let name = |row: &PgRow| {
        let name: String = column(row, "name")?;
        NodeId::new(&name).map_err(|error| DbError::from(sqlx::Error::Decode(Box::new(error))))
    };
    rows.iter().map(name).collect()
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
