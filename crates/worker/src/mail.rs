//! Email: one loop that delivers due emails and cleans up old ones periodically.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use trunkline_mail::MailWorker;

/// Poll interval while no email is due.
const LOOK: Duration = Duration::from_secs(4);
/// Backoff after a database error.
const AWAY: Duration = Duration::from_secs(1);
const TIDY: Duration = Duration::from_secs(60);

/// Delivers emails until it is stopped.
pub async fn run(mail_worker: MailWorker, mut stop: watch::Receiver<bool>) {
    let mut tidied: Option<Instant> = None;
    loop {
        let pause = match mail_worker.deliver_due().await {
            Ok(summary) if summary.taken == 0 => LOOK,
            Ok(_) => Duration::ZERO,
            Err(error) => {
                tracing::warn!(%error, "claiming due emails failed; retrying");
                AWAY
            }
        };
        if tidied.is_none_or(|at| at.elapsed() >= TIDY) {
            tidied = Some(Instant::now());
            if let Err(error) = mail_worker.tidy().await {
                tracing::warn!(%error, "email cleanup failed");
            }
        }
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            _ = stop.changed() => return,
        }
    }
}
