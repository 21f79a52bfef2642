//! The SSRF-safe fetcher, for every URL that a customer supplies and for nothing else. It connects to public
//! addresses only. Each hop is parsed, resolved, checked and connected on its own connection: nothing is pooled, so
//! no check is older than its connection. It does not know the content or the caller, and it uses no proxy, cookie
//! or credential.

mod error;
mod exchange;
mod networks;
mod places;
mod resolve;
mod resolve_connect;
mod response;
mod target;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, CONNECTION, HOST, LOCATION, RANGE, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use tokio::time::Instant;

use crate::client::{ClientError, Roots, tls};
pub use error::FetchError;
use exchange::{Exchange, exchange};
pub use networks::{Network, NetworkError};
use places::{Place, Places};
pub use resolve::{Resolve, Resolving, SystemResolver};
pub use response::{FetchResponse, Served};
use target::Target;
pub use target::is_public_url;

/// Bytes of a URL, as supplied and as the parser writes it. Signed URLs of clouds have some 2,000.
pub const MAX_URL_BYTES: usize = 4096;
pub const MAX_REDIRECTS: usize = 5;
/// Bytes of a body that is sent.
pub const MAX_POST_BYTES: usize = 256 << 10;
/// The `User-Agent`.
const AGENT: HeaderValue = HeaderValue::from_static("trunkline-fetch/1");
/// No compression: a compressed body would be measured wrongly, or decompress to any size.
const AS_IT_IS: HeaderValue = HeaderValue::from_static("identity");

/// Limits and exceptions of the fetcher. The default is the strictest.
#[derive(Debug, Clone)]
pub struct SafeFetchSettings {
    /// Networks that are allowed although they are not public. Tests and `trunkline dev` allow loopback. The
    /// metadata addresses of clouds are denied whatever is set here.
    pub allowed: Vec<Network>,
    /// Host names that are denied with all their subdomains, whatever they resolve to.
    pub denied_suffixes: Vec<String>,
    /// Whether ports above 1023 are allowed beside 80, 443, 8080 and 8443.
    pub has_high_ports: bool,
    /// Timeout for one address of a host name; up to four are tried.
    pub connect_within: Duration,
    /// Timeout of each hop, from DNS to the head of its response.
    pub first_byte: Duration,
    /// Concurrent fetches; the next one waits within its own timeout. One owner may have a quarter of them.
    pub max_at_once: usize,
    /// Certificates that are trusted beside the public roots.
    pub roots: Roots,
}

/// What to fetch from a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchRequest {
    /// A part; a server may send the whole instead, see [`FetchResponse::served`].
    pub range: Option<ByteRange>,
    /// Most bytes of the body.
    pub max_bytes: u64,
    /// Timeout for all hops and the whole body.
    pub within: Duration,
}

/// A part of a file that is not empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteRange {
    first: u64,
    last: u64,
}

/// The fetcher. Clones share their limit of fetches.
#[derive(Clone)]
pub struct SafeFetcher {
    settings: Arc<SafeFetchSettings>,
    resolver: Arc<dyn Resolve>,
    tls: Arc<rustls::ClientConfig>,
    places: Places,
}

// === impl SafeFetchSettings ===

impl Default for SafeFetchSettings {
    fn default() -> Self {
        Self {
            allowed: Vec::new(),
            denied_suffixes: ["localhost", "local", "internal"].map(str::to_owned).into(),
            has_high_ports: false,
            connect_within: Duration::from_secs(3),
            first_byte: Duration::from_secs(8),
            max_at_once: 64,
            roots: Roots::default(),
        }
    }
}

// === impl ByteRange ===

impl ByteRange {
    /// So many bytes from there; none for an empty part or one behind the end of numbers.
    #[must_use]
    pub fn new(start: u64, length: u64) -> Option<Self> {
        let last = start.checked_add(length.checked_sub(1)?)?;
        Some(Self { first: start, last })
    }

    /// The first byte.
    #[must_use]
    pub const fn first(&self) -> u64 {
        self.first
    }

    /// The last byte.
    #[must_use]
    pub const fn last(&self) -> u64 {
        self.last
    }
}

// === impl SafeFetcher ===

impl SafeFetcher {
    /// A fetcher with the operating system's resolver.
    pub fn new(settings: SafeFetchSettings) -> Result<Self, ClientError> {
        Self::with_resolver(settings, Arc::new(SystemResolver))
    }

    /// A fetcher with another resolver.
    pub fn with_resolver(
        settings: SafeFetchSettings,
        resolver: Arc<dyn Resolve>,
    ) -> Result<Self, ClientError> {
        let mut tls = tls(&settings.roots)?;
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        let places = Places::new(settings.max_at_once);
        Ok(Self {
            settings: Arc::new(settings),
            resolver,
            tls: Arc::new(tls),
            places,
        })
    }

    /// The same fetcher for one owner, who may have a part of the concurrent fetches: slow addresses of one
    /// customer delay no others.
    #[must_use]
    pub fn of(&self, owner: i64) -> Self {
        Self {
            places: self.places.of(owner),
            ..self.clone()
        }
    }

