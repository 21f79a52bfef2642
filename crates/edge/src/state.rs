//! What the requests of one node share before any of them is understood: keys, limits, metrics, the
//! clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwap;
use tokio::sync::broadcast;
use trunkline_db::{DbError, Session, revision};
use trunkline_keyring::RandomSource;
use trunkline_ledger::Outcome;
use trunkline_limits::Limits;
use trunkline_store::keys::KeyHash;
use trunkline_store::limits;
use trunkline_types::{AccountId, Clock, Money, RANDOM_BYTES, RequestId, Timestamp};

use crate::attempt::AttemptSample;
use crate::error::ApiError;
use crate::id_bytes::IdBytes;
use crate::in_flight::{InFlight, InFlightPermit};
use crate::key_table::{Found, KeyTable};
use crate::limit_rules::Rules;
use crate::metrics::Metrics;
use crate::obstacles::Obstacles;
use crate::settings::AcceptSettings;
use crate::telemetry::Telemetry;
use crate::tokens::Tokens;

/// Finished calls that a slow watcher may be behind.
const WATCHED_CALLS: usize = 256;

/// What [`EdgeState`] is made of.
pub struct EdgeConfig {
    pub settings: AcceptSettings,
    pub limits: Limits,
    pub clock: Arc<dyn Clock>,
    /// Random bytes for ids.
    pub random: Arc<dyn RandomSource>,
    /// The way to the collector of traces; none to trace nothing.
    pub telemetry: Option<Telemetry>,
    /// Called with every call that ends, before its watchers are notified.
    pub on_completed: OnCompleted,
}

/// Counts a call that ended.
pub type OnCompleted = Box<dyn Fn(&CompletedCall) + Send + Sync>;

/// State of the edge, shared by the requests of one node.
pub struct EdgeState {
    pub settings: AcceptSettings,
    pub key_table: KeyTable,
    pub in_flight: Arc<InFlight>,
    pub limits: Limits,
    /// Limits of accounts with single models and platforms.
    pub(crate) limit_rules: ArcSwap<Rules>,
    pub metrics: Arc<Metrics>,
    pub telemetry: Option<Telemetry>,
    clock: Arc<dyn Clock>,
    random: Arc<dyn RandomSource>,
    id_bytes: IdBytes,
    leaving: AtomicBool,
    pub obstacles: Obstacles,
    completed_calls: broadcast::Sender<CompletedCall>,
    on_completed: OnCompleted,
}

#[derive(Debug, Clone)]
pub struct CompletedCall {
    pub request: RequestId,
    /// The public name of the model.
    pub model: String,
    pub outcome: Outcome,
    /// What was charged; none if nothing was.
    pub charged: Option<Money>,
    /// Input and output tokens that were billed.
    pub tokens: Tokens,
    /// Its name in policies, quotes and usage rows.
    pub endpoint: &'static str,
    /// What its attempts say about their channels.
    pub attempts: Vec<AttemptSample>,
}

impl EdgeState {
    /// Puts the parts together. No key is read yet.
    #[must_use]
    pub fn new(config: EdgeConfig) -> Arc<Self> {
        Arc::new(Self {
            settings: config.settings,
            key_table: KeyTable::new(),
            in_flight: Arc::default(),
            limits: config.limits,
            limit_rules: ArcSwap::from_pointee(Rules::default()),
            metrics: Arc::default(),
            telemetry: config.telemetry,
            clock: config.clock,
            random: config.random,
            id_bytes: IdBytes::default(),
            leaving: AtomicBool::new(false),
            obstacles: Obstacles::default(),
            completed_calls: broadcast::channel(WATCHED_CALLS).0,
            on_completed: config.on_completed,
        })
    }

    /// What the key table says now of a key.
    pub fn find_key(&self, hash: &KeyHash) -> Found {
        let stale_after = self.settings.stale_after;
        self.key_table.find_hash(hash, stale_after, self.now())
    }

    /// Takes over changed limits of accounts with single models and platforms.
    pub async fn follow_limits(&self, session: &mut Session) -> Result<(), DbError> {
        let newest = revision::current(session, limits::TOPIC).await?;
        if newest != self.limit_rules.load_full().revision {
            let rows = limits::list(session).await?;
            self.limit_rules.store(Arc::new(Rules::new(rows, newest)));
        }
        Ok(())
    }

    /// A permit for a body of at most so many bytes.
    pub fn acquire(&self, account: AccountId, bytes: usize) -> Result<InFlightPermit, ApiError> {
        self.in_flight.acquire(&self.settings, account, bytes)
    }

    /// Whether what an account keeps in memory must give way.
    #[must_use]
    pub fn is_full(&self, account: AccountId) -> bool {
        self.in_flight.is_full(&self.settings, account)
    }

    /// Whether calls can be served.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.not_ready().is_none()
    }

    /// Why calls cannot be served; none if they can.
    #[must_use]
    pub fn not_ready(&self) -> Option<&'static str> {
        let leaving = self.leaving.load(Ordering::Relaxed) || self.is_draining();
        match self.obstacles.first() {
            _ if leaving => Some("it is stopping"),
            Some(obstacle) => Some(obstacle.as_str()),
            None if !self.key_table.is_read() => Some("API keys are not read yet"),
            None => None,
        }
    }

    /// Not ready from now on, so that balancers send their calls elsewhere. Calls that still come are served.
    pub fn begin_drain(&self) {
        self.leaving.store(true, Ordering::Relaxed);
    }

    /// Takes no more calls.
    pub fn drain(&self) {
        self.in_flight.close();
    }

    pub fn is_draining(&self) -> bool {
        self.in_flight.is_closed()
    }

    /// Every call that ends from now on. A receiver that falls behind misses some.
    #[must_use]
    pub fn completed_calls(&self) -> broadcast::Receiver<CompletedCall> {
        self.completed_calls.subscribe()
    }

    /// Counts a call that ended, and sends it to watchers.
    pub(crate) fn record_call(&self, call: CompletedCall) {
        let metrics = &self.metrics;
        (self.on_completed)(&call);
        match call.charged {
            Some(charged) => {
                metrics.charged.fetch_add(1, Ordering::Relaxed);
                let nanos = charged.nanos();
                metrics.charged_nanos.fetch_add(nanos, Ordering::Relaxed);
            }
            None => {
                metrics.voided.fetch_add(1, Ordering::Relaxed);
            }
        }
        // There may be no watcher.
        drop(self.completed_calls.send(call));
    }

    #[must_use]
    pub fn calls_in_flight(&self) -> usize {
        self.in_flight.calls.load(Ordering::Relaxed)
    }

    /// Bytes of bodies that are in memory, or promised.
    pub fn buffered_bytes(&self) -> usize {
        self.in_flight.bytes.load(Ordering::Relaxed)
    }

    pub fn request_id(&self) -> RequestId {
        let random = self.id_bytes.take(self.random.as_ref());
        let random = random.unwrap_or_else(|_| {
            tracing::error!("random bytes: the operating system returned none");
            [0; RANDOM_BYTES]
        });
        RequestId::new(self.now(), random)
    }

    /// Random bytes; none if the system has none.
    pub fn fill_random(&self, bytes: &mut [u8]) -> Option<()> {
        self.random.fill(bytes).ok()
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }
}
