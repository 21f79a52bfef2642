//! Video tasks: one loop for each kind of job. A loop that found work looks again at once; one that
//! found none waits until the next job is due, or until one is written.

use std::time::Duration;

use tokio::sync::watch;
use trunkline_db::{Wake, Wakes};
use trunkline_gateway::{Gateway, VideoJob};

use crate::waiting::{AT_ONCE, AWAY, until};

/// Between two looks at a list.
const LOOK: Duration = Duration::from_millis(200);

/// Does one kind of job until it is told to stop.
pub async fn run(gateway: Gateway, wakes: Wakes, job: VideoJob, mut stop: watch::Receiver<bool>) {
    let mut sleeper = wakes.sleeper(Wake::Video);
    loop {
        let rhythm = match gateway.take_video_jobs(job).await {
            Ok(0) => until(LOOK, gateway.next_video_job(job).await),
            Ok(_) => AT_ONCE,
            Err(error) => {
                tracing::warn!(%error, ?job, "what is due could not be taken");
                AWAY
            }
        };
        tokio::select! {
            () = sleeper.pause(rhythm) => {}
            _ = stop.changed() => return,
        }
    }
}
