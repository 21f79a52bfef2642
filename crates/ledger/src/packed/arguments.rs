//! The arrays that `ledger.apply_<day>` takes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::Query;
use sqlx::types::Json;
use sqlx::{PgConnection, Postgres};
use trunkline_types::{AccountId, KeyId, Money, OwnKeyMap, RequestId};

use super::PackedHold;
use super::payers::{Payers, Terms};
use crate::batch::partitions::Day;
use crate::columns::each;
use crate::node_epoch::NodeEpoch;
use crate::operations::{Detail, Extend, Op, Reserve, Unpaid, Wallets};

/// The statement's arguments, in the order of the function's.
const ARGUMENTS: usize = 46;
static MARKS: LazyLock<String> = LazyLock::new(|| {
    let marks: Vec<String> = (1..=ARGUMENTS).map(|mark| format!("${mark}")).collect();
    marks.join(", ")
});

type Call<'q> = Query<'q, Postgres, PgArguments>;

pub(super) struct Header<'a> {
    pub(super) node_epoch: &'a NodeEpoch,
    pub(super) lane: i16,
    pub(super) seq: i64,
    /// The epoch and the lane that made the holds which end, unless they are those of the batch.
    pub(super) holder: Option<(i32, i16)>,
    pub(super) may_notify: bool,
    /// It was sent before under this sequence.
    pub(super) may_be_applied: bool,
}

/// The end of one hold.
pub(super) struct End<'a> {
    pub(super) request: RequestId,
    pub(super) account: AccountId,
    pub(super) hold: &'a PackedHold,
    pub(super) amount: i64,
    pub(super) unpaid: Option<Unpaid>,
    pub(super) detail: &'a Detail,
}

/// One operation's place in its list; none if it needs no database.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place {
    Reserve(usize),
    Extend(usize),
    End(usize),
    UnknownPayer,
    NoHold,
}

#[derive(Default)]
pub(super) struct Arguments<'a> {
    pub(super) places: Vec<Place>,
    pub(super) reserves: Vec<&'a Reserve>,
    pub(super) extends: Vec<(&'a Extend, &'a PackedHold)>,
    pub(super) ends: Vec<End<'a>>,
    terms: Vec<i32>,
    accounts: Vec<i64>,
    revisions: Vec<i64>,
    budgets: Vec<i64>,
    budget_reservations: Vec<i32>,
    budget_windows: Vec<i32>,
    capacities: BTreeMap<&'a str, i64>,
}

// === impl Arguments ===

