//! Queues emails to members of accounts whose balance fell below its threshold.

use crate::job::{JobContext, JobResult, Progress};

pub(super) async fn run(context: &JobContext) -> JobResult {
    Ok(match context.mail.queue_low_balance().await? {
        true => Progress::More,
        false => Progress::Idle(None),
    })
}
