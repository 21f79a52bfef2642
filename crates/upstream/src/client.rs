//! The pooled client. One set of pools per egress. A stream has a connection of its own, HTTP/1.1, so
//! that one reader who stalls stalls nobody else; whole answers may share one in HTTP/2. A call that
//! was not sent is told apart from one of which nobody knows.

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

use http::{HeaderMap, Method, Request, Uri};
use hyper_util::client::legacy::connect::{CaptureConnection, capture_connection};
use tokio::time::Instant;

pub use body::{BodyError, IdleDeadline, UpstreamResponse};
pub use payload::Payload;
use pools::Pools;
pub use proxy::{Proxy, ProxyError};
pub use roots::{MAX_EXTRA_ROOTS, Roots, RootsError};

/// Causes of an error that are told.
const MAX_CAUSES: usize = 4;
/// Different ways out, by proxy and time for a connection, that have pools of their own.
const MAX_WAYS: usize = 64;

/// How long each part of a call may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadlines {
    /// Until the answer's headers are there, the connection included.
    pub first_byte: Duration,
    /// Between two pieces of the body.
    pub idle: Duration,
    /// Everything.
    pub total: Duration,
}

/// What a call is spoken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1, on a connection of its own while it runs. Every stream.
    Http1,
    /// HTTP/2 if the server takes it in the TLS handshake, otherwise HTTP/1.1. For answers that are
    /// read whole and at once: calls that share a connection share its flow too.
    Http2,
}

/// A call to make.
#[derive(Debug)]
pub struct Outgoing<'a> {
    /// The method.
    pub method: Method,
    /// The whole address.
    pub uri: Uri,
    /// All headers but `host` and `content-length`. Credentials must be marked sensitive.
    pub headers: HeaderMap,
    /// The body.
    pub body: Payload,
    /// How long it may take.
    pub deadlines: Deadlines,
    /// The way out; none for the direct one.
    pub proxy: Option<&'a Proxy>,
    /// What it is spoken in.
    pub protocol: Protocol,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The request did not leave: refused, unknown host, TLS, or a proxy that would not. Or it left
    /// in HTTP/2 and the server gave its word that it was not looked at.
    #[error("the upstream could not be reached: {0}")]
    NotSent(String),
    /// It left, and the connection broke before an answer.
    #[error("the upstream closed the connection without an answer: {0}")]
    Broken(String),
    /// It left, and no answer came in time.
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

/// The client. Clones share their pools.
#[derive(Clone)]
pub struct Client {
    direct: Pools,
    connect_timeout: Duration,
    tls: rustls::ClientConfig,
    shelf: Arc<Mutex<HashMap<Way, Pools>>>,
}

/// The time for a connection, and the proxy's text; none for the direct way.
type Way = (Duration, Option<String>);

// === impl Client ===

impl Client {
    /// A client that trusts the public roots. The time is for a whole connection: name, TCP, proxy,
    /// TLS.
    pub fn new(connect_timeout: Duration) -> Result<Self, ClientError> {
        Self::with_roots(connect_timeout, &Roots::default())
    }

    /// A client that trusts the public roots and others.
    pub fn with_roots(connect_timeout: Duration, extra: &Roots) -> Result<Self, ClientError> {
        let tls = tls(extra)?;
        Ok(Self {
            direct: Pools::new(&tls, None, connect_timeout),
            connect_timeout,
            tls,
            shelf: Arc::default(),
        })
    }

    /// The same client with another time for a whole connection. All who ask for the same time share
    /// pools.
    #[must_use]
    pub fn connecting_within(&self, connect_timeout: Duration) -> Self {
        let mut other = self.clone();
        if connect_timeout != self.connect_timeout {
            other.connect_timeout = connect_timeout;
            other.direct = other.shelved(None);
        }
        other
    }

    /// Sends a call and waits for the head of its answer.
    pub async fn send(&self, call: Outgoing<'_>) -> Result<UpstreamResponse, SendError> {
        let ends = Instant::now().checked_add(call.deadlines.total);
        let deadlines = call.deadlines;
        let pools = match call.proxy {
            None => self.direct.clone(),
            Some(proxy) => self.shelved(Some(proxy)),
        };
        let (pool, place) = pools.choose(call.protocol);
        let mut request = request_of(call)?;
        let taken = capture_connection(&mut request);
        let first_byte = deadlines.first_byte.min(deadlines.total);
        match tokio::time::timeout(first_byte, pool.request(request)).await {
            // Until a connection took it, it stood in this process.
            Err(_) if !was_taken(&taken) => {
                let words = "there was no connection in time".to_owned();
                Err(SendError::NotSent(words))
            }
            Err(_) => Err(SendError::Silent),
            Ok(Err(error)) => Err(not_answered(&error, was_taken(&taken))),
            Ok(Ok(response)) => Ok(UpstreamResponse::new(response, deadlines.idle, ends, place)),
        }
    }

    /// The pools of a way out, made when it is first needed. A full shelf begins anew: connections
    /// under way keep their own pool alive.
    fn shelved(&self, proxy: Option<&Proxy>) -> Pools {
        let way = (
            self.connect_timeout,
            proxy.map(|proxy| proxy.text().to_owned()),
        );
        let mut shelf = self.shelf.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = shelf.get(&way) {
            return known.clone();
        }
        if shelf.len() >= MAX_WAYS {
            shelf.clear();
        }
        let made = Pools::new(&self.tls, proxy, self.connect_timeout);
        shelf.insert(way, made.clone());
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
    let mut request = Request::new(call.body);
    *request.method_mut() = call.method;
    *request.uri_mut() = call.uri;
    *request.headers_mut() = call.headers;
    if request.uri().host().is_none() {
        return Err(SendError::NotSent("the address has no host".to_owned()));
    }
    Ok(request)
}

fn was_taken(taken: &CaptureConnection) -> bool {
    taken.connection_metadata().is_some()
}

fn not_answered(error: &hyper_util::client::legacy::Error, was_taken: bool) -> SendError {
    // The address stands in no text of these errors; what does is the system's own words.
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

/// Whether a request that a connection had taken was for certain not worked on.
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
