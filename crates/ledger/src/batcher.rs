//! Batches the operations of many calls into shared commits. While one batch commits, the next one
//! fills; there is no timer, so a single call waits for its own commit and a thousand calls share
//! one.
//!
//! A batch whose commit outcome is unknown is retried: every operation is keyed by its request id,
//! so the retry finds what was applied. An operation that the database refuses is isolated by
//! halving the batch and answered alone. A caller that stopped waiting is not charged: its
//! operation is compensated.

mod compensation;
mod lane;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::Instant;
use trunkline_db::{Database, DbError};
use trunkline_types::NodeId;

use crate::node_epoch::NodeEpoch;
use crate::operations::{
    Answer, Extend, ExtendAnswer, Op, Refund, RefundAnswer, Reserve, ReserveAnswer, Settle,
    SettleAnswer, Void, WriteOff,
};
use crate::packed::OpenRequests;
use crate::recovery::register;
use crate::unconfirmed;
use compensation::Waiter;
use lane::{Job, Lane};

/// Operations in one transaction at most.
pub const MAX_BATCH: usize = 1_024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerSettings {
    /// Concurrent transactions; an account always uses the same lane.
    pub lanes: usize,
    /// Operations in one transaction at most, up to [`MAX_BATCH`].
    pub max_batch: usize,
    /// Operations that may queue per lane; more are refused.
    pub queue: usize,
    /// Longest wait for the answer to a reservation or an extension.
    pub admission_wait: Duration,
    /// Longest wait for the answer to everything that ends a call.
    pub settlement_wait: Duration,
}

/// Why an operation has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LedgerError {
    /// The database is unavailable or too slow. The operation was not applied, or will be
    /// compensated.
    #[error("the ledger cannot be reached")]
    Unavailable,
    /// The node registered a newer epoch; this process must stop.
    #[error("this process was replaced: its epoch is over")]
    StaleEpoch,
    /// The database refuses this operation; the text is for the log.
    #[error("the ledger refused: {0}")]
    Rejected(String),
}

/// Counters of commits and operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchCounts {
    pub batches: u64,
    pub operations: u64,
    /// Batches retried because the outcome of their commit was unknown.
    pub retried: u64,
}

/// The ledger of one node. Clones share it.
#[derive(Clone)]
pub struct Ledger {
    inner: Arc<Inner>,
}

struct Inner {
    node_epoch: NodeEpoch,
    settings: LedgerSettings,
    lanes: Vec<mpsc::Sender<Job>>,
    counts: Arc<Counters>,
}

#[derive(Default)]
pub(crate) struct Counters {
    batches: AtomicU64,
    operations: AtomicU64,
    retried: AtomicU64,
}

/// The lanes' tasks and their connections. Await it at shutdown, after dropping every [`Ledger`].
#[must_use]
pub struct LedgerTasks {
    lanes: JoinSet<()>,
    database: Database,
    node_epoch: NodeEpoch,
}

// === impl LedgerSettings ===

impl Default for LedgerSettings {
    fn default() -> Self {
        Self {
            lanes: 2,
            max_batch: MAX_BATCH,
            queue: 65_536,
            admission_wait: Duration::from_secs(1),
            settlement_wait: Duration::from_secs(10),
        }
    }
}

// === impl Ledger ===

impl Ledger {
    /// Registers the node's next epoch, voids the open holds of earlier ones, and starts the lanes.
    pub async fn open(
        database: Database,
        node: &NodeId,
        settings: LedgerSettings,
    ) -> Result<(Self, LedgerTasks), DbError> {
        let (node_epoch, _) = register(&database, node).await?;
        Ok(Self::with_epoch(database, node_epoch, settings))
    }

    /// Starts the lanes under a registered epoch.
    pub fn with_epoch(
        database: Database,
        node_epoch: NodeEpoch,
        settings: LedgerSettings,
    ) -> (Self, LedgerTasks) {
        let counts = Arc::new(Counters::default());
        let count = settings.lanes.max(1);
        // Not from the common pool: a lane that gets another connection each time plans each of its
        // statements anew, and waits behind other users of the pool.
        let database = database.by_keys(u32::try_from(count).unwrap_or(u32::MAX));
        let mut tasks = JoinSet::new();
        let mut lanes = Vec::new();
        let requests = OpenRequests::default();
        for number in 0..count {
            let (sender, receiver) = mpsc::channel(settings.queue.max(1));
            let lane = Lane {
                number,
                database: database.clone(),
                node_epoch: node_epoch.clone(),
                max_batch: settings.max_batch.clamp(1, MAX_BATCH),
                counts: Arc::clone(&counts),
                requests: requests.clone(),
            };
            tasks.spawn(lane.run(receiver));
            lanes.push(sender);
        }
        let inner = Arc::new(Inner {
            node_epoch: node_epoch.clone(),
            settings,
            lanes,
            counts,
        });
        let tasks = LedgerTasks {
            lanes: tasks,
            database,
            node_epoch,
        };
        (Self { inner }, tasks)
    }

    /// The node and epoch under which this ledger writes.
    #[must_use]
    pub fn node_epoch(&self) -> &NodeEpoch {
        &self.inner.node_epoch
    }

