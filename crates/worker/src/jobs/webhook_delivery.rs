//! Delivers webhook messages that are due.

use trunkline_account_api::{claim_webhooks, next_webhook};

use crate::job::{JobContext, JobResult, Progress};

pub(super) async fn run(context: &JobContext) -> JobResult {
    let api = context.gateway.account_api();
    if claim_webhooks(api).await? > 0 {
        return Ok(Progress::More);
    }
    Ok(Progress::Idle(next_webhook(api).await?))
}
