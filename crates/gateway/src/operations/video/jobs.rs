//! What workers do: take what is due and go on with it. Every job may be taken by any worker, more than
//! once; what was done before is found done.

use std::sync::Arc;
use std::time::Duration;

use trunkline_db::{DbError, Signal};
use trunkline_ledger::Outcome;
use trunkline_store::tasks::{self, Due, Task, TaskState};

use super::accept::Accepted;
use super::content;
use super::poll;
use super::submit;
use super::transitions::{self, Ending, StepError};
use crate::failover::AttemptLog;
use crate::services::Services;
use crate::state::VideoJob;
use crate::task_id::task_name;

/// Rows taken at once.
const BATCH: usize = 64;
/// No other worker fetches a file while its longest download may run.
const MIRROR_LEASE: Duration = super::download::WITHIN.saturating_add(Duration::from_secs(60));

/// Takes what is due of one kind and goes on with it in tasks of their own. Returns how many.
pub async fn claim_video_jobs(services: &Arc<Services>, job: VideoJob) -> Result<usize, DbError> {
    let slots = services.job_slots.of(job);
    let free = slots.available_permits().min(BATCH);
    if free == 0 || services.is_draining() {
        return Ok(0);
    }
    let lease = match job {
        VideoJob::Submit | VideoJob::Poll => services.settings.video.lease,
        VideoJob::Mirror => MIRROR_LEASE,
    };
    let limit = i64::try_from(free).unwrap_or(1);
    let due = tasks::claim(&services.data, job.stored(), limit, lease).await?;
    let taken = due.len();
    for due in due {
        let Ok(permit) = Arc::clone(slots).try_acquire_owned() else {
            // Its lease ends, and it is due again.
            break;
        };
        let late = u64::try_from(due.late_millis).unwrap_or(0);
        services
            .edge
            .metrics
            .job_lag
            .took(Duration::from_millis(late));
        let owned = Arc::clone(services);
        services.tasks.spawn(async move {
            run_job(&owned, job, due).await;
            drop(permit);
            // There is a free slot again, and what is next for the task may be due soon.
            owned.data.notifications().signal(Signal::Video);
        });
    }
    Ok(taken)
}

/// How long until a job of a kind is due, as far as is known.
pub async fn next_video_job(
    services: &Services,
    job: VideoJob,
) -> Result<Option<Duration>, DbError> {
    tasks::next_due(&services.data, job.stored()).await
}

async fn run_job(services: &Services, job: VideoJob, due: Due) {
    let task = async {
        let mut session = services.data.session().await?;
        tasks::find(&mut session, due.task).await
    };
    let task = match task.await {
        Ok(Some(task)) => task,
        Ok(None) => return,
        Err(error) => {
            tracing::warn!(%error, "video jobs: reading a due task failed");
            return;
        }
    };
    let name = task_name(task.id);
    let done = match job {
        VideoJob::Submit => Box::pin(resume_submission(services, task)).await,
        VideoJob::Poll => poll::poll(services, &task).await,
        VideoJob::Mirror => Box::pin(content::store_result(services, &task, due.tries)).await,
    };
    if let Err(error) = done {
        tracing::warn!(%error, task.id = name, "video job failed; it will be retried");
    }
}

async fn resume_submission(services: &Services, task: Task) -> Result<(), StepError> {
    match task.state {
        TaskState::Accepted if task.read_at >= task.queue_until => {
            expire_waiting(services, &task).await
        }
        TaskState::Accepted => {
            if task.sent.is_none() {
                // Only the process that took the call could send it, and that is gone.
                return expire_waiting(services, &task).await;
            }
            let accepted = Accepted {
                task,
                fresh: false,
                unstored: None,
            };
            // Whatever it comes to is written; where no upstream could be reached it waits.
            submit::submit_video(services, AttemptLog(None), &accepted).await?;
            Ok(())
        }
        TaskState::Submitting => {
            let mut tx = services.data.begin().await?;
            tasks::mark_unknown(&mut tx, task.id, Duration::ZERO).await?;
            tx.commit().await?;
            Ok(())
        }
        TaskState::Unknown => poll::find_upstream_id(services, &task).await,
        TaskState::Submitted | TaskState::Running | TaskState::Completed | TaskState::Failed => {
            Ok(())
        }
    }
}

async fn expire_waiting(services: &Services, task: &Task) -> Result<(), StepError> {
    let ending = Ending {
        code: "no_capacity",
        message: "no channel had capacity for this video in time; nothing was charged",
        outcome: Outcome::UpstreamFailed,
        write_off: None,
    };
    transitions::fail_if_still(services, task, ending).await?;
    Ok(())
}
