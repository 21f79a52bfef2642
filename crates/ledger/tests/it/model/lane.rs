//! A node's lane to the store, as the product's batcher runs it: one batch under way, the next one
//! gathers. A batch that may have happened is said again until that is known. A caller that has gone
//! is not charged: what it had asked for is taken back.
//!
//! It must not know the store or the wire: it takes answers and hands out batches.

use trunkline_ledger::{Outcome, RefundKind, WriteOffReason};

use crate::model::mutations::Mutation;
use crate::model::tables::{Answer, BATCH, Batch, Call, CallOperation, Owner, Word};

/// A word and who waits for its answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Job {
    pub(crate) submitted: CallOperation,
    /// The actor that waits; none once it has gone, and for what the lane says of its own accord.
    pub(crate) waiter: Option<usize>,
    /// It has gone since.
    pub(crate) gone: bool,
    /// A saying of it may have happened without our knowing.
    pub(crate) unknown: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Lane {
    queue: Vec<Job>,
    take_backs: Vec<CallOperation>,
    under_way: Vec<Job>,
    /// The batch is on the wire, under this number.
    sent: Option<u32>,
    last_number: u32,
    /// Batches are numbered, as those of packed holds are.
    packs: bool,
    /// Of the batch under way, kept while its outcome is unknown.
    seq: Option<u32>,
    last_seq: u32,
    wrong: Option<Mutation>,
}

// === impl Lane ===

impl Lane {
    pub(crate) fn new(packs: bool, wrong: Option<Mutation>) -> Self {
        Self {
            packs,
            wrong,
            ..Self::default()
        }
    }

    pub(crate) fn push(&mut self, submitted: CallOperation, waiter: usize) {
        self.queue.push(Job {
            submitted,
            waiter: Some(waiter),
            gone: false,
            unknown: false,
        });
    }

    /// The next batch for the wire and its number, with at most `most` words; none while one is out
    /// or when there is nothing to say.
    pub(crate) fn send(&mut self, most: usize) -> Option<(u32, Batch)> {
        if self.sent.is_some() {
            return None;
        }
        self.forget_expired();
        while self.under_way.is_empty() {
            if self.is_quiet() {
                return None;
            }
            self.gather(most.min(BATCH));
            self.forget_expired();
        }
        let repeats = self.seq.is_some();
        if repeats && self.wrong == Some(Mutation::RepeatWithOthers) {
            let free = most.min(BATCH).saturating_sub(self.under_way.len());
            self.gather_more(free);
        }
        if !repeats && self.packs {
            self.last_seq += 1;
            self.seq = Some(self.last_seq);
        }
        self.last_number += 1;
        self.sent = Some(self.last_number);
        Some((self.last_number, self.batch()))
    }

    fn gather(&mut self, most: usize) {
        let own = most.min(self.take_backs.len());
        let own_jobs = self.take_backs.drain(..own).map(|submitted| Job {
            submitted,
            waiter: None,
            gone: false,
            unknown: false,
        });
        self.under_way.extend(own_jobs);
        self.gather_more(most - own);
    }

    fn gather_more(&mut self, most: usize) {
        let rest = most.min(self.queue.len());
        self.under_way.extend(self.queue.drain(..rest));
    }

    /// Drops words whose callers have gone, if nothing of theirs can have happened. What ends a call
    /// must still let go of its hold.
    fn forget_expired(&mut self) {
        let mut kept = 0;
        for place in 0..self.under_way.len() {
            let job = self.under_way[place];
            if !job.gone || job.unknown {
                self.under_way[kept] = job;
                kept += 1;
                continue;
            }
            match job.submitted.word {
                Word::Settle(_) => self.undo(&job.submitted),
                Word::Void(_) | Word::Refund(..) | Word::WriteOff(..) => {
                    self.take_backs.push(job.submitted);
                }
                Word::Reserve(_) if self.wrong == Some(Mutation::ReleaseAnUnwrittenHold) => {
                    self.undo(&job.submitted);
                }
                Word::Reserve(_) | Word::Extend(..) => {}
            }
        }
        self.under_way.truncate(kept);
    }

    fn batch(&self) -> Batch {
        let mut batch = Batch::new(self.under_way.iter().map(|job| job.submitted));
        batch.seq = self.seq;
        batch
    }

    /// True if this is the batch that is waited for.
    pub(crate) fn expects(&self, number: u32) -> bool {
        self.sent == Some(number)
    }

    pub(crate) fn number_out(&self) -> Option<u32> {
        self.sent
    }

