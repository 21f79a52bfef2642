//! One lane: takes what waits, says it in one transaction, answers, and takes again.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use trunkline_db::{Database, DbError, Session, Tx};

use super::compensation::{CompensationQueue, moved};
use super::{Counters, LedgerError};
use crate::batch::{BatchError, refund_in, run_in};
use crate::operations::{Answer, OnCallerGone, Op};
use crate::recovery::NodeEpoch;

/// Pause before the database is asked again, and its growth.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
/// How often a process that was replaced tries to give back what it owes before it stops.
const LAST_TRIES: u32 = 20;

/// A word and who waits for its answer.
pub(super) struct Job {
    pub(super) op: Op,
    /// None for what the lane says of its own accord.
    pub(super) reply: Option<oneshot::Sender<Result<Answer, LedgerError>>>,
    pub(super) expires: Option<Instant>,
    /// It was in a commit of which nobody knows, so that "done before" may mean by this very word.
    pub(super) unsure: bool,
}

pub(super) struct Lane {
    pub(super) database: Database,
    pub(super) node_epoch: NodeEpoch,
    pub(super) max_batch: usize,
    pub(super) counts: Arc<Counters>,
}

/// The connection of a lane. It keeps it from batch to batch and while nobody calls: a connection's plans
/// are its own, and a new one makes them all anew. One that has died is noticed by the next batch, which
/// is then said again on another.
#[derive(Default)]
struct LaneConnection {
    session: Option<Session>,
    since: Option<Instant>,
}

// === impl Lane ===

impl Lane {
    /// Ends when the queue is closed and empty and nothing is left to take back, or when this
    /// process was replaced.
    pub(super) async fn run(self, mut queue: mpsc::Receiver<Job>) {
        let mut compensations = CompensationQueue::default();
        let mut connection = LaneConnection::default();
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
                .submit(jobs, &mut connection, &mut compensations)
                .await
                .is_err()
            {
                self.refund_last(compensations.refunds()).await;
                return refuse_all(queue).await;
            }
        }
    }

    /// Connects before anybody calls, so that the first call does not wait for it. A call that comes
    /// sooner is returned and connects itself.
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
            // If the database is away, the first batch finds out and tries again.
            () = connected => None,
            job = queue.recv() => job,
        }
    }

    /// Says a batch until it is answered. An error means that this process was replaced.
    async fn submit(
        &self,
        jobs: Vec<Job>,
        connection: &mut LaneConnection,
        compensations: &mut CompensationQueue,
    ) -> Result<(), BatchError> {
        let mut batches = vec![jobs];
        while let Some(jobs) = batches.pop() {
            let jobs = forget_expired(jobs, compensations);
            if jobs.is_empty() {
                continue;
            }
            match self.commit(&jobs, connection).await {
                Ok(answers) => {
                    self.counts.committed(jobs.len());
                    answer(jobs, answers, compensations);
                }
                Err(BatchError::StaleEpoch) => {
                    batches.push(jobs);
                    for job in batches.into_iter().flatten() {
                        job.retire(compensations);
                    }
                    return Err(BatchError::StaleEpoch);
                }
                Err(BatchError::Db(error)) => batches.extend(self.after(error, jobs).await),
            }
        }
        Ok(())
    }

    /// What to do with a batch that was not committed: say it again, or find the word to blame.
    async fn after(&self, error: DbError, mut jobs: Vec<Job>) -> Vec<Vec<Job>> {
        match error {
            DbError::Unavailable(_) | DbError::Conflict(_) | DbError::UnknownCommit(_) => {
                if matches!(error, DbError::UnknownCommit(_)) {
                    self.counts.retried();
                    jobs.iter_mut().for_each(Job::mark_unsure);
                }
                // A conflict was waited for already (a lock, a deadlock), so it too is said again only
                // after a look at who still waits: one locked account must not keep its lane longer.
                self.wait_for_database().await;
                vec![jobs]
            }
            DbError::Refused { .. } | DbError::Bug(_) if jobs.len() > 1 => {
                let second = jobs.split_off(jobs.len().div_euclid(2));
                // The last is said first.
                vec![second, jobs]
            }
            DbError::Refused { .. } | DbError::Bug(_) => {
                let text = error.to_string();
                jobs.into_iter()
                    .for_each(|job| job.answer(Err(LedgerError::Rejected(text.clone()))));
                Vec::new()
            }
        }
    }

    /// The last words of a process that was replaced: what it took and nobody was told of goes back.
    async fn refund_last(&self, refunds: Vec<Op>) {
        let mut owed = refunds.as_slice();
        for _ in 0..LAST_TRIES {
            let (now, later) = owed.split_at(owed.len().min(self.max_batch));
            if now.is_empty() {
                return;
            }
            let said = async {
                let mut tx = self.database.begin().await?;
                let said = refund_in(&mut tx, now).await;
                tx.finish(said).await
            };
            match said.await {
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
        let said = match tokio::time::timeout(limit, run_in(&mut tx, &self.node_epoch, &ops)).await
        {
            Ok(said) => said,
            Err(_) => return Err(BatchError::Db(silent())),
        };
        let (answers, session) = tx.finish_and_keep(said).await?;
        connection.keep(session, self.database.settings().max_lifetime);
        Ok(answers)
    }

    /// Pauses until a connection can be had, longer each time.
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
                // The callers' own patience ends the wait for them; see `forget_expired`.
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
            // As long as a connection from the pool would be waited for: the connection may be dead.
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

    /// Keeps it for the next batch, unless it is as old as a connection may become: a database that has
    /// moved is found by a new one.
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
    /// What the lane says of its own accord.
    pub(super) fn internal(op: Op) -> Self {
        Self {
            op,
            reply: None,
            expires: None,
            unsure: false,
        }
    }

    /// This process was replaced. What may have been committed before that, and is not known to the
    /// caller, is remembered to be given back.
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
            // A caller who has gone is handled where it matters, in `answer` below.
            drop(reply.send(answer));
        }
    }

    /// After an unknown commit the caller's own clock no longer decides: the word is said again
    /// until it is known, and undone then if nobody waits.
    fn mark_unsure(&mut self) {
        self.expires = None;
        self.unsure = true;
    }

    fn given_up(&self, now: Instant) -> bool {
        let expired = self.expires.is_some_and(|expires| expires <= now);
        self.reply
            .as_ref()
            .is_some_and(|reply| reply.is_closed() || expired)
    }
}

