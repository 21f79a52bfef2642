//! Messages to webhooks: one loop that sends what is due, and one that keeps their lists in order.

use std::time::Duration;

use tokio::sync::watch;
use trunkline_db::{Rhythm, Wake, Wakes};
use trunkline_gateway::Gateway;

use crate::waiting::{AT_ONCE, AWAY, until};

/// Between two looks at a list.
const LOOK: Duration = Duration::from_millis(250);
/// Between two rounds of keeping order. While somebody listens, an idle one is rare.
const KEEP: Rhythm = Rhythm {
    least: Duration::from_secs(2),
    alone: Duration::from_secs(2),
    most: Duration::from_secs(20),
};

/// Sends until it is told to stop.
pub async fn run(gateway: Gateway, wakes: Wakes, mut stop: watch::Receiver<bool>) {
    let mut sleeper = wakes.sleeper(Wake::Webhooks);
    loop {
        let rhythm = match gateway.take_webhooks().await {
            Ok(0) => until(LOOK, gateway.next_webhook().await),
            Ok(_) => AT_ONCE,
            Err(error) => {
                tracing::warn!(%error, "what is due to webhooks could not be taken");
                AWAY
            }
        };
        tokio::select! {
            () = sleeper.pause(rhythm) => {}
            _ = stop.changed() => return,
        }
    }
}

/// Keeps order until it is told to stop.
pub async fn keep(gateway: Gateway, wakes: Wakes, mut stop: watch::Receiver<bool>) {
    let mut sleeper = wakes.sleeper(Wake::Webhooks);
    loop {
        let rhythm = match gateway.keep_webhooks().await {
            Ok(true) => AT_ONCE,
            Ok(false) => KEEP,
            Err(error) => {
                tracing::warn!(%error, "the lists of webhooks could not be put in order");
                AWAY
            }
        };
        tokio::select! {
            () = sleeper.pause(rhythm) => {}
            _ = stop.changed() => return,
        }
    }
}
