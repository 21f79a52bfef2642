//! Compensation for callers that stopped waiting: a hold whose answer was not delivered is voided,
//! a charge is refunded.

use std::collections::VecDeque;

use tokio::sync::{mpsc, oneshot};
use trunkline_types::{AccountId, Money, RequestId};

use super::LedgerError;
use super::lane::Job;
use crate::operations::{
    Answer, Detail, OnCallerGone, Op, Outcome, Refund, RefundKind, ReserveAnswer, SettleAnswer,
    Void, WriteOff, WriteOffReason,
};

/// Voids and write-offs that are queued at most; beyond that the sweeper finds the holds. Nothing
/// else finds a charge to refund, so refunds are always queued: there are never more of them than
/// open holds when the database became unavailable.
const MAX_COMPENSATIONS: usize = 65_536;

/// Operations that compensate for callers that stopped waiting.
#[derive(Default)]
pub(super) struct CompensationQueue(VecDeque<Op>);

/// How an operation is compensated.
#[derive(Debug, Clone, Copy)]
pub(super) enum Compensation {
    Hold(RequestId, AccountId),
    /// Void the hold and, if the charge was written all the same, refund it.
    Charge {
        request: RequestId,
        account: AccountId,
        sale: Money,
        cost: Option<Money>,
    },
}

/// A waiting caller. If it is dropped with an unread answer, the operation is compensated.
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

    /// Queues the compensation of an operation that was or may have been applied.
    pub(super) fn compensate(&mut self, op: &Op) {
        let undone = Compensation::of(op)
            .map(|compensation| compensation.operations(WriteOffReason::DatabaseAway));
        undone.into_iter().flatten().for_each(|op| self.push(op));
    }

    /// The refunds that are still due after this process was replaced: its holds were voided by the
    /// newer epoch, which also wrote the losses off.
    pub(super) fn refunds(self) -> Vec<Op> {
        let is_refund = |op: &Op| matches!(op, Op::Refund(_));
        self.0.into_iter().filter(is_refund).collect()
    }
}

// === impl Compensation ===

impl Compensation {
    /// None for operations that need no compensation: refunds, and extensions, which end with their
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
            // A charge that was not confirmed in time does not count: the hold is voided, and a
            // charge that was written all the same is refunded.
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

/// Whether an undelivered answer means that money moved. "Before" counts only for an operation that
/// was in a commit of unknown outcome: then it may have been this operation.
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
    /// Compensates an answer that the lane believes delivered and the caller never read.
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
            // The queue is full: a task waits for it. Without a runtime the process is ending, and
            // the node's next epoch voids the hold.
            if let Ok(runtime) = tokio::runtime::Handle::try_current() {
                let lane = self.lane.clone();
                runtime.spawn(async move { lane.send(full.into_inner()).await });
            }
        }
    }
}

#[cfg(test)]
mod tests;
