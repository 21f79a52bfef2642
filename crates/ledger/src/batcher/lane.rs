//! One lane: takes the queued operations, applies them, answers, and repeats. Operations on packed holds
//! are one statement for each day of their ids; all others are one transaction.

mod packed_commit;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use trunkline_db::{Database, DbError, Session, Tx};

use super::compensation::{CompensationQueue, moved};
use super::{Counters, LedgerError};
use crate::batch::{BatchError, refund_in, run_in};
use crate::node_epoch::NodeEpoch;
use crate::operations::{Answer, OnCallerGone, Op};
use crate::packed::{self, Applied, OpenRequests, PackedHolds};
use packed_commit::{Batch, Numbered, Way, route};

/// Backoff before the database is tried again.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
/// Attempts of a replaced process to write its refunds before it stops.
const LAST_TRIES: u32 = 20;

/// An operation and the caller that waits for its answer.
pub(super) struct Job {
    pub(super) op: Op,
    /// None for the lane's own compensations.
    pub(super) reply: Option<oneshot::Sender<Result<Answer, LedgerError>>>,
    pub(super) expires: Option<Instant>,
    /// It was in a commit of unknown outcome, so "done before" may mean this operation.
    pub(super) unsure: bool,
}

pub(super) struct Lane {
    /// Its number among the node's lanes.
    pub(super) number: usize,
    pub(super) database: Database,
    pub(super) node_epoch: NodeEpoch,
    pub(super) max_batch: usize,
    pub(super) counts: Arc<Counters>,
    /// The open requests of all lanes.
    pub(super) requests: OpenRequests,
}

/// The connection of a lane, kept between batches and while idle: prepared plans belong to a
/// connection, and a new one plans everything again. A broken one is noticed by the next batch,
/// which is then retried on another.
#[derive(Default)]
struct LaneConnection {
    session: Option<Session>,
    since: Option<Instant>,
}

// === impl Lane ===

impl Lane {
    /// Ends when the queue is closed and empty and no compensation is left, or when this process
    /// was replaced.
    pub(super) async fn run(self, mut queue: mpsc::Receiver<Job>) {
        let mut compensations = CompensationQueue::default();
        let mut connection = LaneConnection::default();
        let mut packed = PackedHolds::new(self.number, self.requests.clone());
        let mut first = self.connect(&mut connection, &mut queue).await;
        loop {
            let mut jobs = compensations.next(self.max_batch);
            jobs.extend(first.take());
            if jobs.is_empty() {
                match queue.recv().await {
                    Some(job) => jobs.push(job),
                    None => return,
                }
            }
            while jobs.len() < self.max_batch {
                match queue.try_recv() {
                    Ok(job) => jobs.push(job),
                    Err(_) => break,
                }
            }
            if self
                .submit(jobs, &mut connection, &mut packed, &mut compensations)
                .await
                .is_err()
            {
                self.refund_last(compensations.refunds()).await;
                return refuse_all(queue).await;
            }
        }
    }

    /// Connects ahead of the first call, so that it does not wait. A call that comes sooner is
    /// returned and connects itself.
    async fn connect(
        &self,
        connection: &mut LaneConnection,
        queue: &mut mpsc::Receiver<Job>,
    ) -> Option<Job> {
        let connected = async {
            connection.since = Some(Instant::now());
            connection.session = self.database.session().await.ok();
        };
        tokio::select! {
            biased;
            // If the database is unavailable, the first batch notices and retries.
            () = connected => None,
            job = queue.recv() => job,
        }
    }

    /// Applies a batch until it is answered. An error means that this process was replaced.
    async fn submit(
        &self,
        jobs: Vec<Job>,
        connection: &mut LaneConnection,
        packed: &mut PackedHolds,
        compensations: &mut CompensationQueue,
    ) -> Result<(), BatchError> {
        let mut batches = vec![Batch {
            way: Way::Unrouted,
            jobs,
        }];
        while let Some(Batch { mut way, jobs }) = batches.pop() {
            let jobs = forget_expired(jobs, compensations);
            if jobs.is_empty() {
                continue;
            }
            let committed = match way {
                Way::Unrouted => {
                    batches.extend(route(jobs, packed, compensations));
                    continue;
                }
                Way::Rows => {
                    let answers = self.commit(&jobs, connection).await;
                    answers.map(|answers| answers.into_iter().map(Applied::Answer).collect())
                }
                Way::Packed(day, seq) => {
                    let numbered = Numbered {
                        day,
                        seq: seq.unwrap_or_else(|| packed.next_seq()),
                        is_repeated: seq.is_some(),
                    };
                    way = Way::Packed(day, Some(numbered.seq));
                    self.commit_packed(&jobs, numbered, connection, packed)
                        .await
                }
            };
            match committed {
                Ok(applied) => {
                    self.counts.committed(jobs.len());
                    batches.extend(answer(jobs, applied, compensations));
                }
                Err(BatchError::StaleEpoch) => {
                    batches.push(Batch { way, jobs });
                    for job in batches.into_iter().flat_map(|batch| batch.jobs) {
                        job.retire(compensations);
                    }
                    return Err(BatchError::StaleEpoch);
                }
                Err(BatchError::Db(error)) => {
                    batches.extend(self.after(error, Batch { way, jobs }).await);
                }
            }
        }
        packed.release_answered();
        Ok(())
    }

