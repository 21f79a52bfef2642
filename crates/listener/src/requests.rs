//! What the requests of one connection share.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::connections::{ConnectionEntry, RequestEntry};

/// The requests of one connection. Its stream keeps it: a connection that is handed over to another protocol counts
/// until that ends.
pub(crate) struct Requests {
    /// The request that was answered with another protocol; it lasts as long as the connection.
    upgraded: OnceLock<RequestEntry>,
    pub(crate) entry: ConnectionEntry,
    /// A request has come.
    pub(crate) has_begun: AtomicBool,
    /// Whether the client has still to send a part of a request that it has begun.
    pub(crate) is_sending: AtomicBool,
}

impl Requests {
    pub(crate) const fn new(entry: ConnectionEntry) -> Self {
        Self {
            upgraded: OnceLock::new(),
            entry,
            has_begun: AtomicBool::new(false),
            is_sending: AtomicBool::new(false),
        }
    }

    /// The bytes that come from now on are another protocol's.
    pub(crate) fn upgrade(&self) {
        self.upgraded.get_or_init(|| self.entry.request());
    }

    pub(crate) fn is_upgraded(&self) -> bool {
        self.upgraded.get().is_some()
    }

    /// Waits for the deadline of the first request; for ever if that has come.
    pub(crate) async fn is_silent(&self, head_wait: Duration) {
        tokio::time::sleep(head_wait).await;
        if self.has_begun.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    }
}