impl<'a> Arguments<'a> {
    pub(super) fn of(
        ops: &'a [&'a Op],
        open: &'a OwnKeyMap<RequestId, PackedHold>,
        payers: &Payers,
        terms: &Terms,
    ) -> Self {
        let mut arguments = Self::default();
        for op in ops {
            let place = arguments.add(op, open, payers);
            arguments.places.push(place);
        }
        arguments.terms = each(&arguments.reserves, |reserve| terms.number(reserve));
        arguments.number_accounts(payers);
        arguments.number_budgets(payers);
        arguments
    }

    /// Only ends: those of a recovery.
    pub(super) fn of_ends(ends: Vec<End<'a>>) -> Self {
        let mut arguments = Self {
            ends,
            ..Self::default()
        };
        arguments.number_accounts(&Payers::default());
        arguments
    }

    fn add(
        &mut self,
        op: &'a Op,
        open: &'a OwnKeyMap<RequestId, PackedHold>,
        payers: &Payers,
    ) -> Place {
        let end = |request, account, amount, unpaid, detail| {
            open.get(&request).map(|hold| End {
                request,
                account,
                hold,
                amount,
                unpaid,
                detail,
            })
        };
        let end = match op {
            Op::Reserve(reserve) => {
                if payers.budgets(reserve).is_none() || reserve.amount.is_negative() {
                    return Place::UnknownPayer;
                }
                self.reserves.push(reserve);
                return Place::Reserve(self.reserves.len().saturating_sub(1));
            }
            Op::Extend(extend) => {
                let Some(hold) = open.get(&extend.request) else {
                    return Place::NoHold;
                };
                self.extends.push((extend, hold));
                return Place::Extend(self.extends.len().saturating_sub(1));
            }
            Op::Settle(settle) => {
                let amount = settle.amount.nanos().max(0);
                let (unpaid, detail) = (settle.unpaid, &settle.detail);
                end(settle.request, settle.account, amount, unpaid, detail)
            }
            Op::Void(void) => end(void.request, void.account, 0, None, &void.detail),
            Op::Refund(_) | Op::WriteOff(_) => None,
        };
        let Some(end) = end else {
            return Place::NoHold;
        };
        self.ends.push(end);
        Place::End(self.ends.len().saturating_sub(1))
    }

    fn number_accounts(&mut self, payers: &Payers) {
        let accounts: BTreeSet<i64> = self
            .reserves
            .iter()
            .map(|reserve| reserve.account)
            .chain(self.extends.iter().map(|(extend, _)| extend.account))
            .chain(self.ends.iter().map(|end| end.account))
            .map(AccountId::number)
            .collect();
        self.accounts = accounts.into_iter().collect();
        self.revisions = (self.accounts.iter())
            .map(|account| payers.revision(*account))
            .collect();
    }

    fn number_budgets(&mut self, payers: &Payers) {
        let of = |reserve: &&'a Reserve| payers.budgets(reserve).unwrap_or(&[]).to_vec();
        let all: BTreeSet<i64> = self.reserves.iter().flat_map(of).collect();
        self.budgets = all.into_iter().collect();
        let mut pairs = Vec::new();
        for (place, reserve) in self.reserves.iter().enumerate() {
            for budget in of(reserve) {
                pairs.push((index(place), index_of(&self.budgets, &budget)));
            }
        }
        (self.budget_reservations, self.budget_windows) = pairs.into_iter().unzip();
        self.capacities = (self.reserves.iter())
            .filter_map(|reserve| reserve.capacity.as_ref())
            .map(|capacity| (capacity.name.as_str(), capacity.cap))
            .collect();
    }

    fn account(&self, account: AccountId) -> i32 {
        index_of(&self.accounts, &account.number())
    }

    pub(super) async fn call(
        &self,
        connection: &mut PgConnection,
        day: Day,
        header: &Header<'_>,
    ) -> Result<PgRow, sqlx::Error> {
        let text = format!("SELECT * FROM {}({})", day.apply(), *MARKS);
        // Nothing but digits of a date was put in.
        let call = sqlx::query(sqlx::AssertSqlSafe(text))
            .bind(header.node_epoch.node.as_str())
            .bind(header.node_epoch.epoch)
            .bind(header.lane)
            .bind(header.seq)
            .bind(header.holder.map(|(epoch_id, _)| epoch_id))
            .bind(header.holder.map(|(_, lane)| lane))
            .bind(header.may_notify)
            .bind(header.may_be_applied)
            .bind(&self.accounts)
            .bind(&self.revisions);
        let call = self.bind_claims(self.bind_reserves(call));
        let call = self.bind_ends(self.bind_extends(call));
        self.bind_details(call).fetch_one(connection).await
    }

    fn bind_reserves<'q>(&'q self, call: Call<'q>) -> Call<'q> {
        let reserves = &self.reserves;
        call.bind(list(reserves, |reserve| reserve.request.uuid()))
            .bind(list(reserves, |reserve| self.account(reserve.account)))
            .bind(list(reserves, |reserve| reserve.key.map(KeyId::number)))
            .bind(list(reserves, |reserve| reserve.amount.nanos()))
            .bind(list(reserves, |reserve| {
                reserve.wallets == Wallets::PaidOnly
            }))
            .bind(unless_empty(self.terms.as_slice()))
            .bind(list(reserves, |reserve| {
                i32::try_from(reserve.lifetime.as_millis()).unwrap_or(i32::MAX)
            }))
    }

    /// Capacities, idempotency keys and budgets of the reservations.
    fn bind_claims<'q>(&'q self, call: Call<'q>) -> Call<'q> {
        let reserves = &self.reserves;
        let names: Vec<&str> = self.capacities.keys().copied().collect();
        let caps: Vec<i64> = self.capacities.values().copied().collect();
        let capacities = list_of_some(reserves, |reserve| {
            let name = reserve.capacity.as_ref().map(|claim| claim.name.as_str());
            name.map(|name| index_of(&names, &name))
        });
        call.bind(capacities)
            .bind(list_of_some(reserves, |reserve| {
                reserve.idempotency.as_ref().map(|idem| idem.key.as_str())
            }))
            .bind(list_of_some(reserves, |reserve| {
                let idempotency = reserve.idempotency.as_ref();
                idempotency.map(|idem| idem.body_hash.as_slice())
            }))
            .bind(unless_empty(names))
            .bind(unless_empty(caps))
            .bind(unless_empty(self.budgets.as_slice()))
            .bind(unless_empty(self.budget_reservations.as_slice()))
            .bind(unless_empty(self.budget_windows.as_slice()))
    }

    fn bind_extends<'q>(&'q self, call: Call<'q>) -> Call<'q> {
        let extends: Vec<&(&Extend, &PackedHold)> = self.extends.iter().collect();
        call.bind(list(&extends, |(extend, _)| extend.request.uuid()))
            .bind(list(&extends, |(extend, _)| self.account(extend.account)))
            .bind(list(&extends, |(_, hold)| hold.seq))
            .bind(list(&extends, |(_, hold)| hold.position))
            .bind(list(&extends, |(extend, _)| extend.total.nanos()))
    }

    fn bind_ends<'q>(&'q self, call: Call<'q>) -> Call<'q> {
        let ends: Vec<&End<'_>> = self.ends.iter().collect();
        call.bind(list(&ends, |end| end.request.uuid()))
            .bind(list(&ends, |end| self.account(end.account)))
            .bind(list(&ends, |end| end.hold.seq))
            .bind(list(&ends, |end| end.hold.position))
            .bind(list(&ends, |end| end.amount))
    }

    /// What the usage rows of the ends say.
    fn bind_details<'q>(&'q self, call: Call<'q>) -> Call<'q> {
        let ends: Vec<&End<'_>> = self.ends.iter().collect();
        call.bind(list(&ends, |end| end.detail.outcome.as_str()))
            .bind(list(&ends, |end| Json(&end.detail.units)))
            .bind(list(&ends, |end| Json(&end.detail.measured)))
            .bind(list(&ends, |end| end.detail.estimated))
            .bind(list_of_some(&ends, |end| end.detail.tier.as_deref()))
            .bind(list_of_some(&ends, |end| end.detail.cost.map(Money::nanos)))
            // Nothing is resold yet.
            .bind(None::<Vec<i64>>)
            .bind(list(&ends, |end| Json(&end.detail.attempts)))
            .bind(list_of_some(&ends, |end| {
                let warnings = &end.detail.warnings;
                (!warnings.is_empty()).then(|| warnings.join(","))
            }))
            .bind(list_of_some(&ends, |end| {
                end.unpaid.map(|unpaid| unpaid.reason.as_str())
            }))
            .bind(list_of_some(&ends, |end| {
                end.unpaid.map(|unpaid| unpaid.sale.nanos())
            }))
    }
}

/// One value of each thing. Null if there is none: an array costs PostgreSQL time, even an empty one.
fn list<'a, T, V>(things: &[&'a T], value: impl Fn(&'a T) -> V) -> Option<Vec<V>> {
    unless_empty(each(things, value))
}

/// One value of each thing that may have none; null if all have none.
fn list_of_some<'a, T, V>(
    things: &[&'a T],
    value: impl Fn(&'a T) -> Option<V>,
) -> Option<Vec<Option<V>>> {
    let values = each(things, value);
    values.iter().any(Option::is_some).then_some(values)
}

fn unless_empty<V, L: AsRef<[V]>>(list: L) -> Option<L> {
    (!list.as_ref().is_empty()).then_some(list)
}

/// A place as PostgreSQL counts it.
fn index(place: usize) -> i32 {
    i32::try_from(place.saturating_add(1)).unwrap_or(i32::MAX)
}

/// The place of something in a sorted list.
fn index_of<T: Ord>(list: &[T], thing: &T) -> i32 {
    list.binary_search(thing).map_or(0, index)
}
