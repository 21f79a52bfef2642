//! Webhooks and their deliveries. The statement that writes an event writes the deliveries; here
//! they are claimed, completed, listed and deleted. URLs and secrets are sealed: this crate cannot
//! read them.
//!
//! A webhook is always locked before its deliveries.

mod claim;
mod deliveries;
mod maintenance;
mod row;

use uuid::Uuid;

pub use claim::{
    AfterFailure, ClaimLimit, Claimed, ClaimedEvent, Failure, InFlight, claim, delivered, failed,
    next_due,
};
pub use deliveries::{Delivery, DeliveryState, page, replay};
pub use maintenance::{Maintenance, expand_system_event, maintain};
pub use row::{
    Changes, Kind, NewWebhook, PausedReason, Webhook, change, create, delete, find, for_tasks,
    list, make_for_tasks, resume, rotate, set_task_webhook,
};

/// Associated data of a webhook's address.
#[must_use]
pub fn url_context(webhook: Uuid) -> Vec<u8> {
    context("webhook.url", webhook)
}

/// Associated data of a webhook's secret, the old one too: a row's secrets may change places.
#[must_use]
pub fn secret_context(webhook: Uuid) -> Vec<u8> {
    context("webhook.secret", webhook)
}

/// Associated data of the address of a task's webhook.
#[must_use]
pub fn task_url_context(task: Uuid) -> Vec<u8> {
    context("task_webhook.url", task)
}

fn context(column: &str, id: Uuid) -> Vec<u8> {
    format!("{column}/{}", id.simple()).into_bytes()
}
