//! Delivers emails that are due.

use crate::job::{JobContext, JobResult, Progress};

pub(super) async fn run(context: &JobContext) -> JobResult {
    let summary = context.mail.deliver_due().await?;
    Ok(match summary.taken {
        0 => Progress::Idle(None),
        _ => Progress::More,
    })
}
