//! One node's gateway: what its calls share, how it keeps that fresh, and how it stops.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use tokio::sync::{broadcast, watch};
use tokio_util::task::TaskTracker;
use trunkline_account_api::{AccountApi, AccountConfig, AccountSettings};
use trunkline_blobs::Media;
use trunkline_catalog::Routes;
use trunkline_db::bus::Bus;
use trunkline_db::{Database, DbError, Session, revision};
use trunkline_edge::key_table::{KeyTableStats, Reconcile};
use trunkline_edge::obstacles::Obstacle;
use trunkline_edge::state::{CompletedCall, EdgeConfig, EdgeState};
use trunkline_edge::telemetry::Telemetry;
use trunkline_keyring::{Keyring, RandomSource};
use trunkline_ledger::{Ledger, recovery};
use trunkline_limits::Limits;
use trunkline_social::Cells;
use trunkline_store::live_connections::LiveConnection;
use trunkline_store::{catalog, channels};
use trunkline_types::{Clock, NodeId, RequestId, Timestamp};
use trunkline_upstream::safe_fetch::SafeFetcher;
use trunkline_upstream::{Client, Providers};

use crate::caller::Caller;
use crate::catalog_snapshot::{CatalogLoadError, CatalogSnapshot};
use crate::channel_health::ChannelHealthTable;
use crate::channels::ChannelRegistry;
use crate::guardrail::Guardrail;
use crate::live_connections::{self, LiveConnections};
use crate::losses::MoneyAtRisk;
use crate::request_context::RequestContext;
use crate::route_health::RouteHealthTable;
use crate::settings::Settings;
use crate::state::{
    CancelledInput, JobSlots, PlatformConcurrency, PollBudget, SocialCatalog, follow_files,
    follow_pauses,
};
use crate::uploads::UploadDiskUsage;

/// What [`Services`] are made of.
pub struct ServicesConfig {
    pub settings: Settings,
    pub ledger: Ledger,
    /// The database under the data plane's role.
    pub data: Database,
    /// The providers, as data.
    pub providers: Providers,
    pub keyring: Keyring,
    pub client: Client,
    /// Fetches what callers and upstreams name.
    pub fetcher: SafeFetcher,
    pub media: Media,
    pub limits: Limits,
    /// Copies of events between nodes.
    pub bus: Bus,
    pub cells: Cells,
    pub clock: Arc<dyn Clock>,
    /// Random bytes for ids.
    pub random: Arc<dyn RandomSource>,
    /// The way to the collector of traces; none to trace nothing.
    pub telemetry: Option<Telemetry>,
}

/// What the requests and jobs of one node share.
pub struct Services {
    pub(crate) settings: Settings,
    /// What requests share before they are understood.
    pub(crate) edge: Arc<EdgeState>,
    /// What a key can ask about itself; events and webhooks.
    pub(crate) account_api: Arc<AccountApi>,
    pub(crate) ledger: Ledger,
    pub(crate) data: Database,
    pub(crate) catalog: ArcSwap<CatalogSnapshot>,
    /// The number of a catalog that could not be used; 0 if there is none.
    pub(crate) rejected_catalog: AtomicI64,
    pub(crate) route_health: Arc<RouteHealthTable>,
    pub(crate) channel_health: Arc<ChannelHealthTable>,
    pub(crate) channels: ArcSwap<ChannelRegistry>,
    pub(crate) client: Client,
    pub(crate) fetcher: SafeFetcher,
    pub(crate) media: Media,
    /// Connections that are open on this node.
    pub(crate) live_connections: Arc<LiveConnections>,
    /// The service that is asked about calls.
    pub(crate) guardrail: Option<Guardrail>,
    /// How often video vendors are asked.
    pub(crate) poll_budget: PollBudget,
    /// Input of calls whose clients left, by account.
    pub(crate) cancelled_input: CancelledInput,
    pub(crate) job_slots: JobSlots,
    pub(crate) upload_disk: UploadDiskUsage,
    pub(crate) social_catalog: ArcSwap<SocialCatalog>,
    /// Calls at once to each social platform.
    pub(crate) platform_concurrency: PlatformConcurrency,
    /// Today's losses and the open holds, where a job of this node measures them.
    pub(crate) losses: ArcSwapOption<MoneyAtRisk>,
    pub(crate) tasks: TaskTracker,
    providers: ArcSwap<Providers>,
    pub(crate) keyring: Keyring,
}

