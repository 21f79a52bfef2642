//! Settlements and voids: one statement for both, because both end a hold and write its usage row.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::types::Json;
use trunkline_db::{DbError, Tx};
use trunkline_types::{AccountId, Defect, Money, RequestId};
use uuid::Uuid;

use super::BatchResults;
use super::partitions::{Day, by_day};
use super::refund::insert_write_offs;
use crate::admission::{BudgetWindowId, money};
use crate::columns::{PeriodBoundary, account_of, column, each, request_of};
use crate::node_epoch::NodeEpoch;
use crate::operations::{Answer, Detail, Op, SettleAnswer, Unpaid, WriteOff, WriteOffReason};

/// The resolution of one hold.
pub(crate) struct Resolution<'a> {
    pub(crate) request: RequestId,
    pub(crate) account: AccountId,
    pub(crate) amount: i64,
    /// What was used and is not charged.
    pub(crate) unpaid: Option<Unpaid>,
    pub(crate) detail: &'a Detail,
}

/// Settles and voids; answers operations on holds that were resolved before.
pub(super) async fn settle_and_void(
    tx: &mut Tx,
    node_epoch: &NodeEpoch,
    ops: &[&Op],
    results: &mut BatchResults,
) -> Result<(), DbError> {
    let mut indexes = Vec::new();
    let mut resolutions = Vec::new();
    for (index, op) in ops.iter().copied().enumerate() {
        let resolution = match op {
            Op::Settle(settle) => Resolution {
                request: settle.request,
                account: settle.account,
                amount: settle.amount.nanos().max(0),
                unpaid: settle.unpaid,
                detail: &settle.detail,
            },
            Op::Void(void) => Resolution {
                request: void.request,
                account: void.account,
                amount: 0,
                unpaid: None,
                detail: &void.detail,
            },
            Op::Reserve(_) | Op::Extend(_) | Op::Refund(_) | Op::WriteOff(_) => continue,
        };
        indexes.push(index);
        resolutions.push(resolution);
    }
    if resolutions.is_empty() {
        return Ok(());
    }
    let Resolved { mut done, used_up } = resolve(tx, node_epoch, &resolutions, false).await?;
    for window in used_up {
        results.notifications.reached(window);
    }
    write_off_unpaid(tx, &resolutions, &done).await?;
    // A repeated operation in one batch finds the row of the first, which moved the money.
    let all_done = done.len() == resolutions.len();
    let before = if all_done {
        BTreeMap::new()
    } else {
        read_resolved(tx, &resolutions).await?
    };
    for (index, resolution) in indexes.into_iter().zip(&resolutions) {
        let request = &resolution.request;
        let answer = match (done.remove(request), before.get(request)) {
            (Some((paid, trial)), _) => {
                let charged = paid.saturating_add(trial);
                results
                    .notifications
                    .posted(resolution.account, charged.saturating_neg());
                SettleAnswer::Done {
                    paid: money(paid),
                    trial: money(trial),
                }
            }
            (None, Some((account, charged, paid, trial))) if *account == resolution.account => {
                SettleAnswer::Before {
                    charged: *charged,
                    paid: money(*paid),
                    trial: money(*trial),
                }
            }
            (None, Some(_) | None) => SettleAnswer::NoHold,
        };
        results.answers.insert(index, Answer::Settle(answer));
    }
    Ok(())
}

/// The result of resolving holds.
pub(crate) struct Resolved {
    /// What each hold was charged (paid, trial).
    pub(crate) done: BTreeMap<RequestId, (i64, i64)>,
    /// Budget windows that are used up now and had no event before.
    used_up: Vec<BudgetWindowId>,
}

