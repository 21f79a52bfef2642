//! Event relay: any node publishes pending event copies; a loop that found some polls again immediately.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use trunkline_account_api::AccountApi;
use trunkline_db::{Notifications, Signal};

use crate::waiting::{AT_ONCE, AWAY, until};

/// Between two looks at a list.
const LOOK: Duration = Duration::from_millis(200);
/// How often it is counted what waits.
const COUNT: Duration = Duration::from_secs(5);

/// Relays event copies until it is stopped.
pub async fn run(
    api: Arc<AccountApi>,
    notifications: Notifications,
    mut stop: watch::Receiver<bool>,
) {
    let mut subscription = notifications.subscribe(Signal::Outbox);
    let mut counted: Option<Instant> = None;
    loop {
        let interval = match trunkline_account_api::relay_events(&api).await {
            Ok(0) => until(LOOK, Ok(None)),
            Ok(_) => AT_ONCE,
            Err(error) => {
                tracing::warn!(%error, "event relay failed; retrying");
                AWAY
            }
        };
        if counted.is_none_or(|at| at.elapsed() >= COUNT) {
            counted = Some(Instant::now());
            if let Err(error) = trunkline_account_api::measure_outbox(&api).await {
                tracing::warn!(%error, "measuring the event outbox failed");
            }
        }
        tokio::select! {
            () = subscription.wait(interval) => {}
            _ = stop.changed() => return,
        }
    }
}
