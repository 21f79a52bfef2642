//! The guarded fetcher: for every address that a customer gives, and for nothing else. It reaches the
//! public net only. Each hop is read, resolved, judged and connected anew, on a connection of its own:
//! nothing is pooled, so no check is older than the connection it was made for. It knows neither what
//! it fetches nor who asked, and it takes no proxy, cookie or credential from anywhere.

mod error;
mod exchange;
mod networks;
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
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::client::{ClientError, Roots, tls};
pub use error::FetchError;
use exchange::{Exchange, exchange};
pub use networks::{Network, NetworkError};
pub use resolve::{Resolve, Resolving, SystemResolver};
pub use response::{FetchResponse, Served};
use target::Target;

/// Bytes of an address, as given and as the parser writes it. Signed links of clouds have some 2,000.
pub const MAX_URL_BYTES: usize = 4096;
/// Redirects that are followed.
pub const MAX_REDIRECTS: usize = 5;
/// Bytes of a body that is sent.
pub const MAX_POST_BYTES: usize = 256 << 10;
/// Who we say we are.
const AGENT: HeaderValue = HeaderValue::from_static("trunkline-fetch/1");
/// Bytes as they are: what was compressed would be measured wrongly, or unpack to any size.
const AS_IT_IS: HeaderValue = HeaderValue::from_static("identity");

/// What is let in, and how long it may take. The default is the strict one.
#[derive(Debug, Clone)]
pub struct SafeFetchSettings {
    /// Networks that are reached although they are not public. Tests and `trunkline dev` allow
    /// loopback. The clouds' metadata addresses are not reached whatever stands here.
    pub allowed: Vec<Network>,
    /// Names that are refused with all names below them, whatever they resolve to.
    pub denied_suffixes: Vec<String>,
    /// Whether ports above 1023 are served beside 80, 443, 8080 and 8443.
    pub has_high_ports: bool,
    /// For one address of a name; up to four are tried.
    pub connect_within: Duration,
    /// For each hop, from its name to the head of its answer.
    pub first_byte: Duration,
    /// Fetches at one time; the next one waits within its own time.
    pub max_at_once: usize,
    /// Certificates that are trusted beside the public roots.
    pub roots: Roots,
}

/// What is wanted of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchRequest {
    /// A part; a server may send the whole instead, see [`FetchResponse::served`].
    pub range: Option<ByteRange>,
    /// Most bytes of the body.
    pub max_bytes: u64,
    /// For all hops and all of the body.
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
    places: Arc<Semaphore>,
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
    /// A fetcher that asks the operating system for names.
    pub fn new(settings: SafeFetchSettings) -> Result<Self, ClientError> {
        Self::with_resolver(settings, Arc::new(SystemResolver))
    }

    /// A fetcher that asks another for names.
    pub fn with_resolver(
        settings: SafeFetchSettings,
        resolver: Arc<dyn Resolve>,
    ) -> Result<Self, ClientError> {
        let mut tls = tls(&settings.roots)?;
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        let most = settings.max_at_once.min(Semaphore::MAX_PERMITS);
        Ok(Self {
            settings: Arc::new(settings),
            resolver,
            tls: Arc::new(tls),
            places: Arc::new(Semaphore::new(most)),
        })
    }

    /// Fetches what an address leads to. The head is there when this returns; the body is read from
    /// the answer, within the same time.
    pub async fn get(&self, url: &str, ask: FetchRequest) -> Result<FetchResponse, FetchError> {
        let ends = end_of(ask.within);
        // Before the place: a text that is no address costs nothing.
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

    /// The same fetcher with places of its own, so that what waits here keeps nothing else waiting, and
    /// with another time to the head of an answer.
    #[must_use]
    pub fn apart(&self, max_at_once: usize, first_byte: Duration) -> Self {
        let mut settings = SafeFetchSettings::clone(&self.settings);
        settings.max_at_once = max_at_once;
        settings.first_byte = first_byte;
        Self {
            settings: Arc::new(settings),
            resolver: Arc::clone(&self.resolver),
            tls: Arc::clone(&self.tls),
            places: Arc::new(Semaphore::new(max_at_once.min(Semaphore::MAX_PERMITS))),
        }
    }

    /// Whether an address would be reached as things stand now, without reaching for it. A kindness to
    /// who gives it, and no permit: whoever sends there later is judged again.
    pub async fn judge(&self, url: &str, within: Duration) -> Result<(), FetchError> {
        let target = Target::read(url, &self.settings)?;
        let judging = resolve_connect::check(&target, &self.settings, self.resolver.as_ref());
        let judged = tokio::time::timeout_at(end_of(within), judging).await;
        judged.unwrap_or(Err(FetchError::Slow))
    }

    /// Sends a small body, as to a customer's webhook. Redirects are not followed: a body that was
    /// signed for one place is not sent to another. Headers are the caller's own, never a customer's.
    /// Who says that its answer is longer than may be read is heard all the same, up to there.
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

    /// One request and the head of its answer, within its time.
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
        let asked = tokio::time::timeout_at(until, asking).await;
        asked.unwrap_or(Err(FetchError::Slow))
    }

    async fn place(&self, ends: Instant) -> Result<OwnedSemaphorePermit, FetchError> {
        let waiting = Arc::clone(&self.places).acquire_owned();
        match tokio::time::timeout_at(ends, waiting).await {
            Ok(Ok(place)) => Ok(place),
            Ok(Err(_)) | Err(_) => Err(FetchError::Busy),
        }
    }
}

impl fmt::Debug for SafeFetcher {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SafeFetcher")
    }
}

/// A time that is beyond the clock's end is over at once, which is seen; a wrapped one would not be.
fn end_of(within: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(within).unwrap_or(now)
}

/// 300 and 304 name no place to go.
fn is_redirect(status: StatusCode) -> bool {
    [301, 302, 303, 307, 308].contains(&status.as_u16())
}
