//! Packed holds of requests: a batch of reservations, extensions, settlements and voids of one day is
//! one call of `ledger.apply_<day>` (ADR 55). The function decides and moves the money; a lane only
//! remembers what its open holds are called and which budgets a key counts in.

mod answers;
mod arguments;
mod open_requests;
mod payers;
pub(crate) mod recovery;

use std::collections::HashSet;
use std::time::Duration;

use sqlx::PgConnection;
use trunkline_db::{Cause, DbError};
use trunkline_types::{AccountId, Defect, OwnKeyHasher, OwnKeyMap, RequestId};

use crate::admission::{BudgetWindowId, money};
use crate::batch::BatchError;
use crate::batch::partitions::Day;
use crate::node_epoch::NodeEpoch;
use crate::operations::{Answer, Op, Owner, ReserveAnswer, SettleAnswer};
use answers::AppliedBatch;
use arguments::{Arguments, Header};
pub(crate) use open_requests::OpenRequests;
use payers::{Payers, Terms};

/// Requests that may run this long are packed. What is still open after two minutes becomes a row,
/// which the sweeper finds by its deadline; a shorter deadline would pass before.
const PACKED_LIFETIME: Duration = Duration::from_secs(900);
/// The epoch is over.
const STALE_EPOCH: &str = "TL001";
/// The batch has events, which are written in a transaction with it.
const HAS_EVENTS: &str = "TL002";

/// The sequence was used by another batch.
const OTHER_BATCH: &str = "TL003";

/// Names an open hold, and says what it has.
#[derive(Debug, Clone)]
pub(crate) struct PackedHold {
    pub(crate) account: AccountId,
    pub(crate) day: Day,
    pub(crate) epoch_id: i32,
    pub(crate) lane: i16,
    pub(crate) seq: i64,
    pub(crate) position: i32,
    paid: i64,
    trial: i64,
}

/// Where an operation goes.
pub(crate) enum Route {
    Packed(Day),
    /// Holds that are rows, refunds, write-offs.
    Rows,
    /// It was done before.
    Answered(Answer),
}

/// What became of an operation.
pub(crate) enum Applied {
    Answer(Answer),
    /// It is to be routed a second time: its hold is a row, or its budgets changed.
    Reroute,
}

/// Events of a batch, to be written in its transaction.
#[derive(Debug, Default)]
pub(crate) struct Events {
    /// Accounts that crossed their threshold, and whether they are below it now.
    pub(crate) crossed: Vec<(AccountId, bool)>,
    pub(crate) reached: Vec<BudgetWindowId>,
}

/// The packed holds of one lane.
pub(crate) struct PackedHolds {
    lane: i16,
    last_seq: i64,
    open: OwnKeyMap<RequestId, PackedHold>,
    of_all_lanes: OpenRequests,
    /// Reservations that are under way, released when they are answered unless they are held.
    reserving: Vec<RequestId>,
    /// Requests under way whose holds are rows, though they would be packed.
    rows: HashSet<RequestId>,
    payers: Payers,
    terms: Terms,
}

// === impl PackedHolds ===

impl PackedHolds {
    pub(crate) fn new(lane: usize, of_all_lanes: OpenRequests) -> Self {
        Self {
            lane: i16::try_from(lane).unwrap_or(i16::MAX),
            last_seq: 0,
            open: OwnKeyMap::default(),
            of_all_lanes,
            reserving: Vec::new(),
            rows: HashSet::new(),
            payers: Payers::default(),
            terms: Terms::default(),
        }
    }

    /// The sequence of the next batch.
    pub(crate) const fn next_seq(&mut self) -> i64 {
        self.last_seq = self.last_seq.saturating_add(1);
        self.last_seq
    }

