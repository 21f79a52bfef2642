//! Batches of operations on packed holds, and where each operation of a lane goes.

use std::collections::{BTreeMap, HashSet};

use trunkline_db::{DbError, Pooler, within};
use trunkline_types::{OwnKeyHasher, OwnKeyMap, RequestId};

use super::{CompensationQueue, Job, Lane, LaneConnection, answer, no_answer, silent};
use crate::batch::notifications::write_events;
use crate::batch::partitions::Day;
use crate::batch::{BatchError, run_in};
use crate::operations::Op;
use crate::packed::{self, Applied, Once, PackedBatch, PackedHolds, Route};

/// How a batch is applied.
#[derive(Debug, Clone, Copy)]
pub(super) enum Way {
    /// Not routed yet, or to be routed a second time.
    Unrouted,
    Rows,
    /// Under a sequence of its own once its outcome is unknown: it is repeated as it was.
    Packed(Day, Option<i64>),
}

// === impl Way ===

impl Way {
    /// How the same batch is tried once more; as itself if it may have happened.
    pub(super) const fn repeated(self, unsure: bool) -> Self {
        match self {
            Self::Packed(day, _) if !unsure => Self::Packed(day, None),
            Self::Packed(..) | Self::Rows | Self::Unrouted => self,
        }
    }
}

pub(super) struct Batch {
    pub(super) way: Way,
    pub(super) jobs: Vec<Job>,
}

/// A batch of packed holds under its sequence.
#[derive(Debug, Clone, Copy)]
pub(super) struct Numbered {
    pub(super) day: Day,
    pub(super) seq: i64,
    /// It was tried under this sequence, and may have happened.
    pub(super) is_repeated: bool,
}

// === impl Lane ===

impl Lane {
    /// Applies operations on packed holds. A batch without charges is one statement that commits itself. One with
    /// charges, or with events to write, is a transaction: a statement that is on its way when the line breaks or
    /// this process dies may run later, and must not commit then. Only COMMIT is in doubt.
    pub(super) async fn commit_packed(
        &self,
        jobs: &[Job],
        numbered: Numbered,
        connection: &mut LaneConnection,
        packed: &mut PackedHolds,
    ) -> Result<Vec<Applied>, BatchError> {
        let all: Vec<&Op> = jobs.iter().map(|job| &job.op).collect();
        if let Some(dropped) = PackedHolds::dropped(&all) {
            return Ok(dropped);
        }
        // What goes along is at the end; see `route`.
        let (ops, along) = all.split_at(all.partition_point(|op| !goes_along(op)));
        let batch = PackedBatch {
            day: numbered.day,
            seq: numbered.seq,
            may_be_applied: numbered.is_repeated,
            ops,
        };
        // It may have been applied, and is answered then. If it was not, it must not be now: those who
        // are gone were told that nothing happened.
        let is_doubtful = jobs.iter().any(Job::is_unsure_and_unheard);
        if is_doubtful && self.abandon(&batch, connection, packed).await? {
            return Ok(jobs.iter().map(|_| Applied::Reroute).collect());
        }
        // What is repeated is the same batch only if the same is known of its payers.
        if !numbered.is_repeated {
            self.load(ops, connection, packed).await?;
        }
        // Behind PgBouncer the planner's settings come with BEGIN.
        let is_pooled = self.database.settings().pooler == Pooler::PgBouncer;
        let in_transaction = batch.has_charges() || !along.is_empty() || is_pooled;
        if !in_transaction {
            match self.apply_alone(&batch, connection, packed).await {
                Err(error) if packed::has_events(&error) => {}
                done => return done,
            }
        }
        self.apply_in_transaction(&batch, along, connection, packed)
            .await
    }

    async fn abandon(
        &self,
        batch: &PackedBatch<'_>,
        connection: &mut LaneConnection,
        packed: &PackedHolds,
    ) -> Result<bool, BatchError> {
        let settings = self.database.settings();
        let mut session = connection.session(&self.database).await?;
        let work = packed.abandon(&mut session, &self.node_epoch, batch);
        match tokio::time::timeout(settings.answer_timeout, work).await {
            Ok(Ok(abandoned)) => {
                connection.keep(session, settings.max_lifetime);
                Ok(abandoned)
            }
            Ok(Err(error)) => Err(packed::of_commit(error)),
            Err(_) => Err(packed::of_commit(no_answer())),
        }
    }

    async fn load(
        &self,
        ops: &[&Op],
        connection: &mut LaneConnection,
        packed: &mut PackedHolds,
    ) -> Result<(), BatchError> {
        let settings = self.database.settings();
        let mut session = connection.session(&self.database).await?;
        within(settings.answer_timeout, packed.load(&mut session, ops)).await?;
        connection.keep(session, settings.max_lifetime);
        Ok(())
    }