// === impl Services ===

impl Services {
    /// Puts the parts together. Nothing is read yet: see [`Services::refresh`].
    #[must_use]
    pub fn new(parts: ServicesConfig) -> Arc<Self> {
        let route_health = Arc::new(RouteHealthTable::new());
        let counted = Arc::clone(&route_health);
        let channel_health = Arc::new(ChannelHealthTable::default());
        let by_channel = Arc::clone(&channel_health);
        let edge = EdgeState::new(EdgeConfig {
            settings: parts.settings.accept.clone(),
            limits: parts.limits,
            clock: parts.clock,
            random: parts.random,
            telemetry: parts.telemetry,
            on_completed: Box::new(move |call: &CompletedCall| {
                counted.count(&call.model, call.outcome, call.tokens.output);
                by_channel.count(call);
            }),
        });
        let tasks = TaskTracker::new();
        let account_api = AccountApi::new(AccountConfig {
            settings: AccountSettings {
                reader_wait: parts.settings.accept.reader_wait,
                events: parts.settings.events.clone(),
                webhooks: parts.settings.webhooks.clone(),
            },
            edge: Arc::clone(&edge),
            data: parts.data.clone(),
            ledger: parts.ledger.clone(),
            keyring: parts.keyring.clone(),
            fetcher: parts.fetcher.clone(),
            bus: parts.bus,
            tasks: tasks.clone(),
        });
        let guardrail = parts.settings.guardrail.clone().map(|settings| {
            let (client, edge) = (parts.client.clone(), Arc::clone(&edge));
            Guardrail::new(settings, client, edge, tasks.clone())
        });
        Arc::new(Self {
            edge,
            account_api,
            ledger: parts.ledger,
            data: parts.data,
            catalog: ArcSwap::from_pointee(CatalogSnapshot::empty()),
            rejected_catalog: AtomicI64::new(0),
            route_health,
            channel_health,
            channels: ArcSwap::from_pointee(ChannelRegistry::default()),
            client: parts.client,
            fetcher: parts.fetcher,
            media: parts.media,
            live_connections: Arc::default(),
            guardrail,
            poll_budget: PollBudget::default(),
            cancelled_input: CancelledInput::default(),
            job_slots: JobSlots::new(parts.settings.video.at_once),
            upload_disk: UploadDiskUsage::default(),
            social_catalog: ArcSwap::from_pointee(SocialCatalog::new(parts.cells)),
            platform_concurrency: PlatformConcurrency::default(),
            losses: ArcSwapOption::empty(),
            tasks,
            providers: ArcSwap::from_pointee(parts.providers),
            keyring: parts.keyring,
            settings: parts.settings,
        })
    }

    /// Takes over what has changed in the database: keys, accounts, channels, the catalog.
    pub async fn refresh(&self) -> Result<(), DbError> {
        self.edge.key_table.follow(&self.data).await?;
        let mut session = self.data.session().await?;
        let newest = revision::current(&mut session, channels::TOPIC).await?;
        let before = self.channels.load_full();
        let has_new_files = self.follow_provider_files().await;
        self.follow_keyring(&mut session).await?;
        let has_new_keys = before.generations != Some(self.keyring.generations());
        if newest != before.revision || has_new_files || has_new_keys {
            let rows = channels::list(&mut session).await?;
            let providers = self.providers.load_full();
            let channels = ChannelRegistry::build(rows, newest, &providers, &self.keyring, &before);
            let obstacles = &self.edge.obstacles;
            obstacles.set(Obstacle::NoCredentialOpens, channels.opens_nothing());
            self.channels.store(Arc::new(channels));
        }
        self.edge.follow_limits(&mut session).await?;
        follow_pauses(&self.social_catalog, &mut session).await?;
        self.follow_catalog(&mut session).await?;
        drop(session);
        self.follow_platform_files().await;
        Ok(())
    }

