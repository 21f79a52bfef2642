//! Deletes events, and copies that no node carried, after [`events::KEPT_DAYS`].

use trunkline_db::events;

use crate::job::{JobContext, JobResult, Progress};

pub(super) async fn run(context: &JobContext) -> JobResult {
    let purged = events::purge(&context.data).await?;
    if purged != events::Purged::default() {
        tracing::info!(
            days_count = purged.days,
            copies_count = purged.copies,
            "event retention: deleted old events"
        );
    }
    Ok(Progress::Idle(None))
}
