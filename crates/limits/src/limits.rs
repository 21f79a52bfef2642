//! The counters of one node, as the rest of the house sees them.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

use crate::grant::{Grant, LimitExceeded};
use crate::key::{CounterCost, CounterGroup};
use crate::local::{LocalCounters, Source, TakeResult};
use crate::redis::{RedisClient, Unavailable};
use crate::settings::{RedisSettings, WINDOW};
use crate::sync::SyncTask;

/// Slices that wait to be drawn ahead; with more, the next caller draws by itself.
const AHEAD_QUEUE: usize = 1_024;

/// The counters of one node. Clones are the same.
#[derive(Clone)]
pub struct Limits {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) table: LocalCounters,
    pub(crate) redis: Option<RedisClient>,
    /// Nodes that live, this one included.
    nodes: AtomicU64,
    /// Decided here although Redis should have been asked.
    decided_locally: AtomicU64,
    ahead: mpsc::Sender<SyncCommand>,
}

/// Something that Redis should be told while nobody waits.
#[derive(Debug)]
pub(crate) enum SyncCommand {
    /// A slice runs low.
    Draw(CounterGroup, CounterCost),
    /// More was used than was taken.
    Sync(CounterGroup),
}

/// How limits are counted now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// In this process; there is no Redis.
    Local,
    /// Over all nodes.
    Shared,
    /// In this process, by its share: Redis is away or slow.
    Fallback,
}

/// What has been counted about the counting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Questions to Redis.
    pub asked: u64,
    /// Questions that were not answered, or not in time.
    pub failed: u64,
    /// Decisions by this node's share although there is a Redis.
    pub decided_locally: u64,
    /// Counters in memory.
    pub counters: usize,
    /// Nodes that limits are shared among when Redis is away.
    pub nodes: u64,
}

/// Why Redis cannot be used at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LimitsError {
    /// The text is no address. It is not repeated: it may hold a password.
    #[error("the address of Redis must be like redis://127.0.0.1:6379")]
    Address,
}

// === impl Mode ===

impl Mode {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Local, Self::Shared, Self::Fallback];

    /// Its word in metrics.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Shared => "redis",
            Self::Fallback => "fallback",
        }
    }
}

// === impl Limits ===

impl Default for Limits {
    fn default() -> Self {
        Self::local()
    }
}

impl fmt::Debug for Limits {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Limits");
        shown.field("mode", &self.mode()).finish_non_exhaustive()
    }
}

impl Limits {
    /// Counted in this process alone.
    #[must_use]
    pub fn local() -> Self {
        // Nobody listens: without Redis there is nothing to tell.
        let (ahead, _) = mpsc::channel(1);
        Self::new(LocalCounters::new(WINDOW, WINDOW), None, ahead)
    }

    /// Counted over all nodes. Nothing is asked before the sync runs.
    pub fn redis(settings: RedisSettings) -> Result<(Self, SyncTask), LimitsError> {
        let table = LocalCounters::new(settings.window, settings.lease);
        let redis = RedisClient::new(settings).map_err(|_| LimitsError::Address)?;
        let (ahead, commands) = mpsc::channel(AHEAD_QUEUE);
        let limits = Self::new(table, Some(redis), ahead);
        let sync = SyncTask::new(limits.clone(), commands);
        Ok((limits, sync))
    }

    fn new(
        table: LocalCounters,
        redis: Option<RedisClient>,
        ahead: mpsc::Sender<SyncCommand>,
    ) -> Self {
        Self {
            inner: Arc::new(Inner {
                table,
                redis,
                nodes: AtomicU64::new(1),
                decided_locally: AtomicU64::new(0),
                ahead,
            }),
        }
    }

    /// How many nodes live, this one included.
    pub fn set_nodes(&self, nodes: u64) {
        self.inner.nodes.store(nodes.max(1), Ordering::Relaxed);
    }

    /// How limits are counted now.
    #[must_use]
    pub fn mode(&self) -> Mode {
        match &self.inner.redis {
            None => Mode::Local,
            Some(redis) if redis.is_up() => Mode::Shared,
            Some(_) => Mode::Fallback,
        }
    }

