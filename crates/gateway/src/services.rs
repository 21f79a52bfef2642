//! One node's gateway: what its calls share, how it keeps that fresh, and how it stops.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use http::HeaderMap;
use tokio::sync::{broadcast, watch};
use tokio_util::task::TaskTracker;
use trunkline_blobs::Media;
use trunkline_bus::Bus;
use trunkline_catalog::Routes;
use trunkline_db::{Database, DbError, Session, revision};
use trunkline_keyring::{Keyring, RandomSource};
use trunkline_ledger::{Ledger, Outcome};
use trunkline_limits::Limits;
use trunkline_social::Cells;
use trunkline_store::{catalog, channels, limits};
use trunkline_types::{Clock, Money, RANDOM_BYTES, RequestId, Timestamp};
use trunkline_upstream::safe_fetch::SafeFetcher;
use trunkline_upstream::{Client, Providers};

use crate::caller::Caller;
use crate::catalog_snapshot::{CatalogLoadError, CatalogSnapshot};
use crate::channels::ChannelRegistry;
use crate::error::ApiError;
use crate::events::Hub;
use crate::in_flight::InFlight;
use crate::key_table::{KeyTable, KeyTableStats, Reconcile};
use crate::metrics::Metrics;
use crate::operations::generation::UploadDiskUsage;
use crate::operations::social::{PlatformConcurrency, SocialCatalog};
use crate::operations::video::{JobSlots, PollBudget};
use crate::rate_limit::Rules;
use crate::route_health::RouteHealthTable;
use crate::settings::Settings;
use crate::snapshot::Snapshot;
use crate::telemetry::Telemetry;
use crate::webhooks::WebhookSender;

/// Finished calls that a slow watcher may be behind.
const WATCHED_CALLS: usize = 256;

/// What a gateway is made of.
pub struct ServicesConfig {
    /// Limits and waits.
    pub settings: Settings,
    /// The money.
    pub ledger: Ledger,
    /// The database under the data plane's role.
    pub data: Database,
    /// Who can be asked, as data.
    pub providers: Providers,
    /// Opens credentials.
    pub keyring: Keyring,
    /// The way out.
    pub client: Client,
    /// Fetches what callers and upstreams name.
    pub fetcher: SafeFetcher,
    /// Finished files and uploads.
    pub media: Media,
    /// Counters over nodes.
    pub limits: Limits,
    /// Copies of events between nodes.
    pub bus: Bus,
    /// Social platforms, as data.
    pub cells: Cells,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Random bytes for ids.
    pub random: Arc<dyn RandomSource>,
    /// The way to the collector of traces; none to trace nothing.
    pub telemetry: Option<Telemetry>,
}

/// A gateway. Clones are the same one.
#[derive(Clone)]
pub struct Services {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) settings: Settings,
    pub(crate) ledger: Ledger,
    pub(crate) data: Database,
    pub(crate) doors: KeyTable,
    pub(crate) shelf: Snapshot<CatalogSnapshot>,
    /// The number of a catalog that could not be used; 0 if there is none.
    pub(crate) refused_catalog: AtomicI64,
    pub(crate) rounds: RouteHealthTable,
    pub(crate) channels: Snapshot<ChannelRegistry>,
    pub(crate) client: Client,
    pub(crate) fetcher: SafeFetcher,
    pub(crate) media: Media,
    pub(crate) limits: Limits,
    /// Limits of accounts with single models and platforms.
    pub(crate) rules: Snapshot<Rules>,
    pub(crate) bus: Bus,
    /// Who follows events.
    pub(crate) hub: Arc<Hub>,
    /// How often video vendors are asked.
    pub(crate) pace: PollBudget,
    /// Room for jobs of video tasks.
    pub(crate) video_rooms: JobSlots,
    /// Uploads on the disk.
    pub(crate) disk: UploadDiskUsage,
    /// Messages to webhooks.
    pub(crate) hooks: WebhookSender,
    /// What of social data is on the counter.
    pub(crate) counter: Snapshot<SocialCatalog>,
    /// Room for calls to each social platform.
    pub(crate) crowds: PlatformConcurrency,
    pub(crate) tasks: TaskTracker,
    pub(crate) numbers: Metrics,
    pub(crate) telemetry: Option<Telemetry>,
    providers: Providers,
    keyring: Keyring,
    clock: Arc<dyn Clock>,
    random: Arc<dyn RandomSource>,
    pub(crate) flight: InFlight,
    leaving: AtomicBool,
    draining: AtomicBool,
    calls: broadcast::Sender<CompletedCall>,
}

/// One finished call, for whoever watches.
#[derive(Debug, Clone)]
pub struct CompletedCall {
    /// Its id.
    pub request: RequestId,
    /// The public name of the model.
    pub model: String,
    /// How it ended.
    pub outcome: Outcome,
    /// What was charged; none if nothing was.
    pub charged: Option<Money>,
    /// Input and output tokens that were billed.
    pub tokens: (u64, u64),
}

