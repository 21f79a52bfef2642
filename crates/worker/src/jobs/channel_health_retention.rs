//! Deletes figures of channels' health past their retention.

use trunkline_store::channel_health;

use crate::job::{JobContext, JobResult, Progress};

pub(super) async fn run(context: &JobContext) -> JobResult {
    let purged = channel_health::purge(&context.data).await?;
    Ok(Progress::of(purged))
}