    /// What has been counted.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let inner = &self.inner;
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let redis = inner.redis.as_ref();
        Counts {
            asked: redis.map_or(0, |redis| of(&redis.asked)),
            failed: redis.map_or(0, |redis| of(&redis.failed)),
            decided_locally: of(&inner.decided_locally),
            counters: inner.table.count(),
            nodes: self.nodes(),
        }
    }

    /// Takes a part of every limit, or of none. Waits only when this node has no slice: for its turn
    /// and for an answer of Redis, for each no longer than the timeout.
    pub async fn take(
        &self,
        group: CounterGroup,
        costs: Vec<CounterCost>,
    ) -> Result<Grant, LimitExceeded> {
        let inner = &self.inner;
        let Some(redis) = inner.redis.as_ref().filter(|redis| redis.is_up()) else {
            return self.take_share(group, costs);
        };
        let tried = match inner
            .table
            .try_take(group, &costs, Source::Shared, Instant::now())
        {
            TakeResult::Short(_) => match self.draw_and_take(redis, group, &costs).await {
                Ok(tried) => tried,
                Err(Unavailable) => return self.take_share(group, costs),
            },
            other @ (TakeResult::Taken(_) | TakeResult::Refused(..)) => other,
        };
        let taken = self.decided(group, costs, tried)?;
        self.draw_ahead(group, &taken);
        Ok(taken)
    }

    /// By this node's share.
    fn take_share(
        &self,
        group: CounterGroup,
        costs: Vec<CounterCost>,
    ) -> Result<Grant, LimitExceeded> {
        let inner = &self.inner;
        if inner.redis.is_some() {
            inner.decided_locally.fetch_add(1, Ordering::Relaxed);
        }
        let source = Source::Share(self.nodes());
        let tried = inner.table.try_take(group, &costs, source, Instant::now());
        self.decided(group, costs, tried)
    }

    fn decided(
        &self,
        group: CounterGroup,
        costs: Vec<CounterCost>,
        tried: TakeResult,
    ) -> Result<Grant, LimitExceeded> {
        match tried {
            TakeResult::Taken(states) => Ok(Grant::new(self.clone(), group, costs, states)),
            TakeResult::Refused(which, retry_after, states) => Err(LimitExceeded {
                index: which,
                retry_after,
                costs,
                states,
            }),
            // A share is decided without asking, and whoever asked has an answer.
            TakeResult::Short(_) => Ok(Grant::new(self.clone(), group, Vec::new(), Vec::new())),
        }
    }

    /// Asks Redis until there is enough, it says that there is not, or the time is over.
    ///
    /// Only a question that Redis left unanswered for the whole timeout speaks against Redis. A timeout
    /// around all of this would end such a question before its own does, and every call would wait anew.
    async fn draw_and_take(
        &self,
        redis: &RedisClient,
        group: CounterGroup,
        costs: &[CounterCost],
    ) -> Result<TakeResult, Unavailable> {
        let table = &self.inner.table;
        let gate = table.gate(group);
        let began = Instant::now();
        let Ok(_turn) = timeout(redis.timeout(), gate.lock()).await else {
            return Err(Unavailable);
        };
        loop {
            // The call before this one may have drawn enough for both.
            match table.try_take(group, costs, Source::Shared, Instant::now()) {
                TakeResult::Short(_) if began.elapsed() >= redis.timeout() => {
                    return Err(Unavailable);
                }
                TakeResult::Short(asks) => {
                    let (answers, sent) = redis.ask(group, &asks, self.nodes()).await?;
                    table.apply(group, &asks, &answers, sent, Instant::now());
                }
                other @ (TakeResult::Taken(_) | TakeResult::Refused(..)) => return Ok(other),
            }
        }
    }

    fn draw_ahead(&self, group: CounterGroup, taken: &Grant) {
        let inner = &self.inner;
        for cost in inner.table.run_low(group, taken.costs()) {
            if let Err(refused) = inner.ahead.try_send(SyncCommand::Draw(group, cost)) {
                // The next caller draws by itself.
                if let SyncCommand::Draw(group, cost) = refused.into_inner() {
                    inner.table.is_drawn(group, &cost);
                }
            }
        }
    }

    pub(crate) fn correct(&self, group: CounterGroup, cost: &CounterCost, turn: u64, used: u64) {
        let told = self.inner.table.correct(group, cost, turn, used);
        if told && self.inner.redis.is_some() {
            // If nobody listens now, the sync finds it at its next look.
            drop(self.inner.ahead.try_send(SyncCommand::Sync(group)));
        }
    }

    pub(crate) fn give_back(&self, group: CounterGroup, cost: &CounterCost) {
        self.inner.table.give_back(group, cost);
    }

    pub(crate) fn nodes(&self) -> u64 {
        self.inner.nodes.load(Ordering::Relaxed).max(1)
    }
}
