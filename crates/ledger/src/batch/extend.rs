//! Extensions: a running call needs more, in the stretches its hold counts in already.

use std::collections::BTreeMap;

use trunkline_db::{DbError, Tx};
use trunkline_types::{AccountId, RequestId};

use super::Said;
use super::days::by_day;
use super::reading::{Hold, read_holds, read_stretches};
use crate::decide::{Legs, NotTaken, Standing, money};
use crate::verbs::{Answer, Extend, ExtendAnswer, Op};

/// Raises every hold for which there is room.
pub(super) async fn extend(
    tx: &mut Tx,
    ops: &[&Op],
    standing: &mut Standing,
    said: &mut Said,
) -> Result<(), DbError> {
    let asked: Vec<(usize, &Extend)> = ops
        .iter()
        .copied()
        .enumerate()
        .filter_map(|(place, op)| match op {
            Op::Extend(extend) => Some((place, extend)),
            Op::Reserve(_) | Op::Settle(_) | Op::Void(_) | Op::Refund(_) | Op::WriteOff(_) => None,
        })
        .collect();
    if asked.is_empty() {
        return Ok(());
    }
    let mut holds = read_holds(tx, asked.iter().map(|(_, extend)| extend.request)).await?;
    read_stretches(tx, &holds, standing, &mut said.news).await?;
    let mut raised: BTreeMap<RequestId, (AccountId, Legs)> = BTreeMap::new();
    for (place, extend) in asked {
        let answer = match holds.get_mut(&extend.request) {
            Some(hold) if hold.open && hold.account == extend.account => {
                let answer = raise(extend, hold, standing, &mut raised);
                if let ExtendAnswer::TooLittle { by, .. } = &answer {
                    said.news.refused(*by, &hold.stretches);
                }
                answer
            }
            Some(_) | None => ExtendAnswer::NoHold,
        };
        said.answers.insert(place, Answer::Extend(answer));
    }
    for (day, holds) in by_day(&raised, |(request, _)| **request) {
        sqlx::query(day.tables(include_str!("../sql/extend.sql")))
            .bind(
                holds
                    .iter()
                    .map(|(request, _)| request.uuid())
                    .collect::<Vec<_>>(),
            )
            .bind(
                holds
                    .iter()
                    .map(|(_, (account, _))| account.number())
                    .collect::<Vec<_>>(),
            )
            .bind(
                holds
                    .iter()
                    .map(|(_, (_, legs))| legs.paid)
                    .collect::<Vec<_>>(),
            )
            .bind(
                holds
                    .iter()
                    .map(|(_, (_, legs))| legs.trial)
                    .collect::<Vec<_>>(),
            )
            .execute(&mut **tx)
            .await?;
    }
    Ok(())
}

fn raise(
    extend: &Extend,
    hold: &mut Hold,
    standing: &mut Standing,
    raised: &mut BTreeMap<RequestId, (AccountId, Legs)>,
) -> ExtendAnswer {
    let have = hold.legs.total();
    let more = extend.total.nanos().saturating_sub(have);
    if more <= 0 {
        return ExtendAnswer::Held { total: money(have) };
    }
    match standing.take(extend.account, extend.wallets, more, &hold.stretches, None) {
        Ok(legs) => {
            hold.legs.paid = hold.legs.paid.saturating_add(legs.paid);
            hold.legs.trial = hold.legs.trial.saturating_add(legs.trial);
            let (_, sum) = raised
                .entry(extend.request)
                .or_insert((extend.account, Legs::default()));
            sum.paid = sum.paid.saturating_add(legs.paid);
            sum.trial = sum.trial.saturating_add(legs.trial);
            ExtendAnswer::Held {
                total: money(hold.legs.total()),
            }
        }
        Err(NotTaken::TooLittle(by, fits, _)) => ExtendAnswer::TooLittle {
            by,
            fits: money(have.saturating_add(fits)),
        },
        // The account was there when the hold was made, and no place is asked for.
        Err(NotTaken::NeverToppedUp | NotTaken::CapacityReached | NotTaken::UnknownPayer) => {
            ExtendAnswer::NoHold
        }
    }
}
