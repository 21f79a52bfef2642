//! Reservations: read what may be taken, decide, write what was decided.

use std::collections::{BTreeMap, BTreeSet};

use trunkline_db::{DbError, Tx};
use trunkline_types::{AccountId, KeyId, RequestId};

use super::Said;
use super::days::by_day;
use super::news::News;
use super::reading::{
    Hold, Payers, TakenKeys, lock_places, read_holds, read_idempotency, read_payers,
};
use crate::decide::{Legs, NotTaken, Standing, StretchId, money};
use crate::recovery::Author;
use crate::rows::{each, request_of};
use crate::verbs::{Answer, Idempotency, Op, Reserve, ReserveAnswer};

/// Holds money for every reservation that fits.
pub(super) async fn reserve(
    tx: &mut Tx,
    author: &Author,
    ops: &[&Op],
    standing: &mut Standing,
    said: &mut Said,
) -> Result<(), DbError> {
    let asked: Vec<(usize, &Reserve)> = ops
        .iter()
        .copied()
        .enumerate()
        .filter_map(|(place, op)| match op {
            Op::Reserve(reserve) => Some((place, reserve.as_ref())),
            Op::Extend(_) | Op::Settle(_) | Op::Void(_) | Op::Refund(_) | Op::WriteOff(_) => None,
        })
        .collect();
    if asked.is_empty() {
        return Ok(());
    }
    let before = read_holds(tx, asked.iter().map(|(_, reserve)| reserve.request)).await?;
    let payers = read_payers(tx, &asked, standing, &mut said.news).await?;
    lock_places(tx, &asked, standing).await?;
    let mut taken_keys = read_idempotency(tx, &asked).await?;
    let mut write = Write::default();
    let mut made: BTreeMap<RequestId, (AccountId, ReserveAnswer)> = BTreeMap::new();
    for (place, reserve) in asked {
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
            decide(reserve, standing, &payers, (&mut write, &mut said.news))
        };
        if let (ReserveAnswer::Held { .. }, Some(key)) = (&answer, &reserve.idempotency) {
            let row = (reserve.request, key.body_hash, false);
            taken_keys.insert((reserve.account, key.key.clone()), row);
        }
        made.entry(reserve.request)
            .or_insert((reserve.account, answer.clone()));
        said.answers.insert(place, Answer::Reserve(answer));
    }
    write.send(tx, author).await
}

fn of_existing(hold: &Hold, reserve: &Reserve) -> ReserveAnswer {
    if hold.account != reserve.account {
        return ReserveAnswer::UnknownPayer;
    }
    if !hold.open {
        return ReserveAnswer::AlreadyResolved;
    }
    ReserveAnswer::Held {
        paid: money(hold.legs.paid),
        trial: money(hold.legs.trial),
    }
}

fn of_idempotency(reserve: &Reserve, taken: &TakenKeys) -> Option<ReserveAnswer> {
    let asked = reserve.idempotency.as_ref()?;
    let (request, body_hash, finished) = taken.get(&(reserve.account, asked.key.clone()))?;
    Some(ReserveAnswer::SameKey {
        request: *request,
        same_body: *body_hash == asked.body_hash,
        finished: *finished,
    })
}

fn decide<'a>(
    reserve: &'a Reserve,
    standing: &mut Standing,
    payers: &Payers,
    (write, news): (&mut Write<'a>, &mut News),
) -> ReserveAnswer {
    let payer = (reserve.account, reserve.key);
    if !payers.known.contains(&payer) || reserve.amount.is_negative() {
        return ReserveAnswer::UnknownPayer;
    }
    let stretches = payers.stretches.get(&payer).map_or(&[][..], Vec::as_slice);
    let place = reserve
        .capacity
        .as_ref()
        .map(|capacity| capacity.name.as_str());
    let amount = reserve.amount.nanos();
    match standing.take(reserve.account, reserve.wallets, amount, stretches, place) {
        Ok(legs) => {
            write.add(reserve, legs, stretches, payers);
            ReserveAnswer::Held {
                paid: money(legs.paid),
                trial: money(legs.trial),
            }
        }
        Err(NotTaken::TooLittle(by, fits, reserved)) => {
            news.refused(by, stretches);
            ReserveAnswer::TooLittle {
                by,
                fits: money(fits),
                reserved: money(reserved),
            }
        }
        Err(NotTaken::NeverToppedUp) => ReserveAnswer::NeverToppedUp,
        Err(NotTaken::CapacityReached) => ReserveAnswer::CapacityReached,
        Err(NotTaken::UnknownPayer) => ReserveAnswer::UnknownPayer,
    }
}

