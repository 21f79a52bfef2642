//! Reservations: load the rows, decide admission, write the holds.

use std::collections::{BTreeMap, BTreeSet};

use trunkline_db::{DbError, Tx};
use trunkline_types::{AccountId, KeyId, RequestId};

use super::BatchResults;
use super::load::{
    Hold, Payers, TakenKeys, lock_capacities, read_holds, read_idempotency, read_payers,
};
use super::notifications::Notifications;
use super::partitions::by_day;
use crate::admission::{BatchState, BudgetWindowId, Rejection, WalletSplit, money};
use crate::columns::{each, request_of};
use crate::node_epoch::NodeEpoch;
use crate::operations::{Answer, Idempotency, Op, Reserve, ReserveAnswer};

/// Writes a hold for every reservation that is covered.
pub(super) async fn reserve(
    tx: &mut Tx,
    node_epoch: &NodeEpoch,
    ops: &[&Op],
    state: &mut BatchState,
    results: &mut BatchResults,
) -> Result<(), DbError> {
    let requested: Vec<(usize, &Reserve)> = ops
        .iter()
        .copied()
        .enumerate()
        .filter_map(|(index, op)| match op {
            Op::Reserve(reserve) => Some((index, reserve.as_ref())),
            Op::Extend(_) | Op::Settle(_) | Op::Void(_) | Op::Refund(_) | Op::WriteOff(_) => None,
        })
        .collect();
    if requested.is_empty() {
        return Ok(());
    }
    let before = read_holds(tx, requested.iter().map(|(_, reserve)| reserve.request)).await?;
    let payers = read_payers(tx, &requested, state, &mut results.notifications).await?;
    lock_capacities(tx, &requested, state).await?;
    let mut taken_keys = read_idempotency(tx, &requested).await?;
    let mut write = Write::default();
    let mut made: BTreeMap<RequestId, (AccountId, ReserveAnswer)> = BTreeMap::new();
    for (index, reserve) in requested {
        let answer = if let Some((account, known)) = made.get(&reserve.request) {
            if *account == reserve.account {
                known.clone()
            } else {
                ReserveAnswer::UnknownPayer
            }
        } else if let Some(hold) = before.get(&reserve.request) {
            of_existing(hold, reserve)
        } else if let Some(answer) = of_idempotency(reserve, &taken_keys) {
            answer
        } else {
            decide(
                reserve,
                state,
                &payers,
                &mut write,
                &mut results.notifications,
            )
        };
        if let (ReserveAnswer::Held { .. }, Some(key)) = (&answer, &reserve.idempotency) {
            let row = (reserve.request, key.body_hash, false);
            taken_keys.insert((reserve.account, key.key.clone()), row);
        }
        made.entry(reserve.request)
            .or_insert((reserve.account, answer.clone()));
        results.answers.insert(index, Answer::Reserve(answer));
    }
    write.send(tx, node_epoch).await
}

fn of_existing(hold: &Hold, reserve: &Reserve) -> ReserveAnswer {
    if hold.account != reserve.account {
        return ReserveAnswer::UnknownPayer;
    }
    if !hold.open {
        return ReserveAnswer::AlreadyResolved;
    }
    ReserveAnswer::Held {
        paid: money(hold.split.paid),
        trial: money(hold.split.trial),
    }
}

fn of_idempotency(reserve: &Reserve, taken: &TakenKeys) -> Option<ReserveAnswer> {
    let requested = reserve.idempotency.as_ref()?;
    let (request, body_hash, finished) = taken.get(&(reserve.account, requested.key.clone()))?;
    Some(ReserveAnswer::SameKey {
        request: *request,
        same_body: *body_hash == requested.body_hash,
        finished: *finished,
    })
}

fn decide<'a>(
    reserve: &'a Reserve,
    state: &mut BatchState,
    payers: &Payers,
    write: &mut Write<'a>,
    notifications: &mut Notifications,
) -> ReserveAnswer {
    let payer = (reserve.account, reserve.key);
    if !payers.known.contains(&payer) || reserve.amount.is_negative() {
        return ReserveAnswer::UnknownPayer;
    }
    let windows = payers.windows.get(&payer).map_or(&[][..], Vec::as_slice);
    let place = reserve
        .capacity
        .as_ref()
        .map(|capacity| capacity.name.as_str());
    let amount = reserve.amount.nanos();
    match state.take(reserve.account, reserve.wallets, amount, windows, place) {
        Ok(split) => {
            write.add(reserve, split, windows, payers);
            ReserveAnswer::Held {
                paid: money(split.paid),
                trial: money(split.trial),
            }
        }
        Err(Rejection::TooLittle(by, fits, reserved)) => {
            notifications.refused(by, windows);
            ReserveAnswer::TooLittle {
                by,
                fits: money(fits),
                reserved: money(reserved),
            }
        }
        Err(Rejection::NeverToppedUp) => ReserveAnswer::NeverToppedUp,
        Err(Rejection::CapacityReached) => ReserveAnswer::CapacityReached,
        Err(Rejection::UnknownPayer) => ReserveAnswer::UnknownPayer,
    }
}

