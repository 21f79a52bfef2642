//! What is kept for a while: prompts of tasks that ended, and files.

use std::time::Duration;

use tokio::sync::watch;
use trunkline_gateway::Gateway;

/// Between two rounds.
const EVERY: Duration = Duration::from_secs(600);

/// Forgets what is too old until it is told to stop.
pub async fn run(gateway: Gateway, mut stop: watch::Receiver<bool>) {
    let mut pause = tokio::time::interval(EVERY);
    loop {
        tokio::select! {
            _ = pause.tick() => {}
            _ = stop.changed() => return,
        }
        match gateway.forget_prompts().await {
            Ok(0) => {}
            Ok(tasks) => tracing::info!(tasks_count = tasks, "prompts of old tasks were forgotten"),
            Err(error) => tracing::warn!(%error, "old prompts could not be forgotten"),
        }
        gateway.sweep_media().await;
    }
}