/// The holds to write.
#[derive(Default)]
struct Write<'a>(Vec<NewHold<'a>>);

struct NewHold<'a> {
    reserve: &'a Reserve,
    legs: Legs,
    /// Array literals of the budgets it counts in and the starts of their stretches.
    budget_ids: String,
    budget_starts: String,
}

// === impl Write ===

impl<'a> Write<'a> {
    fn add(&mut self, reserve: &'a Reserve, legs: Legs, stretches: &[StretchId], payers: &Payers) {
        let ids: Vec<String> = stretches
            .iter()
            .map(|(budget, _)| budget.to_string())
            .collect();
        let start = |stretch| payers.starts.get(stretch).map_or("", String::as_str);
        let starts: Vec<String> = stretches
            .iter()
            .map(|stretch| format!("\"{}\"", start(stretch)))
            .collect();
        self.0.push(NewHold {
            reserve,
            legs,
            budget_ids: format!("{{{}}}", ids.join(",")),
            budget_starts: format!("{{{}}}", starts.join(",")),
        });
    }

    async fn send(self, tx: &mut Tx, author: &Author) -> Result<(), DbError> {
        let mut made = BTreeSet::new();
        for (day, holds) in by_day(&self.0, |hold| hold.reserve.request) {
            let rows = sqlx::query(day.tables(include_str!("../sql/reserve.sql")))
                .bind(each(&holds, |hold| hold.reserve.request.uuid()))
                .bind(each(&holds, |hold| hold.reserve.account.number()))
                .bind(each(&holds, |hold| hold.reserve.key.map(KeyId::number)))
                .bind(each(&holds, |hold| hold.reserve.owner.word()))
                .bind(each(&holds, |hold| {
                    hold.reserve.owner.id(hold.reserve.request)
                }))
                .bind(each(&holds, |hold| hold.legs.paid))
                .bind(each(&holds, |hold| hold.legs.trial))
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
                .bind(author.node.as_str())
                .bind(author.epoch)
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
        take_places(tx, &made).await?;
        name_calls(tx, &made).await
    }
}

/// Counts the calls that take a place of the day.
async fn take_places(tx: &mut Tx, made: &[&Reserve]) -> Result<(), DbError> {
    let mut places: BTreeMap<&str, i64> = BTreeMap::new();
    for capacity in made.iter().filter_map(|reserve| reserve.capacity.as_ref()) {
        let taken = places.entry(&capacity.name).or_default();
        *taken = taken.saturating_add(1);
    }
    if places.is_empty() {
        return Ok(());
    }
    sqlx::query(include_str!("../sql/take_places.sql"))
        .bind(places.keys().copied().collect::<Vec<_>>())
        .bind(places.values().copied().collect::<Vec<_>>())
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// Notes which call a client's key names.
async fn name_calls(tx: &mut Tx, made: &[&Reserve]) -> Result<(), DbError> {
    let named: Vec<(&Reserve, &Idempotency)> = made
        .iter()
        .filter_map(|reserve| Some((*reserve, reserve.idempotency.as_ref()?)))
        .collect();
    if named.is_empty() {
        return Ok(());
    }
    sqlx::query(include_str!("../sql/name_calls.sql"))
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
