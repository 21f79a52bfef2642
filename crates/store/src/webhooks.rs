//! Webhooks and their deliveries. The statement that writes an event writes the deliveries; here
//! they are claimed, completed, listed and deleted. URLs and secrets are sealed: this crate cannot
//! read them.
//!
//! A webhook is always locked before its deliveries.

mod claim;
mod deliveries;
mod maintenance;
mod row;

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