/// Resolves open holds and returns what each was charged. The outcome decides whether a hold is
/// settled or voided. With `any_hold`, also holds of other nodes: the sweeper resolves those of
/// failed nodes.
pub(crate) async fn resolve(
    tx: &mut Tx,
    node_epoch: &NodeEpoch,
    resolutions: &[Resolution<'_>],
    any_hold: bool,
) -> Result<Resolved, DbError> {
    let mut seen = BTreeSet::new();
    let once = resolutions
        .iter()
        .filter(|resolution| seen.insert(resolution.request));
    let (mut done, mut used_up) = (BTreeMap::new(), Vec::new());
    if Defect::DroppedSettlement.is_on() {
        done.extend(once.map(|end| (end.request, (end.amount, 0))));
        return Ok(Resolved { done, used_up });
    }
    for (day, ends) in by_day(once, |resolution| resolution.request) {
        let rows = sqlx::query(day.tables(include_str!("../sql/resolve.sql")))
            .bind(each(&ends, |end| end.request.uuid()))
            .bind(each(&ends, |end| end.account.number()))
            .bind(each(&ends, |end| end.amount))
            .bind(each(&ends, |end| Json(&end.detail.units)))
            .bind(each(&ends, |end| Json(&end.detail.measured)))
            .bind(each(&ends, |end| end.detail.estimated))
            .bind(each(&ends, |end| end.detail.tier.as_deref()))
            .bind(each(&ends, |end| end.detail.cost.map(Money::nanos)))
            .bind(each(&ends, |end| Json(&end.detail.attempts)))
            .bind(each(&ends, |end| end.detail.warnings.join(",")))
            .bind(each(&ends, |end| end.detail.outcome.as_str()))
            .bind(node_epoch.node.as_str())
            .bind(node_epoch.epoch)
            .bind(any_hold)
            .fetch_all(&mut **tx)
            .await?;
        for row in &rows {
            if let Some(budget) = column::<Option<i64>>(row, "budget_id")? {
                let start: PeriodBoundary = column(row, "starts_at")?;
                used_up.push((budget, start.number()));
                continue;
            }
            done.insert(
                request_of(row)?,
                (column(row, "paid")?, column(row, "trial")?),
            );
        }
        let left = |end: &&&Resolution<'_>| !done.contains_key(&end.request);
        let left: Vec<&Resolution<'_>> = ends.iter().filter(left).copied().collect();
        release(tx, node_epoch, day, &left, any_hold).await?;
    }
    Ok(Resolved { done, used_up })
}

/// Frees what is held for requests that were charged by another hold of the same id. Most of those that are left were
/// resolved before and hold nothing.
async fn release(
    tx: &mut Tx,
    node_epoch: &NodeEpoch,
    day: Day,
    left: &[&Resolution<'_>],
    any_hold: bool,
) -> Result<(), DbError> {
    if left.is_empty() {
        return Ok(());
    }
    sqlx::query(day.tables(include_str!("../sql/release_rows.sql")))
        .bind(each(left, |end| end.request.uuid()))
        .bind(each(left, |end| end.account.number()))
        .bind(node_epoch.node.as_str())
        .bind(node_epoch.epoch)
        .bind(any_hold)
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// What was used and not charged is the operator's loss. A settlement above its hold is charged what was
/// held, and its rest is a loss too.
async fn write_off_unpaid(
    tx: &mut Tx,
    resolutions: &[Resolution<'_>],
    done: &BTreeMap<RequestId, (i64, i64)>,
) -> Result<(), DbError> {
    let loss = |end: &Resolution<'_>, reason: WriteOffReason, sale: Money| WriteOff {
        request: end.request,
        account: end.account,
        reason,
        sale: Some(sale),
        cost: end.detail.cost,
    };
    let mut losses: Vec<WriteOff> = Vec::new();
    for end in resolutions {
        let Some((paid, trial)) = done.get(&end.request) else {
            continue;
        };
        losses.extend(
            end.unpaid
                .map(|unpaid| loss(end, unpaid.reason, unpaid.sale)),
        );
        let beyond = end.amount.saturating_sub(paid.saturating_add(*trial));
        if beyond > 0 {
            losses.push(loss(end, WriteOffReason::Overrun, money(beyond)));
        }
    }
    insert_write_offs(tx, &losses.iter().collect::<Vec<_>>()).await
}

type Before = (AccountId, bool, i64, i64);

async fn read_resolved(
    tx: &mut Tx,
    resolutions: &[Resolution<'_>],
) -> Result<BTreeMap<RequestId, Before>, DbError> {
    let mut found = BTreeMap::new();
    for (day, ends) in by_day(resolutions, |resolution| resolution.request) {
        let ids: Vec<Uuid> = ends.iter().map(|end| end.request.uuid()).collect();
        let statement = day.tables(include_str!("../sql/read_resolved.sql"));
        let rows = sqlx::query(statement)
            .bind(ids)
            .fetch_all(&mut **tx)
            .await?;
        for row in &rows {
            let charged = column::<&str>(row, "state")? == "settled";
            let before = (
                account_of(row)?,
                charged,
                column(row, "paid")?,
                column(row, "trial")?,
            );
            found.insert(request_of(row)?, before);
        }
    }
    Ok(found)
}
