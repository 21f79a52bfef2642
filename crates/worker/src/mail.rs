//! Letters: one loop that carries what is due, and puts them in order from time to time.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use trunkline_mail::MailWorker;

/// Between two looks at an empty list.
const LOOK: Duration = Duration::from_secs(4);
/// After the database did not answer.
const AWAY: Duration = Duration::from_secs(1);
/// Between two rounds of keeping order.
const TIDY: Duration = Duration::from_secs(60);

/// Carries letters until it is told to stop.
pub async fn run(mail_worker: MailWorker, mut stop: watch::Receiver<bool>) {
    let mut tidied: Option<Instant> = None;
    loop {
        let pause = match mail_worker.deliver_due().await {
            Ok(summary) if summary.taken == 0 => LOOK,
            Ok(_) => Duration::ZERO,
            Err(error) => {
                tracing::warn!(%error, "letters could not be taken; they wait");
                AWAY
            }
        };
        if tidied.is_none_or(|at| at.elapsed() >= TIDY) {
            tidied = Some(Instant::now());
            if let Err(error) = mail_worker.tidy().await {
                tracing::warn!(%error, "letters could not be put in order");
            }
        }
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            _ = stop.changed() => return,
        }
    }
}
