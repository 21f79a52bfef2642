//! Accepts connections, within bounds that leave descriptors to the rest of the process.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use crate::connection::{self, Accepted, RECEIVE_BYTES, Service, Shared};
use crate::connections::{ConnectionLimits, ConnectionTable};
use crate::descriptors;
use crate::listening_socket::ListeningSocket;

/// Pause after the system refused a connection, so that its lack of descriptors is not a busy loop.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Between two log lines about that.
const LOG_EVERY: Duration = Duration::from_secs(1);
/// The part of the connections that one address may have.
const ADDRESS_PERCENT: usize = 75;
/// What the system says when a process has no descriptors left, and when it has none itself.
const EMFILE: i32 = 24;
const ENFILE: i32 = 23;

/// Bounds of one listener.
#[derive(Debug, Clone)]
pub struct ListenerSettings {
    /// Its name in the log.
    pub name: &'static str,
    /// Connections at once; fewer where this process may have few descriptors.
    pub max_connections: usize,
    /// The part of this process's descriptors that its connections may take.
    pub descriptor_percent: usize,
    /// Bytes that were received on all connections together and that no request has read yet.
    pub receive_bytes: usize,
    /// From accept to the last byte of the first request's head.
    pub head_wait: Duration,
    /// A client that takes nothing of a response for so long has gone.
    pub reader_wait: Duration,
    /// Bytes of a request's head at most.
    pub max_head_bytes: usize,
    pub max_headers: usize,
    /// Requests that one HTTP/2 connection may have open.
    pub max_streams: u32,
}

/// Connections that the system refused, for the log.
#[derive(Debug, Default)]
struct Refusals {
    unlogged: u64,
    logged: Option<Instant>,
}

/// Accepts until `stop` changes or the socket is handed over; once `stop` has changed, lets every connection end
/// its requests.
pub async fn serve<S: Service>(
    listener: impl Into<ListeningSocket>,
    settings: ListenerSettings,
    service: Arc<S>,
    mut stop: watch::Receiver<bool>,
) {
    let listener = listener.into();
    let mut handed_over = listener.state();
    let table = ConnectionTable::new(settings.limits(descriptors::limit()));
    let shared = Arc::new(Shared {
        builder: connection::builder(&settings),
        service,
        settings,
        handed_over: handed_over.clone(),
    });
    let connections = TaskTracker::new();
    let mut refusals = Refusals::default();
    let is_handed_over = loop {
        let accepted = tokio::select! {
            accepted = listener.socket().accept() => accepted,
            () = handed_over.wait() => break true,
            _ = stop.changed() => break false,
        };
        let now = Instant::now();
        match accepted {
            Ok((socket, address)) => {
                let is_proxy = shared.service.is_proxy(address.ip());
                // Beyond its bound a connection is closed at once: waiting would only move the queue.
                let Some(entry) = table.admit(address.ip(), is_proxy, now) else {
                    continue;
                };
                let accepted = Accepted {
                    socket,
                    address,
                    entry,
                };
                connections.spawn(Arc::clone(&shared).serve(accepted, stop.clone()));
            }
            Err(error) => {
                if matches!(error.raw_os_error(), Some(EMFILE | ENFILE)) {
                    table.make_way(now);
                }
                refusals.log(shared.settings.name, &error, now);
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    };
    drop(listener);
    if is_handed_over {
        // Its sender is gone only with the node.
        drop(stop.changed().await);
    }
    connections.close();
    connections.wait().await;
}

// === impl ListenerSettings ===

impl ListenerSettings {
    fn limits(&self, descriptors: usize) -> ConnectionLimits {
        let part = |of: usize, percent: usize| {
            let part = of.saturating_mul(percent).checked_div(100);
            part.unwrap_or(of).max(1)
        };
        let all = self
            .max_connections
            .min(part(descriptors, self.descriptor_percent))
            .min(self.receive_bytes.checked_div(RECEIVE_BYTES).unwrap_or(0))
            .max(1);
        ConnectionLimits {
            all,
            per_address: part(all, ADDRESS_PERCENT),
        }
    }
}

// === impl Refusals ===

impl Refusals {
    fn log(&mut self, listener: &str, error: &io::Error, now: Instant) {
        self.unlogged = self.unlogged.saturating_add(1);
        let is_fresh = |at: Instant| now.saturating_duration_since(at) < LOG_EVERY;
        if self.logged.is_some_and(is_fresh) {
            return;
        }
        let count = std::mem::take(&mut self.unlogged);
        tracing::warn!(listener, %error, count, "accept failed; it is retried");
        self.logged = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_descriptors_and_memory_to_the_rest_of_the_process() {
        let usual = ListenerSettings {
            name: "edge",
            max_connections: 50_000,
            descriptor_percent: 75,
            receive_bytes: 1_000_000_000,
            head_wait: Duration::ZERO,
            reader_wait: Duration::ZERO,
            max_head_bytes: 0,
            max_headers: 0,
            max_streams: 0,
        };
        for (descriptors, receive_bytes, all, per_address) in [
            (400, 1_000_000_000, 300, 225),
            (1_000_000, 1_000_000_000, 15_258, 11_443),
            (1_000_000, 4_000_000_000, 50_000, 37_500),
            (1_000_000, 1, 1, 1),
            (1, 1_000_000_000, 1, 1),
        ] {
            let settings = ListenerSettings {
                receive_bytes,
                ..usual.clone()
            };
            let limits = settings.limits(descriptors);
            assert_eq!((limits.all, limits.per_address), (all, per_address));
        }
    }
}
