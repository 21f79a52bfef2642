//! A running node: the gateway with its listeners and the jobs that keep it, started and stopped as
//! one.

mod listeners;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;
use trunkline_db::{Database, SystemClock};
use trunkline_gateway::{
    EdgeSettings, Gateway, Parts, Settings, Telemetry, TelemetrySettings, VideoJob,
};
use trunkline_keyring::{Keyring, SystemRandom};
use trunkline_ledger::{Author, Ledger, LedgerSettings, LedgerTasks, partitions, recovery};
use trunkline_media::{Media, MediaSettings};
use trunkline_social::Cells;
use trunkline_store::routes;
use trunkline_terms::NodeId;
use trunkline_upstream::guarded::{Guarded, GuardedSettings};
use trunkline_upstream::{Client, Providers, Roots};
use trunkline_worker::{tidy, video};

use self::listeners::{Addresses, Listeners};

/// A node that is silent for so long is buried by its peers.
const DEAD_AFTER: Duration = Duration::from_secs(120);
const SWEEP_EVERY: Duration = Duration::from_secs(15);
const PARTITIONS_EVERY: Duration = Duration::from_secs(3_600);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// New calls are still taken for so long after the word to stop, until balancers have noticed.
const NOTICE: Duration = Duration::from_secs(1);

/// What a node is made of.
pub(crate) struct Plan {
    pub(crate) name: NodeId,
    pub(crate) data: Database,
    pub(crate) keyring: Keyring,
    pub(crate) providers: Providers,
    pub(crate) cells: Cells,
    pub(crate) extra_roots: Roots,
    pub(crate) media: MediaSettings,
    pub(crate) fetch: GuardedSettings,
    pub(crate) settings: Settings,
    pub(crate) edge: SocketAddr,
    pub(crate) edge_settings: EdgeSettings,
    pub(crate) console: SocketAddr,
    pub(crate) admin: SocketAddr,
    pub(crate) telemetry: Option<TelemetrySettings>,
}

/// A node that is running.
pub(crate) struct Node {
    pub(crate) gateway: Gateway,
    pub(crate) edge: SocketAddr,
    pub(crate) console: SocketAddr,
    pub(crate) admin: SocketAddr,
    data: Database,
    ledger_tasks: LedgerTasks,
    replaced: watch::Receiver<bool>,
    stop_listening: watch::Sender<bool>,
    stop_fresh: oneshot::Sender<()>,
    stop_jobs: watch::Sender<bool>,
    tasks: JoinSet<()>,
    stop_traces: watch::Sender<bool>,
    traces: JoinSet<()>,
}

impl Node {
    /// Takes its addresses, registers, reads what it needs to know, and serves. In this order: to
    /// register ends the life of a process of the same name, which must not happen to one that runs
    /// because a second one was started by mistake.
    pub(crate) async fn start(plan: Plan) -> anyhow::Result<Self> {
        let wanted = Addresses {
            edge: plan.edge,
            console: plan.console,
            admin: plan.admin,
        };
        let listeners = Listeners::bind(wanted, plan.edge_settings).await?;
        let addresses = listeners.addresses()?;
        let settings = with_port(plan.settings, plan.edge, addresses.edge);
        let data = plan.data;
        let made = partitions::ensure(&data).await;
        made.context("cannot make the ledger's partitions")?;
        let opened = Ledger::open(data.clone(), &plan.name, LedgerSettings::default());
        let (ledger, ledger_tasks) = opened.await.context("cannot register this node")?;
        let author = ledger.author().clone();
        let client = Client::with_roots(CONNECT_TIMEOUT, &plan.extra_roots)?;
        let (stop_traces, traces_stopped) = watch::channel(false);
        let mut traces = JoinSet::new();
        let telemetry = plan.telemetry.map(|settings| {
            let (telemetry, exporter) = Telemetry::open(settings, client.clone());
            traces.spawn(exporter.run(traces_stopped));
            telemetry
        });
        let media = Media::open(&plan.media);
        let media = media.await.context("cannot open the media store")?;
        let gateway = Gateway::new(Parts {
            fetcher: Guarded::new(plan.fetch)?,
            media,
            cells: plan.cells,
            settings,
            ledger,
            data: data.clone(),
            providers: plan.providers,
            keyring: plan.keyring,
            client,
            clock: Arc::new(SystemClock),
            random: Arc::new(SystemRandom),
            telemetry,
        });
        let read = gateway.refresh().await;
        read.context("cannot read keys, channels and the catalog")?;
        let (stop_listening, stopped) = watch::channel(false);
        let (stop_fresh, fresh) = oneshot::channel();
        let (stop_jobs, jobs) = watch::channel(false);
        let mut tasks = JoinSet::new();
        listeners.open(&gateway, &data, &stopped, &mut tasks);
        let (told, replaced) = watch::channel(false);
        let fresh = gateway.clone().keep_fresh(fresh);
        tasks.spawn(async move {
            fresh.await;
            told.send_replace(true);
        });
        start_jobs(&mut tasks, &gateway, &jobs);
        tasks.spawn(keep_house(data.clone(), author, jobs));
        Ok(Self {
            gateway,
            edge: addresses.edge,
            console: addresses.console,
            admin: addresses.admin,
            data,
            ledger_tasks,
            replaced,
            stop_listening,
            stop_fresh,
            stop_jobs,
            tasks,
            stop_traces,
            traces,
        })
    }