// === impl Services ===

impl Services {
    /// Puts the parts together. Nothing is read yet: see [`Services::refresh`].
    #[must_use]
    pub fn new(parts: ServicesConfig) -> Self {
        let inner = Inner {
            ledger: parts.ledger,
            data: parts.data,
            doors: KeyTable::new(),
            shelf: Snapshot::new(CatalogSnapshot::empty()),
            refused_catalog: AtomicI64::new(0),
            rounds: RouteHealthTable::new(),
            channels: Snapshot::new(ChannelRegistry::default()),
            client: parts.client,
            hooks: WebhookSender::new(&parts.settings.webhooks, &parts.fetcher),
            fetcher: parts.fetcher,
            media: parts.media,
            limits: parts.limits,
            rules: Snapshot::new(Rules::default()),
            bus: parts.bus,
            hub: Hub::new(),
            pace: PollBudget::default(),
            video_rooms: JobSlots::new(parts.settings.video.at_once),
            disk: UploadDiskUsage::default(),
            counter: Snapshot::new(SocialCatalog::new(parts.cells)),
            crowds: PlatformConcurrency::default(),
            tasks: TaskTracker::new(),
            numbers: Metrics::default(),
            telemetry: parts.telemetry,
            providers: parts.providers,
            keyring: parts.keyring,
            clock: parts.clock,
            random: parts.random,
            flight: InFlight::default(),
            leaving: AtomicBool::new(false),
            draining: AtomicBool::new(false),
            calls: broadcast::channel(WATCHED_CALLS).0,
            settings: parts.settings,
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Takes over what has changed in the database: keys, accounts, channels, the catalog.
    pub async fn refresh(&self) -> Result<(), DbError> {
        self.inner.doors.follow(&self.inner.data).await?;
        let mut session = self.inner.data.session().await?;
        let newest = revision::current(&mut session, channels::TOPIC).await?;
        let before = self.inner.channels.get();
        if newest != before.revision {
            let rows = channels::list(&mut session).await?;
            let providers = &self.inner.providers;
            let channels =
                ChannelRegistry::build(rows, newest, providers, &self.inner.keyring, &before);
            self.inner.channels.set(channels);
        }
        self.follow_limits(&mut session).await?;
        self.follow_pauses(&mut session).await?;
        self.follow_catalog(&mut session).await?;
        drop(session);
        self.follow_cells().await;
        Ok(())
    }

    /// Takes over what has changed of keys and accounts alone: cheap, for whoever hears of a change.
    pub(crate) async fn refresh_keys(&self) -> Result<(), DbError> {
        self.inner.doors.follow(&self.inner.data).await
    }

    /// Compares keys and accounts in memory with the tables; where they differ, reads all anew.
    pub async fn recount(&self) -> Result<Reconcile, DbError> {
        self.inner.doors.recount(&self.inner.data).await
    }

    /// What the key table takes.
    #[must_use]
    pub fn key_table(&self) -> KeyTableStats {
        self.inner.doors.sizes()
    }

    async fn follow_limits(&self, session: &mut Session) -> Result<(), DbError> {
        let newest = revision::current(session, limits::TOPIC).await?;
        if newest != self.inner.rules.get().revision {
            let rows = limits::list(session).await?;
            self.inner.rules.set(Rules::new(rows, newest));
        }
        Ok(())
    }

    /// A catalog that cannot be used is told once and left; the last good one stays.
    async fn follow_catalog(&self, session: &mut Session) -> Result<(), DbError> {
        let newest = catalog::newest(session).await?;
        let before = self.inner.shelf.get();
        let refused = &self.inner.refused_catalog;
        if newest == before.revision || newest == refused.load(Ordering::Relaxed) {
            return Ok(());
        }
        match before.at(session, newest).await {
            Ok(shelf) => {
                refused.store(0, Ordering::Relaxed);
                self.inner.shelf.set(shelf);
                Ok(())
            }
            Err(CatalogLoadError::Db(error)) => Err(error),
            Err(error @ (CatalogLoadError::Book(_) | CatalogLoadError::Unreadable { .. })) => {
                tracing::error!(%error, catalog.revision = newest, "a catalog is not used");
                refused.store(newest, Ordering::Relaxed);
                // A node that has just started has none yet; the others sell what was good.
                if before.revision == 0 {
                    let usable = |changes| CatalogSnapshot::of_changes(changes).ok();
                    let good = catalog::newest_usable(session, newest, usable).await?;
                    good.into_iter()
                        .for_each(|shelf| self.inner.shelf.set(shelf));
                }
                Ok(())
            }
        }
    }

    /// What is sold now, and how its routes do.
    #[must_use]
    pub fn shelf(&self) -> Arc<CatalogSnapshot> {
        self.inner.shelf.get()
    }

    /// Changes whenever what is told of models or their routes may have.
    #[must_use]
    pub fn stamp(&self) -> u64 {
        let mut hash = DefaultHasher::new();
        let channels = self.inner.channels.get().revision;
        (
            self.shelf().revision,
            channels,
            self.inner.rounds.exchanges(),
        )
            .hash(&mut hash);
        self.inner.counter.get().stamp().hash(&mut hash);
        hash.finish()
    }

    /// What is known of a model's routes.
    #[must_use]
    pub fn routes(&self, model: &str) -> Routes {
        let count = self.inner.channels.get().count(model);
        self.inner.rounds.of(model, count)
    }

    pub(crate) fn keyring(&self) -> &Keyring {
        &self.inner.keyring
    }

    /// Adds what this node has seen of routes, and reads what all have.
    pub async fn exchange_health(&self) -> Result<(), DbError> {
        self.inner.rounds.exchange(&self.inner.data).await
    }

    /// Exchanges how routes do until it is told to stop. Beside [`Services::keep_fresh`] and not in it:
    /// it sums up a day, and neither keys nor the heartbeat may wait for that.
    pub async fn keep_counting(self, mut stop: watch::Receiver<bool>) {
        let mut pause = tokio::time::interval(self.inner.settings.health);
        pause.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            let stopped = tokio::select! {
                _ = pause.tick() => false,
                _ = stop.changed() => true,
            };
            if let Err(error) = self.exchange_health().await {
                tracing::warn!(%error, "how routes do could not be exchanged");
            }
            let inner = &self.inner;
            if let Err(error) = inner.doors.recount_in_time(&inner.data).await {
                tracing::warn!(%error, "keys and accounts could not be counted");
            }
            if stopped {
                return;
            }
        }
    }

    /// Whether calls can be served.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        let leaving = self.inner.leaving.load(Ordering::Relaxed);
        self.inner.doors.is_read() && !leaving && !self.is_draining()
    }

