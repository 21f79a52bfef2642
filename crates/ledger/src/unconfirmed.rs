//! Charges whose delivery is in doubt: their process ended, not in order, right after it wrote them. The customer
//! sees them as such and may have them refunded.

use time::OffsetDateTime;
use trunkline_db::{Database, DbError, Tx};
use trunkline_types::{AccountId, NodeId, RequestId};

/// Notes the charges that an epoch wrote around its last sign of life and may not have delivered, unless it
/// ended in order. A call with an idempotency key is not among them: its answer is stored.
pub(crate) async fn note(tx: &mut Tx, node: &NodeId, epoch: i64) -> Result<u64, DbError> {
    // Read first: as a value it leads to the tables of a day or two, as a column of a join to those of all days.
    let last_alive: Option<OffsetDateTime> = sqlx::query_scalar(
        "SELECT n.heartbeat_at FROM ledger.node AS n
         WHERE n.name = $1 AND n.epoch = $2 AND NOT EXISTS (SELECT FROM ledger.node_epoch AS e
             WHERE e.node = n.name AND e.epoch = n.epoch AND e.ended_at IS NOT NULL)",
    )
    .bind(node.as_str())
    .bind(epoch)
    .fetch_optional(&mut **tx)
    .await?;
    let Some(last_alive) = last_alive else {
        return Ok(0);
    };
    let noted = sqlx::query(
        "INSERT INTO ledger.unconfirmed_delivery (request_id, account_id)
         SELECT u.request_id, u.account_id
         FROM ledger.usage AS u
         LEFT JOIN ledger.hold AS h ON h.request_id = u.request_id
             AND h.request_id >= app.uuid_v7_floor($3 - interval '10 minutes')
         LEFT JOIN ledger.hold_batch AS b ON b.epoch_id = u.hold_epoch AND b.lane = u.hold_lane AND b.seq = u.hold_seq
             AND b.day >= ($3 AT TIME ZONE 'UTC')::date - 1
         WHERE u.node = $1 AND u.epoch = $2
             AND u.request_id >= app.uuid_v7_floor($3 - interval '10 minutes')
             AND u.settled_at >= $3 - interval '2 seconds'
             AND u.outcome = 'complete' AND u.paid + u.trial > 0
             AND (h.owner = 'request' AND h.idempotency IS NULL
                 OR b.seq IS NOT NULL AND b.idempotency[u.hold_position] IS NULL)
             AND NOT EXISTS (SELECT FROM ledger.transfer AS t
                 WHERE t.request_id = u.request_id AND t.kind = 'undelivered'
                     AND t.request_id >= app.uuid_v7_floor($3 - interval '10 minutes'))
         ON CONFLICT (request_id) DO NOTHING",
    )
    .bind(node.as_str())
    .bind(epoch)
    .bind(last_alive)
    .execute(&mut **tx)
    .await?;
    Ok(noted.rows_affected())
}

/// An epoch ends in order: nothing that it charged is left to deliver.
pub(crate) async fn end_in_order(
    database: &Database,
    node: &NodeId,
    epoch: i64,
) -> Result<(), DbError> {
    let mut tx = database.begin().await?;
    let ended = sqlx::query(
        "UPDATE ledger.node_epoch SET ended_at = app.now() WHERE node = $1 AND epoch = $2",
    )
    .bind(node.as_str())
    .bind(epoch)
    .execute(&mut *tx)
    .await
    .map_err(DbError::from);
    tx.finish(ended).await.map(|_| ())
}

/// Whether the delivery of a call's answer is in doubt.
pub async fn is_unconfirmed(
    database: &Database,
    account: AccountId,
    request: RequestId,
) -> Result<bool, DbError> {
    let mut session = database.session().await?;
    let found = sqlx::query_scalar(
        "SELECT EXISTS (SELECT FROM ledger.unconfirmed_delivery WHERE request_id = $1 AND account_id = $2)",
    )
    .bind(request.uuid())
    .bind(account.number())
    .fetch_one(&mut *session)
    .await?;
    Ok(found)
}