    /// Counters of commits and operations.
    #[must_use]
    pub fn counts(&self) -> BatchCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let counts = &self.inner.counts;
        BatchCounts {
            batches: read(&counts.batches),
            operations: read(&counts.operations),
            retried: read(&counts.retried),
        }
    }

    /// Holds money for a call.
    pub async fn reserve(&self, reserve: Reserve) -> Result<ReserveAnswer, LedgerError> {
        match self
            .submit(
                Op::Reserve(Box::new(reserve)),
                self.inner.settings.admission_wait,
            )
            .await?
        {
            Answer::Reserve(answer) => Ok(answer),
            other @ (Answer::Extend(_)
            | Answer::Settle(_)
            | Answer::Refund(_)
            | Answer::WriteOff) => mixed_up(&other),
        }
    }

    pub async fn extend(&self, extend: Extend) -> Result<ExtendAnswer, LedgerError> {
        match self
            .submit(Op::Extend(extend), self.inner.settings.admission_wait)
            .await?
        {
            Answer::Extend(answer) => Ok(answer),
            other @ (Answer::Reserve(_)
            | Answer::Settle(_)
            | Answer::Refund(_)
            | Answer::WriteOff) => mixed_up(&other),
        }
    }

    pub async fn settle(&self, settle: Settle) -> Result<SettleAnswer, LedgerError> {
        self.resolve(Op::Settle(Box::new(settle))).await
    }

    pub async fn void(&self, void: Void) -> Result<SettleAnswer, LedgerError> {
        self.resolve(Op::Void(Box::new(void))).await
    }

    pub async fn refund(&self, refund: Refund) -> Result<RefundAnswer, LedgerError> {
        match self
            .submit(Op::Refund(refund), self.inner.settings.settlement_wait)
            .await?
        {
            Answer::Refund(answer) => Ok(answer),
            other @ (Answer::Reserve(_)
            | Answer::Extend(_)
            | Answer::Settle(_)
            | Answer::WriteOff) => mixed_up(&other),
        }
    }

    pub async fn write_off(&self, write_off: WriteOff) -> Result<(), LedgerError> {
        self.submit(Op::WriteOff(write_off), self.inner.settings.settlement_wait)
            .await
            .map(|_| ())
    }

    async fn resolve(&self, op: Op) -> Result<SettleAnswer, LedgerError> {
        match self.submit(op, self.inner.settings.settlement_wait).await? {
            Answer::Settle(answer) => Ok(answer),
            other @ (Answer::Reserve(_)
            | Answer::Extend(_)
            | Answer::Refund(_)
            | Answer::WriteOff) => mixed_up(&other),
        }
    }

    /// Submits an operation to its account's lane and waits. A caller that stops waiting drops the
    /// receiver, which the lane notices.
    async fn submit(&self, op: Op, wait: Duration) -> Result<Answer, LedgerError> {
        let lanes = i64::try_from(self.inner.lanes.len()).unwrap_or(1);
        let place = op.account().number().checked_rem_euclid(lanes).unwrap_or(0);
        let lane = usize::try_from(place)
            .ok()
            .and_then(|place| self.inner.lanes.get(place))
            .ok_or(LedgerError::Unavailable)?;
        let (reply, answer) = oneshot::channel();
        let mut waiter = Waiter::new(answer, &op, lane.clone());
        let expires = Instant::now().checked_add(wait);
        let job = Job {
            op,
            reply: Some(reply),
            expires,
            unsure: false,
        };
        lane.try_send(job).map_err(|_| LedgerError::Unavailable)?;
        match tokio::time::timeout(wait, &mut waiter.answer).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(LedgerError::Unavailable),
            Err(_) => {
                // An answer that arrived at this moment counts: the lane believes that it was
                // delivered.
                waiter.answer.close();
                let late = waiter.answer.try_recv();
                late.unwrap_or(Err(LedgerError::Unavailable))
            }
        }
    }
}

// === impl LedgerTasks ===

impl LedgerTasks {
    /// Waits until every lane has applied its queue. The lanes end when the last [`Ledger`] is
    /// dropped.
    pub async fn finish(mut self) {
        while self.lanes.join_next().await.is_some() {}
        // Without this row the last charges only look as if they had not been delivered.
        let (node, epoch) = (&self.node_epoch.node, self.node_epoch.epoch);
        drop(unconfirmed::end_in_order(&self.database, node, epoch).await);
        // Connections that do not close in time end with the process.
        drop(self.database.close().await);
    }
}

// === impl Counters ===

impl Counters {
    pub(crate) fn committed(&self, operations: usize) {
        self.batches.fetch_add(1, Ordering::Relaxed);
        self.operations
            .fetch_add(u64::try_from(operations).unwrap_or(0), Ordering::Relaxed);
    }

    pub(crate) fn retried(&self) {
        self.retried.fetch_add(1, Ordering::Relaxed);
    }
}

/// An answer of another kind would be a bug of this crate.
fn mixed_up<T>(answer: &Answer) -> Result<T, LedgerError> {
    Err(LedgerError::Rejected(format!(
        "the answer is of another kind: {answer:?}"
    )))
}
