//! The listener: connections in, requests bounded in size and time, every answer with its id. What
//! answers a path is given at start.

mod forwarded;
mod mounted_service;
mod tls;

use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Request};
use hyper::body::Incoming;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use trunkline_listener::{ListenerSettings, Peer, Service};
use trunkline_store::Network;
use trunkline_types::{RequestId, misspelt_word, word_instead};
use trunkline_wire::Format;

use self::tls::Tls;
use crate::request_context::RequestContext;
use crate::response::{OriginalRequest, Response, ResponseBody};
use crate::socket::PeerWatch;
use crate::state::EdgeState;

pub use self::forwarded::caller_address;
pub use self::mounted_service::MountedService;
pub use self::tls::{TlsError, TlsFiles};
pub use trunkline_listener::ListeningSocket;

/// Bytes of a request's head at most.
const MAX_HEAD_BYTES: usize = 65_536;
const MAX_HEADERS: usize = 128;
/// Requests that one HTTP/2 connection may have open.
const MAX_STREAMS: u32 = 128;
/// The part of the process's descriptors that its connections may take. The rest is for upstreams, files
/// and the database.
const DESCRIPTOR_PERCENT: usize = 75;

/// How often the certificate's files are looked at.
const CERTIFICATE_LOOK: Duration = Duration::from_secs(2);
/// Headers of ours that a browser may read.
const EXPOSED: &str = "x-request-id, request-id, trunkline-cost-usd, trunkline-warnings, retry-after, \
    x-ratelimit-limit-requests, x-ratelimit-remaining-requests, x-ratelimit-reset-requests, \
    x-ratelimit-limit-tokens, x-ratelimit-remaining-tokens, x-ratelimit-reset-tokens, \
    anthropic-ratelimit-requests-limit, anthropic-ratelimit-requests-remaining, \
    anthropic-ratelimit-requests-reset, anthropic-ratelimit-tokens-limit, \
    anthropic-ratelimit-tokens-remaining, anthropic-ratelimit-tokens-reset, \
    idempotent-replayed, trunkline-workflow-run, deprecation, sunset, *";

#[derive(Debug, Clone)]
pub struct EdgeSettings {
    /// Proxies whose forwarding header is trusted.
    pub trusted_proxies: Vec<Network>,
    /// Connections at once.
    pub max_connections: usize,
    /// Bytes that were received and not read yet, over all connections.
    pub receive_bytes: usize,
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
    listener: ListeningSocket,
    settings: EdgeSettings,
    tls: Option<Tls>,
    guest: Option<MountedService>,
}

/// A listener with its connections.
pub struct Edge {
    listener: ListeningSocket,
    shared: Arc<Shared>,
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
    tls: Option<Tls>,
    guest: Option<MountedService>,
}

impl Default for EdgeSettings {
    fn default() -> Self {
        Self {
            trusted_proxies: Vec::new(),
            max_connections: 50_000,
            receive_bytes: 1_000_000_000,
            tls: None,
        }
    }
}

// === impl BoundListener ===

impl BoundListener {
    /// Takes the address and reads the certificate.
    pub async fn bind(address: SocketAddr, settings: EdgeSettings) -> Result<Self, EdgeError> {
        let listener = TcpListener::bind(address).await;
        let listener = listener.map_err(|error| EdgeError::Bind(address, error))?;
        Self::on(listener.into(), settings)
    }

