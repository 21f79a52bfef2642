//! Packed holds of epochs that ended, and those that are open for long.

use std::collections::BTreeMap;

use time::Date;
use trunkline_db::{DbError, Tx};
use trunkline_types::{AccountId, RequestId};

use super::PackedHold;
use super::answers::{self, EndOfHold};
use super::arguments::{Arguments, End, Header};
use crate::batch::partitions::Day;
use crate::batch::refund::insert_write_offs;
use crate::columns::{account_of, column, request_of};
use crate::node_epoch::NodeEpoch;
use crate::operations::{Detail, Outcome, WriteOff, WriteOffReason};

/// The lane of recoveries: no lane of calls has it.
const LANE: i16 = -1;
/// Batches of a lane that one transaction looks through: a thousand calls each at most, within its timeout.
const BATCHES_AT_ONCE: i32 = 500;

/// An open packed hold of an epoch that ended.
pub(crate) struct Orphan {
    pub(crate) request: RequestId,
    pub(crate) account: AccountId,
    hold: PackedHold,
}

/// All open packed holds of a node's earlier epochs.
pub(crate) async fn orphans(tx: &mut Tx, node_epoch: &NodeEpoch) -> Result<Vec<Orphan>, DbError> {
    let rows = sqlx::query("SELECT * FROM ledger.open_packed_holds($1, $2, $3)")
        .bind(node_epoch.node.as_str())
        .bind(node_epoch.epoch)
        .bind(i32::MAX)
        .fetch_all(&mut **tx)
        .await?;
    let orphan = |row| {
        let account = account_of(row)?;
        Ok(Orphan {
            request: request_of(row)?,
            account,
            hold: PackedHold {
                account,
                day: Day::of_date(column::<Date>(row, "day")?),
                epoch_id: column(row, "epoch_id")?,
                lane: column(row, "lane")?,
                seq: column(row, "seq")?,
                position: column(row, "position")?,
                paid: 0,
                trial: 0,
            },
        })
    };
    rows.iter().map(orphan).collect()
}

/// Ends orphans, whose accounts are locked and each of whose requests is here once, and writes the loss off: the upstream
/// may bill the work. Returns how many were voided. The others were released, because their requests have the usage rows
/// of other holds, or are rows.
pub(crate) async fn void(
    tx: &mut Tx,
    node_epoch: &NodeEpoch,
    orphans: &[Orphan],
) -> Result<u64, DbError> {
    let detail = Detail::nothing(Outcome::Interrupted);
    let mut holders: BTreeMap<(Day, i32, i16), Vec<&Orphan>> = BTreeMap::new();
    for orphan in orphans {
        let hold = &orphan.hold;
        let holder = (hold.day, hold.epoch_id, hold.lane);
        holders.entry(holder).or_default().push(orphan);
    }
    let mut voided: u64 = 0;
    let mut losses: Vec<WriteOff> = Vec::new();
    for ((day, epoch_id, lane), orphans) in holders {
        let ends = orphans
            .iter()
            .map(|orphan| End {
                request: orphan.request,
                account: orphan.account,
                hold: &orphan.hold,
                amount: 0,
                unpaid: None,
                detail: &detail,
            })
            .collect();
        let header = Header {
            node_epoch,
            lane: LANE,
            seq: sequence(tx).await?,
            holder: Some((epoch_id, lane)),
            // A void fills no budget and changes no posted balance, so there are no events.
            may_notify: false,
            may_be_applied: false,
        };
        let arguments = Arguments::of_ends(ends);
        let row = arguments.call(tx, day, &header).await?;
        for (orphan, end) in orphans.iter().zip(answers::ends(&row)?) {
            if end != EndOfHold::Now {
                continue;
            }
            voided = voided.saturating_add(1);
            losses.push(WriteOff {
                request: orphan.request,
                account: orphan.account,
                reason: WriteOffReason::Crash,
                sale: None,
                cost: None,
            });
        }
    }
    insert_write_offs(tx, &losses.iter().collect::<Vec<_>>()).await?;
    Ok(voided)
}

/// Nothing of a node's earlier epochs is open any more.
pub(crate) async fn mark_swept(tx: &mut Tx, node_epoch: &NodeEpoch) -> Result<(), DbError> {
    sqlx::query(
        "UPDATE ledger.node_epoch SET swept_at = app.now()
         WHERE node = $1 AND epoch < $2 AND swept_at IS NULL",
    )
    .bind(node_epoch.node.as_str())
    .bind(node_epoch.epoch)
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// The lanes of this epoch that have written batches.
pub(crate) async fn lanes(tx: &mut Tx, node_epoch: &NodeEpoch) -> Result<Vec<i16>, DbError> {
    let lanes = sqlx::query_scalar(
        "SELECT l.lane::smallint
         FROM ledger.node_epoch AS e
         CROSS JOIN LATERAL generate_series(0, (SELECT max(b.lane) FROM ledger.hold_batch AS b
             WHERE b.epoch_id = e.id)) AS l (lane)
         WHERE e.node = $1 AND e.epoch = $2",
    )
    .bind(node_epoch.node.as_str())
    .bind(node_epoch.epoch)
    .fetch_all(&mut **tx)
    .await?;
    Ok(lanes)
}

/// Moves packed holds of a lane that are open for two minutes to rows, where their deadline is looked after, and
/// advances its watermark. Returns whether there may be more.
pub(crate) async fn move_long(
    tx: &mut Tx,
    node_epoch: &NodeEpoch,
    lane: i16,
) -> Result<bool, DbError> {
    let has_more =
        sqlx::query_scalar("SELECT ledger.move_long_holds($1, $2, $3, interval '2 minutes', $4)")
            .bind(node_epoch.node.as_str())
            .bind(node_epoch.epoch)
            .bind(lane)
            .bind(BATCHES_AT_ONCE)
            .fetch_one(&mut **tx)
            .await?;
    Ok(has_more)
}

/// Recoveries are rare; their batches are numbered by the clock.
async fn sequence(tx: &mut Tx) -> Result<i64, DbError> {
    let micros = sqlx::query_scalar(
        "SELECT (extract(epoch FROM pg_catalog.clock_timestamp()) * 1000000)::bigint",
    );
    Ok(micros.fetch_one(&mut **tx).await?)
}
