//! Compares the payment provider's events with ours, once a day.

use trunkline_payments::RECONCILE_EVERY;

use crate::job::{JobContext, JobResult, Progress};

pub(super) async fn run(context: &JobContext) -> JobResult {
    let Some(jobs) = &context.payments else {
        return Ok(Progress::Idle(None));
    };
    let done = jobs
        .payments
        .reconcile(&jobs.database, RECONCILE_EVERY)
        .await?;
    if let Some(done) = done {
        tracing::info!(
            events_count = done.events,
            missed_count = done.missed,
            closed_count = done.closed,
            "payments reconciled"
        );
    }
    Ok(Progress::Idle(None))
}
