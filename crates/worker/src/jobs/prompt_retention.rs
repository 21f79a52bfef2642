//! Deletes the prompts of video tasks that ended long ago.

use trunkline_store::tasks;

use crate::job::{JobContext, JobResult, Progress};

/// Tasks of one run.
const BATCH: i64 = 1_000;

pub(super) async fn run(context: &JobContext) -> JobResult {
    let mut session = context.data.session().await?;
    let purged = tasks::purge_sent(&mut session, context.retention.prompts, BATCH).await?;
    if purged > 0 {
        tracing::info!(
            tasks_count = purged,
            "prompt retention: deleted prompts of old tasks"
        );
    }
    Ok(Progress::of(purged))
}