    /// No answer came, and it is unknown whether the batch happened. From now on it is said until
    /// that is known, with or without a waiter.
    pub(crate) fn lose_sight(&mut self) {
        self.sent = None;
        for job in &mut self.under_way {
            job.unknown = true;
        }
        if self.wrong == Some(Mutation::RepeatUnderAnotherSequence) {
            self.seq = None;
        }
    }

    /// The database was away: the batch surely did not happen.
    pub(crate) fn not_said(&mut self) {
        self.sent = None;
        // What may have happened before keeps its number.
        if !self.under_way.iter().any(|job| job.unknown) {
            self.seq = None;
        }
    }

    /// The batch was answered: returns its jobs, whose waiters must be told. What was done for those
    /// who have gone is undone.
    pub(crate) fn hear(&mut self, answers: &[Option<Answer>]) -> [Option<(usize, Answer)>; BATCH] {
        self.sent = None;
        let mut answered = [None; BATCH];
        for (place, answer) in answers.iter().enumerate() {
            let (Some(job), Some(answer)) = (self.under_way.get(place).copied(), *answer) else {
                continue;
            };
            if let Some(waiter) = job.waiter {
                answered[place] = Some((waiter, answer));
            } else if job.gone && self.moved(&job, answer) {
                self.undo(&job.submitted);
            }
        }
        self.under_way.clear();
        self.seq = None;
        answered
    }

    /// Whether this word moved money, now or at an earlier submission without an answer.
    fn moved(&self, job: &Job, answer: Answer) -> bool {
        match answer {
            Answer::Held(_) => matches!(job.submitted.word, Word::Reserve(_)),
            Answer::Done(_) => {
                matches!(job.submitted.word, Word::Settle(_))
                    && self.wrong != Some(Mutation::ForgetTheHeardSettle)
            }
            Answer::Before { charged, .. } => {
                let ours = charged && job.unknown && matches!(job.submitted.word, Word::Settle(_));
                ours && self.wrong != Some(Mutation::ForgetUnknownCommit)
            }
            Answer::TooLittle(_)
            | Answer::NeverToppedUp
            | Answer::AlreadyResolved
            | Answer::StaleRevision
            | Answer::NoHold
            | Answer::GivenBack
            | Answer::NothingToGiveBack
            | Answer::Noted => false,
        }
    }

    /// A caller has gone and its word was heard, or may have been. A task's charge stands: the job
    /// goes on without us, and another node may have told of it already.
    fn undo(&mut self, submitted: &CallOperation) {
        let of_task =
            submitted.owner == Owner::Task && self.wrong != Some(Mutation::TakeBackATaskCharge);
        let mut take_back = |word| self.take_backs.push(CallOperation { word, ..*submitted });
        match submitted.word {
            Word::Reserve(_) => take_back(Word::Void(Outcome::Cancelled)),
            Word::Settle(_) if of_task => {}
            Word::Settle(amount) => {
                take_back(Word::Void(Outcome::DatabaseAway));
                take_back(Word::Refund(RefundKind::Undelivered, None));
                take_back(Word::WriteOff(WriteOffReason::DatabaseAway, amount));
            }
            Word::Extend(..) | Word::Void(_) | Word::Refund(..) | Word::WriteOff(..) => {}
        }
    }

    /// An actor no longer waits.
    pub(crate) fn leave(&mut self, waiter: usize) {
        let jobs = self.queue.iter_mut().chain(&mut self.under_way);
        for job in jobs.filter(|job| job.waiter == Some(waiter)) {
            job.waiter = None;
            job.gone = true;
        }
    }

    /// An actor has its answer already, which only a mistake can give it.
    pub(crate) fn let_go(&mut self, waiter: usize) {
        for job in &mut self.queue {
            if job.waiter == Some(waiter) {
                job.waiter = None;
            }
        }
    }

    /// Calls whose charge may stand although their callers were told otherwise, were this process to
    /// end now: what is left to take back, and words on the wire or lost sight of.
    pub(crate) fn doubtful(&self) -> impl Iterator<Item = Call> {
        let out = self.sent.is_some();
        let own = |job: &Job| job.waiter.is_none() && !job.gone;
        let jobs = self.under_way.iter();
        let jobs = jobs
            .filter(move |job| out || job.unknown || own(job))
            .map(|job| job.submitted.call);
        self.take_backs
            .iter()
            .map(|submitted| submitted.call)
            .chain(jobs)
    }

    /// The process has ended; numbers go on so that old answers find no waiter.
    pub(crate) fn clear(&mut self) {
        self.queue.clear();
        self.take_backs.clear();
        self.under_way.clear();
        self.sent = None;
        self.seq = None;
    }

    pub(crate) fn is_quiet(&self) -> bool {
        self.queue.is_empty() && self.take_backs.is_empty() && self.under_way.is_empty()
    }
}
