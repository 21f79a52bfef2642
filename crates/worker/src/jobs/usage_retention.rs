//! Drops the days of the usage log that are past their retention.

use trunkline_ledger::partitions;

use crate::job::{JobContext, JobResult, Progress};

pub(super) async fn run(context: &JobContext) -> JobResult {
    let dropped = partitions::drop_usage(&context.data, context.retention.usage_days).await?;
    if dropped > 0 {
        tracing::info!(
            days_count = dropped,
            "usage retention: dropped old days of the usage log"
        );
    }
    Ok(Progress::Idle(None))
}
