//! How a node keeps up with what others write, and says that it lives.
//!
//! One look at the numbers of [`revision`] tells whether anything was written; only then are keys,
//! channels, limits and the catalog read. A notification brings the look forward; without one it comes as
//! often as the settings say, so a change is taken over in time whatever was heard.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;
use trunkline_db::{DbError, PollInterval, Signal, revision};
use trunkline_edge::obstacles::Obstacle;
use trunkline_ledger::recovery;

use crate::services::Services;

/// Between two looks, however much is written.
const LEAST: Duration = Duration::from_millis(50);
/// How often a node writes that it lives. Its peers bury it after two minutes of silence.
const BEAT: Duration = Duration::from_secs(5);
/// A node that was heard of so recently lives.
const LIVE_WITHIN: Duration = Duration::from_secs(15);

/// The numbers that a node has taken over.
type Seen = Option<Vec<(String, i64)>>;

/// Refreshes, and says that this node lives, until it is told to stop. Ends early when the node
/// was replaced: then nothing it says would count.
pub async fn run_refresh(services: Arc<Services>, mut stop: oneshot::Receiver<()>) {
    let every = services.settings.refresh;
    let interval = PollInterval {
        min: LEAST.min(every),
        polling: every,
        listening: every,
    };
    let mut subscription = services.data.notifications().subscribe(Signal::Revisions);
    let (mut seen, mut beat): (Seen, Option<Instant>) = (None, None);
    loop {
        let lives = compare(&services, &mut seen).await;
        let is_away = lives.is_err();
        if services.edge.obstacles.set(Obstacle::DatabaseAway, is_away) {
            match is_away {
                true => tracing::error!("database away; this node is not ready until it answers"),
                false => tracing::info!("database answers again"),
            }
        }
        let lives = lives.unwrap_or_else(|error| {
            tracing::warn!(%error, "refresh of keys and channels failed");
            true
        });
        if !lives || !heartbeat(&services, &mut beat).await {
            tracing::error!("node epoch: a newer process of this node has started; this one stops");
            services.drain();
            return;
        }
        tokio::select! {
            () = subscription.wait(interval) => {}
            _ = &mut stop => return,
        }
    }
}

/// Takes over what has changed, if anything has. False if this node was replaced.
async fn compare(services: &Services, seen: &mut Seen) -> Result<bool, DbError> {
    let began = Instant::now();
    let mut session = services.data.session().await?;
    let newest = revision::all(&mut session).await?;
    let lives = recovery::is_current_epoch(&mut session, services.ledger.node_epoch()).await?;
    drop(session);
    if seen.as_ref() == Some(&newest) {
        services.edge.key_table.are_as_compared(began);
        services.follow_platform_files().await;
    } else {
        services.refresh().await?;
        *seen = Some(newest);
    }
    Ok(lives)
}

/// Writes this node's heartbeat, and counts the live nodes, if it is time. False if it was replaced.
async fn heartbeat(services: &Services, last: &mut Option<Instant>) -> bool {
    if last.is_some_and(|at| at.elapsed() < BEAT) {
        return true;
    }
    match recovery::heartbeat(&services.data, services.ledger.node_epoch()).await {
        Ok(true) => *last = Some(Instant::now()),
        Ok(false) => return false,
        Err(error) => tracing::warn!(%error, "node heartbeat failed"),
    }
    // Limits are shared among the nodes that live when Redis is away.
    match recovery::live_nodes(&services.data, LIVE_WITHIN).await {
        Ok(nodes) => services.edge.limits.set_nodes(nodes),
        Err(error) => tracing::warn!(%error, "node count failed"),
    }
    true
}
