//! Video tasks: one loop for each kind of job. A loop that found work looks again at once; one that
//! found none waits until the next job is due, or until one is written.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use trunkline_db::{Notifications, Signal};
use trunkline_gateway::{Services, VideoJob};

use crate::waiting::{AT_ONCE, AWAY, until};

/// Between two looks at a list.
const LOOK: Duration = Duration::from_millis(200);

/// Does one kind of job until it is told to stop.
pub async fn run(
    gateway: Arc<Services>,
    notifications: Notifications,
    job: VideoJob,
    mut stop: watch::Receiver<bool>,
) {
    let mut subscription = notifications.subscribe(Signal::Video);
    loop {
        let interval = match trunkline_gateway::claim_video_jobs(&gateway, job).await {
            Ok(0) => until(LOOK, trunkline_gateway::next_video_job(&gateway, job).await),
            Ok(_) => AT_ONCE,
            Err(error) => {
                tracing::warn!(%error, ?job, "claiming video jobs failed; retrying");
                AWAY
            }
        };
        tokio::select! {
            () = subscription.wait(interval) => {}
            _ = stop.changed() => return,
        }
    }
}
