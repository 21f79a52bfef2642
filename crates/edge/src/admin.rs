//! The admin listener: health and metrics. Never on a public address.

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, StatusCode};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

use crate::response::{self, Response};
use crate::state::EdgeState;

/// Writes the metrics of a node.
pub type MetricsPage = Arc<dyn Fn() -> String + Send + Sync>;

pub struct Admin {
    edge: Arc<EdgeState>,
    metrics: MetricsPage,
    listener: TcpListener,
}

impl Admin {
    /// On an address that is ours already.
    #[must_use]
    pub const fn new(edge: Arc<EdgeState>, metrics: MetricsPage, listener: TcpListener) -> Self {
        Self {
            edge,
            metrics,
            listener,
        }
    }

    /// Serves until `stop` changes.
    pub async fn serve(self, mut stop: watch::Receiver<bool>) {
        let connections = TaskTracker::new();
        loop {
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                _ = stop.changed() => break,
            };
            let Ok((stream, _)) = accepted else { continue };
            let (edge, metrics) = (Arc::clone(&self.edge), Arc::clone(&self.metrics));
            let mut stop = stop.clone();
            connections.spawn(async move {
                let service = service_fn(|request: Request<Incoming>| {
                    let answered = answer(&edge, &metrics, request.uri().path());
                    async move { Ok::<_, std::convert::Infallible>(answered) }
                });
                let builder = auto::Builder::new(TokioExecutor::new());
                let connection = builder.serve_connection(TokioIo::new(stream), service);
                tokio::select! {
                    // A scraper that goes away badly is its own affair.
                    ended = connection => drop(ended),
                    _ = stop.changed() => {}
                }
            });
        }
        connections.close();
        connections.wait().await;
    }
}

fn answer(edge: &EdgeState, metrics: &MetricsPage, path: &str) -> Response {
    let text = |status, text: String| {
        let kind = "text/plain; version=0.0.4; charset=utf-8";
        response::bytes_of(status, Bytes::from(text), kind)
    };
    match path {
        "/healthz" => text(StatusCode::OK, "live\n".to_owned()),
        "/readyz" if edge.is_ready() => text(StatusCode::OK, "ready\n".to_owned()),
        "/readyz" => text(StatusCode::SERVICE_UNAVAILABLE, "not ready\n".to_owned()),
        "/metrics" => text(StatusCode::OK, metrics()),
        _ => text(
            StatusCode::NOT_FOUND,
            "/healthz /readyz /metrics\n".to_owned(),
        ),
    }
}
