//! The pooled HTTP client, with one set of pools per egress. A stream has its own HTTP/1.1 connection, so that a
//! stalled reader blocks no other call; buffered responses may share an HTTP/2 connection. Errors tell a request
//! that was not sent from one whose outcome is unknown.

mod body;
mod connector;
mod payload;
mod pools;
mod proxy;
mod roots;

use std::collections::HashMap;
use std::error::Error as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Uri};
use hyper_util::client::legacy::connect::{CaptureConnection, capture_connection};
use tokio::time::Instant;
use trunkline_types::word_instead;

pub use body::{BodyError, IdleDeadline, UpstreamResponse};
pub use payload::Payload;
use pools::Pools;
pub use proxy::{Proxy, ProxyError};
pub use roots::{MAX_EXTRA_ROOTS, Roots, RootsError};

/// Longest chain of error causes in a message.
const MAX_CAUSES: usize = 4;
/// Different ways out, by proxy and time for a connection, that have pools of their own.
const MAX_WAYS: usize = 64;

/// How long each part of a call may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadlines {
    /// Until the response's headers are there, the connection included.
    pub first_byte: Duration,
    /// Between two pieces of the body.
    pub idle: Duration,
    pub total: Duration,
}

/// The HTTP version of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1, on a connection of its own while it runs. Every stream.
    Http1,
    /// HTTP/2 if the server accepts it in the TLS handshake, otherwise HTTP/1.1. For responses that are buffered
    /// at once: calls that share a connection share its flow control too.
    Http2,
}

#[derive(Debug)]
pub struct Outgoing<'a> {
    pub method: Method,
    pub uri: Uri,
    /// All headers but `host` and `content-length`. Credentials must be marked sensitive.
    pub headers: HeaderMap,
    pub body: Payload,
    /// How long it may take.
    pub deadlines: Deadlines,
    /// The egress proxy; none for a direct connection.
    pub proxy: Option<&'a Proxy>,
    pub protocol: Protocol,
}

/// Why there is no response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The request was not sent: connection refused, unknown host, TLS, or a proxy error. Or it was sent over
    /// HTTP/2 and the server stated that it did not process it.
    #[error("the upstream is unreachable: {0}")]
    NotSent(String),
    /// It was sent, and the connection broke before the response.
    #[error("the upstream closed the connection without an answer: {0}")]
    Broken(String),
    /// It was sent, and no response came in time.
    #[error("the upstream did not answer in time")]
    Silent,
}

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// TLS cannot be set up.
    #[error("TLS cannot be set up: {0}")]
    Tls(#[from] rustls::Error),
}

/// The client. Clones share their pools, and cost a call next to nothing: pools and TLS are large values.
#[derive(Clone)]
pub struct Client {
    direct: Arc<Pools>,
    connect_timeout: Duration,
    shared: Arc<Shared>,
}

/// What all clones share.
struct Shared {
    tls: rustls::ClientConfig,
    pools: Mutex<HashMap<Way, Arc<Pools>>>,
}

/// The connect timeout, and the proxy's URL; none for a direct connection.
type Way = (Duration, Option<String>);

// === impl Client ===

impl Client {
    /// A client that trusts the public roots. The timeout covers the whole connection: DNS, TCP, proxy, TLS.
    pub fn new(connect_timeout: Duration) -> Result<Self, ClientError> {
        Self::with_roots(connect_timeout, &Roots::default())
    }

    /// A client that trusts the public roots and others.
    pub fn with_roots(connect_timeout: Duration, extra: &Roots) -> Result<Self, ClientError> {
        let tls = tls(extra)?;
        Ok(Self {
            direct: Arc::new(Pools::new(&tls, None, connect_timeout)),
            connect_timeout,
            shared: Arc::new(Shared {
                tls,
                pools: Mutex::default(),
            }),
        })
    }

    /// The same client with another connect timeout. Clients with the same timeout share pools.
    #[must_use]
    pub fn connecting_within(&self, connect_timeout: Duration) -> Self {
        let mut other = self.clone();
        if connect_timeout != self.connect_timeout {
            other.connect_timeout = connect_timeout;
            other.direct = other.pools_for(None);
        }
        other
    }

