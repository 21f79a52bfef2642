//! Webhook delivery: one loop that delivers due messages, one that runs maintenance.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use trunkline_account_api::AccountApi;
use trunkline_db::{Notifications, PollInterval, Signal};

use crate::waiting::{AT_ONCE, AWAY, until};

/// Between two looks at a list.
const LOOK: Duration = Duration::from_millis(250);
/// Interval of maintenance. Rare while notifications are received.
const KEEP: PollInterval = PollInterval {
    min: Duration::from_secs(2),
    polling: Duration::from_secs(2),
    listening: Duration::from_secs(20),
};

/// Delivers due messages until it is stopped.
pub async fn run(
    api: Arc<AccountApi>,
    notifications: Notifications,
    mut stop: watch::Receiver<bool>,
) {
    let mut subscription = notifications.subscribe(Signal::Webhooks);
    loop {
        let interval = match trunkline_account_api::claim_webhooks(&api).await {
            Ok(0) => until(LOOK, trunkline_account_api::next_webhook(&api).await),
            Ok(_) => AT_ONCE,
            Err(error) => {
                tracing::warn!(%error, "claiming webhook deliveries failed; retrying");
                AWAY
            }
        };
        tokio::select! {
            () = subscription.wait(interval) => {}
            _ = stop.changed() => return,
        }
    }
}

/// Runs maintenance until it is stopped.
pub async fn keep(
    api: Arc<AccountApi>,
    notifications: Notifications,
    mut stop: watch::Receiver<bool>,
) {
    let mut subscription = notifications.subscribe(Signal::Webhooks);
    loop {
        let interval = match trunkline_account_api::maintain_webhooks(&api).await {
            Ok(true) => AT_ONCE,
            Ok(false) => KEEP,
            Err(error) => {
                tracing::warn!(%error, "webhook maintenance failed");
                AWAY
            }
        };
        tokio::select! {
            () = subscription.wait(interval) => {}
            _ = stop.changed() => return,
        }
    }
}
