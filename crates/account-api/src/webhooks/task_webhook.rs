//! The address of a single task: judged before money moves, and written with the task.

use trunkline_db::{DbError, Tx};
use trunkline_edge::error::{ApiError, ErrorCode};
use trunkline_store::webhooks;
use trunkline_types::AccountId;
use uuid::Uuid;

use super::SealedFor;
use super::binding;
use super::delivery;
use crate::state::AccountApi;

/// Where the address stands in a request.
const FIELD: &str = "metadata.webhook_url";

/// Where a task is to be told, sealed, and a secret for the account if it has none yet.
#[derive(Debug)]
pub struct TaskWebhook {
    url: Vec<u8>,
    webhook: Uuid,
    secret: Vec<u8>,
}

/// Refuses an address that would not be reached. Nothing has moved yet.
pub async fn check_task_webhook(api: &AccountApi, url: Option<&str>) -> Result<(), ApiError> {
    let Some(url) = url else {
        return Ok(());
    };
    delivery::check_url(api, url).await.map_err(|error| {
        let text = format!("{error}; nothing was charged");
        ApiError::new(ErrorCode::Invalid("invalid_request"), text).at(FIELD)
    })
}

/// Seals an address for a task.
pub fn seal_task_webhook(
    api: &AccountApi,
    account: AccountId,
    task: Uuid,
    url: &str,
) -> Option<TaskWebhook> {
    let webhook = api.edge.request_id().uuid();
    let (_, secret) = binding::new_secret(api, account, webhook)?;
    Some(TaskWebhook {
        url: binding::seal(api, account, SealedFor::Task(task), url.as_bytes())?,
        webhook,
        secret,
    })
}

/// Writes where a task is to be told, in the transaction that writes the task.
pub async fn write_task_webhook(
    tx: &mut Tx,
    account: AccountId,
    task: Uuid,
    task_webhook: &TaskWebhook,
) -> Result<(), DbError> {
    webhooks::make_for_tasks(tx, account, task_webhook.webhook, &task_webhook.secret).await?;
    webhooks::set_task_webhook(tx, task, account, &task_webhook.url).await
}
