//! The console as one value: put together once, asked by one listener or by two.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::Request;
use tokio::sync::watch;
use trunkline_db::Database;
use trunkline_listener::ListeningSocket;
use trunkline_store::{people, sign_ups};
use trunkline_types::{misspelt_word, word_instead};

use crate::api;
use crate::docs;
use crate::listener;
use crate::middleware::Middleware;
use crate::parts::Parts;
use crate::shared::Shared;
use crate::static_files;

/// How often what is over is swept away.
const SWEEP_EVERY: Duration = Duration::from_secs(600);
/// How late scheduled prices may be.
const PUBLISH_EVERY: Duration = Duration::from_secs(15);

/// A console. Clones are the same one.
#[derive(Clone)]
pub struct Console {
    middleware: Arc<Middleware>,
    people: Database,
    shared: Shared,
}

// === impl Console ===

impl Console {
    #[must_use]
    pub fn new(parts: Parts) -> Self {
        let people = parts.people.clone();
        let (request_ids, callers) = (Arc::clone(&parts.request_ids), Arc::clone(&parts.callers));
        let error_pages = parts.settings.error_pages();
        let (router, shared) = api::router(parts);
        let middleware = Middleware::new(router, request_ids, callers, error_pages);
        Self {
            middleware: Arc::new(middleware),
            people,
            shared,
        }
    }

    /// Publishes prices that are due. Tests call it; a console that runs does so by itself.
    pub async fn publish_due_prices(&self) -> usize {
        match api::publish_due(&self.shared).await {
            Ok(count) => count,
            Err(error) => {
                tracing::warn!(%error, "scheduled prices not published yet");
                0
            }
        }
    }

    /// Sweeps away sign-ins, links and tries that are over, and publishes prices that are due, until the word
    /// `stop` changes.
    pub async fn run_cleanup(self, mut stop: watch::Receiver<bool>) {
        let mut sweep = tokio::time::interval(SWEEP_EVERY);
        let mut prices = tokio::time::interval(PUBLISH_EVERY);
        loop {
            tokio::select! {
                _ = stop.changed() => return,
                _ = prices.tick() => {
                    self.publish_due_prices().await;
                }
                _ = sweep.tick() => {
                    for swept in [people::sweep(&self.people).await, sign_ups::sweep(&self.people).await] {
                        match swept {
                            Ok(0) => {}
                            Ok(rows) => tracing::debug!(rows_count = rows, "session cleanup deleted expired rows"),
                            Err(error) => tracing::warn!(%error, "session cleanup failed"),
                        }
                    }
                }
            }
        }
    }

    /// Whether a path is one of the console's, where it shares its address with others. `/healthz` is
    /// not: the listener that owns the address reports its health.
    #[must_use]
    pub fn owns(path: &str) -> bool {
        path == "/openapi.json"
            || path == api::PAYMENT_WEBHOOK_PATH
            || path.starts_with("/api/")
            || path.starts_with("/schemas/")
            || static_files::owns(path)
            || docs::owns(path)
    }

    /// Answers one request that came from this peer.
    pub async fn answer<B>(&self, request: Request<B>, peer: IpAddr) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<axum::BoxError>,
    {
        misspelt(self.middleware.answer(request.map(Body::new), peer).await).await
    }

    /// The same with a buffered body, for a shared listener.
    pub async fn answer_whole<B>(&self, request: Request<B>, peer: IpAddr) -> Response<Bytes>
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<axum::BoxError>,
    {
        let (head, body) = self.answer(request, peer).await.into_parts();
        // Bodies are whole and in memory from the beginning, so nothing can fail, and a limit here could
        // only turn a long answer into an empty one.
        let body = axum::body::to_bytes(body, usize::MAX).await;
        Response::from_parts(head, body.unwrap_or_default())
    }

    /// Serves on an address that is ours already, until the word `stop` changes.
    pub async fn serve(self, listener: impl Into<ListeningSocket>, stop: watch::Receiver<bool>) {
        listener::serve(self, listener.into(), stop).await;
    }
}

/// What `just conformance-mutate` makes of an answer; in every other build, what it is.
async fn misspelt(answered: Response<Body>) -> Response<Body> {
    if misspelt_word().is_none() {
        return answered;
    }
    let (mut head, body) = answered.into_parts();
    head.headers.remove(http::header::CONTENT_LENGTH);
    let body = axum::body::to_bytes(body, usize::MAX).await;
    let body = body.unwrap_or_default();
    let body = word_instead(&body).map_or(body, Bytes::from);
    Response::from_parts(head, Body::from(body))
}
