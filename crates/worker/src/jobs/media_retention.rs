//! Deletes files that are too old.

use trunkline_db::SystemClock;
use trunkline_types::Clock as _;

use crate::job::{JobContext, JobResult, Progress};

pub(super) async fn run(context: &JobContext) -> JobResult {
    let keep = context.retention.media;
    let swept = context.media.sweep(SystemClock.now(), keep).await?;
    tracing::debug!(?swept, "media retention: deleted expired files");
    Ok(Progress::Idle(None))
}
