//! The counters of one node, as the rest of the house sees them.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

use crate::grant::{Grant, Refused};
use crate::keeper::Keeper;
use crate::name::{Tag, Want};
use crate::remote::{Away, Remote};
use crate::settings::{RedisSettings, WINDOW};
use crate::table::{Table, Tried, Way};

/// Slices that wait to be drawn ahead; with more, the next caller draws by itself.
const AHEAD_QUEUE: usize = 1_024;

/// The counters of one node. Clones are the same.
#[derive(Clone)]
pub struct Limits {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) table: Table,
    pub(crate) remote: Option<Remote>,
    /// Nodes that live, this one included.
    nodes: AtomicU64,
    /// Decided here although Redis should have been asked.
    decided_here: AtomicU64,
    ahead: mpsc::Sender<Errand>,
}

/// Something that Redis should be told while nobody waits.
#[derive(Debug)]
pub(crate) enum Errand {
    /// A slice runs low.
    Draw(Tag, Want),
    /// More was used than was taken.
    Tell(Tag),
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
    pub decided_here: u64,
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
        Self::new(Table::new(WINDOW, WINDOW), None, ahead)
    }

    /// Counted over all nodes. Nothing is asked before the keeper runs.
    pub fn redis(settings: RedisSettings) -> Result<(Self, Keeper), LimitsError> {
        let table = Table::new(settings.window, settings.lease);
        let remote = Remote::new(settings).map_err(|_| LimitsError::Address)?;
        let (ahead, errands) = mpsc::channel(AHEAD_QUEUE);
        let limits = Self::new(table, Some(remote), ahead);
        let keeper = Keeper::new(limits.clone(), errands);
        Ok((limits, keeper))
    }

    fn new(table: Table, remote: Option<Remote>, ahead: mpsc::Sender<Errand>) -> Self {
        Self {
            inner: Arc::new(Inner {
                table,
                remote,
                nodes: AtomicU64::new(1),
                decided_here: AtomicU64::new(0),
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
        match &self.inner.remote {
            None => Mode::Local,
            Some(remote) if remote.is_up() => Mode::Shared,
            Some(_) => Mode::Fallback,
        }
    }

    /// What has been counted.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let inner = &self.inner;
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let remote = inner.remote.as_ref();
        Counts {
            asked: remote.map_or(0, |remote| of(&remote.asked)),
            failed: remote.map_or(0, |remote| of(&remote.failed)),
            decided_here: of(&inner.decided_here),
            counters: inner.table.count(),
            nodes: self.nodes(),
        }
    }

    /// Takes a part of every limit, or of none. Waits only when this node has no slice: for its turn
    /// and for an answer of Redis, for each no longer than the timeout.
    pub async fn take(&self, tag: Tag, wants: Vec<Want>) -> Result<Grant, Refused> {
        let inner = &self.inner;
        let Some(remote) = inner.remote.as_ref().filter(|remote| remote.is_up()) else {
            return self.take_share(tag, wants);
        };
        let tried = match inner
            .table
            .try_take(tag, &wants, Way::Shared, Instant::now())
        {
            Tried::Short(_) => match self.draw_and_take(remote, tag, &wants).await {
                Ok(tried) => tried,
                Err(Away) => return self.take_share(tag, wants),
            },
            other @ (Tried::Taken(_) | Tried::Refused(..)) => other,
        };
        let taken = self.decided(tag, wants, tried)?;
        self.draw_ahead(tag, &taken);
        Ok(taken)
    }

    /// By this node's share.
    fn take_share(&self, tag: Tag, wants: Vec<Want>) -> Result<Grant, Refused> {
        let inner = &self.inner;
        if inner.remote.is_some() {
            inner.decided_here.fetch_add(1, Ordering::Relaxed);
        }
        let way = Way::Share(self.nodes());
        let tried = inner.table.try_take(tag, &wants, way, Instant::now());
        self.decided(tag, wants, tried)
    }

    fn decided(&self, tag: Tag, wants: Vec<Want>, tried: Tried) -> Result<Grant, Refused> {
        match tried {
            Tried::Taken(standings) => Ok(Grant::new(self.clone(), tag, wants, standings)),
            Tried::Refused(which, retry_after, standings) => Err(Refused {
                which,
                retry_after,
                wants,
                standings,
            }),
            // A share is decided without asking, and whoever asked has an answer.
            Tried::Short(_) => Ok(Grant::new(self.clone(), tag, Vec::new(), Vec::new())),
        }
    }

    /// Asks Redis until there is enough, it says that there is not, or the time is over.
    ///
    /// Only a question that Redis left unanswered for the whole timeout speaks against Redis. A timeout
    /// around all of this would end such a question before its own does, and every call would wait anew.
    async fn draw_and_take(
        &self,
        remote: &Remote,
        tag: Tag,
        wants: &[Want],
    ) -> Result<Tried, Away> {
        let table = &self.inner.table;
        let gate = table.gate(tag);
        let began = Instant::now();
        let Ok(_turn) = timeout(remote.timeout(), gate.lock()).await else {
            return Err(Away);
        };
        loop {
            // The call before this one may have drawn enough for both.
            match table.try_take(tag, wants, Way::Shared, Instant::now()) {
                Tried::Short(_) if began.elapsed() >= remote.timeout() => return Err(Away),
                Tried::Short(asks) => {
                    let (answers, sent) = remote.ask(tag, &asks, self.nodes()).await?;
                    table.heard(tag, &asks, &answers, sent, Instant::now());
                }
                other @ (Tried::Taken(_) | Tried::Refused(..)) => return Ok(other),
            }
        }
    }

    fn draw_ahead(&self, tag: Tag, taken: &Grant) {
        let inner = &self.inner;
        for want in inner.table.run_low(tag, taken.wants()) {
            if let Err(refused) = inner.ahead.try_send(Errand::Draw(tag, want)) {
                // The next caller draws by itself.
                if let Errand::Draw(tag, want) = refused.into_inner() {
                    inner.table.is_drawn(tag, &want);
                }
            }
        }
    }

    pub(crate) fn correct(&self, tag: Tag, want: &Want, turn: u64, used: u64) {
        let told = self.inner.table.correct(tag, want, turn, used);
        if told && self.inner.remote.is_some() {
            // If nobody listens now, the keeper finds it at its next look.
            drop(self.inner.ahead.try_send(Errand::Tell(tag)));
        }
    }

    pub(crate) fn give_back(&self, tag: Tag, want: &Want) {
        self.inner.table.give_back(tag, want);
    }

    pub(crate) fn nodes(&self) -> u64 {
        self.inner.nodes.load(Ordering::Relaxed).max(1)
    }
}
