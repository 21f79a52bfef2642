//! What goes back of a charge.

use trunkline_ledger::RefundKind;
use trunkline_ledger::admission::{WalletSplit, refund_split};

use super::Store;
use crate::model::mutations::Mutation;
use crate::model::tables::{
    Answer, Call, CallOperation, Hold, NodeEpoch, PAID, REVENUE, Transfer, TransferKind, by_leg,
    end_of, party,
};

impl Store {
    /// Each kind at most once, each leg to its own wallet, never more than is left of the charge.
    pub(super) fn refund(
        &mut self,
        author: NodeEpoch,
        submitted: &CallOperation,
        kind: RefundKind,
        ask: Option<i64>,
    ) -> Answer {
        let Some(hold) = self.holds[submitted.call] else {
            return Answer::NothingToGiveBack;
        };
        let mut left = WalletSplit::default();
        let mut before = false;
        for row in &self.transfers {
            if row.call != Some(submitted.call) {
                continue;
            }
            let sign = match row.kind {
                TransferKind::Charge => 1,
                TransferKind::Back(_) if self.is(Mutation::RefundMoreThanCharged) => 0,
                TransferKind::Back(_) => -1,
                TransferKind::TopUp | TransferKind::DayTotal => 0,
            };
            before |= row.kind == TransferKind::Back(kind);
            if row.leg == PAID {
                left.paid += sign * row.amount;
            } else {
                left.trial += sign * row.amount;
            }
        }
        if self.is(Mutation::RefundTwice) {
            left = self
                .usage_of(submitted.call)
                .map_or(left, |usage| usage.legs);
        } else if before {
            return Answer::NothingToGiveBack;
        }
        let legs = refund_split(ask, left);
        if legs.total() == 0 {
            return Answer::NothingToGiveBack;
        }
        self.write_refund(author, submitted.call, kind, &hold, legs);
        Answer::GivenBack
    }

    fn write_refund(
        &mut self,
        author: NodeEpoch,
        call: Call,
        kind: RefundKind,
        hold: &Hold,
        legs: WalletSplit,
    ) {
        for (leg, amount) in by_leg(legs).into_iter().filter(|(_, amount)| *amount > 0) {
            let leg = if self.is(Mutation::RefundOtherWallet) {
                1 - leg
            } else {
                leg
            };
            self.transfers.push(Transfer {
                call: Some(call),
                kind: TransferKind::Back(kind),
                leg,
                debit: REVENUE,
                credit: party(hold.account, leg),
                amount,
                at: self.now,
                author: Some(author),
                serial: self.serial,
            });
            self.post(hold.account, leg, amount);
        }
        // A budget gets it back only while the stretch it was taken from is open.
        for &id in hold.stretches.as_slice() {
            if self.now < end_of(id) || self.is(Mutation::GiveBackToAPastDay) {
                self.window(id).used -= legs.total();
            }
        }
    }
}
