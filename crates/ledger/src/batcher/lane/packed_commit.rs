//! Batches of operations on packed holds, and where each operation of a lane goes.

use std::collections::{BTreeMap, HashSet};

use sqlx::Connection as _;
use trunkline_db::DbError;

use super::{CompensationQueue, Job, Lane, LaneConnection, answer, no_answer, silent};
use crate::batch::BatchError;
use crate::batch::notifications::write_events;
use crate::batch::partitions::Day;
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

// === impl Lane ===

impl Lane {
    /// Applies operations on packed holds: one statement that commits itself or, if it has events to
    /// write, a transaction with them.
    pub(super) async fn commit_packed(
        &self,
        jobs: &[Job],
        day: Day,
        seq: i64,
        connection: &mut LaneConnection,
        packed: &mut PackedHolds,
    ) -> Result<Vec<Applied>, BatchError> {
        let ops: Vec<&Op> = jobs.iter().map(|job| &job.op).collect();
        if let Some(dropped) = PackedHolds::dropped(&ops) {
            return Ok(dropped);
        }
        let batch = PackedBatch {
            day,
            seq,
            ops: &ops,
        };
        // It may have been applied, and is answered then. If it was not, it must not be now: those who
        // are gone were told that nothing happened.
        let is_doubtful = jobs.iter().any(Job::is_unsure_and_unheard);
        if is_doubtful && self.abandon(&batch, connection, packed).await? {
            return Ok(jobs.iter().map(|_| Applied::Reroute).collect());
        }
        match self.apply_alone(&batch, connection, packed).await {
            Err(error) if packed::has_events(&error) => {
                self.apply_with_events(&batch, connection, packed).await
            }
            done => done,
        }
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

    async fn apply_alone(
        &self,
        batch: &PackedBatch<'_>,
        connection: &mut LaneConnection,
        packed: &mut PackedHolds,
    ) -> Result<Vec<Applied>, BatchError> {
        let settings = self.database.settings();
        let mut session = connection.session(&self.database).await?;
        if batch.has_charges() {
            // What is sent into a line that is down may arrive when this process is gone, and the
            // statement commits itself. A charge is sent over a line that answers.
            let ping = tokio::time::timeout(settings.acquire_timeout, session.ping()).await;
            ping.unwrap_or_else(|_| Err(no_answer()))
                .map_err(DbError::from)?;
        }
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

    async fn apply_with_events(
        &self,
        batch: &PackedBatch<'_>,
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
            Ok::<_, BatchError>(applied)
        };
        let result = match tokio::time::timeout(settings.answer_timeout, work).await {
            Ok(result) => result,
            Err(_) => return Err(BatchError::Db(silent())),
        };
        let (applied, session) = tx.finish_and_keep(result).await?;
        connection.keep(session, settings.max_lifetime);
        Ok(packed.remember(applied))
    }
}

/// Batches of jobs by where they go. What a batch may not have twice comes after it, and so does what
/// names a request that is being reserved: where its hold is, is known then.
pub(super) fn route(
    jobs: Vec<Job>,
    packed: &mut PackedHolds,
    compensations: &mut CompensationQueue,
) -> Vec<Batch> {
    let (mut rows, mut later) = (Vec::new(), Vec::new());
    let mut days: BTreeMap<Day, (Once, Vec<Job>)> = BTreeMap::new();
    let mut reserving = HashSet::new();
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
            Route::Rows => rows.push(job),
            Route::Answered(known) => {
                answer(vec![job], vec![Applied::Answer(known)], compensations);
            }
            Route::Packed(day) => {
                let (once, jobs) = days.entry(day).or_default();
                if once.admits(&job.op) {
                    jobs.push(job);
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
    batches.extend(days.into_iter().map(|(day, (_, jobs))| Batch {
        way: Way::Packed(day, None),
        jobs,
    }));
    batches
}