    async fn apply_alone(
        &self,
        batch: &PackedBatch<'_>,
        connection: &mut LaneConnection,
        packed: &mut PackedHolds,
    ) -> Result<Vec<Applied>, BatchError> {
        let settings = self.database.settings();
        let mut session = connection.session(&self.database).await?;
        let work = packed.apply(&mut session, &self.node_epoch, batch, false);
        match tokio::time::timeout(settings.answer_timeout, work).await {
            Ok(Ok(applied)) => {
                connection.keep(session, settings.max_lifetime);
                Ok(packed.remember(applied))
            }
            // The connection goes back: waiting for the database needs one of the lanes' few.
            Ok(Err(error)) => Err(packed::of_commit(error)),
            Err(_) => Err(packed::of_commit(no_answer())),
        }
    }

    async fn apply_in_transaction(
        &self,
        batch: &PackedBatch<'_>,
        along: &[&Op],
        connection: &mut LaneConnection,
        packed: &mut PackedHolds,
    ) -> Result<Vec<Applied>, BatchError> {
        let settings = self.database.settings();
        let mut tx = connection.begin(&self.database).await?;
        let work = async {
            let applied = packed.apply(&mut tx, &self.node_epoch, batch, true).await;
            let applied = applied.map_err(|error| packed::of_error(DbError::from(error)))?;
            let events = &applied.events;
            let reached = events.reached.iter().copied().collect();
            write_events(&mut tx, &events.crossed, &reached).await?;
            let answers = match along {
                [] => Vec::new(),
                // Their accounts are those of the batch, which are locked.
                ops => run_in(&mut tx, &self.node_epoch, ops).await?,
            };
            Ok::<_, BatchError>((applied, answers))
        };
        let result = match tokio::time::timeout(settings.answer_timeout, work).await {
            Ok(result) => result,
            Err(_) => return Err(BatchError::Db(silent())),
        };
        let ((applied, answers), session) = tx.finish_and_keep(result).await?;
        connection.keep(session, settings.max_lifetime);
        let mut applied = packed.remember(applied);
        applied.extend(answers.into_iter().map(Applied::Answer));
        Ok(applied)
    }
}

/// A refund and a write-off of a call whose packed hold ends in the same batch: what a charge that was not
/// confirmed needs happens in one transaction, or a process that dies would leave the loss unwritten.
const fn goes_along(op: &Op) -> bool {
    match op {
        Op::Refund(_) | Op::WriteOff(_) => true,
        Op::Reserve(_) | Op::Extend(_) | Op::Settle(_) | Op::Void(_) => false,
    }
}

/// What a day's batch has, and what goes along with it.
#[derive(Default)]
struct DayJobs {
    once: Once,
    jobs: Vec<Job>,
    along: Vec<Job>,
}

/// Batches of jobs by where they go. What a batch may not have twice comes after it, and so does what
/// names a request that is being reserved: where its hold is, is known then.
pub(super) fn route(
    jobs: Vec<Job>,
    packed: &mut PackedHolds,
    compensations: &mut CompensationQueue,
) -> Vec<Batch> {
    let (mut rows, mut later) = (Vec::new(), Vec::new());
    let mut days: BTreeMap<Day, DayJobs> = BTreeMap::new();
    let mut reserving: HashSet<RequestId, OwnKeyHasher> = HashSet::default();
    let mut ended: OwnKeyMap<RequestId, Day> = OwnKeyMap::default();
    for job in jobs {
        let request = job.op.request();
        if reserving.contains(&request) {
            later.push(job);
            continue;
        }
        if matches!(job.op, Op::Reserve(_)) {
            reserving.insert(request);
        }
        match packed.route(&job.op) {
            Route::Rows => match ended.get(&request).filter(|_| goes_along(&job.op)) {
                Some(day) => days.entry(*day).or_default().along.push(job),
                None => rows.push(job),
            },
            Route::Answered(known) => {
                answer(vec![job], vec![Applied::Answer(known)], compensations);
            }
            Route::Packed(day) => {
                let of_day = days.entry(day).or_default();
                if of_day.once.admits(&job.op) {
                    if matches!(job.op, Op::Settle(_) | Op::Void(_)) {
                        ended.insert(request, day);
                    }
                    of_day.jobs.push(job);
                } else {
                    later.push(job);
                }
            }
        }
    }
    // The last is applied first.
    let mut batches = vec![
        Batch {
            way: Way::Unrouted,
            jobs: later,
        },
        Batch {
            way: Way::Rows,
            jobs: rows,
        },
    ];
    batches.extend(days.into_iter().map(|(day, mut of_day)| {
        of_day.jobs.append(&mut of_day.along);
        Batch {
            way: Way::Packed(day, None),
            jobs: of_day.jobs,
        }
    }));
    batches
}
