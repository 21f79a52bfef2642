//! The console's own listener.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use hyper::body::Incoming;
use tokio::sync::watch;
use trunkline_listener::{ListenerSettings, ListeningSocket, Peer, Service};

use crate::console::Console;

/// People and dashboards, not customers' calls.
const SETTINGS: ListenerSettings = ListenerSettings {
    name: "console",
    max_connections: 1_000,
    descriptor_percent: 10,
    receive_bytes: 65_536_000,
    head_wait: Duration::from_secs(10),
    reader_wait: Duration::from_secs(60),
    max_head_bytes: 16_384,
    max_headers: 100,
    max_streams: 64,
};

/// Accepts until `stop` changes, then lets every connection end its request.
pub(crate) async fn serve(
    console: Console,
    listener: ListeningSocket,
    stop: watch::Receiver<bool>,
) {
    trunkline_listener::serve(listener, SETTINGS, Arc::new(console), stop).await;
}

impl Service for Console {
    type Body = Body;

    async fn answer(&self, request: http::Request<Incoming>, peer: Peer) -> Response {
        Self::answer(self, request, peer.address.ip()).await
    }
}
