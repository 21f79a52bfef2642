//! What a key can ask about itself: balance, usage, receipts, keys, model aliases, events, webhooks. Nothing here
//! moves money. The jobs that carry events and send webhooks are here too: they answer the same
//! questions without being asked.
#![cfg_attr(
    not(test),
    deny(
        clippy::arithmetic_side_effects,
        clippy::as_conversions,
        clippy::float_arithmetic,
        clippy::string_slice,
        clippy::cast_possible_truncation
    )
)]

mod alarm_webhook;
pub mod event_hub;
pub mod events;
mod published_keys;
pub mod resources;
pub mod self_info;
pub mod settings;
pub mod state;
pub mod task_id;
mod webhook_sender;
pub mod webhooks;

pub use alarm_webhook::{AlarmMessage, AlarmNotSent, AlarmReceiver, AlarmTarget};
pub use events::{
    RelayError, event_readers, events_sent, measure_outbox, relay_events, run_event_hub,
};
pub use resources::refresh_keys;
pub use settings::{AccountSettings, EventSettings, WebhookSettings};
pub use state::{AccountApi, AccountConfig};
pub use webhooks::{Secret as SigningSecret, claim_webhooks, next_webhook, signed_message};
