//! The tasks of a running node, and the signals that end them.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;
use trunkline_db::Database;
use trunkline_gateway::Services;
use trunkline_ledger::{NodeEpoch, partitions, recovery};
use trunkline_limits::SyncTask;
use trunkline_store::route_health;
use trunkline_worker::JobContext;

use super::listeners::{ConsoleDeps, Listeners};
use crate::handover::Passable;

/// A node without a heartbeat for this long is considered dead by its peers.
const DEAD_AFTER: Duration = Duration::from_secs(120);
const SWEEP_EVERY: Duration = Duration::from_secs(15);
const PARTITIONS_EVERY: Duration = Duration::from_secs(3_600);

/// Listeners and loops that run until they are told to stop.
pub(super) struct Background {
    /// True when another process has registered this node's next epoch.
    pub(super) replaced: watch::Receiver<bool>,
    stop_listening: watch::Sender<bool>,
    handed_over: watch::Sender<bool>,
    /// What a successor gets.
    pub(super) passed: Vec<Passable>,
    stop_fresh: oneshot::Sender<()>,
    stop_jobs: watch::Sender<bool>,
    tasks: JoinSet<()>,
}

// === impl Background ===

impl Background {
    /// Serves, and starts the loops; those of a worker and of a console where the node has one.
    pub(super) fn start(
        gateway: &Arc<Services>,
        data: &Database,
        listeners: Listeners,
        console: Option<ConsoleDeps>,
        worker: Option<JobContext>,
        keeper: Option<SyncTask>,
        author: NodeEpoch,
    ) -> Self {
        let (stop_listening, stopped) = watch::channel(false);
        let (stop_jobs, jobs) = watch::channel(false);
        let mut tasks = JoinSet::new();
        let console = console.map(|deps| deps.open(gateway, &jobs, &mut tasks));
        let (handed_over, passed) = (listeners.handed_over.clone(), listeners.passed.clone());
        listeners.open(gateway, console, &stopped, &mut tasks);
        let (stop_fresh, replaced) = keep_fresh(&mut tasks, gateway);
        start_keeping(&mut tasks, gateway, keeper, author, data, &jobs);
        if let Some(context) = worker {
            trunkline_worker::start(&mut tasks, context, &jobs);
        }
        Self {
            replaced,
            stop_listening,
            handed_over,
            passed,
            stop_fresh,
            stop_jobs,
            tasks,
        }
    }

    /// Runs one more loop until the others end.
    pub(super) fn keep<F>(&mut self, run: impl FnOnce(watch::Receiver<bool>) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.tasks.spawn(run(self.stop_jobs.subscribe()));
    }

    /// Leaves new connections to another process.
    pub(super) fn hand_over(&self) {
        self.handed_over.send_replace(true);
    }

    /// Takes no new connections.
    pub(super) fn stop_listening(&self) {
        self.stop_listening.send_replace(true);
    }

    /// Ends every loop, and waits for them and for connections within the time given.
    pub(super) async fn finish(mut self, drain: Duration) {
        // Who waits for these may have ended by itself.
        self.stop_fresh.send(()).ok();
        self.stop_jobs.send_replace(true);
        let ended = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(drain, ended).await.is_err() {
            tracing::warn!("shutdown: connections still open after the drain time");
        }
        self.tasks.shutdown().await;
    }
}

/// Loops of every node, whatever its roles, until they are told to stop.
fn start_keeping(
    tasks: &mut JoinSet<()>,
    gateway: &Arc<Services>,
    keeper: Option<SyncTask>,
    author: NodeEpoch,
    data: &Database,
    stop: &watch::Receiver<bool>,
) {
    tasks.spawn(data.clone().listen(stop.clone()));
    tasks.spawn(run_maintenance(data.clone(), author, stop.clone()));
    tasks.spawn(gateway.clone().run_health_exchange(stop.clone()));
    tasks.spawn(gateway.clone().run_channel_probes(stop.clone()));
    tasks.spawn(gateway.clone().run_live_connections(stop.clone()));
    tasks.spawn(trunkline_account_api::run_event_hub(
        gateway.account_api().clone(),
        stop.clone(),
    ));
    if let Some(keeper) = keeper {
        tasks.spawn(keeper.run(stop.clone()));
    }
}

/// Refreshes keys, channels and the catalog; reports when another process took this node's name.
fn keep_fresh(
    tasks: &mut JoinSet<()>,
    gateway: &Arc<Services>,
) -> (oneshot::Sender<()>, watch::Receiver<bool>) {
    let (stop_fresh, stop) = oneshot::channel();
    let (signal, replaced) = watch::channel(false);
    let fresh = trunkline_gateway::run_refresh(gateway.clone(), stop);
    tasks.spawn(async move {
        fresh.await;
        signal.send_replace(true);
    });
    (stop_fresh, replaced)
}

/// Maintenance on every node: recovery of holds, partitions, route health cleanup.
async fn run_maintenance(data: Database, author: NodeEpoch, mut stop: watch::Receiver<bool>) {
    let mut sweep = tokio::time::interval(SWEEP_EVERY);
    let mut partition = tokio::time::interval(PARTITIONS_EVERY);
    loop {
        tokio::select! {
            _ = stop.changed() => return,
            _ = sweep.tick() => match recovery::sweep(&data, &author, DEAD_AFTER).await {
                Ok(0) => {}
                Ok(holds) => tracing::warn!(holds_count = holds, "voided holds of expired or dead nodes"),
                Err(error) => tracing::warn!(%error, "hold recovery failed"),
            },
            _ = partition.tick() => {
                if let Err(error) = partitions::ensure(&data).await {
                    tracing::error!(%error, "partition creation failed");
                }
                report_lock_shortage(&data).await;
                if let Err(error) = route_health::purge(&data).await {
                    tracing::warn!(%error, "route health cleanup failed");
                }
            },
        }
    }
}

/// Days are added one by one, so the server's locks may run out months after it was set up.
async fn report_lock_shortage(data: &Database) {
    match partitions::lock_shortage(data).await {
        Ok(None) => {}
        Ok(Some(shortage)) => tracing::warn!(
            relations_count = shortage.relations,
            locks_count = shortage.locks,
            "lock check: PostgreSQL has too few locks for queries over all days of calls; \
             raise max_locks_per_transaction (docs/operate/nodes.md, Locks in PostgreSQL)"
        ),
        Err(error) => tracing::warn!(%error, "lock check failed"),
    }
}