    /// Sends a call and waits for the head of its response.
    pub async fn send(&self, call: Outgoing<'_>) -> Result<UpstreamResponse, SendError> {
        let ends = Instant::now().checked_add(call.deadlines.total);
        let deadlines = call.deadlines;
        let pools = match call.proxy {
            None => Arc::clone(&self.direct),
            Some(proxy) => self.pools_for(Some(proxy)),
        };
        let (pool, place) = pools.choose(call.protocol);
        let mut request = request_of(call)?;
        let taken = capture_connection(&mut request);
        let first_byte = deadlines.first_byte.min(deadlines.total);
        match tokio::time::timeout(first_byte, pool.request(request)).await {
            // Until a connection accepted it, it was queued in this process.
            Err(_) if !was_taken(&taken) => {
                let words = "there was no connection in time".to_owned();
                Err(SendError::NotSent(words))
            }
            Err(_) => Err(SendError::Silent),
            Ok(Err(error)) => Err(not_answered(&error, was_taken(&taken))),
            Ok(Ok(response)) => Ok(UpstreamResponse::new(response, deadlines.idle, ends, place)),
        }
    }

    /// The pools of an egress, created on first use. A full map is cleared: connections in use keep their own pool
    /// alive.
    fn pools_for(&self, proxy: Option<&Proxy>) -> Arc<Pools> {
        let way = (
            self.connect_timeout,
            proxy.map(|proxy| proxy.text().to_owned()),
        );
        let pools = self.shared.pools.lock();
        let mut pools = pools.unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = pools.get(&way) {
            return Arc::clone(known);
        }
        if pools.len() >= MAX_WAYS {
            pools.clear();
        }
        let made = Pools::new(&self.shared.tls, proxy, self.connect_timeout);
        let made = Arc::new(made);
        pools.insert(way, Arc::clone(&made));
        made
    }
}

/// TLS that trusts the public roots and others.
pub(crate) fn tls(extra: &Roots) -> Result<rustls::ClientConfig, ClientError> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    Ok(rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(extra.store()?)
        .with_no_client_auth())
}

fn request_of(call: Outgoing<'_>) -> Result<Request<Payload>, SendError> {
    let mut request = Request::new(misspelt(call.body));
    *request.method_mut() = call.method;
    *request.uri_mut() = call.uri;
    *request.headers_mut() = call.headers;
    if request.uri().host().is_none() {
        return Err(SendError::NotSent("the address has no host".to_owned()));
    }
    Ok(request)
}

/// What `just conformance-mutate` makes of a request; in every other build, what it is.
fn misspelt(body: Payload) -> Payload {
    match body {
        Payload::Whole(bytes) => Payload::Whole(word_instead(&bytes).map_or(bytes, Bytes::from)),
        other @ Payload::Pieces { .. } => other,
    }
}

fn was_taken(taken: &CaptureConnection) -> bool {
    taken.connection_metadata().is_some()
}

fn not_answered(error: &hyper_util::client::legacy::Error, was_taken: bool) -> SendError {
    // These errors do not contain the URL, only the operating system's messages.
    let mut words = error.to_string();
    let mut cause = error.source();
    for _ in 0..MAX_CAUSES {
        let Some(known) = cause else { break };
        words = format!("{words}: {known}");
        cause = known.source();
    }
    if error.is_connect() || !was_taken || was_given_back(error) {
        SendError::NotSent(words)
    } else {
        SendError::Broken(words)
    }
}

/// Whether a request that a connection accepted was certainly not processed.
fn was_given_back(error: &hyper_util::client::legacy::Error) -> bool {
    let Some(error) = error.source().and_then(|cause| cause.downcast_ref()) else {
        return false;
    };
    let error: &hyper::Error = error;
    // The connection closed before it had written a byte of the request.
    if error.is_canceled() {
        return true;
    }
    let Some(error) = error.source().and_then(|cause| cause.downcast_ref()) else {
        return false;
    };
    let error: &h2::Error = error;
    // RFC 9113, 8.7: a refused stream, and one above the last that a GOAWAY names, was not processed.
    // The streams below that one go on, and end with another error if the connection does.
    let refused = error.is_reset() && error.reason() == Some(h2::Reason::REFUSED_STREAM);
    let gone = error.is_go_away() && error.reason() == Some(h2::Reason::NO_ERROR);
    error.is_remote() && (refused || gone)
}
