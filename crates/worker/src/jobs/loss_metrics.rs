//! Sums up today's losses, for the metrics.

use crate::job::{JobContext, JobResult, Progress};

pub(super) async fn run(context: &JobContext) -> JobResult {
    trunkline_gateway::measure_losses(&context.gateway).await?;
    Ok(Progress::Idle(None))
}
