//! One node's gateway: what its calls share, how it keeps that fresh, and how it stops.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use tokio::sync::{broadcast, oneshot};
use tokio_util::task::TaskTracker;
use trunkline_db::{Database, DbError, revision};
use trunkline_keyring::{Keyring, RandomSource};
use trunkline_ledger::{Ledger, Outcome, recovery};
use trunkline_store::channels;
use trunkline_terms::{AccountId, Clock, Moment, Money, RANDOM_BYTES, RequestId};
use trunkline_upstream::{Client, Providers};
use trunkline_wire::openai_chat::ChatRequest;

use crate::caller::Caller;
use crate::calling::call;
use crate::doors::Doors;
use crate::fault::{Fault, Kind};
use crate::numbers::Numbers;
use crate::quoted::{ENDPOINT, Quoted};
use crate::reply::Answered;
use crate::roster::Roster;
use crate::settings::Settings;
use crate::shelf::Shelf;
use crate::story::Story;
use crate::swap::Swap;
use crate::telemetry::Telemetry;

/// Finished calls that a slow watcher may be behind.
const WATCHED_CALLS: usize = 256;

/// What a gateway is made of.
pub struct Parts {
    /// Limits and waits.
    pub settings: Settings,
    /// The money.
    pub ledger: Ledger,
    /// The database under the data plane's role.
    pub data: Database,
    /// What is sold.
    pub shelf: Shelf,
    /// Who can be asked, as data.
    pub providers: Providers,
    /// Opens credentials.
    pub keyring: Keyring,
    /// The way out.
    pub client: Client,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Random bytes for ids.
    pub random: Arc<dyn RandomSource>,
    /// The way to the collector of traces; none to trace nothing.
    pub telemetry: Option<Telemetry>,
}

/// A gateway. Clones are the same one.
#[derive(Clone)]
pub struct Gateway {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) settings: Settings,
    pub(crate) ledger: Ledger,
    pub(crate) data: Database,
    pub(crate) doors: Doors,
    pub(crate) shelf: Swap<Shelf>,
    pub(crate) roster: Swap<Roster>,
    pub(crate) client: Client,
    pub(crate) tasks: TaskTracker,
    pub(crate) numbers: Numbers,
    pub(crate) telemetry: Option<Telemetry>,
    providers: Providers,
    keyring: Keyring,
    clock: Arc<dyn Clock>,
    random: Arc<dyn RandomSource>,
    flight: Flight,
    draining: AtomicBool,
    calls: broadcast::Sender<CallLine>,
}

/// One finished call, for whoever watches.
#[derive(Debug, Clone)]
pub struct CallLine {
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

/// Calls and bytes in flight, over all and for each account.
#[derive(Default)]
struct Flight {
    calls: AtomicUsize,
    bytes: AtomicUsize,
    of_accounts: Mutex<HashMap<AccountId, (usize, usize)>>,
}

/// A place among the calls in flight; given back when dropped.
pub(crate) struct Place {
    gateway: Gateway,
    account: AccountId,
    bytes: usize,
}

// === impl Gateway ===

impl Gateway {
    /// Puts the parts together. Nothing is read yet: see [`Gateway::refresh`].
    #[must_use]
    pub fn new(parts: Parts) -> Self {
        let inner = Inner {
            settings: parts.settings,
            ledger: parts.ledger,
            data: parts.data,
            doors: Doors::new(),
            shelf: Swap::new(parts.shelf),
            roster: Swap::new(Roster::default()),
            client: parts.client,
            tasks: TaskTracker::new(),
            numbers: Numbers::default(),
            telemetry: parts.telemetry,
            providers: parts.providers,
            keyring: parts.keyring,
            clock: parts.clock,
            random: parts.random,
            flight: Flight::default(),
            draining: AtomicBool::new(false),
            calls: broadcast::channel(WATCHED_CALLS).0,
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Takes over what has changed in the database: keys, accounts, channels.
    pub async fn refresh(&self) -> Result<(), DbError> {
        self.inner.doors.follow(&self.inner.data).await?;
        let mut session = self.inner.data.session().await?;
        let newest = revision::current(&mut session, channels::TOPIC).await?;
        let before = self.inner.roster.get();
        if newest != before.revision {
            let rows = channels::list(&mut session).await?;
            let providers = &self.inner.providers;
            let roster = Roster::build(rows, newest, providers, &self.inner.keyring, &before);
            self.inner.roster.set(roster);
        }
        Ok(())
    }

    /// Refreshes, and says that this node lives, until it is told to stop. Ends early when the node
    /// was replaced: then nothing it says would count.
    pub async fn keep_fresh(self, mut stop: oneshot::Receiver<()>) {
        let mut pause = tokio::time::interval(self.inner.settings.refresh);
        pause.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = pause.tick() => {}
                _ = &mut stop => return,
            }
            if let Err(error) = self.refresh().await {
                tracing::warn!(%error, "keys and channels could not be compared");
            }
            match recovery::heartbeat(&self.inner.data, self.inner.ledger.author()).await {
                Ok(true) => {}
                Ok(false) => {
                    tracing::error!("this node was replaced by its next life and stops");
                    self.drain();
                    return;
                }
                Err(error) => tracing::warn!(%error, "the heartbeat could not be written"),
            }
        }
    }

    /// Whether calls can be served.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.inner.doors.is_read() && !self.is_draining()
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
    pub fn watch(&self) -> broadcast::Receiver<CallLine> {
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
    ) -> Result<Caller, Fault> {
        let inner = &self.inner;
        Caller::known(&inner.doors, &inner.settings, sent, address, inner.now())
    }

