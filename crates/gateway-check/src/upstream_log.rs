//! What reached the simulator, as it tells it over HTTP: the truth that answers and charges are held to.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::Deserialize;
use serde_json::Value;

use crate::exchange::Server;

/// One request to the upstream.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Record {
    pub(crate) number: u64,
    pub(crate) marker: Option<String>,
    pub(crate) path: String,
    #[serde(default)]
    pub(crate) body: String,
    pub(crate) prompt_tokens: u64,
    pub(crate) cache_read_tokens: u64,
    pub(crate) completion_tokens: u64,
    pub(crate) told_usage: Option<(u64, u64)>,
}

#[derive(Deserialize)]
struct Page {
    requests: Vec<Record>,
}

/// The simulator's records.
pub(crate) struct UpstreamLog {
    simulator: Server,
    /// The highest number that was seen.
    last: AtomicU64,
}

const PAGE: usize = 10_000;

// === impl UpstreamLog ===

impl UpstreamLog {
    pub(crate) fn new(simulator: Server) -> Self {
        Self {
            simulator,
            last: AtomicU64::new(0),
        }
    }

    /// A number before which nothing of what follows is.
    pub(crate) fn position(&self) -> u64 {
        self.last.load(Ordering::Relaxed)
    }

    /// Moves behind what others have asked the simulator before.
    pub(crate) async fn skip_all(&self) -> bool {
        loop {
            let Some(records) = self.page(self.position()).await else {
                return false;
            };
            if records.len() < PAGE {
                return true;
            }
        }
    }

    /// The last request of this name since a position. A gateway may have asked several times.
    pub(crate) async fn find(&self, marker: &str, since: u64) -> Option<Record> {
        let records = self.page(since).await?;
        let mut own = records.into_iter().rev();
        own.find(|record| record.marker.as_deref() == Some(marker))
    }

    async fn page(&self, after: u64) -> Option<Vec<Record>> {
        let path = format!("/_simulator/requests?after={after}&limit={PAGE}");
        let answer = self.simulator.get(&path).await;
        let page: Page = serde_json::from_slice(&answer.body).ok()?;
        if let Some(newest) = page.requests.last() {
            self.last.fetch_max(newest.number, Ordering::Relaxed);
        }
        Some(page.requests)
    }
}

// === impl Record ===

impl Record {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or(Value::Null)
    }
}
