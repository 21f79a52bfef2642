//! Messages to webhooks: one loop that sends what is due, and one that keeps their lists in order.

use std::time::Duration;

use tokio::sync::watch;
use trunkline_gateway::Gateway;

/// Between two looks at an empty list.
const LOOK: Duration = Duration::from_millis(250);
/// Between two rounds of keeping order.
const KEEP: Duration = Duration::from_secs(2);
/// After the database did not answer.
const AWAY: Duration = Duration::from_secs(1);

/// Sends until it is told to stop.
pub async fn run(gateway: Gateway, mut stop: watch::Receiver<bool>) {
    loop {
        let pause = match gateway.take_webhooks().await {
            Ok(0) => LOOK,
            Ok(_) => Duration::ZERO,
            Err(error) => {
                tracing::warn!(%error, "what is due to webhooks could not be taken");
                AWAY
            }
        };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            _ = stop.changed() => return,
        }
    }
}

/// Keeps order until it is told to stop.
pub async fn keep(gateway: Gateway, mut stop: watch::Receiver<bool>) {
    loop {
        let pause = match gateway.keep_webhooks().await {
            Ok(true) => Duration::ZERO,
            Ok(false) => KEEP,
            Err(error) => {
                tracing::warn!(%error, "the lists of webhooks could not be put in order");
                AWAY
            }
        };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            _ = stop.changed() => return,
        }
    }
}
