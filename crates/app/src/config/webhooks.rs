//! How webhooks are served: from texts to values.

use std::time::Duration;

use trunkline_account_api::WebhookSettings;

use super::check::{Check, in_range};
use super::raw::RawWebhooks;

/// Most messages on their way at once that can be set.
const MAX_AT_ONCE: i64 = 10_000;
/// Longest try that can be set; a message is another node's after a minute.
const MAX_WAIT_SECONDS: i64 = 25;
/// Most webhooks of one account that can be set.
const MAX_PER_ACCOUNT: i64 = 100;

impl Check<'_> {
    pub(super) fn webhooks(&mut self, raw: &RawWebhooks) -> Option<WebhookSettings> {
        let mut count = |key: &str, value: i64, most: i64| {
            let number = self.take(key, in_range(value, 1, most));
            number.and_then(|number| usize::try_from(number).ok())
        };
        let at_once = count("webhooks.at_once", raw.at_once, MAX_AT_ONCE);
        let key = "webhooks.at_once_per_webhook";
        let per_webhook = count(key, raw.at_once_per_webhook, MAX_AT_ONCE);
        let key = "webhooks.at_once_per_account";
        let per_account = count(key, raw.at_once_per_account, MAX_AT_ONCE);
        let most = count("webhooks.per_account", raw.per_account, MAX_PER_ACCOUNT);
        let wait = in_range(raw.wait_seconds, 1, MAX_WAIT_SECONDS);
        let wait = self.take("webhooks.wait_seconds", wait);
        Some(WebhookSettings {
            at_once: at_once?,
            per_webhook: per_webhook?,
            per_account: per_account?,
            wait: Duration::from_secs(wait?),
            most: most?,
            ..WebhookSettings::default()
        })
    }
}