    /// Takes over what has changed of keys and accounts alone: cheap, after a notification.
    pub(crate) async fn refresh_keys(&self) -> Result<(), DbError> {
        self.edge.key_table.follow(&self.data).await
    }

    /// Compares keys and accounts in memory with the tables; where they differ, reads all anew.
    pub async fn reconcile_keys(&self) -> Result<Reconcile, DbError> {
        self.edge.key_table.recount(&self.data).await
    }

    /// Entries and memory of the key table.
    #[must_use]
    pub fn key_table_stats(&self) -> KeyTableStats {
        self.edge.key_table.sizes()
    }

    /// Takes over changed files of social platforms.
    pub(crate) async fn follow_platform_files(&self) {
        if let Some(folder) = &self.settings.social.cells {
            follow_files(&self.social_catalog, folder.clone()).await;
        }
    }

    /// Takes over changed files of providers. What is wrong is logged once, and the old ones stay in use.
    async fn follow_provider_files(&self) -> bool {
        let before = self.providers.load_full();
        if before.folder().is_none() {
            return false;
        }
        let reread = tokio::task::spawn_blocking(move || before.reread());
        let Ok(Some((providers, error))) = reread.await else {
            return false;
        };
        self.providers.store(Arc::new(providers));
        match error {
            None => tracing::info!("provider files reloaded"),
            Some(error) => {
                tracing::error!(%error, "provider files rejected; the old ones stay in use");
                return false;
            }
        }
        true
    }

    /// A catalog that cannot be used is told once and left; the last good one stays.
    async fn follow_catalog(&self, session: &mut Session) -> Result<(), DbError> {
        let newest = catalog::newest(session).await?;
        let before = self.catalog.load_full();
        let rejected = &self.rejected_catalog;
        if newest == before.revision || newest == rejected.load(Ordering::Relaxed) {
            return Ok(());
        }
        match before.at(session, newest).await {
            Ok(catalog) => {
                rejected.store(0, Ordering::Relaxed);
                self.catalog.store(Arc::new(catalog));
                Ok(())
            }
            Err(CatalogLoadError::Db(error)) => Err(error),
            Err(error @ (CatalogLoadError::Book(_) | CatalogLoadError::Unreadable { .. })) => {
                tracing::error!(%error, catalog.revision = newest, "catalog reload: the new catalog was rejected");
                rejected.store(newest, Ordering::Relaxed);
                // A node that has just started has none yet; the others sell what was good.
                if before.revision == 0 {
                    let usable = |changes| CatalogSnapshot::of_changes(changes).ok();
                    let good = catalog::newest_usable(session, newest, usable).await?;
                    good.into_iter()
                        .for_each(|catalog| self.catalog.store(Arc::new(catalog)));
                }
                Ok(())
            }
        }
    }

    /// The models and prices of now.
    #[must_use]
    pub fn catalog(&self) -> Arc<CatalogSnapshot> {
        self.catalog.load_full()
    }

    /// Changes whenever what is told of models or their routes may have.
    #[must_use]
    pub fn catalog_etag(&self) -> u64 {
        let mut hash = DefaultHasher::new();
        let channels = self.channels.load_full().revision;
        (
            self.catalog().revision,
            channels,
            self.route_health.exchanges(),
        )
            .hash(&mut hash);
        self.social_catalog.load_full().stamp().hash(&mut hash);
        hash.finish()
    }

    /// What is known of a model's routes.
    #[must_use]
    pub fn routes(&self, model: &str) -> Routes {
        let count = self.channels.load_full().count(model);
        self.route_health.of(model, count)
    }

    /// Adds what this node has seen of routes, and reads what all have.
    pub async fn exchange_health(&self) -> Result<(), DbError> {
        self.channel_health.exchange(&self.data).await?;
        self.route_health.exchange(&self.data).await
    }