    /// Waits until this node's next life has begun elsewhere; then nothing it says counts.
    pub(crate) async fn replaced(&self) {
        let mut replaced = self.replaced.clone();
        // The task that would tell is gone only when the node is.
        drop(replaced.wait_for(|over| *over).await);
    }

    /// Takes no new calls, lets running ones end within the time given, and is gone.
    pub(crate) async fn stop(mut self, drain: Duration) {
        self.gateway.drain();
        tokio::time::sleep(NOTICE.min(drain)).await;
        self.stop_listening.send_replace(true);
        self.gateway.finish(drain).await;
        // Who waits for these may have ended by itself.
        self.stop_fresh.send(()).ok();
        self.stop_jobs.send_replace(true);
        let ended = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(drain, ended).await.is_err() {
            tracing::warn!("connections were still open at the end");
        }
        self.tasks.shutdown().await;
        // After the last call has ended; it takes a bounded time by itself.
        self.stop_traces.send_replace(true);
        while self.traces.join_next().await.is_some() {}
        drop(self.gateway);
        let last_words = self.ledger_tasks.finish();
        if tokio::time::timeout(drain, last_words).await.is_err() {
            tracing::error!("the ledger could not say its last words; the next life will");
        }
        drop(self.data.close().await);
    }
}

/// Links are made of the address that is really listened on.
fn with_port(mut settings: Settings, wanted: SocketAddr, is: SocketAddr) -> Settings {
    if wanted.port() == 0 {
        settings.public_url = format!("http://{is}");
    }
    settings
}

/// Loops that run until they are told to stop.
fn start_jobs(tasks: &mut JoinSet<()>, gateway: &Gateway, stop: &watch::Receiver<bool>) {
    tasks.spawn(gateway.clone().keep_counting(stop.clone()));
    for job in VideoJob::ALL {
        tasks.spawn(video::run(gateway.clone(), job, stop.clone()));
    }
    tasks.spawn(tidy::run(gateway.clone(), stop.clone()));
}

/// The jobs of every node: whoever comes first does them.
async fn keep_house(data: Database, author: Author, mut stop: watch::Receiver<bool>) {
    let mut sweep = tokio::time::interval(SWEEP_EVERY);
    let mut partition = tokio::time::interval(PARTITIONS_EVERY);
    loop {
        tokio::select! {
            _ = stop.changed() => return,
            _ = sweep.tick() => match recovery::sweep(&data, &author, DEAD_AFTER).await {
                Ok(0) => {}
                Ok(holds) => tracing::warn!(holds_count = holds, "holds of nobody were let go"),
                Err(error) => tracing::warn!(%error, "nothing could be swept"),
            },
            _ = partition.tick() => {
                if let Err(error) = partitions::ensure(&data).await {
                    tracing::error!(%error, "partitions could not be made ahead");
                }
                if let Err(error) = routes::forget(&data).await {
                    tracing::warn!(%error, "old minutes of routes could not be forgotten");
                }
            },
        }
    }
}