    /// The same on a socket that is ours already.
    pub fn on(listener: ListeningSocket, settings: EdgeSettings) -> Result<Self, EdgeError> {
        let tls = settings.tls.clone().map(Tls::load).transpose()?;
        Ok(Self {
            listener,
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
        Edge {
            listener: self.listener,
            shared: Arc::new(Shared {
                handler,
                settings: self.settings,
                tls: self.tls,
                guest: self.guest,
            }),
        }
    }
}

// === impl Edge ===

impl Edge {
    /// Accepts until `stop` changes, then lets every connection end its request.
    pub async fn serve(self, stop: watch::Receiver<bool>) {
        let Self { listener, shared } = self;
        let settings = shared.listener_settings();
        let serving = trunkline_listener::serve(listener, settings, Arc::clone(&shared), stop);
        let following = async {
            let mut look = tokio::time::interval(CERTIFICATE_LOOK);
            loop {
                look.tick().await;
                shared.tls.iter().for_each(Tls::follow);
            }
        };
        tokio::select! {
            () = serving => {}
            () = following => {}
        }
    }
}

// === impl Shared ===

impl Service for Shared {
    type Body = ResponseBody;

    fn answer(
        &self,
        request: Request<Incoming>,
        peer: Peer,
    ) -> impl Future<Output = Response> + Send {
        self.respond(request, peer)
    }

    fn is_proxy(&self, address: IpAddr) -> bool {
        forwarded::is_trusted(address.to_canonical(), &self.settings.trusted_proxies)
    }

    fn tls(&self) -> Option<Arc<TlsAcceptor>> {
        self.tls.as_ref().map(Tls::acceptor)
    }
}

impl Shared {
    fn listener_settings(&self) -> ListenerSettings {
        let settings = &self.handler.edge().settings;
        ListenerSettings {
            name: "edge",
            max_connections: self.settings.max_connections,
            descriptor_percent: DESCRIPTOR_PERCENT,
            receive_bytes: self.settings.receive_bytes,
            head_wait: settings.head_wait,
            reader_wait: settings.reader_wait,
            max_head_bytes: MAX_HEAD_BYTES,
            max_headers: MAX_HEADERS,
            max_streams: MAX_STREAMS,
        }
    }

    /// One request: an id, an answer, and a context that ends with one line in the access log.
    async fn respond(&self, mut request: Request<Incoming>, peer: Peer) -> Response {
        rename_headers(request.headers_mut());
        let watch = PeerWatch::new(peer.socket);
        let peer = peer.address.ip();
        let guest = self.guest.as_ref();
        if let Some(guest) = guest.filter(|guest| (guest.owns)(request.uri().path())) {
            return guest.answered(request, peer).await;
        }
        let proxies = &self.settings.trusted_proxies;
        let address = caller_address(request.headers(), peer, proxies);
        let handler = &self.handler;
        let context = RequestContext::begin(handler.edge(), &request, address, watch);
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
        counted(&context, misspelt(answered))
    }
}

/// What `just conformance-mutate` makes of an answer's headers and its body in memory; in every other build, what it is.
fn misspelt(mut answered: Response) -> Response {
    rename_headers(answered.headers_mut());
    answered.map(|body| match body {
        ResponseBody::Whole(Some(bytes)) => {
            ResponseBody::Whole(Some(word_instead(&bytes).map_or(bytes, Bytes::from)))
        }
        other @ (ResponseBody::Whole(None)
        | ResponseBody::Pieces(_)
        | ResponseBody::File(_)
        | ResponseBody::Acked(_)) => other,
    })
}

/// Nothing, but for `just conformance-mutate`.
fn rename_headers(headers: &mut http::HeaderMap) {
    let Some((name, other)) = misspelt_word() else {
        return;
    };
    if let Some(value) = headers.remove(name)
        && let Ok(other) = HeaderName::from_bytes(other.as_bytes())
    {
        headers.insert(other, value);
    }
}

/// A whole answer is memory of its account until its client has taken it. A replay is counted already.
fn counted(context: &RequestContext, answered: Response) -> Response {
    if answered.extensions().get::<OriginalRequest>().is_some() {
        return answered;
    }
    answered.map(|body| match body {
        ResponseBody::Whole(Some(bytes)) => ResponseBody::Whole(Some(context.counted(bytes))),
        other @ (ResponseBody::Whole(None)
        | ResponseBody::Pieces(_)
        | ResponseBody::File(_)
        | ResponseBody::Acked(_)) => other,
    })
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
