//! The listener: connections in, requests bounded in size and time, every answer with its id. What
//! answers a path is given at start.

mod forwarded;
mod mounted_service;
mod tls;

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderName, HeaderValue, Method, Request};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio_util::task::TaskTracker;
use trunkline_store::Network;
use trunkline_types::RequestId;
use trunkline_wire::Format;

use self::tls::Tls;
use crate::request_context::RequestContext;
use crate::response::{OriginalRequest, Response, ResponseBody};
use crate::socket::{PeerWatch, WatchedStream};
use crate::state::EdgeState;

pub use self::forwarded::caller_address;
pub use self::mounted_service::MountedService;
pub use self::tls::{TlsError, TlsFiles};

/// Bytes of a request's head at most.
const MAX_HEAD_BYTES: usize = 65_536;
const MAX_HEADERS: usize = 128;
/// Requests that one HTTP/2 connection may have open.
const MAX_STREAMS: u32 = 128;
/// Resets of streams that one connection may send before it is closed.
const MAX_PENDING_RESETS: usize = 64;
/// Pause after the system refused a connection, so that its lack of files is not a busy loop.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// How often the certificate's files are looked at.
const CERTIFICATE_LOOK: Duration = Duration::from_secs(2);
/// Headers of ours that a browser may read.
const EXPOSED: &str = "x-request-id, request-id, trunkline-cost-usd, trunkline-warnings, retry-after, \
    x-ratelimit-limit-requests, x-ratelimit-remaining-requests, x-ratelimit-reset-requests, \
    x-ratelimit-limit-tokens, x-ratelimit-remaining-tokens, x-ratelimit-reset-tokens, \
    anthropic-ratelimit-requests-limit, anthropic-ratelimit-requests-remaining, \
    anthropic-ratelimit-requests-reset, anthropic-ratelimit-tokens-limit, \
    anthropic-ratelimit-tokens-remaining, anthropic-ratelimit-tokens-reset, \
    idempotent-replayed, deprecation, sunset, *";

#[derive(Debug, Clone)]
pub struct EdgeSettings {
    /// Proxies whose forwarding header is trusted.
    pub trusted_proxies: Vec<Network>,
    /// Connections at once.
    pub max_connections: usize,
    /// Certificate and key; none to speak plainly, behind a proxy or on this machine.
    pub tls: Option<TlsFiles>,
}

#[derive(Debug, thiserror::Error)]
pub enum EdgeError {
    /// The address cannot be had.
    #[error("cannot listen on {0}: {1}")]
    Bind(SocketAddr, std::io::Error),
    /// The certificate cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// A bound address that serves no connection yet. It is bound first of all: a process that cannot
/// listen must not have replaced one that does.
pub struct BoundListener {
    listener: TcpListener,
    settings: EdgeSettings,
    tls: Option<Tls>,
    guest: Option<MountedService>,
}

/// A listener with its connections.
pub struct Edge {
    listener: TcpListener,
    shared: Arc<Shared>,
    connections: TaskTracker,
}

/// What answers the requests of a listener. A response is made in a box: an idle connection keeps no
/// space for it.
pub trait RequestHandler: Send + Sync {
    fn edge(&self) -> &Arc<EdgeState>;

    /// The format of what is reported under a path.
    fn format_of(&self, path: &str) -> Format;

    /// Answers a request; errors are responses too.
    fn handle<'a>(
        &'a self,
        context: &'a Arc<RequestContext>,
        request: Request<Incoming>,
    ) -> Pin<Box<dyn Future<Output = Response> + Send + 'a>>;
}

struct Shared {
    handler: Box<dyn RequestHandler>,
    settings: EdgeSettings,
    builder: auto::Builder<TokioExecutor>,
    tls: Option<Tls>,
    guest: Option<MountedService>,
}

impl Default for EdgeSettings {
    fn default() -> Self {
        Self {
            trusted_proxies: Vec::new(),
            max_connections: 50_000,
            tls: None,
        }
    }
}

// === impl BoundListener ===

impl BoundListener {
    /// Takes the address and reads the certificate.
    pub async fn bind(address: SocketAddr, settings: EdgeSettings) -> Result<Self, EdgeError> {
        let tls = settings.tls.clone().map(Tls::load).transpose()?;
        let listener = TcpListener::bind(address).await;
        Ok(Self {
            listener: listener.map_err(|error| EdgeError::Bind(address, error))?,
            settings,
            tls,
            guest: None,
        })
    }

    /// Mounts another service for some paths.
    #[must_use]
    pub fn share(mut self, guest: MountedService) -> Self {
        self.guest = Some(guest);
        self
    }

    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// What answers its requests. Nothing is accepted before [`Edge::serve`].
    #[must_use]
    pub fn open(self, handler: Box<dyn RequestHandler>) -> Edge {
        let mut builder = auto::Builder::new(TokioExecutor::new());
        builder
            .http1()
            .timer(TokioTimer::new())
            .header_read_timeout(handler.edge().settings.head_wait)
            .max_buf_size(MAX_HEAD_BYTES)
            .max_headers(MAX_HEADERS)
            .half_close(true);
        builder
            .http2()
            .timer(TokioTimer::new())
            .max_concurrent_streams(MAX_STREAMS)
            .max_pending_accept_reset_streams(MAX_PENDING_RESETS)
            .max_header_list_size(u32::try_from(MAX_HEAD_BYTES).unwrap_or(u32::MAX))
            .keep_alive_interval(Duration::from_secs(30));
        Edge {
            listener: self.listener,
            shared: Arc::new(Shared {
                handler,
                settings: self.settings,
                builder,
                tls: self.tls,
                guest: self.guest,
            }),
            connections: TaskTracker::new(),
        }
    }
}