    /// Fetches a URL and follows redirects. The head was received when this returns; the body is read from the
    /// response, within the same timeout.
    pub async fn get(&self, url: &str, ask: FetchRequest) -> Result<FetchResponse, FetchError> {
        let ends = end_of(ask.within);
        // Before the permit: an invalid URL costs nothing.
        let mut target = Target::read(url, &self.settings)?;
        let place = self.place(ends).await?;
        let mut headers = HeaderMap::new();
        if let Some(range) = ask.range {
            let text = format!("bytes={}-{}", range.first, range.last);
            let value = HeaderValue::try_from(text).map_err(|_| FetchError::NotAnAddress)?;
            headers.insert(RANGE, value);
        }
        let mut followed: usize = 0;
        loop {
            let hop = self.hop(&target, Method::GET, &headers, Bytes::new(), ends);
            let exchanged = hop.await?;
            if !is_redirect(exchanged.response.status()) {
                return FetchResponse::new(exchanged, ask, ends, place);
            }
            if followed == MAX_REDIRECTS {
                return Err(FetchError::TooManyRedirects);
            }
            followed = followed.saturating_add(1);
            let location = exchanged.response.headers().get(LOCATION);
            target = target.follow(location.ok_or(FetchError::BadAnswer)?, &self.settings)?;
        }
    }

    /// The same fetcher with its own concurrency limit, so that its fetches delay no others, and with another timeout
    /// to the head of a response.
    #[must_use]
    pub fn apart(&self, max_at_once: usize, first_byte: Duration) -> Self {
        let mut settings = SafeFetchSettings::clone(&self.settings);
        settings.max_at_once = max_at_once;
        settings.first_byte = first_byte;
        Self {
            settings: Arc::new(settings),
            resolver: Arc::clone(&self.resolver),
            tls: Arc::clone(&self.tls),
            places: Places::new(max_at_once),
        }
    }

    /// Checks a URL without connecting, for early feedback to the customer. It permits nothing: each later fetch is
    /// checked again.
    pub async fn judge(&self, url: &str, within: Duration) -> Result<(), FetchError> {
        let target = Target::read(url, &self.settings)?;
        let judging = resolve_connect::check(&target, &self.settings, self.resolver.as_ref());
        let judged = tokio::time::timeout_at(end_of(within), judging).await;
        judged.unwrap_or(Err(FetchError::Slow))
    }

    /// Sends a small body, as to a customer's webhook. Redirects are not followed: a body that was signed for one URL
    /// is not sent to another. Headers come from the caller, never from a customer. A response that claims to be
    /// longer than the limit is read up to the limit.
    pub async fn post(
        &self,
        url: &str,
        headers: &HeaderMap,
        body: Bytes,
        ask: FetchRequest,
    ) -> Result<FetchResponse, FetchError> {
        if body.len() > MAX_POST_BYTES {
            return Err(FetchError::PostTooLarge);
        }
        let ends = end_of(ask.within);
        let target = Target::read(url, &self.settings)?;
        let place = self.place(ends).await?;
        let hop = self.hop(&target, Method::POST, headers, body, ends);
        let range = ByteRange::new(0, ask.max_bytes);
        FetchResponse::new(hop.await?, FetchRequest { range, ..ask }, ends, place)
    }

    /// One request and the head of its response, within its timeout.
    async fn hop(
        &self,
        target: &Target,
        method: Method,
        headers: &HeaderMap,
        body: Bytes,
        ends: Instant,
    ) -> Result<Exchange, FetchError> {
        let mut request = http::Request::new(http_body_util::Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = target.path()?;
        *request.headers_mut() = headers.clone();
        let own = request.headers_mut();
        own.insert(HOST, target.host_header()?);
        own.insert(USER_AGENT, AGENT);
        own.insert(ACCEPT, HeaderValue::from_static("*/*"));
        own.insert(ACCEPT_ENCODING, AS_IT_IS);
        own.insert(CONNECTION, HeaderValue::from_static("close"));
        let until = end_of(self.settings.first_byte).min(ends);
        let asking = async {
            let resolver = self.resolver.as_ref();
            let connection =
                resolve_connect::connect(target, &self.settings, resolver, &self.tls).await?;
            exchange(connection, request).await
        };
        let response = tokio::time::timeout_at(until, asking).await;
        response.unwrap_or(Err(FetchError::Slow))
    }

    async fn place(&self, ends: Instant) -> Result<Place, FetchError> {
        match tokio::time::timeout_at(ends, self.places.take()).await {
            Ok(Some(place)) => Ok(place),
            Ok(None) | Err(_) => Err(FetchError::Busy),
        }
    }
}

impl fmt::Debug for SafeFetcher {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SafeFetcher")
    }
}

/// A deadline beyond the clock's range has passed at once, which is noticed; a wrapped one would not be.
fn end_of(within: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(within).unwrap_or(now)
}

/// 300 and 304 have no location to follow.
fn is_redirect(status: StatusCode) -> bool {
    [301, 302, 303, 307, 308].contains(&status.as_u16())
}
