//! Refunds and write-offs: rare operations, in the same transaction as the rest.

use std::collections::{BTreeMap, BTreeSet};

use trunkline_db::{DbError, Tx};
use trunkline_types::{Defect, Money, RequestId};
use uuid::Uuid;

use super::notifications::Refunded;
use super::partitions::{Day, by_day};
use super::{Answers, BatchResults};
use crate::admission::{WalletSplit, money};
use crate::columns::{column, each, request_of};
use crate::operations::{Answer, Op, Refund, RefundAnswer, WriteOff};

/// Refunds charges. Two refunds of one request are applied one after the other, so that the second
/// sees what the first left.
pub(super) async fn refund(
    tx: &mut Tx,
    ops: &[&Op],
    results: &mut BatchResults,
) -> Result<(), DbError> {
    let mut waiting: Vec<(usize, &Refund)> = ops
        .iter()
        .copied()
        .enumerate()
        .filter_map(|(index, op)| match op {
            Op::Refund(refund) => Some((index, refund)),
            Op::Reserve(_) | Op::Extend(_) | Op::Settle(_) | Op::Void(_) | Op::WriteOff(_) => None,
        })
        .collect();
    while !waiting.is_empty() {
        let mut requests = BTreeSet::new();
        let (round, rest) = waiting
            .into_iter()
            .partition(|(_, refund)| requests.insert(refund.request));
        refund_round(tx, round, results).await?;
        waiting = rest;
    }
    Ok(())
}

/// The refund of one request.
struct Back {
    split: WalletSplit,
    event: Uuid,
    model: String,
    task: Option<Uuid>,
}

async fn refund_round(
    tx: &mut Tx,
    round: Vec<(usize, &Refund)>,
    results: &mut BatchResults,
) -> Result<(), DbError> {
    let mut made: BTreeMap<RequestId, Back> = BTreeMap::new();
    let mut before: BTreeSet<(RequestId, String)> = BTreeSet::new();
    for (day, refunds) in by_day(round.iter().map(|(_, refund)| *refund), |refund| {
        refund.request
    }) {
        write_refunds(tx, day, &refunds, &mut made).await?;
        let known = |refund: &&Refund| made.contains_key(&refund.request);
        if !refunds.iter().all(known) {
            read_refunds(tx, day, &refunds, &mut before).await?;
        }
    }
    for (index, refund) in round {
        let answer = match made.remove(&refund.request) {
            Some(back) => {
                let split = back.split;
                results.notifications.refunded(Refunded {
                    event: back.event,
                    request: refund.request,
                    account: refund.account,
                    kind: refund.kind,
                    model: back.model,
                    task: back.task,
                    split,
                });
                RefundAnswer::Done {
                    paid: money(split.paid),
                    trial: money(split.trial),
                }
            }
            None if before.contains(&(refund.request, refund.kind.as_str().to_owned())) => {
                RefundAnswer::Before
            }
            None => RefundAnswer::NothingCharged,
        };
        results.answers.insert(index, Answer::Refund(answer));
    }
    Ok(())
}

async fn write_refunds(
    tx: &mut Tx,
    day: Day,
    refunds: &[&Refund],
    made: &mut BTreeMap<RequestId, Back>,
) -> Result<(), DbError> {
    let statement = include_str!("../sql/refund.sql");
    let twice = Defect::DoubledRefund
        .is_on()
        .then(|| statement.replace("paid_posted + d.paid", "paid_posted + d.paid * 2"));
    let statement = twice.as_deref().unwrap_or(statement);
    let rows = sqlx::query(day.tables(statement))
        .bind(each(refunds, |refund| refund.request.uuid()))
        .bind(each(refunds, |refund| refund.account.number()))
        .bind(each(refunds, |refund| refund.kind.as_str()))
        .bind(each(refunds, |refund| refund.amount.map(Money::nanos)))
        .fetch_all(&mut **tx)
        .await?;
    for row in &rows {
        let first = Back {
            split: WalletSplit::default(),
            event: column(row, "event_id")?,
            model: column(row, "model")?,
            task: column(row, "task_id")?,
        };
        let Back { split, .. } = made.entry(request_of(row)?).or_insert(first);
        let amount: i64 = column(row, "amount")?;
        if column::<i16>(row, "leg")? == 0 {
            split.paid = amount;
        } else {
            split.trial = amount;
        }
    }
    Ok(())
}

/// Kinds of refunds that exist already.
async fn read_refunds(
    tx: &mut Tx,
    day: Day,
    refunds: &[&Refund],
    before: &mut BTreeSet<(RequestId, String)>,
) -> Result<(), DbError> {
    let rows = sqlx::query(day.tables(include_str!("../sql/read_refunds.sql")))
        .bind(each(refunds, |refund| refund.request.uuid()))
        .fetch_all(&mut **tx)
        .await?;
    for row in &rows {
        before.insert((request_of(row)?, column(row, "kind")?));
    }
    Ok(())
}

pub(super) async fn write_off(
    tx: &mut Tx,
    ops: &[&Op],
    answers: &mut Answers,
) -> Result<(), DbError> {
    let mut losses: Vec<&WriteOff> = Vec::new();
    for (index, op) in ops.iter().copied().enumerate() {
        match op {
            Op::WriteOff(write_off) => {
                losses.push(write_off);
                answers.insert(index, Answer::WriteOff);
            }
            Op::Reserve(_) | Op::Extend(_) | Op::Settle(_) | Op::Void(_) | Op::Refund(_) => {}
        }
    }
    insert_write_offs(tx, &losses).await
}

pub(crate) async fn insert_write_offs(tx: &mut Tx, losses: &[&WriteOff]) -> Result<(), DbError> {
    if losses.is_empty() {
        return Ok(());
    }
    sqlx::query(include_str!("../sql/write_off.sql"))
        .bind(each(losses, |loss| loss.request.uuid()))
        .bind(each(losses, |loss| loss.reason.as_str()))
        .bind(each(losses, |loss| loss.account.number()))
        .bind(each(losses, |loss| loss.sale.map(Money::nanos)))
        .bind(each(losses, |loss| loss.cost.map(Money::nanos)))
        .execute(&mut **tx)
        .await?;
    Ok(())
}