    /// A reservation is answered at once if another account has its request.
    pub(crate) fn route(&mut self, op: &Op) -> Route {
        if let Op::Reserve(reserve) = op {
            if !self.of_all_lanes.claim(reserve.request, reserve.account) {
                return Route::Answered(Answer::Reserve(ReserveAnswer::UnknownPayer));
            }
            self.reserving.push(reserve.request);
        }
        let known = |request: &RequestId, account: AccountId| {
            self.open
                .get(request)
                .filter(|hold| hold.account == account)
                .map_or(Route::Rows, |hold| Route::Packed(hold.day))
        };
        match op {
            Op::Reserve(reserve) => match (reserve.owner, self.open.get(&reserve.request)) {
                (_, Some(hold)) if hold.account == reserve.account => {
                    Route::Answered(Answer::Reserve(ReserveAnswer::Held {
                        paid: money(hold.paid),
                        trial: money(hold.trial),
                    }))
                }
                (_, Some(_)) => Route::Answered(Answer::Reserve(ReserveAnswer::UnknownPayer)),
                (Owner::Request, None)
                    if reserve.lifetime >= PACKED_LIFETIME
                        && !self.rows.contains(&reserve.request) =>
                {
                    Route::Packed(Day::of(reserve.request))
                }
                (Owner::Request | Owner::Task(_) | Owner::Connection(_), None) => Route::Rows,
            },
            Op::Extend(extend) => known(&extend.request, extend.account),
            Op::Settle(settle) => known(&settle.request, settle.account),
            Op::Void(void) => known(&void.request, void.account),
            Op::Refund(_) | Op::WriteOff(_) => Route::Rows,
        }
    }

    /// Reads what is not known of a batch's payers and terms. Outside the batch's transaction: numbers of terms are
    /// remembered, and must not be rolled back.
    pub(crate) async fn load(
        &mut self,
        connection: &mut PgConnection,
        ops: &[&Op],
    ) -> Result<(), sqlx::Error> {
        self.payers.load(connection, ops).await?;
        self.terms.load(connection, ops).await
    }

    /// Applies a batch that is loaded; call [`PackedHolds::remember`] when it is committed. Without `may_notify` a
    /// batch that has events is not applied and fails with [`has_events`].
    pub(crate) async fn apply(
        &self,
        connection: &mut PgConnection,
        node_epoch: &NodeEpoch,
        batch: &PackedBatch<'_>,
        may_notify: bool,
    ) -> Result<AppliedBatch, sqlx::Error> {
        let arguments = Arguments::of(batch.ops, &self.open, &self.payers, &self.terms);
        let header = Header {
            node_epoch,
            lane: self.lane,
            seq: batch.seq,
            holder: None,
            may_notify,
            may_be_applied: batch.may_be_applied,
        };
        let row = arguments.call(connection, batch.day, &header).await?;
        answers::read(batch, self.lane, &arguments, &row)
    }

    /// Takes the sequence of a batch whose outcome is unknown, so that it is never applied; false if it
    /// was.
    pub(crate) async fn abandon(
        &self,
        connection: &mut PgConnection,
        node_epoch: &NodeEpoch,
        batch: &PackedBatch<'_>,
    ) -> Result<bool, sqlx::Error> {
        let accounts: Vec<i64> = (batch.ops.iter()).map(|op| op.account().number()).collect();
        sqlx::query_scalar("SELECT ledger.abandon_batch($1, $2, $3, $4, $5, $6)")
            .bind(batch.day.date())
            .bind(node_epoch.node.as_str())
            .bind(node_epoch.epoch)
            .bind(self.lane)
            .bind(batch.seq)
            .bind(accounts)
            .fetch_one(connection)
            .await
    }

    /// Remembers what a batch that is committed opened and ended, and returns its answers.
    pub(crate) fn remember(&mut self, batch: AppliedBatch) -> Vec<Applied> {
        for request in &batch.closed {
            self.open.remove(request);
        }
        self.of_all_lanes.release(batch.closed);
        self.open.extend(batch.opened);
        self.rows.extend(batch.rows);
        for account in batch.stale {
            self.payers.forget(account);
        }
        batch.applied
    }

