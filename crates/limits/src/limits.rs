//! Public API of the rate limits of one node.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

use crate::decision::Source;
use crate::grant::{Grant, LimitExceeded};
use crate::key::{CounterCost, CounterGroup};
use crate::local::{LocalCounters, TakeResult};
use crate::node_counters::NodeCounters;
use crate::redis::{RedisClient, Unavailable};
use crate::settings::{RedisSettings, WINDOW};
use crate::sync::SyncTask;

/// Prefetches that may queue; with more, the next caller draws by itself.
const PREFETCH_QUEUE: usize = 1_024;

/// The rate limits of one node. Clones share them.
#[derive(Clone)]
pub struct Limits {
    inner: Arc<NodeCounters>,
}

/// How limits are counted now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// In this process; no Redis is configured.
    Local,
    Shared,
    /// In this process, by its share: Redis is unavailable or slow.
    Fallback,
}

/// Counters of the rate limiter itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    pub requests: u64,
    /// Requests to Redis that failed or timed out.
    pub failed: u64,
    /// Decisions by this node's share although Redis is configured.
    pub decided_locally: u64,
    pub counters: usize,
    /// Nodes that share the limits while Redis is unavailable.
    pub nodes: u64,
}

/// Why Redis cannot be used at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LimitsError {
    /// Not a URL. The text is not repeated: it may contain a password.
    #[error("the Redis URL must be like redis://127.0.0.1:6379")]
    Address,
}

// === impl Mode ===

impl Mode {
    pub const ALL: [Self; 3] = [Self::Local, Self::Shared, Self::Fallback];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
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
        let mut debug = formatter.debug_struct("Limits");
        debug.field("mode", &self.mode()).finish_non_exhaustive()
    }
}

impl Limits {
    /// Counted in this process alone.
    #[must_use]
    pub fn local() -> Self {
        Self::local_within(WINDOW)
    }

    /// The same with another window, for tests that do not wait for minutes.
    #[must_use]
    pub fn local_within(window: Duration) -> Self {
        // Without Redis there is no sync task.
        let (commands, _) = mpsc::channel(1);
        Self {
            inner: Arc::new(NodeCounters::new(
                LocalCounters::new(window, window),
                None,
                commands,
            )),
        }
    }

    /// Counted over all nodes. Redis is not used before the sync task runs.
    pub fn redis(settings: RedisSettings) -> Result<(Self, SyncTask), LimitsError> {
        let local = LocalCounters::new(settings.window, settings.lease);
        let redis = RedisClient::new(settings).map_err(|_| LimitsError::Address)?;
        let (sender, commands) = mpsc::channel(PREFETCH_QUEUE);
        let inner = Arc::new(NodeCounters::new(local, Some(redis), sender));
        let sync = SyncTask::new(Arc::clone(&inner), commands);
        Ok((Self { inner }, sync))
    }

    /// Sets the number of live nodes, this one included.
    pub fn set_nodes(&self, nodes: u64) {
        self.inner.set_nodes(nodes);
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

    /// Counters of the rate limiter itself.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let inner = &self.inner;
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let redis = inner.redis.as_ref();
        Counts {
            requests: redis.map_or(0, |redis| of(&redis.requests)),
            failed: redis.map_or(0, |redis| of(&redis.failed)),
            decided_locally: of(&inner.decided_locally),
            counters: inner.local.count(),
            nodes: self.inner.nodes(),
        }
    }

    /// Takes from every limit, or from none. Waits only when this node has no slice: for its turn and for
    /// Redis, for each no longer than the timeout.
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
            .local
            .try_take(group, &costs, Source::Shared, Instant::now())
        {
            TakeResult::Short => match self.draw_and_take(redis, group, &costs).await {
                Ok(tried) => tried,
                Err(Unavailable) => return self.take_share(group, costs),
            },
            other @ (TakeResult::Taken(_) | TakeResult::Refused(..)) => other,
        };
        let taken = self.decided(group, costs, tried)?;
        self.inner.prefetch(group, taken.costs());
        Ok(taken)
    }

    fn take_share(
        &self,
        group: CounterGroup,
        costs: Vec<CounterCost>,
    ) -> Result<Grant, LimitExceeded> {
        let inner = &self.inner;
        if inner.redis.is_some() {
            inner.decided_locally.fetch_add(1, Ordering::Relaxed);
        }
        let source = Source::Share(self.inner.nodes());
        let tried = inner.local.try_take(group, &costs, source, Instant::now());
        self.decided(group, costs, tried)
    }

    fn decided(
        &self,
        group: CounterGroup,
        costs: Vec<CounterCost>,
        tried: TakeResult,
    ) -> Result<Grant, LimitExceeded> {
        match tried {
            TakeResult::Taken(states) => {
                Ok(Grant::new(Arc::clone(&self.inner), group, costs, states))
            }
            TakeResult::Refused(which, retry_after, states) => Err(LimitExceeded {
                index: which,
                retry_after,
                costs,
                states,
            }),
            // A share never asks Redis, and a caller that asked has an answer.
            TakeResult::Short => Ok(Grant::new(
                Arc::clone(&self.inner),
                group,
                Vec::new(),
                Vec::new(),
            )),
        }
    }

    /// Asks Redis until there is enough, it refuses, or the timeout passes.
    ///
    /// Only a request without a response for the whole timeout marks Redis unavailable. A timeout around all
    /// of this would end such a request before its own does, and every call would wait again.
    async fn draw_and_take(
        &self,
        redis: &RedisClient,
        group: CounterGroup,
        costs: &[CounterCost],
    ) -> Result<TakeResult, Unavailable> {
        let local = &self.inner.local;
        let gate = local.gate(group);
        let began = Instant::now();
        let Ok(_turn) = timeout(redis.timeout(), gate.lock()).await else {
            return Err(Unavailable);
        };
        loop {
            // The call before this one may have drawn enough for both.
            match local.try_take(group, costs, Source::Shared, Instant::now()) {
                TakeResult::Short if began.elapsed() >= redis.timeout() => {
                    return Err(Unavailable);
                }
                TakeResult::Short => {
                    let asks = local.asks(group, costs, Instant::now());
                    let (answers, sent) = redis.ask(group, &asks, self.inner.nodes()).await?;
                    local.apply(group, &asks, &answers, sent, Instant::now());
                }
                other @ (TakeResult::Taken(_) | TakeResult::Refused(..)) => return Ok(other),
            }
        }
    }
}