    /// Exchanges how routes do until it is told to stop. Beside `run_refresh` and not in it:
    /// it sums up a day, and neither keys nor the heartbeat may wait for that.
    pub async fn run_health_exchange(self: Arc<Self>, mut stop: watch::Receiver<bool>) {
        let mut pause = tokio::time::interval(self.settings.health);
        pause.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            let stopped = tokio::select! {
                _ = pause.tick() => false,
                _ = stop.changed() => true,
            };
            if let Err(error) = self.exchange_health().await {
                tracing::warn!(%error, "route health exchange failed");
            }
            if let Err(error) = self.edge.key_table.recount_in_time(&self.data).await {
                tracing::warn!(%error, "key table check: counting keys and accounts failed");
            }
            if stopped {
                return;
            }
        }
    }

    /// Writes which connections are open here, and closes those that an operator wants closed, until it is told to stop.
    pub async fn run_live_connections(self: Arc<Self>, mut stop: watch::Receiver<bool>) {
        let mut pause = tokio::time::interval(live_connections::EVERY);
        pause.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            let stopped = tokio::select! {
                _ = pause.tick() => false,
                _ = stop.changed() => true,
            };
            if let Err(error) = self.exchange_live_connections().await {
                tracing::warn!(%error, "live connections: exchange with the database failed");
            }
            if stopped {
                return;
            }
        }
    }

    /// What is known of every connection that opens.
    pub(crate) fn live_connection(
        &self,
        context: &RequestContext,
        caller: &Caller,
        endpoint: &str,
    ) -> LiveConnection {
        LiveConnection {
            id: context.id,
            node: self.node().as_str().to_owned(),
            account: caller.account.id,
            key: caller.key.id,
            endpoint: endpoint.to_owned(),
            model: None,
            channel: None,
            opened_at: self.now(),
            closes: false,
        }
    }

    /// Writes what has changed of the connections here, and closes those that an operator wants closed.
    pub async fn exchange_live_connections(&self) -> Result<(), DbError> {
        let node = self.node().as_str();
        self.live_connections.exchange(&self.data, node).await
    }

    /// What requests share before they are understood.
    #[must_use]
    pub fn edge(&self) -> &Arc<EdgeState> {
        &self.edge
    }

    /// What a key can ask about itself; events and webhooks.
    #[must_use]
    pub fn account_api(&self) -> &Arc<AccountApi> {
        &self.account_api
    }

    /// Not ready from now on, so that balancers send their calls elsewhere. Calls that still come are served.
    pub fn begin_drain(&self) {
        self.edge.begin_drain();
    }

    /// Leaves new calls to a successor: limits are not divided by this node any more.
    pub async fn leave_to_successor(&self) {
        if let Err(error) = recovery::leave(&self.data, self.ledger.node_epoch()).await {
            tracing::warn!(%error, "handover: limits are still divided by this node");
        }
    }

    /// This node among the others.
    #[must_use]
    pub fn node(&self) -> &NodeId {
        &self.ledger.node_epoch().node
    }

    /// Takes no more calls.
    pub fn drain(&self) {
        self.edge.drain();
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.edge.is_draining()
    }

    /// Waits for the calls under way, but no longer than so.
    pub async fn finish(&self, longest: Duration) {
        self.drain();
        self.tasks.close();
        if tokio::time::timeout(longest, self.tasks.wait())
            .await
            .is_err()
        {
            let left = self.tasks.len();
            tracing::warn!(
                calls_count = left,
                "drain: calls were still in flight at the deadline"
            );
        }
    }

    /// Every call that ends from now on. A receiver that falls behind misses some.
    #[must_use]
    pub fn completed_calls(&self) -> broadcast::Receiver<CompletedCall> {
        self.edge.completed_calls()
    }

    #[must_use]
    pub fn calls_in_flight(&self) -> usize {
        self.edge.calls_in_flight()
    }

    pub fn request_id(&self) -> RequestId {
        self.edge.request_id()
    }

    /// Random bytes; none if the system has none.
    pub(crate) fn fill_random(&self, bytes: &mut [u8]) -> Option<()> {
        self.edge.fill_random(bytes)
    }

    pub fn now(&self) -> Timestamp {
        self.edge.now()
    }
}
