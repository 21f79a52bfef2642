//! Event relay: any node publishes pending event copies; a loop that found some polls again immediately.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use trunkline_db::{Notifications, Signal};
use trunkline_gateway::Services;

use crate::waiting::{AT_ONCE, AWAY, until};

/// Between two looks at a list.
const LOOK: Duration = Duration::from_millis(200);
/// How often it is counted what waits.
const COUNT: Duration = Duration::from_secs(5);

/// Relays event copies until it is stopped.
pub async fn run(
    gateway: Arc<Services>,
    notifications: Notifications,
    mut stop: watch::Receiver<bool>,
) {
    let mut subscription = notifications.subscribe(Signal::Outbox);
    let mut counted: Option<Instant> = None;
    loop {
        let interval = match trunkline_gateway::relay_events(&gateway).await {
            Ok(0) => until(LOOK, Ok(None)),
            Ok(_) => AT_ONCE,
            Err(error) => {
                tracing::warn!(%error, "event relay failed; retrying");
                AWAY
            }
        };
        if counted.is_none_or(|at| at.elapsed() >= COUNT) {
            counted = Some(Instant::now());
            if let Err(error) = trunkline_gateway::measure_outbox(&gateway).await {
                tracing::warn!(%error, "measuring the event outbox failed");
            }
        }
        tokio::select! {
            () = subscription.wait(interval) => {}
            _ = stop.changed() => return,
        }
    }
}