    /// What to do with a batch that was not committed: retry it, or isolate the refused operation.
    async fn after(&self, error: DbError, batch: Batch) -> Vec<Batch> {
        let Batch { way, mut jobs } = batch;
        match error {
            DbError::Unavailable(_) | DbError::Conflict(_) | DbError::UnknownCommit(_) => {
                if matches!(error, DbError::UnknownCommit(_)) {
                    self.counts.retried();
                    jobs.iter_mut().for_each(Job::mark_unsure);
                }
                // What may have happened, now or at an earlier attempt, keeps its sequence.
                let way = way.repeated(jobs.iter().any(|job| job.unsure));
                // A conflict has already cost a wait (a lock, a deadlock), so it is retried only
                // after callers that gave up are dropped: one locked account must not block its
                // lane longer.
                self.wait_for_database().await;
                vec![Batch { way, jobs }]
            }
            // A batch that was applied is answered, never refused: this one was not. Only one that is
            // not the first under its sequence is neither, and must not be applied under another.
            DbError::Refused { .. } | DbError::Bug(_)
                if jobs.len() > 1 && !packed::is_other_batch(&error) =>
            {
                let way = way.repeated(false);
                let second = jobs.split_off(jobs.len().div_euclid(2));
                // The last is applied first.
                let half = |jobs| Batch { way, jobs };
                vec![half(second), half(jobs)]
            }
            DbError::Refused { .. } | DbError::Bug(_) => {
                let text = error.to_string();
                jobs.into_iter()
                    .for_each(|job| job.answer(Err(LedgerError::Rejected(text.clone()))));
                Vec::new()
            }
        }
    }

    /// Refunds the unconfirmed charges of a process that was replaced, before it stops.
    async fn refund_last(&self, refunds: Vec<Op>) {
        let mut owed = refunds.as_slice();
        for _ in 0..LAST_TRIES {
            let (now, later) = owed.split_at(owed.len().min(self.max_batch));
            if now.is_empty() {
                return;
            }
            let refunded = async {
                let mut tx = self.database.begin().await?;
                let refunded = refund_in(&mut tx, now).await;
                tx.finish(refunded).await
            };
            match refunded.await {
                Ok(()) => owed = later,
                Err(_) => self.wait_for_database().await,
            }
        }
    }

    async fn commit(
        &self,
        jobs: &[Job],
        connection: &mut LaneConnection,
    ) -> Result<Vec<Answer>, BatchError> {
        let ops: Vec<&Op> = jobs.iter().map(|job| &job.op).collect();
        let mut tx = connection.begin(&self.database).await?;
        let limit = self.database.settings().answer_timeout;
        let result =
            match tokio::time::timeout(limit, run_in(&mut tx, &self.node_epoch, &ops)).await {
                Ok(result) => result,
                Err(_) => return Err(BatchError::Db(silent())),
            };
        let (answers, session) = tx.finish_and_keep(result).await?;
        connection.keep(session, self.database.settings().max_lifetime);
        Ok(answers)
    }

    /// Waits with growing backoff until a connection is available.
    async fn wait_for_database(&self) {
        let mut pause = FIRST_PAUSE;
        loop {
            tokio::time::sleep(pause).await;
            pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
            match self.database.begin().await {
                Ok(tx) => {
                    drop(tx.rollback().await);
                    return;
                }
                // The callers' own timeouts end their wait; see `forget_expired`.
                Err(_) if pause >= LONGEST_PAUSE => return,
                Err(_) => {}
            }
        }
    }
}

// === impl LaneConnection ===

impl LaneConnection {
    async fn begin(&mut self, database: &Database) -> Result<Tx, DbError> {
        match self.session.take() {
            // Bounded like an acquire from the pool: the connection may be broken.
            Some(session) => {
                let limit = database.settings().acquire_timeout;
                let begun = tokio::time::timeout(limit, session.begin()).await;
                begun.unwrap_or_else(|_| Err(silent()))
            }
            None => {
                self.since = Some(Instant::now());
                database.begin().await
            }
        }
    }