    /// All operations that were routed are answered: other accounts may ask for the requests that are
    /// not held.
    pub(crate) fn release_answered(&mut self) {
        let answered = self.reserving.drain(..);
        let free = answered.filter(|request| !self.open.contains_key(request));
        self.of_all_lanes.release(free);
        self.rows.clear();
    }

    /// Answers without a database, as a defect of the tests has it.
    pub(crate) fn dropped(ops: &[&Op]) -> Option<Vec<Applied>> {
        let ends = ops
            .iter()
            .all(|op| matches!(op, Op::Settle(_) | Op::Void(_)));
        (Defect::DroppedSettlement.is_on() && ends).then(|| {
            let done = |op: &&Op| {
                let paid = match op {
                    Op::Settle(settle) => settle.amount,
                    Op::Reserve(_)
                    | Op::Extend(_)
                    | Op::Void(_)
                    | Op::Refund(_)
                    | Op::WriteOff(_) => money(0),
                };
                Applied::Answer(Answer::Settle(SettleAnswer::Done {
                    paid,
                    trial: money(0),
                }))
            };
            ops.iter().map(done).collect()
        })
    }
}

/// A batch of one day under its sequence.
pub(crate) struct PackedBatch<'a> {
    pub(crate) day: Day,
    pub(crate) seq: i64,
    /// It was sent before under this sequence, and may have been applied.
    pub(crate) may_be_applied: bool,
    pub(crate) ops: &'a [&'a Op],
}

// === impl PackedBatch ===

impl PackedBatch<'_> {
    pub(crate) fn has_charges(&self) -> bool {
        self.ops.iter().any(|op| matches!(op, Op::Settle(_)))
    }
}

/// What a batch may have once.
#[derive(Default)]
pub(crate) struct Once {
    requests: HashSet<(u8, RequestId), OwnKeyHasher>,
    keys: HashSet<(AccountId, String)>,
}

impl Once {
    /// Whether a batch may have this operation beside what it has: each request once as each of the
    /// three kinds, each idempotency key once.
    pub(crate) fn admits(&mut self, op: &Op) -> bool {
        match op {
            Op::Reserve(reserve) => {
                let key = reserve.idempotency.as_ref();
                let new_key = key.is_none_or(|idempotency| {
                    self.keys.insert((reserve.account, idempotency.key.clone()))
                });
                self.requests.insert((0, reserve.request)) && new_key
            }
            Op::Extend(extend) => self.requests.insert((1, extend.request)),
            Op::Settle(settle) => self.requests.insert((2, settle.request)),
            Op::Void(void) => self.requests.insert((2, void.request)),
            Op::Refund(_) | Op::WriteOff(_) => true,
        }
    }
}

/// Whether a batch failed because it has events.
pub(crate) fn has_events(error: &BatchError) -> bool {
    matches!(error, BatchError::Db(error) if code_of(error) == Some(HAS_EVENTS))
}

/// Whether a batch was refused because another one has its sequence.
pub(crate) fn is_other_batch(error: &DbError) -> bool {
    code_of(error) == Some(OTHER_BATCH)
}

/// The error of a batch that commits by itself.
pub(crate) fn of_commit(error: sqlx::Error) -> BatchError {
    of_error(DbError::of_commit(error))
}

/// The error of a batch in a transaction.
pub(crate) fn of_error(error: DbError) -> BatchError {
    if code_of(&error) == Some(STALE_EPOCH) {
        BatchError::StaleEpoch
    } else {
        BatchError::Db(error)
    }
}

fn code_of(error: &DbError) -> Option<&str> {
    let Cause { code, .. } = match error {
        DbError::Unavailable(cause)
        | DbError::Conflict(cause)
        | DbError::UnknownCommit(cause)
        | DbError::Bug(cause)
        | DbError::Refused { cause, .. } => cause,
    };
    code.as_deref()
}