    /// A chat completion: read, priced, then handed to a task of its own.
    pub(crate) async fn chat(
        &self,
        story: &Arc<Story>,
        caller: Caller,
        headers: &HeaderMap,
        body: Bytes,
        mut place: Place,
    ) -> Result<Answered, Fault> {
        caller.check_endpoint(ENDPOINT)?;
        place.shrink_to(body.len());
        story.came(body.len());
        let request = ChatRequest::read(body)?;
        let shelf = self.inner.shelf.get();
        let tranche = self.inner.settings.tranche_tokens;
        let strict = headers
            .get("trunkline-strict")
            .is_some_and(|value| value == "true");
        let now = self.inner.now();
        let quoted = Quoted::price(story.id, caller, request, shelf, now, (tranche, strict))?;
        story.asks_for(&quoted.request.model, quoted.request.stream);
        check_max_cost(headers, &quoted)?;
        if !self.inner.roster.get().knows(&quoted.request.model) {
            let text = format!("nobody serves {:?} right now", quoted.request.model);
            return Err(Fault::new(Kind::NoRoute, text));
        }
        let (head, answer) = oneshot::channel();
        let (gateway, story) = (self.clone(), Arc::clone(story));
        // In a box, because everybody who hands a task on copies it, and a call is large.
        self.inner.tasks.spawn(Box::pin(async move {
            call(gateway, quoted, story, head).await;
            drop(place);
        }));
        // A task that ends without an answer has failed in a way we do not know.
        answer.await.unwrap_or_else(|_| Err(Fault::unavailable()))
    }

    /// A place among the calls in flight for a body of at most so many bytes, or the word that there
    /// is none. It is taken before the body is read: what is in memory is what must be bounded.
    pub(crate) fn place(&self, account: AccountId, bytes: usize) -> Result<Place, Fault> {
        let settings = &self.inner.settings;
        let full = |what: &str| {
            Fault::new(
                Kind::Overloaded,
                format!("{what} at once; try again in a second; nothing was charged"),
            )
        };
        if self.is_draining() {
            return Err(Fault::new(
                Kind::Draining,
                "this node is stopping; try again; nothing was charged",
            ));
        }
        let flight = &self.inner.flight;
        let place = Place::take(self.clone(), account, bytes);
        if flight.calls.load(Ordering::Relaxed) > settings.max_in_flight
            || flight.bytes.load(Ordering::Relaxed) > settings.max_buffered_bytes
        {
            return Err(full("there are too many calls"));
        }
        let share = |all: usize| {
            all.checked_div(settings.account_share.max(1))
                .unwrap_or(all)
        };
        let (calls, held) = flight.of(account);
        if calls > share(settings.max_in_flight).max(1)
            || held > share(settings.max_buffered_bytes).max(settings.max_body_bytes)
        {
            return Err(full("this account has too many calls"));
        }
        Ok(place)
    }
}

// === impl Inner ===

impl Inner {
    /// Tells of a call that ended.
    pub(crate) fn tell(&self, line: CallLine) {
        let numbers = &self.numbers;
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

    pub(crate) fn now(&self) -> Moment {
        self.clock.now()
    }
}

// === impl Place ===

impl Place {
    fn take(gateway: Gateway, account: AccountId, bytes: usize) -> Self {
        let flight = &gateway.inner.flight;
        flight.calls.fetch_add(1, Ordering::Relaxed);
        flight.bytes.fetch_add(bytes, Ordering::Relaxed);
        let mut accounts = flight.lock();
        let (calls, held) = accounts.entry(account).or_default();
        *calls = calls.saturating_add(1);
        *held = held.saturating_add(bytes);
        drop(accounts);
        Self {
            gateway,
            account,
            bytes,
        }
    }
}

impl Place {
    /// The body has come, and is smaller than it might have been.
    fn shrink_to(&mut self, bytes: usize) {
        let less = self.bytes.saturating_sub(bytes);
        self.bytes = self.bytes.saturating_sub(less);
        let flight = &self.gateway.inner.flight;
        flight.bytes.fetch_sub(less, Ordering::Relaxed);
        if let Some((_, held)) = flight.lock().get_mut(&self.account) {
            *held = held.saturating_sub(less);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let flight = &self.gateway.inner.flight;
        flight.calls.fetch_sub(1, Ordering::Relaxed);
        flight.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
        let mut accounts = flight.lock();
        if let Some((calls, held)) = accounts.get_mut(&self.account) {
            *calls = calls.saturating_sub(1);
            *held = held.saturating_sub(self.bytes);
            if *calls == 0 {
                accounts.remove(&self.account);
            }
        }
    }
}

// === impl Flight ===

impl Flight {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<AccountId, (usize, usize)>> {
        self.of_accounts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn of(&self, account: AccountId) -> (usize, usize) {
        self.lock().get(&account).copied().unwrap_or_default()
    }
}

/// The caller's own limit for this call.
fn check_max_cost(headers: &HeaderMap, quoted: &Quoted) -> Result<(), Fault> {
    const NAME: &str = "trunkline-max-cost-usd";
    let Some(value) = headers.get(NAME) else {
        return Ok(());
    };
    let most: Option<Money> = value
        .to_str()
        .ok()
        .and_then(|text| text.trim().parse().ok());
    let most = most.filter(|most| !most.is_negative()).ok_or_else(|| {
        let text = format!("`{NAME}` must be an amount such as 0.05");
        Fault::new(Kind::Invalid("invalid_request"), text).at(NAME)
    })?;
    let bound = quoted.bound(quoted.most_output())?;
    if bound <= most {
        return Ok(());
    }
    let text = format!("this call may cost {bound} USD, and `{NAME}` allows {most}");
    let affordable = quoted.affordable(most).unwrap_or(0);
    Err(Fault::new(Kind::MaxCostExceeded, text)
        .with_money("required_usd", bound)
        .with("max_tokens_affordable", affordable))
}
