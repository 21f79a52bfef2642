//! Connections that are open on this node. They are written to the database in batches, so that lists have those of all
//! nodes, and an operator's request to close one comes back the same way: a connection that opens costs no statement of
//! its own.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use trunkline_db::{Database, DbError};
use trunkline_store::live_connections::{self as store, LiveConnection};
use trunkline_types::RequestId;

use crate::error::{ApiError, ErrorCode};

/// Between two exchanges.
pub(crate) const EVERY: Duration = Duration::from_secs(1);
/// Between two words that connections are still open. Lists forget one after two minutes.
const REFRESH: Duration = Duration::from_secs(30);
/// Connections that are listed; a node may serve more.
const MAX_LISTED: usize = 10_000;

#[derive(Debug, Default)]
pub(crate) struct LiveConnections(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    open: HashMap<RequestId, Entry>,
    /// Written, and ended since.
    ended: Vec<RequestId>,
    refreshed: Option<Instant>,
}

#[derive(Debug)]
struct Entry {
    facts: LiveConnection,
    closes: Arc<Notify>,
    is_written: bool,
}

/// A connection that is listed as long as this lives.
#[derive(Debug)]
pub(crate) struct LiveGuard {
    table: Arc<LiveConnections>,
    id: RequestId,
    closes: Arc<Notify>,
}

/// What is to be written.
#[derive(Debug, Default)]
struct Changes {
    open: Vec<LiveConnection>,
    ended: Vec<RequestId>,
    is_refresh: bool,
    has_written: bool,
}

// === impl LiveConnections ===

impl LiveConnections {
    /// Lists a connection until its guard is dropped.
    pub(crate) fn open(self: &Arc<Self>, facts: LiveConnection) -> LiveGuard {
        let (id, closes) = (facts.id, Arc::new(Notify::new()));
        let mut table = self.table();
        if table.open.len() < MAX_LISTED {
            let entry = Entry {
                facts,
                closes: Arc::clone(&closes),
                is_written: false,
            };
            table.open.insert(id, entry);
        }
        LiveGuard {
            table: Arc::clone(self),
            id,
            closes,
        }
    }

    /// Writes what has changed, and closes what an operator wants closed. Without connections nothing is asked.
    pub(crate) async fn exchange(&self, data: &Database, node: &str) -> Result<(), DbError> {
        let changes = self.changes();
        if !changes.ended.is_empty()
            && let Err(error) = store::ended(data, &changes.ended).await
        {
            // Tried again; what is never deleted is forgotten by age.
            let mut table = self.table();
            let left = MAX_LISTED.saturating_sub(table.ended.len());
            table.ended.extend(changes.ended.into_iter().take(left));
            return Err(error);
        }
        if !changes.open.is_empty() {
            store::seen(data, &changes.open).await?;
            self.written(&changes);
        }
        if changes.is_refresh {
            store::purge(data).await?;
        }
        if changes.has_written || !changes.open.is_empty() {
            self.close(&store::to_close(data, node).await?);
        }
        Ok(())
    }

    fn changes(&self) -> Changes {
        let mut table = self.table();
        let is_due = table.refreshed.is_none_or(|at| at.elapsed() >= REFRESH);
        let is_refresh = is_due && !table.open.is_empty();
        let entries = table.open.values();
        let open = entries.filter(|entry| is_refresh || !entry.is_written);
        Changes {
            open: open.map(|entry| entry.facts.clone()).collect(),
            has_written: table.open.values().any(|entry| entry.is_written),
            is_refresh,
            ended: std::mem::take(&mut table.ended),
        }
    }

    fn written(&self, changes: &Changes) {
        let mut table = self.table();
        if changes.is_refresh {
            table.refreshed = Some(Instant::now());
        }
        for facts in &changes.open {
            match table.open.get_mut(&facts.id) {
                Some(entry) => entry.is_written = true,
                // It ended while it was written.
                None => table.ended.push(facts.id),
            }
        }
    }

    fn close(&self, ids: &[RequestId]) {
        let table = self.table();
        for entry in ids.iter().filter_map(|id| table.open.get(id)) {
            entry.closes.notify_one();
        }
    }

    fn ended(&self, id: RequestId) {
        let mut table = self.table();
        let entry = table.open.remove(&id);
        if entry.is_some_and(|entry| entry.is_written) {
            table.ended.push(id);
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl LiveGuard ===

impl LiveGuard {
    /// Waits until an operator wants it closed.
    pub(crate) async fn closed(&self) {
        self.closes.notified().await;
    }
}

impl Drop for LiveGuard {
    fn drop(&mut self) {
        self.table.ended(self.id);
    }
}

/// What a client is told whose connection an operator closed: with code 1008, after which clients do not connect anew.
pub(crate) fn closed_by_operator() -> ApiError {
    let text = "an operator of this service closed the connection; what was done was charged";
    ApiError::new(ErrorCode::Invalid("closed_by_operator"), text)
}
