//! Limits and waits of webhooks.

use std::time::Duration;

#[derive(Debug, Clone)]
pub struct WebhookSettings {
    /// Messages on their way at once, of this node.
    pub at_once: usize,
    /// Of them to one webhook.
    pub per_webhook: usize,
    /// Of them to webhooks of one account.
    pub per_account: usize,
    /// For one try, from the name of the host to the end of the answer.
    pub wait: Duration,
    /// A message whose sender is silent for so long is sent by another.
    pub lease: Duration,
    /// How long a message is tried, and how long a webhook may only fail until it is paused.
    pub patience: Duration,
    /// How long the old secret signs beside a new one, if the customer does not say.
    pub overlap: Duration,
    pub most: usize,
}

impl Default for WebhookSettings {
    fn default() -> Self {
        Self {
            at_once: 256,
            per_webhook: 4,
            per_account: 16,
            wait: Duration::from_secs(15),
            lease: Duration::from_secs(60),
            patience: Duration::from_secs(3 * 86_400),
            overlap: Duration::from_secs(86_400),
            most: 20,
        }
    }
}
