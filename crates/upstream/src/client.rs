//! The pooled client. One pool per egress; HTTP/1.1, so that one reader who stalls stalls nobody
//! else. A call that was not sent is told apart from one of which nobody knows.

mod body;
mod proxy;

use std::collections::HashMap;
use std::error::Error as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client as Pool;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::time::Instant;

pub use body::{Answer, BodyError, Overdue};
pub use proxy::{Proxy, ProxyError};

/// Idle connections kept for one host.
const MAX_IDLE_PER_HOST: usize = 256;
/// A connection that was idle longer may be closed at the other end already.
const MAX_IDLE: Duration = Duration::from_secs(30);
/// Different egress proxies that have a pool of their own.
const MAX_PROXIES: usize = 64;

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
    pub body: Bytes,
    /// How long it may take.
    pub deadlines: Deadlines,
    /// The way out; none for the direct one.
    pub proxy: Option<&'a Proxy>,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The request did not leave: refused, unknown host, TLS, or a proxy that would not.
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

type Direct = Pool<HttpsConnector<HttpConnector>, Full<Bytes>>;
type Tunnelled = Pool<HttpsConnector<Tunnel<HttpConnector>>, Full<Bytes>>;
type Socks = Pool<HttpsConnector<SocksV5<HttpConnector>>, Full<Bytes>>;

/// The client. Clones share their pools.
#[derive(Clone)]
pub struct Client {
    direct: Direct,
    connect_timeout: Duration,
    tls: rustls::ClientConfig,
    proxied: Arc<Mutex<HashMap<String, Proxied>>>,
}

#[derive(Clone)]
enum Proxied {
    Http(Tunnelled),
    Socks(Socks),
}

// === impl Client ===

impl Client {
    /// A client that trusts the public roots.
    pub fn new(connect_timeout: Duration) -> Result<Self, ClientError> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let roots = rustls::RootCertStore {
            roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
        };
        let tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let direct = pool(https(tls.clone(), tcp(connect_timeout)));
        Ok(Self {
            direct,
            connect_timeout,
            tls,
            proxied: Arc::default(),
        })
    }

    /// Sends a call and waits for the head of its answer.
    pub async fn send(&self, call: Outgoing<'_>) -> Result<Answer, SendError> {
        let ends = Instant::now().checked_add(call.deadlines.total);
        let deadlines = call.deadlines;
        let proxy = call.proxy;
        let request = request_of(call)?;
        let answer = async {
            match proxy.map(|proxy| self.proxied(proxy)) {
                None => self.direct.request(request).await,
                Some(Proxied::Http(pool)) => pool.request(request).await,
                Some(Proxied::Socks(pool)) => pool.request(request).await,
            }
        };
        let first_byte = deadlines.first_byte.min(deadlines.total);
        match tokio::time::timeout(first_byte, answer).await {
            Err(_) => Err(SendError::Silent),
            Ok(Err(error)) => Err(not_answered(&error)),
            Ok(Ok(response)) => Ok(answer_of(response, deadlines.idle, ends)),
        }
    }

    /// The pool of an egress, made when it is first needed. A full shelf begins anew: connections
    /// under way keep their own pool alive.
    fn proxied(&self, proxy: &Proxy) -> Proxied {
        let mut shelf = self.proxied.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = shelf.get(proxy.text()) {
            return known.clone();
        }
        if shelf.len() >= MAX_PROXIES {
            shelf.clear();
        }
        let tcp = tcp(self.connect_timeout);
        let made = match proxy {
            Proxy::Http { uri, basic, .. } => {
                let tunnel = Tunnel::new(uri.clone(), tcp);
                let tunnel = match basic {
                    Some(value) => tunnel.with_auth(value.clone()),
                    None => tunnel,
                };
                Proxied::Http(pool(https(self.tls.clone(), tunnel)))
            }
            Proxy::Socks { uri, login, .. } => {
                let socks = SocksV5::new(uri.clone(), tcp);
                let socks = match login {
                    Some((user, password)) => {
                        socks.with_auth(user.clone(), password.reveal().to_owned())
                    }
                    None => socks,
                };
                Proxied::Socks(pool(https(self.tls.clone(), socks)))
            }
        };
        shelf.insert(proxy.text().to_owned(), made.clone());
        made
    }
}

fn tcp(connect_timeout: Duration) -> HttpConnector {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(connect_timeout));
    tcp
}

fn https<C>(tls: rustls::ClientConfig, inner: C) -> HttpsConnector<C> {
    HttpsConnectorBuilder::new()
        .with_tls_config(tls)
        .https_or_http()
        .enable_http1()
        .wrap_connector(inner)
}

fn pool<C>(connector: C) -> Pool<C, Full<Bytes>>
where
    C: hyper_util::client::legacy::connect::Connect + Clone,
{
    Pool::builder(TokioExecutor::new())
        .pool_max_idle_per_host(MAX_IDLE_PER_HOST)
        .pool_idle_timeout(MAX_IDLE)
        .pool_timer(TokioTimer::new())
        .build(connector)
}

fn request_of(call: Outgoing<'_>) -> Result<Request<Full<Bytes>>, SendError> {
    let mut request = Request::new(Full::new(call.body));
    *request.method_mut() = call.method;
    *request.uri_mut() = call.uri;
    *request.headers_mut() = call.headers;
    if request.uri().host().is_none() {
        return Err(SendError::NotSent("the address has no host".to_owned()));
    }
    Ok(request)
}

fn not_answered(error: &hyper_util::client::legacy::Error) -> SendError {
    // The address stands in no text of these errors; what does is the system's own words.
    let mut words = error.to_string();
    if let Some(cause) = error.source() {
        words = format!("{words}: {cause}");
    }
    if error.is_connect() {
        SendError::NotSent(words)
    } else {
        SendError::Broken(words)
    }
}

fn answer_of(response: Response<Incoming>, idle: Duration, ends: Option<Instant>) -> Answer {
    let (head, body) = response.into_parts();
    Answer::new(head.status, head.headers, body, idle, ends)
}
