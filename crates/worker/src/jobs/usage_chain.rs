//! Enters calls and transfers in the hash chains of their accounts, and signs days that are over.

use trunkline_account_api::resources::receipts::keep_chains;

use crate::job::{JobContext, JobResult, Progress};

pub(super) async fn run(context: &JobContext) -> JobResult {
    let has_more = keep_chains(context.gateway.account_api()).await?;
    Ok(Progress::of(u64::from(has_more)))
}
