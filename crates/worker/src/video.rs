//! Video tasks: one loop for each kind of job. A loop that found work looks again at once; one that
//! found none waits.

use std::time::Duration;

use tokio::sync::watch;
use trunkline_gateway::{Gateway, VideoJob};

/// Between two looks at an empty list.
const LOOK: Duration = Duration::from_millis(200);
/// After the database did not answer.
const AWAY: Duration = Duration::from_secs(1);

/// Does one kind of job until it is told to stop.
pub async fn run(gateway: Gateway, job: VideoJob, mut stop: watch::Receiver<bool>) {
    loop {
        let pause = match gateway.take_video_jobs(job).await {
            Ok(0) => LOOK,
            Ok(_) => Duration::ZERO,
            Err(error) => {
                tracing::warn!(%error, ?job, "what is due could not be taken");
                AWAY
            }
        };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            _ = stop.changed() => return,
        }
    }
}
