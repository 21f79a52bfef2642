//! Changes of an account's budgets, and days that leave: what they had charged stays as totals.

use super::Store;
use crate::model::mutations::Mutation;
use crate::model::tables::{
    ACCOUNTS, CALLS, Call, DAY, HoldState, REVENUE, Transfer, TransferKind, end_of, party,
};

/// Days that are kept beside today.
const DAYS_KEPT: i64 = 1;

impl Store {
    /// The keys of an account count in other budgets from now on.
    pub(crate) fn revise(&mut self, account: usize) {
        self.serial += 1;
        let counted = !self.is(Mutation::ForgetToRevise);
        let payer = &mut self.payers[account];
        payer.version += 1;
        payer.revision += usize::from(counted);
    }

    /// Drops the days that are no longer kept, up to the first of which something is open or young; says how many.
    pub(crate) fn drop_days(&mut self) -> u32 {
        let mut dropped = 0;
        let last_kept = self.now.div_euclid(DAY) - DAYS_KEPT;
        let first = self
            .holds
            .iter()
            .flatten()
            .map(|hold| day_of(hold.opened_at));
        for day in first.min().unwrap_or(last_kept)..last_kept {
            let of_day =
                |call: &Call| self.holds[*call].is_some_and(|hold| day_of(hold.opened_at) == day);
            let calls: Vec<Call> = (0..CALLS).filter(of_day).collect();
            let over =
                |call: &Call| self.is(Mutation::DropAnOpenHold) || self.is_over(*call, last_kept);
            if !calls.iter().all(over) {
                break;
            }
            if !calls.is_empty() {
                self.drop_calls(&calls);
                dropped += 1;
            }
        }
        dropped
    }

    fn is_over(&self, call: Call, last_kept: i64) -> bool {
        let resolved = self.holds[call].is_some_and(|hold| hold.state != HoldState::Open);
        let usage = self.usage_of(call);
        let ended = usage.is_some_and(|row| day_of(row.at) < last_kept);
        let mut moves = self.transfers.iter().filter(|row| row.call == Some(call));
        resolved && ended && moves.all(|row| day_of(row.at) < last_kept)
    }

    /// One transaction: totals by account and wallet, what budgets had counted, and the rows go.
    fn drop_calls(&mut self, calls: &[Call]) {
        self.serial += 1;
        let mut totals = [[0; 2]; ACCOUNTS];
        for &call in calls {
            let Some(hold) = self.holds[call].take() else {
                continue;
            };
            self.dropped[call] = true;
            for row in self.transfers.iter().filter(|row| row.call == Some(call)) {
                let is_charge = row.kind == TransferKind::Charge;
                if is_charge {
                    totals[hold.account][row.leg] += row.amount;
                }
                for &id in hold.stretches.as_slice() {
                    let back = if row.at < end_of(id) { -row.amount } else { 0 };
                    *self.dropped_of.entry(id).or_default() +=
                        if is_charge { row.amount } else { back };
                }
            }
        }
        if self.is(Mutation::DropWithoutBudgets) {
            self.dropped_of.clear();
        }
        if self.is(Mutation::DropWithoutTotals) {
            return;
        }
        for (account, legs) in totals.into_iter().enumerate() {
            for (leg, amount) in legs
                .into_iter()
                .enumerate()
                .filter(|(_, amount)| *amount > 0)
            {
                self.transfers.push(Transfer {
                    call: None,
                    kind: TransferKind::DayTotal,
                    leg,
                    debit: party(account, leg),
                    credit: REVENUE,
                    amount,
                    at: self.now,
                    author: None,
                    serial: self.serial,
                });
            }
        }
    }
}

const fn day_of(at: i64) -> i64 {
    at.div_euclid(DAY)
}