    /// Says that it goes away, so that balancers send their calls elsewhere. Whoever still comes is served.
    pub fn leave(&self) {
        self.inner.leaving.store(true, Ordering::Relaxed);
    }

    /// Takes no more calls.
    pub fn drain(&self) {
        self.inner.draining.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.inner.draining.load(Ordering::Relaxed)
    }

    /// Waits for the calls under way, but no longer than so.
    pub async fn finish(&self, longest: Duration) {
        self.drain();
        self.inner.tasks.close();
        if tokio::time::timeout(longest, self.inner.tasks.wait())
            .await
            .is_err()
        {
            let left = self.inner.tasks.len();
            tracing::warn!(calls_count = left, "calls were still under way at the end");
        }
    }

    /// Every call that ends from now on. Who falls behind misses some.
    #[must_use]
    pub fn watch(&self) -> broadcast::Receiver<CompletedCall> {
        self.inner.calls.subscribe()
    }

    /// Calls in flight.
    #[must_use]
    pub fn calls_in_flight(&self) -> usize {
        self.inner.flight.calls.load(Ordering::Relaxed)
    }

    /// Bytes of bodies that are in memory, or promised.
    pub(crate) fn buffered_bytes(&self) -> usize {
        self.inner.flight.bytes.load(Ordering::Relaxed)
    }

    /// A fresh id.
    pub fn request_id(&self) -> RequestId {
        let mut random = [0; RANDOM_BYTES];
        if self.inner.random.fill(&mut random).is_err() {
            tracing::error!("the system has no random bytes");
        }
        RequestId::new(self.inner.now(), random)
    }

    /// Who calls.
    pub(crate) fn caller(
        &self,
        sent: (&HeaderMap, Option<&str>),
        address: IpAddr,
    ) -> Result<Caller, ApiError> {
        let inner = &self.inner;
        Caller::known(&inner.doors, &inner.settings, sent, address, inner.now())
    }
}

// === impl Inner ===

impl Inner {
    /// Random bytes; none if the system has none.
    pub(crate) fn fill_random(&self, bytes: &mut [u8]) -> Option<()> {
        self.random.fill(bytes).ok()
    }

    /// Tells of a call that ended.
    pub(crate) fn tell(&self, line: CompletedCall) {
        let numbers = &self.numbers;
        self.rounds.count(&line.model, line.outcome, line.tokens.1);
        match line.charged {
            Some(charged) => {
                numbers.charged.fetch_add(1, Ordering::Relaxed);
                let nanos = charged.nanos();
                numbers.charged_nanos.fetch_add(nanos, Ordering::Relaxed);
            }
            None => {
                numbers.voided.fetch_add(1, Ordering::Relaxed);
            }
        }
        // Nobody may be watching.
        drop(self.calls.send(line));
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }
}