// === impl Edge ===

impl Edge {
    /// Accepts until `stop` changes, then lets every connection end its request.
    pub async fn serve(self, mut stop: watch::Receiver<bool>) {
        let connection_permits = Arc::new(Semaphore::new(self.shared.settings.max_connections));
        let mut look = tokio::time::interval(CERTIFICATE_LOOK);
        loop {
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                _ = stop.changed() => break,
                _ = look.tick() => {
                    self.shared.tls.iter().for_each(Tls::follow);
                    continue;
                }
            };
            let (stream, peer) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!(%error, "accept failed");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            // Beyond the limit a connection is closed at once: waiting would only move the queue.
            let Ok(permit) = Arc::clone(&connection_permits).try_acquire_owned() else {
                continue;
            };
            let (shared, stop) = (Arc::clone(&self.shared), stop.clone());
            self.connections.spawn(async move {
                shared.handshake(stream, peer, stop).await;
                drop(permit);
            });
        }
        drop(self.listener);
        self.connections.close();
        self.connections.wait().await;
    }
}

// === impl Shared ===

impl Shared {
    /// Shakes hands, if the listener speaks TLS.
    async fn handshake(
        self: Arc<Self>,
        stream: TcpStream,
        peer: SocketAddr,
        stop: watch::Receiver<bool>,
    ) {
        drop(stream.set_nodelay(true));
        let line = WatchedStream::new(stream);
        let from = (peer, line.watch());
        let Some(tls) = &self.tls else {
            return self.connection(line, from, stop).await;
        };
        let handshake = tls.acceptor().accept(line);
        let head_wait = self.handler.edge().settings.head_wait;
        match tokio::time::timeout(head_wait, handshake).await {
            Ok(Ok(stream)) => self.connection(stream, from, stop).await,
            Ok(Err(error)) => tracing::debug!(%error, "TLS handshake failed"),
            Err(_) => tracing::debug!("TLS handshake timed out"),
        }
    }

    async fn connection<S>(
        self: Arc<Self>,
        stream: S,
        from: (SocketAddr, PeerWatch),
        mut stop: watch::Receiver<bool>,
    ) where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let shared = Arc::clone(&self);
        let service = service_fn(move |request: Request<Incoming>| {
            let (shared, from) = (Arc::clone(&shared), from.clone());
            async move { Ok::<_, std::convert::Infallible>(shared.answer(request, from).await) }
        });
        let connection = self.builder.serve_connection(TokioIo::new(stream), service);
        tokio::pin!(connection);
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            _ = stop.changed() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "connection error");
        }
    }

    /// One request: an id, an answer, and a context that ends with one line in the access log.
    async fn answer(
        &self,
        request: Request<Incoming>,
        (peer, watch): (SocketAddr, PeerWatch),
    ) -> Response {
        let guest = self.guest.as_ref();
        if let Some(guest) = guest.filter(|guest| (guest.owns)(request.uri().path())) {
            return guest.answered(request, peer.ip()).await;
        }
        let proxies = &self.settings.trusted_proxies;
        let address = caller_address(request.headers(), peer.ip(), proxies);
        let handler = &self.handler;
        let context = RequestContext::begin(handler.edge(), &request, (address, watch));
        let format = handler.format_of(request.uri().path());
        let is_cross_origin = request.headers().contains_key(http::header::ORIGIN);
        let answered = if request.method() == Method::OPTIONS {
            preflight()
        } else {
            handler.handle(&context, request).await
        };
        let mut answered = with_ids(answered, context.id);
        if is_cross_origin {
            share(answered.headers_mut());
        }
        context.show_limits(&mut answered, format);
        context.answered(&answered);
        answered
    }
}

/// The ids of its call: the first one's, where an answer is given again.
fn with_ids(mut answered: Response, id: RequestId) -> Response {
    let id = answered
        .extensions()
        .get::<OriginalRequest>()
        .map_or(id, |of| of.0);
    let headers = answered.headers_mut();
    if let Ok(value) = HeaderValue::from_str(&id.to_string()) {
        headers.insert(HeaderName::from_static("x-request-id"), value.clone());
        headers.insert(HeaderName::from_static("request-id"), value);
    }
    answered
}

/// Lets a page of another origin read the answer. Programs send no `Origin` and get none of this.
fn share(headers: &mut http::HeaderMap) {
    let any = HeaderValue::from_static("*");
    headers.insert(http::header::ACCESS_CONTROL_ALLOW_ORIGIN, any);
    let exposed = HeaderValue::from_static(EXPOSED);
    headers.insert(http::header::ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
}

fn preflight() -> Response {
    let mut answered = Response::new(ResponseBody::Whole(None));
    *answered.status_mut() = http::StatusCode::NO_CONTENT;
    let headers = answered.headers_mut();
    let any = HeaderValue::from_static("*");
    headers.insert(http::header::ACCESS_CONTROL_ALLOW_METHODS, any);
    // A star does not cover `authorization`; it must be named.
    let allowed = HeaderValue::from_static("authorization, content-type, *");
    headers.insert(http::header::ACCESS_CONTROL_ALLOW_HEADERS, allowed);
    let day = HeaderValue::from_static("86400");
    headers.insert(http::header::ACCESS_CONTROL_MAX_AGE, day);
    answered
}
