//! Charges saved payment methods of accounts whose balance is low.

use crate::job::{JobContext, JobResult, Progress};

pub(super) async fn run(context: &JobContext) -> JobResult {
    let Some(jobs) = &context.payments else {
        return Ok(Progress::Idle(None));
    };
    let found = jobs.payments.run_automatic(&jobs.database).await?;
    Ok(Progress::of(u64::from(found)))
}