#[derive(Default)]
struct Write<'a>(Vec<NewHold<'a>>);

struct NewHold<'a> {
    reserve: &'a Reserve,
    split: WalletSplit,
    /// Array literals of its budgets and the starts of their periods.
    budget_ids: String,
    budget_starts: String,
}

// === impl Write ===

impl<'a> Write<'a> {
    fn add(
        &mut self,
        reserve: &'a Reserve,
        split: WalletSplit,
        windows: &[BudgetWindowId],
        payers: &Payers,
    ) {
        let ids: Vec<String> = windows
            .iter()
            .map(|(budget, _)| budget.to_string())
            .collect();
        let start = |window| payers.starts.get(window).map_or("", String::as_str);
        let starts: Vec<String> = windows
            .iter()
            .map(|window| format!("\"{}\"", start(window)))
            .collect();
        self.0.push(NewHold {
            reserve,
            split,
            budget_ids: format!("{{{}}}", ids.join(",")),
            budget_starts: format!("{{{}}}", starts.join(",")),
        });
    }

    async fn send(self, tx: &mut Tx, node_epoch: &NodeEpoch) -> Result<(), DbError> {
        let mut made = BTreeSet::new();
        for (day, holds) in by_day(&self.0, |hold| hold.reserve.request) {
            let rows = sqlx::query(day.tables(include_str!("../sql/reserve.sql")))
                .bind(each(&holds, |hold| hold.reserve.request.uuid()))
                .bind(each(&holds, |hold| hold.reserve.account.number()))
                .bind(each(&holds, |hold| hold.reserve.key.map(KeyId::number)))
                .bind(each(&holds, |hold| hold.reserve.owner.as_str()))
                .bind(each(&holds, |hold| {
                    hold.reserve.owner.id(hold.reserve.request)
                }))
                .bind(each(&holds, |hold| hold.split.paid))
                .bind(each(&holds, |hold| hold.split.trial))
                .bind(each(&holds, |hold| hold.budget_ids.as_str()))
                .bind(each(&holds, |hold| hold.budget_starts.as_str()))
                .bind(each(&holds, |hold| {
                    hold.reserve
                        .capacity
                        .as_ref()
                        .map(|capacity| capacity.name.clone())
                }))
                .bind(each(&holds, |hold| hold.reserve.model.as_str()))
                .bind(each(&holds, |hold| hold.reserve.endpoint.as_str()))
                .bind(each(&holds, |hold| hold.reserve.group.as_str()))
                .bind(each(&holds, |hold| hold.reserve.price_version.as_slice()))
                .bind(node_epoch.node.as_str())
                .bind(node_epoch.epoch)
                .bind(each(&holds, |hold| {
                    hold.reserve
                        .idempotency
                        .as_ref()
                        .map(|idem| idem.key.clone())
                }))
                .bind(each(&holds, |hold| {
                    i64::try_from(hold.reserve.lifetime.as_millis()).unwrap_or(i64::MAX)
                }))
                .fetch_all(&mut **tx)
                .await?;
            for row in &rows {
                made.insert(request_of(row)?);
            }
        }
        let made: Vec<&Reserve> = self
            .0
            .iter()
            .map(|hold| hold.reserve)
            .filter(|reserve| made.contains(&reserve.request))
            .collect();
        take_capacity(tx, &made).await?;
        write_idempotency_keys(tx, &made).await
    }
}

/// Adds the calls to their daily capacity.
async fn take_capacity(tx: &mut Tx, made: &[&Reserve]) -> Result<(), DbError> {
    let mut places: BTreeMap<&str, i64> = BTreeMap::new();
    for capacity in made.iter().filter_map(|reserve| reserve.capacity.as_ref()) {
        let taken = places.entry(&capacity.name).or_default();
        *taken = taken.saturating_add(1);
    }
    if places.is_empty() {
        return Ok(());
    }
    sqlx::query(include_str!("../sql/take_capacity.sql"))
        .bind(places.keys().copied().collect::<Vec<_>>())
        .bind(places.values().copied().collect::<Vec<_>>())
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// Writes the idempotency keys of new calls.
async fn write_idempotency_keys(tx: &mut Tx, made: &[&Reserve]) -> Result<(), DbError> {
    let named: Vec<(&Reserve, &Idempotency)> = made
        .iter()
        .filter_map(|reserve| Some((*reserve, reserve.idempotency.as_ref()?)))
        .collect();
    if named.is_empty() {
        return Ok(());
    }
    sqlx::query(include_str!("../sql/write_idempotency_keys.sql"))
        .bind(
            named
                .iter()
                .map(|(reserve, _)| reserve.account.number())
                .collect::<Vec<_>>(),
        )
        .bind(
            named
                .iter()
                .map(|(_, idem)| idem.key.as_str())
                .collect::<Vec<_>>(),
        )
        .bind(
            named
                .iter()
                .map(|(_, idem)| idem.body_hash.as_slice())
                .collect::<Vec<_>>(),
        )
        .bind(
            named
                .iter()
                .map(|(reserve, _)| reserve.request.uuid())
                .collect::<Vec<_>>(),
        )
        .execute(&mut **tx)
        .await?;
    Ok(())
}
