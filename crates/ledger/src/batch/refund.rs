//! Refunds and write-offs: rare words, in the same transaction as the rest.

use std::collections::{BTreeMap, BTreeSet};

use trunkline_db::{DbError, Tx};
use trunkline_terms::{Money, RequestId};
use uuid::Uuid;

use super::Answers;
use super::days::by_day;
use crate::decide::{Legs, money};
use crate::rows::{column, request_of};
use crate::verbs::{Answer, Op, Refund, RefundAnswer, WriteOff};

/// Gives back what was charged. Two refunds of one request are done one after the other, so that the
/// second sees what the first left.
pub(super) async fn refund(tx: &mut Tx, ops: &[Op], answers: &mut Answers) -> Result<(), DbError> {
    let mut waiting: Vec<(usize, &Refund)> = ops
        .iter()
        .enumerate()
        .filter_map(|(place, op)| match op {
            Op::Refund(refund) => Some((place, refund)),
            Op::Reserve(_) | Op::Extend(_) | Op::Settle(_) | Op::Void(_) | Op::WriteOff(_) => None,
        })
        .collect();
    while !waiting.is_empty() {
        let mut requests = BTreeSet::new();
        let (round, rest) = waiting
            .into_iter()
            .partition(|(_, refund)| requests.insert(refund.request));
        refund_round(tx, round, answers).await?;
        waiting = rest;
    }
    Ok(())
}

async fn refund_round(
    tx: &mut Tx,
    round: Vec<(usize, &Refund)>,
    answers: &mut Answers,
) -> Result<(), DbError> {
    let mut made: BTreeMap<RequestId, Legs> = BTreeMap::new();
    let mut before: BTreeSet<(RequestId, String)> = BTreeSet::new();
    for (day, refunds) in by_day(round.iter().map(|(_, refund)| *refund), |refund| {
        refund.request
    }) {
        let requests: Vec<Uuid> = refunds.iter().map(|refund| refund.request.uuid()).collect();
        let rows = sqlx::query(day.tables(include_str!("../sql/refund.sql")))
            .bind(&requests)
            .bind(
                refunds
                    .iter()
                    .map(|refund| refund.account.number())
                    .collect::<Vec<_>>(),
            )
            .bind(
                refunds
                    .iter()
                    .map(|refund| refund.kind.word())
                    .collect::<Vec<_>>(),
            )
            .bind(
                refunds
                    .iter()
                    .map(|refund| refund.amount.map(Money::nanos))
                    .collect::<Vec<_>>(),
            )
            .fetch_all(&mut **tx)
            .await?;
        for row in &rows {
            let legs = made.entry(request_of(row)?).or_default();
            let amount: i64 = column(row, "amount")?;
            if column::<i16>(row, "leg")? == 0 {
                legs.paid = amount;
            } else {
                legs.trial = amount;
            }
        }
        if refunds
            .iter()
            .any(|refund| !made.contains_key(&refund.request))
        {
            let statement = day.tables(include_str!("../sql/read_refunds.sql"));
            for row in &sqlx::query(statement)
                .bind(&requests)
                .fetch_all(&mut **tx)
                .await?
            {
                before.insert((request_of(row)?, column(row, "kind")?));
            }
        }
    }
    for (place, refund) in round {
        let answer = match made.get(&refund.request) {
            Some(legs) => RefundAnswer::Done {
                paid: money(legs.paid),
                trial: money(legs.trial),
            },
            None if before.contains(&(refund.request, refund.kind.word().to_owned())) => {
                RefundAnswer::Before
            }
            None => RefundAnswer::NothingCharged,
        };
        answers.insert(place, Answer::Refund(answer));
    }
    Ok(())
}

/// Notes losses.
pub(super) async fn write_off(
    tx: &mut Tx,
    ops: &[Op],
    answers: &mut Answers,
) -> Result<(), DbError> {
    let mut losses: Vec<&WriteOff> = Vec::new();
    for (place, op) in ops.iter().enumerate() {
        match op {
            Op::WriteOff(write_off) => {
                losses.push(write_off);
                answers.insert(place, Answer::WriteOff);
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
        .bind(
            losses
                .iter()
                .map(|loss| loss.request.uuid())
                .collect::<Vec<_>>(),
        )
        .bind(
            losses
                .iter()
                .map(|loss| loss.reason.word())
                .collect::<Vec<_>>(),
        )
        .bind(
            losses
                .iter()
                .map(|loss| loss.account.number())
                .collect::<Vec<_>>(),
        )
        .bind(
            losses
                .iter()
                .map(|loss| loss.sale.map(Money::nanos))
                .collect::<Vec<_>>(),
        )
        .bind(
            losses
                .iter()
                .map(|loss| loss.cost.map(Money::nanos))
                .collect::<Vec<_>>(),
        )
        .execute(&mut **tx)
        .await?;
    Ok(())
}
