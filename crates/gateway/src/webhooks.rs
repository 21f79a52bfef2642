//! Webhooks: what happens to an account, sent to addresses of its own.
//!
//! The deliveries are rows that the events' own transactions wrote (`store::webhooks`). Here they are taken
//! in turns (`jobs`), signed (`message`), sent through the guarded client (`sending`) and, if that did not
//! succeed, put off (`waits`). At least once and in no order: who dies in the middle is followed by another,
//! and the same message has the same id.

mod backoff;
pub(crate) mod binding;
pub(crate) mod delivery;
mod jobs;
mod message;
pub(crate) mod task_webhook;

pub(crate) use binding::SealedFor;
pub(crate) use delivery::{DeliveryError, Message, Outcome, Receiver};
pub use jobs::{claim_webhooks, maintain_webhooks, next_webhook};
pub(crate) use message::Secret;
pub(crate) use task_webhook::write_task_webhook;
