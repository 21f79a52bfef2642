//! Publishes copies of events to other nodes.

use crate::job::{JobContext, JobResult, Progress};

pub(super) async fn run(context: &JobContext) -> JobResult {
    let relayed = trunkline_account_api::relay_events(context.gateway.account_api()).await?;
    Ok(Progress::of(relayed))
}
