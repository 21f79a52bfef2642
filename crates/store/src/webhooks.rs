//! Webhooks: addresses of customers, and what is on its way to them. Deliveries are made by the statement
//! that writes an event; here they are taken, answered for, listed and swept. Addresses and secrets come
//! and go sealed: this room cannot read them.
//!
//! A webhook is always locked before its deliveries.

mod deliveries;
mod due;
mod keeping;
mod row;

pub use deliveries::{Delivery, DeliveryState, page, replay};
pub use due::{After, Busy, Claimed, Failure, Room, Told, claim, delivered, failed, next_due};
pub use keeping::{Mended, expand, mend};
pub use row::{
    Changes, Kind, NewWebhook, PausedReason, Webhook, change, create, delete, find, for_tasks,
    hook_task, list, make_for_tasks, resume, rotate,
};
