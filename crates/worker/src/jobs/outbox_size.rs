//! Counts the copies of events that wait, for the metrics.

use crate::job::{JobContext, JobResult, Progress};

pub(super) async fn run(context: &JobContext) -> JobResult {
    trunkline_account_api::measure_outbox(context.gateway.account_api()).await?;
    Ok(Progress::Idle(None))
}
