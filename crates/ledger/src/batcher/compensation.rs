//! What is undone for callers who have gone: a hold nobody knows of is let go, a charge nobody was
//! told of is given back.

use std::collections::VecDeque;

use tokio::sync::{mpsc, oneshot};
use trunkline_types::{AccountId, Money, RequestId};

use super::LedgerError;
use super::lane::Job;
use crate::operations::{
    Answer, Detail, OnCallerGone, Op, Outcome, Refund, RefundKind, ReserveAnswer, SettleAnswer,
    Void, WriteOff, WriteOffReason,
};

/// Holds to let go and losses to note that are remembered; beyond that the sweeper finds the holds.
/// A charge to give back is found by nobody else, so it is always remembered: there are never more of
/// them than there were open holds when the database went away.
const MAX_COMPENSATIONS: usize = 65_536;

/// What is left to take back for callers who have gone.
#[derive(Default)]
pub(super) struct CompensationQueue(VecDeque<Op>);

/// How a word is undone.
#[derive(Debug, Clone, Copy)]
pub(super) enum Compensation {
    /// Let the hold go.
    Hold(RequestId, AccountId),
    /// Let the hold go and, if the charge was written all the same, give it back.
    Charge {
        request: RequestId,
        account: AccountId,
        sale: Money,
        cost: Option<Money>,
    },
}

/// A caller who waits. If it is dropped with an answer in it that nobody read, what the answer says
/// is undone.
pub(super) struct Waiter {
    pub(super) answer: oneshot::Receiver<Result<Answer, LedgerError>>,
    compensation: Option<Compensation>,
    lane: mpsc::Sender<Job>,
}

// === impl CompensationQueue ===

impl CompensationQueue {
    pub(super) fn next(&mut self, most: usize) -> Vec<Job> {
        let count = most.min(self.0.len());
        self.0.drain(..count).map(Job::internal).collect()
    }

    pub(super) fn push(&mut self, op: Op) {
        if self.0.len() < MAX_COMPENSATIONS || matches!(op, Op::Refund(_)) {
            self.0.push_back(op);
        }
    }

    /// A caller has gone and its word was heard, or may have been: compensation it.
    pub(super) fn compensate(&mut self, op: &Op) {
        let undone = Compensation::of(op)
            .map(|compensation| compensation.operations(WriteOffReason::DatabaseAway));
        undone.into_iter().flatten().for_each(|op| self.push(op));
    }

    /// What can still be given back after this process was replaced: its holds are gone already, and
    /// whoever let go of them has noted the loss.
    pub(super) fn refunds(self) -> Vec<Op> {
        let is_refund = |op: &Op| matches!(op, Op::Refund(_));
        self.0.into_iter().filter(is_refund).collect()
    }
}

// === impl Compensation ===

impl Compensation {
    /// None for words that are never undone: giving back, and a larger hold, which is let go with its
    /// call.
    pub(super) fn of(op: &Op) -> Option<Self> {
        match op {
            Op::Reserve(reserve) => Some(Self::Hold(reserve.request, reserve.account)),
            Op::Settle(settle) => match settle.on_caller_gone {
                OnCallerGone::Keep => None,
                OnCallerGone::Refund => Some(Self::Charge {
                    request: settle.request,
                    account: settle.account,
                    sale: settle.amount,
                    cost: settle.detail.cost,
                }),
            },
            Op::Extend(_) | Op::Void(_) | Op::Refund(_) | Op::WriteOff(_) => None,
        }
    }

    fn operations(self, reason: WriteOffReason) -> Vec<Op> {
        match self {
            Self::Hold(request, account) => vec![void(request, account, Outcome::Cancelled)],
            // Not charged in time is not charged: the hold goes back, and if the charge was written
            // all the same, so does the charge.
            Self::Charge {
                request,
                account,
                sale,
                cost,
            } => vec![
                void(request, account, Outcome::DatabaseAway),
                Op::Refund(Refund {
                    request,
                    account,
                    kind: RefundKind::Undelivered,
                    amount: None,
                }),
                Op::WriteOff(WriteOff {
                    request,
                    account,
                    reason,
                    sale: Some(sale),
                    cost,
                }),
            ],
        }
    }
}

fn void(request: RequestId, account: AccountId, outcome: Outcome) -> Op {
    Op::Void(Box::new(Void {
        request,
        account,
        detail: Detail::nothing(outcome),
    }))
}

/// Whether an answer that nobody heard says that something was done. "Before" counts only for a word
/// that was in an unknown commit: then it may have been this very word.
pub(super) fn moved(answer: &Result<Answer, LedgerError>, unsure: bool) -> bool {
    match answer {
        Ok(Answer::Reserve(ReserveAnswer::Held { .. })) => true,
        Ok(Answer::Settle(SettleAnswer::Done { .. })) => true,
        Ok(Answer::Settle(SettleAnswer::Before { charged, .. })) => *charged && unsure,
        Ok(
            Answer::Reserve(_)
            | Answer::Settle(SettleAnswer::NoHold)
            | Answer::Extend(_)
            | Answer::Refund(_)
            | Answer::WriteOff,
        )
        | Err(_) => false,
    }
}

// === impl Waiter ===

impl Waiter {
    pub(super) fn new(
        answer: oneshot::Receiver<Result<Answer, LedgerError>>,
        op: &Op,
        lane: mpsc::Sender<Job>,
    ) -> Self {
        Self {
            answer,
            compensation: Compensation::of(op),
            lane,
        }
    }
}

impl Drop for Waiter {
    /// An answer that the lane believes was heard and that nobody took.
    #[expect(
        clippy::disallowed_methods,
        reason = "it keeps the lane open until it has spoken, and the lane is waited for"
    )]
    fn drop(&mut self) {
        self.answer.close();
        let Ok(unheard) = self.answer.try_recv() else {
            return;
        };
        let Some(compensation) = self.compensation.filter(|_| moved(&unheard, false)) else {
            return;
        };
        for op in compensation.operations(WriteOffReason::Drain) {
            let Err(full) = self.lane.try_send(Job::internal(op)) else {
                continue;
            };
            // No room now: somebody waits for it. Without a runtime the process is ending, and the
            // node's next life lets go of the hold.
            if let Ok(runtime) = tokio::runtime::Handle::try_current() {
                let lane = self.lane.clone();
                runtime.spawn(async move { lane.send(full.into_inner()).await });
            }
        }
    }
}

#[cfg(test)]
mod tests;
