//! Redis client: one script with a timeout. After a timeout or an error Redis counts as unavailable
//! until the sync task reaches it again.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, RedisError, Script, TlsCertificates};
use tokio::time::{Instant, timeout};

use crate::key::{CounterGroup, CounterKey};
use crate::settings::{PARTS, RedisSettings, SLICES};

/// Longest wait for a connection.
const CONNECT_WITHIN: Duration = Duration::from_secs(1);
/// Values that the script answers for each key.
const ANSWER_VALUES: usize = 7;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RedisRequest {
    /// A part of a window.
    Window {
        limit: u64,
        need: u64,
        /// Spent, and not known to Redis.
        owed: u64,
        /// The generation of the counter that the node has reported to.
        generation: u64,
        /// What this node has taken that still counts, for a counter that does not know it.
        known: u64,
        /// Drawn, and not needed any more.
        returned: Vec<Returned>,
    },
    Concurrency {
        limit: u64,
        need: u64,
        in_use: u64,
        /// What this node costs to go on holding.
        keep: u64,
    },
}

/// What a node returns of a part of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Returned {
    /// Redis' number of the part.
    pub(crate) mark: u64,
    pub(crate) amount: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RedisReply {
    /// Of a window: the slice. Of concurrency: all that this node may hold.
    pub(crate) granted: u64,
    pub(crate) left: u64,
    /// Until the part of the window ends that the slice can be spent in.
    pub(crate) ends_in: Duration,
    /// The number of that part.
    pub(crate) mark: u64,
    /// Until enough is free for what was refused, or anything for a counter that is used.
    pub(crate) frees_in: Duration,
    pub(crate) generation: u64,
    /// It was this counter that there was not enough of.
    pub(crate) refused: bool,
}

/// Redis did not answer, or not in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unavailable;

pub(crate) struct RedisClient {
    client: Client,
    script: Script,
    settings: RedisSettings,
    link: RwLock<Option<MultiplexedConnection>>,
    is_up: AtomicBool,
    pub(crate) requests: AtomicU64,
    pub(crate) failed: AtomicU64,
}

// === impl RedisRequest ===

impl RedisRequest {
    pub(crate) const fn owed(&self) -> u64 {
        match self {
            Self::Window { owed, .. } => *owed,
            Self::Concurrency { .. } => 0,
        }
    }

    /// As the script reads it: a word, a fixed number of values, and for a window how many pairs follow.
    fn values(&self) -> (&'static str, Vec<u64>) {
        match self {
            Self::Window {
                limit,
                need,
                owed,
                generation,
                known,
                returned,
            } => {
                let pairs = u64::try_from(returned.len()).unwrap_or(0);
                let mut values = vec![*limit, *need, *owed, *generation, *known, pairs];
                let each = returned.iter().flat_map(|back| [back.mark, back.amount]);
                values.extend(each);
                ("w", values)
            }
            Self::Concurrency {
                limit,
                need,
                in_use,
                keep,
            } => ("s", vec![*limit, *need, *in_use, *keep]),
        }
    }
}

// === impl RedisReply ===

impl RedisReply {
    fn read(values: &[i64]) -> Option<Self> {
        let &[granted, left, ends_in, mark, refused, frees_in, generation] = values else {
            return None;
        };
        Some(Self {
            granted: u64::try_from(granted).ok()?,
            left: u64::try_from(left).ok()?,
            ends_in: Duration::from_millis(u64::try_from(ends_in).ok()?),
            mark: u64::try_from(mark).ok()?,
            refused: refused != 0,
            frees_in: Duration::from_millis(u64::try_from(frees_in).ok()?),
            generation: u64::try_from(generation).ok()?,
        })
    }
}

// === impl RedisClient ===

impl RedisClient {
    pub(crate) fn new(settings: RedisSettings) -> Result<Self, RedisError> {
        let url = settings.url.reveal();
        let client = match &settings.roots {
            None => Client::open(url)?,
            Some(roots) => {
                let roots = TlsCertificates {
                    client_tls: None,
                    root_cert: Some(roots.clone()),
                };
                Client::build_with_tls(url, roots)?
            }
        };
        Ok(Self {
            client,
            script: Script::new(include_str!("script.lua")),
            settings,
            link: RwLock::new(None),
            is_up: AtomicBool::new(false),
            requests: AtomicU64::new(0),
            failed: AtomicU64::new(0),
        })
    }

    pub(crate) const fn timeout(&self) -> Duration {
        self.settings.timeout
    }

    pub(crate) fn is_up(&self) -> bool {
        self.is_up.load(Ordering::Relaxed)
    }

    /// Asks for several counters of one group at once. The moment is the one before the question left.
    pub(crate) async fn ask(
        &self,
        group: CounterGroup,
        asks: &[(CounterKey, RedisRequest)],
        nodes: u64,
    ) -> Result<(Vec<RedisReply>, Instant), Unavailable> {
        let Some(mut link) = self.link().filter(|_| self.is_up()) else {
            return Err(Unavailable);
        };
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let mut call = self.script.prepare_invoke();
        call.arg(&self.settings.node)
            .arg(millis(self.settings.window))
            .arg(millis(self.settings.lease))
            .arg(SLICES.saturating_mul(nodes.max(1)))
            .arg(PARTS);
        for (name, ask) in asks {
            let (kind, values) = ask.values();
            call.key(name.key(group)).arg(kind).arg(&values[..]);
        }
        self.requests.fetch_add(1, Ordering::Relaxed);
        let sent = Instant::now();
        let answered = timeout(
            self.settings.timeout,
            call.invoke_async::<Vec<i64>>(&mut link),
        );
        match answered.await {
            Ok(Ok(values)) => {
                let answers = values.chunks(ANSWER_VALUES).map(RedisReply::read);
                let answers: Option<Vec<RedisReply>> = answers.collect();
                match answers.filter(|answers| answers.len() == asks.len()) {
                    Some(answers) => Ok((answers, sent)),
                    None => Err(self.lost("unexpected reply")),
                }
            }
            Ok(Err(error)) => Err(self.lost(&error.to_string())),
            Err(_) => Err(self.lost("timeout")),
        }
    }

    fn link(&self) -> Option<MultiplexedConnection> {
        let link = self.link.read().unwrap_or_else(PoisonError::into_inner);
        link.clone()
    }

    /// Marks Redis unavailable until the sync task reaches it again.
    fn lost(&self, why: &str) -> Unavailable {
        self.failed.fetch_add(1, Ordering::Relaxed);
        if self.is_up.swap(false, Ordering::Relaxed) {
            tracing::warn!(why, "rate limits: Redis unavailable; counting locally");
        }
        self.set_link(None);
        Unavailable
    }

    fn set_link(&self, link: Option<MultiplexedConnection>) {
        let mut held = self.link.write().unwrap_or_else(PoisonError::into_inner);
        *held = link;
    }

    /// Connects and loads the script. True if Redis responds in time.
    pub(crate) async fn reach(&self) -> bool {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(CONNECT_WITHIN))
            .set_response_timeout(None);
        let connecting = self
            .client
            .get_multiplexed_async_connection_with_config(&config);
        let Ok(Ok(mut link)) = timeout(CONNECT_WITHIN, connecting).await else {
            return false;
        };
        // The script is loaded here, so that the first call needs one round trip and not three.
        let loaded = timeout(self.settings.timeout, self.script.load_async(&mut link));
        if !matches!(loaded.await, Ok(Ok(_))) {
            return false;
        }
        self.set_link(Some(link));
        self.is_up.store(true, Ordering::Relaxed);
        tracing::info!("rate limits: connected to Redis; counting over all nodes");
        true
    }
}
