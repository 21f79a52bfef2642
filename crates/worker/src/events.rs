//! Copies of events on their way to other nodes. Any node carries them; a loop that found some looks
//! again at once.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use trunkline_gateway::Gateway;

/// Between two looks at an empty list.
const LOOK: Duration = Duration::from_millis(200);
/// After the database or NATS did not answer.
const AWAY: Duration = Duration::from_secs(1);
/// How often it is counted what waits.
const COUNT: Duration = Duration::from_secs(5);

/// Carries copies until it is told to stop.
pub async fn run(gateway: Gateway, mut stop: watch::Receiver<bool>) {
    let mut counted: Option<Instant> = None;
    loop {
        let pause = match gateway.relay_events().await {
            Ok(0) => LOOK,
            Ok(_) => Duration::ZERO,
            Err(error) => {
                tracing::warn!(%error, "copies of events were not carried; they wait");
                AWAY
            }
        };
        if counted.is_none_or(|at| at.elapsed() >= COUNT) {
            counted = Some(Instant::now());
            if let Err(error) = gateway.measure_outbox().await {
                tracing::warn!(%error, "copies that wait could not be counted");
            }
        }
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            _ = stop.changed() => return,
        }
    }
}