    async fn session(&mut self, database: &Database) -> Result<Session, DbError> {
        match self.session.take() {
            Some(session) => Ok(session),
            None => {
                self.since = Some(Instant::now());
                database.session().await
            }
        }
    }

    /// Keeps it for the next batch, unless it has reached its maximum lifetime: after a failover a
    /// new connection finds the new primary.
    fn keep(&mut self, session: Session, max_lifetime: Duration) {
        if self
            .since
            .is_some_and(|since| since.elapsed() < max_lifetime)
        {
            self.session = Some(session);
        }
    }
}

// === impl Job ===

impl Job {
    /// An operation of the lane itself.
    pub(super) fn internal(op: Op) -> Self {
        Self {
            op,
            reply: None,
            expires: None,
            unsure: false,
        }
    }

    /// This process was replaced. A charge that may have been committed before and is not known to
    /// the caller is queued to be refunded.
    fn retire(self, compensations: &mut CompensationQueue) {
        match &self.op {
            Op::Refund(_) if self.reply.is_none() => compensations.push(self.op.clone()),
            Op::Settle(_) if self.unsure => compensations.compensate(&self.op),
            Op::Settle(_)
            | Op::Refund(_)
            | Op::Reserve(_)
            | Op::Extend(_)
            | Op::Void(_)
            | Op::WriteOff(_) => {}
        }
        self.answer(Err(LedgerError::StaleEpoch));
    }

    fn answer(self, answer: Result<Answer, LedgerError>) {
        if let Some(reply) = self.reply {
            // A caller that stopped waiting is handled in `answer` below.
            drop(reply.send(answer));
        }
    }

    /// After an unknown commit the caller's timeout no longer applies: the operation is retried
    /// until its outcome is known, and then compensated if the caller stopped waiting.
    const fn mark_unsure(&mut self) {
        self.unsure = true;
    }

    /// Its outcome is unknown, and its caller stopped waiting.
    fn is_unsure_and_unheard(&self) -> bool {
        self.unsure && self.expires.is_some() && self.given_up(Instant::now())
    }

    fn given_up(&self, now: Instant) -> bool {
        let expired = self.expires.is_some_and(|expires| expires <= now);
        self.reply
            .as_ref()
            .is_some_and(|reply| reply.is_closed() || expired)
    }
}

/// Drops operations whose callers stopped waiting. None was committed; an operation that ends a
/// call must still resolve its hold.
fn forget_expired(jobs: Vec<Job>, compensations: &mut CompensationQueue) -> Vec<Job> {
    let now = Instant::now();
    let (gone, waiting): (Vec<Job>, Vec<Job>) = jobs
        .into_iter()
        .partition(|job| !job.unsure && job.expires.is_some() && job.given_up(now));
    for job in gone {
        match &job.op {
            Op::Settle(settle) if settle.on_caller_gone == OnCallerGone::Refund => {
                compensations.compensate(&job.op);
            }
            // A charge that is kept is retried until its outcome is known.
            Op::Settle(_) | Op::Void(_) | Op::Refund(_) | Op::WriteOff(_) => {
                compensations.push(job.op.clone())
            }
            Op::Reserve(_) | Op::Extend(_) => {}
        }
        job.answer(Err(LedgerError::Unavailable));
    }
    waiting
}

/// Answers the callers; compensates operations whose callers stopped waiting. Returns what is to be
/// routed a second time.
fn answer(
    jobs: Vec<Job>,
    applied: Vec<Applied>,
    compensations: &mut CompensationQueue,
) -> Option<Batch> {
    let mut rerouted = Vec::new();
    for (mut job, applied) in jobs.into_iter().zip(applied) {
        let Applied::Answer(answer) = applied else {
            // Whatever was tried before, it was not applied.
            job.unsure = false;
            rerouted.push(job);
            continue;
        };
        let Some(reply) = job.reply else { continue };
        if let Err(unheard) = reply.send(Ok(answer))
            && moved(&unheard, job.unsure)
        {
            compensations.compensate(&job.op);
        }
    }
    (!rerouted.is_empty()).then_some(Batch {
        way: Way::Unrouted,
        jobs: rerouted,
    })
}

/// Answers every further operation with `StaleEpoch` after this process was replaced.
async fn refuse_all(mut queue: mpsc::Receiver<Job>) {
    while let Some(job) = queue.recv().await {
        job.answer(Err(LedgerError::StaleEpoch));
    }
}

fn silent() -> DbError {
    DbError::from(no_answer())
}

fn no_answer() -> sqlx::Error {
    sqlx::Error::Io(std::io::Error::other("no answer to a statement"))
}

#[cfg(test)]
mod tests;
