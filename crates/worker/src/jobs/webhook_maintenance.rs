//! Maintains the tables of webhooks: events of the system account, paused webhooks, old messages.

use trunkline_store::webhooks;

use crate::job::{JobContext, JobResult, Progress};

/// Rows of one run, of each kind; webhooks that one event of the system account is expanded for.
const BATCH: i64 = 1_000;

pub(super) async fn run(context: &JobContext) -> JobResult {
    let mut tx = context.data.begin().await?;
    let expanded = webhooks::expand_system_event(&mut tx, BATCH).await?;
    tx.commit().await?;
    let done = webhooks::maintain(&context.data, BATCH).await?;
    let full = u64::try_from(BATCH).unwrap_or(u64::MAX);
    let counts = [done.paused, done.resumed, done.purged];
    if expanded || counts.iter().any(|count| *count >= full) {
        return Ok(Progress::More);
    }
    Ok(Progress::Idle(None))
}
