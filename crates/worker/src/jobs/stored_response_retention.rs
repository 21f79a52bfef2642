//! Deletes expired stored responses of idempotent calls.

use trunkline_ledger::stored_responses;

use crate::job::{JobContext, JobResult, Progress};

pub(super) async fn run(context: &JobContext) -> JobResult {
    let purged = stored_responses::purge(&context.data).await?;
    Ok(Progress::of(purged))
}