/// Drops words whose callers have gone. Nothing of theirs was committed; what ends a call must still
/// let go of its hold.
fn forget_expired(jobs: Vec<Job>, compensations: &mut CompensationQueue) -> Vec<Job> {
    let now = Instant::now();
    let (gone, waiting): (Vec<Job>, Vec<Job>) = jobs
        .into_iter()
        .partition(|job| job.expires.is_some() && job.given_up(now));
    for job in gone {
        match &job.op {
            Op::Settle(settle) if settle.on_caller_gone == OnCallerGone::Refund => {
                compensations.compensate(&job.op);
            }
            // What stands is said until it is known, whoever hears it.
            Op::Settle(_) | Op::Void(_) | Op::Refund(_) | Op::WriteOff(_) => {
                compensations.push(job.op.clone())
            }
            Op::Reserve(_) | Op::Extend(_) => {}
        }
        job.answer(Err(LedgerError::Unavailable));
    }
    waiting
}

/// Gives everybody their answer; undoes what was done for those who have gone.
fn answer(jobs: Vec<Job>, answers: Vec<Answer>, compensations: &mut CompensationQueue) {
    for (job, answer) in jobs.into_iter().zip(answers) {
        let Some(reply) = job.reply else { continue };
        if let Err(unheard) = reply.send(Ok(answer))
            && moved(&unheard, job.unsure)
        {
            compensations.compensate(&job.op);
        }
    }
}

/// After this process was replaced: everybody who still comes is told so.
async fn refuse_all(mut queue: mpsc::Receiver<Job>) {
    while let Some(job) = queue.recv().await {
        job.answer(Err(LedgerError::StaleEpoch));
    }
}

fn silent() -> DbError {
    DbError::from(sqlx::Error::Io(std::io::Error::other(
        "no answer to a statement",
    )))
}

#[cfg(test)]
mod tests;
