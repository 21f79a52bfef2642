//! The console as one value: put together once, asked by one listener or by two.

use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::Request;
use tokio::net::TcpListener;
use tokio::sync::watch;
use trunkline_db::Database;
use trunkline_terms::RequestId;

use crate::api;
use crate::front::Front;
use crate::listener;
use crate::shop::Shop;

/// Where the ids of requests come from.
pub type RequestIds = Arc<dyn Fn() -> RequestId + Send + Sync>;

/// What a console is made of.
pub struct Parts {
    /// The database; reading what the console shows is all that its role must allow.
    pub data: Database,
    /// What is sold.
    pub shop: Arc<dyn Shop>,
    /// Fresh ids.
    pub request_ids: RequestIds,
}

/// A console. Clones are the same one.
#[derive(Clone)]
pub struct Console {
    front: Arc<Front>,
}

// === impl Console ===

impl Console {
    /// Puts it together.
    #[must_use]
    pub fn new(parts: Parts) -> Self {
        let router = api::router(parts.data, parts.shop);
        let front = Front::new(router, parts.request_ids);
        Self {
            front: Arc::new(front),
        }
    }

    /// Whether a path is one of the console's, where it shares its address with others. `/healthz` is
    /// not: whoever owns the address tells of its health.
    #[must_use]
    pub fn owns(path: &str) -> bool {
        path == "/openapi.json" || path.starts_with("/api/") || path.starts_with("/schemas/")
    }

    /// Answers one request.
    pub async fn answer<B>(&self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<axum::BoxError>,
    {
        self.front.answer(request.map(Body::new)).await
    }

    /// The same with the whole body in memory, for an address that is somebody else's.
    pub async fn answer_whole<B>(&self, request: Request<B>) -> Response<Bytes>
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<axum::BoxError>,
    {
        let (head, body) = self.answer(request).await.into_parts();
        // Bodies are whole and in memory from the beginning, so nothing can fail, and a limit here could
        // only turn a long answer into an empty one.
        let body = axum::body::to_bytes(body, usize::MAX).await;
        Response::from_parts(head, body.unwrap_or_default())
    }

    /// Serves on an address that is ours already, until the word `stop` changes.
    pub async fn serve(self, listener: TcpListener, stop: watch::Receiver<bool>) {
        listener::serve(self, listener, stop).await;
    }
}
