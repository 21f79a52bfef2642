//! Deletes emails that were delivered or abandoned long ago.

use crate::job::{JobContext, JobResult, Progress};

pub(super) async fn run(context: &JobContext) -> JobResult {
    context.mail.tidy().await?;
    Ok(Progress::Idle(None))
}
