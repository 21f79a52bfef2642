//! Webhooks: what happens to an account, sent to addresses of its own.
//!
//! The deliveries are rows that the events' own transactions wrote (`store::webhooks`). Here they are taken
//! in turns (`jobs`), signed (`message`), sent through the guarded client (`delivery`) and, if that did not
//! succeed, retried later (`backoff`). At least once and in no order: if a node dies in the middle, another
//! sends it again, and the same message has the same id.

mod backoff;
pub(crate) mod binding;
pub(crate) mod delivery;
mod jobs;
pub(crate) mod message;
pub mod task_webhook;

pub(crate) use binding::SealedFor;
pub(crate) use delivery::{DeliveryError, Message, Outcome, Receiver};
pub use jobs::{claim_webhooks, next_webhook};
pub use message::{Secret, signed_message};
