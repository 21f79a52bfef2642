//! Extensions: raise the hold of a running call as far as there is money, in the budget windows that it
//! counts in already.

use std::collections::BTreeMap;

use trunkline_db::{DbError, Tx};
use trunkline_types::{AccountId, RequestId};

use super::BatchResults;
use super::load::{Hold, read_holds, read_windows};
use super::partitions::by_day;
use crate::admission::{BatchState, WalletSplit, money};
use crate::operations::{Answer, Extend, ExtendAnswer, Op};

/// Raises every hold as far as wallets and budgets cover it.
pub(super) async fn extend(
    tx: &mut Tx,
    ops: &[&Op],
    state: &mut BatchState,
    results: &mut BatchResults,
) -> Result<(), DbError> {
    let requested: Vec<(usize, &Extend)> = ops
        .iter()
        .copied()
        .enumerate()
        .filter_map(|(index, op)| match op {
            Op::Extend(extend) => Some((index, extend)),
            Op::Reserve(_) | Op::Settle(_) | Op::Void(_) | Op::Refund(_) | Op::WriteOff(_) => None,
        })
        .collect();
    if requested.is_empty() {
        return Ok(());
    }
    let mut holds = read_holds(tx, requested.iter().map(|(_, extend)| extend.request)).await?;
    read_windows(tx, &holds, state, &mut results.notifications).await?;
    let mut raised: BTreeMap<RequestId, (AccountId, WalletSplit)> = BTreeMap::new();
    for (index, extend) in requested {
        let answer = match holds.get_mut(&extend.request) {
            Some(hold) if hold.open && hold.account == extend.account => {
                let answer = raise(extend, hold, state, &mut raised);
                if let ExtendAnswer::Short { by, .. } = &answer {
                    results.notifications.refused(*by, &hold.windows);
                }
                answer
            }
            Some(_) | None => ExtendAnswer::NoHold,
        };
        results.answers.insert(index, Answer::Extend(answer));
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
                    .map(|(_, (_, split))| split.paid)
                    .collect::<Vec<_>>(),
            )
            .bind(
                holds
                    .iter()
                    .map(|(_, (_, split))| split.trial)
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
    state: &mut BatchState,
    raised: &mut BTreeMap<RequestId, (AccountId, WalletSplit)>,
) -> ExtendAnswer {
    let have = hold.split.total();
    let more = extend.total.nanos().saturating_sub(have);
    if more <= 0 {
        return ExtendAnswer::Held { total: money(have) };
    }
    let taken = state.take_what_fits(extend.account, extend.wallets, more, &hold.windows);
    // The account existed when the hold was made, and an extension takes no capacity.
    let Ok((split, short)) = taken else {
        return ExtendAnswer::NoHold;
    };
    if split.total() > 0 {
        hold.split.paid = hold.split.paid.saturating_add(split.paid);
        hold.split.trial = hold.split.trial.saturating_add(split.trial);
        let (_, sum) = raised
            .entry(extend.request)
            .or_insert((extend.account, WalletSplit::default()));
        sum.paid = sum.paid.saturating_add(split.paid);
        sum.trial = sum.trial.saturating_add(split.trial);
    }
    let total = money(hold.split.total());
    match short {
        None => ExtendAnswer::Held { total },
        Some(by) => ExtendAnswer::Short { by, total },
    }
}
