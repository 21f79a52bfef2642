//! Retention: deletes expired prompts, events, files and stored responses of idempotent calls.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use trunkline_gateway::Services;

const EVERY: Duration = Duration::from_secs(600);
/// The same for answers, some of which live for two minutes.
const ANSWERS_EVERY: Duration = Duration::from_secs(30);

/// Deletes expired data until it is stopped.
pub async fn run(gateway: Arc<Services>, mut stop: watch::Receiver<bool>) {
    let mut pause = tokio::time::interval(EVERY);
    let mut often = tokio::time::interval(ANSWERS_EVERY);
    loop {
        tokio::select! {
            _ = pause.tick() => purge(&gateway).await,
            _ = often.tick() => {
                if let Err(error) = trunkline_gateway::purge_stored_responses(&gateway).await {
                    tracing::warn!(%error, "deleting expired stored responses failed");
                }
            }
            _ = stop.changed() => return,
        }
    }
}

async fn purge(gateway: &Services) {
    match trunkline_gateway::purge_prompts(gateway).await {
        Ok(0) => {}
        Ok(tasks) => tracing::info!(tasks_count = tasks, "deleted prompts of old tasks"),
        Err(error) => tracing::warn!(%error, "deleting old prompts failed"),
    }
    match trunkline_account_api::purge_events(gateway.account_api()).await {
        Ok((0, 0)) => {}
        Ok((days, copies)) => tracing::info!(
            days_count = days,
            copies_count = copies,
            "deleted old events"
        ),
        Err(error) => tracing::warn!(%error, "deleting old events failed"),
    }
    trunkline_gateway::sweep_media(gateway).await;
}
