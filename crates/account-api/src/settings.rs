//! Limits and waits of the account API.

mod events;
mod webhooks;

use std::time::Duration;

pub use events::EventSettings;
pub use webhooks::WebhookSettings;

#[derive(Debug, Clone)]
pub struct AccountSettings {
    /// A client that reads nothing for so long has gone.
    pub reader_wait: Duration,
    pub events: EventSettings,
    /// Messages to addresses of customers.
    pub webhooks: WebhookSettings,
}
