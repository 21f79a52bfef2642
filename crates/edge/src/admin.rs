//! The admin listener: health and metrics. Never on a public address.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode};
use hyper::body::Incoming;
use tokio::sync::watch;
use trunkline_listener::{ListenerSettings, ListeningSocket, Peer, Service};

use crate::response::{self, Response, ResponseBody};
use crate::state::EdgeState;

/// Writes the metrics of a node.
pub type MetricsPage = Arc<dyn Fn() -> String + Send + Sync>;

/// Scrapers and probes, not customers.
const SETTINGS: ListenerSettings = ListenerSettings {
    name: "admin",
    max_connections: 100,
    descriptor_percent: 5,
    receive_bytes: 6_553_600,
    head_wait: Duration::from_secs(10),
    reader_wait: Duration::from_secs(30),
    max_head_bytes: 16_384,
    max_headers: 100,
    max_streams: 16,
};

pub struct Admin {
    edge: Arc<EdgeState>,
    metrics: MetricsPage,
    listener: ListeningSocket,
}

/// What answers its requests.
struct AdminPages {
    edge: Arc<EdgeState>,
    metrics: MetricsPage,
}

impl Admin {
    /// On an address that is ours already.
    #[must_use]
    pub const fn new(
        edge: Arc<EdgeState>,
        metrics: MetricsPage,
        listener: ListeningSocket,
    ) -> Self {
        Self {
            edge,
            metrics,
            listener,
        }
    }

    /// Serves until `stop` changes.
    pub async fn serve(self, stop: watch::Receiver<bool>) {
        let pages = Arc::new(AdminPages {
            edge: self.edge,
            metrics: self.metrics,
        });
        trunkline_listener::serve(self.listener, SETTINGS, pages, stop).await;
    }
}

impl Service for AdminPages {
    type Body = ResponseBody;

    async fn answer(&self, request: Request<Incoming>, _peer: Peer) -> Response {
        answer(&self.edge, &self.metrics, request.uri().path())
    }
}

fn answer(edge: &EdgeState, metrics: &MetricsPage, path: &str) -> Response {
    let text = |status, text: String| {
        let kind = "text/plain; version=0.0.4; charset=utf-8";
        response::bytes_of(status, Bytes::from(text), kind)
    };
    match path {
        "/healthz" => text(StatusCode::OK, "live\n".to_owned()),
        "/readyz" => match edge.not_ready() {
            None => text(StatusCode::OK, "ready\n".to_owned()),
            Some(why) => text(
                StatusCode::SERVICE_UNAVAILABLE,
                format!("not ready: {why}\n"),
            ),
        },
        "/metrics" => text(StatusCode::OK, metrics()),
        _ => text(
            StatusCode::NOT_FOUND,
            "/healthz /readyz /metrics\n".to_owned(),
        ),
    }
}
