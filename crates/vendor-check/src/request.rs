//! Sends one case to one target, and reduces its response to a shape.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Context as _;
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use trunkline_types::Secret;
use trunkline_upstream::{Auth, Client, Deadlines, Outgoing, Provider, UpstreamResponse};

use crate::cases::Case;
use crate::frames;
use crate::prices::{self, ListedPrices};
use crate::shape::{self, Shape};

/// One of the two servers that are compared.
pub(crate) struct Target<'a> {
    pub(crate) client: &'a Client,
    pub(crate) provider: &'a Provider,
    pub(crate) base_url: &'a str,
    pub(crate) model: &'a str,
    pub(crate) key: &'a Secret,
}

/// The compared parts of a response.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ObservedResponse {
    pub(crate) status: u16,
    pub(crate) headers: BTreeMap<String, String>,
    /// One for a buffered response, one per frame shape for a stream.
    pub(crate) shapes: Vec<Shape>,
    /// What the model costs, where a list of models says so.
    pub(crate) prices: Option<ListedPrices>,
}

/// An invalid key in the usual format.
const WRONG_KEY: &str = "sk-trunkline-vendor-check-wrong-key";
/// Longest response that is read; a list of models is the longest.
const MAX_ANSWER_BYTES: usize = 4 << 20;
/// Timeout of a request: the program is interactive.
const PATIENCE: Duration = Duration::from_secs(120);
/// Longest content type in the output, in characters.
const SHOWN_CHARACTERS: usize = 100;
/// Headers that clients read. A name that ends in `-` is a prefix.
const LOOKED_AT: [&str; 7] = [
    "cache-control",
    "content-type",
    "openai-",
    "retry-after",
    "www-authenticate",
    "x-ratelimit-",
    "x-request-id",
];

impl Target<'_> {
    pub(crate) async fn ask(&self, case: Case) -> anyhow::Result<ObservedResponse> {
        let uri = format!("{}{}", self.base_url, case.path());
        let uri: Uri = uri.parse().context("the address of the provider")?;
        let deadline = |ms: u64| Duration::from_millis(ms).min(PATIENCE);
        let call = Outgoing {
            method: case.method(),
            uri,
            headers: self.headers(case)?,
            body: Bytes::from(case.body(self.provider, self.model)).into(),
            deadlines: Deadlines {
                first_byte: deadline(self.provider.first_byte_ms),
                idle: deadline(self.provider.idle_ms),
                total: PATIENCE,
            },
            proxy: None,
            protocol: self.provider.protocol(case.is_streamed()),
        };
        let mut answer = self.client.send(call).await?;
        let body = answer.whole(MAX_ANSWER_BYTES).await?;
        let prices = prices::listed(&body, self.model);
        Ok(ObservedResponse {
            prices,
            ..observed(&answer, &body)
        })
    }

    fn headers(&self, case: Case) -> anyhow::Result<HeaderMap> {
        let key = if case.has_wrong_key() {
            WRONG_KEY
        } else {
            self.key.reveal()
        };
        let (name, text) = match &self.provider.auth {
            Auth::Bearer => (AUTHORIZATION, format!("Bearer {key}")),
            Auth::Header(name) => (HeaderName::from_bytes(name.as_bytes())?, key.to_owned()),
            Auth::SigV4(_) | Auth::GoogleServiceAccount | Auth::KlingToken => {
                anyhow::bail!("a vendor that wants a signature cannot be asked yet")
            }
        };
        // The error itself quotes nothing; the context says what to fix.
        let mut value = HeaderValue::from_str(&text).context("the key cannot stand in a header")?;
        value.set_sensitive(true);
        let mut headers = HeaderMap::new();
        headers.insert(name, value);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(
            USER_AGENT,
            HeaderValue::from_static("trunkline-vendor-check"),
        );
        Ok(headers)
    }
}

fn observed(answer: &UpstreamResponse, body: &[u8]) -> ObservedResponse {
    let mut headers = BTreeMap::new();
    for (name, value) in &answer.headers {
        let name = name.as_str();
        let is_meant =
            |known: &&str| name == *known || (known.ends_with('-') && name.starts_with(known));
        if LOOKED_AT.iter().any(is_meant) {
            let recorded = if name == CONTENT_TYPE.as_str() {
                let text = String::from_utf8_lossy(value.as_bytes()).to_lowercase();
                text.chars().take(SHOWN_CHARACTERS).collect()
            } else {
                "present".to_owned()
            };
            headers.insert(name.to_owned(), recorded);
        }
    }
    let is_stream = headers
        .get(CONTENT_TYPE.as_str())
        .is_some_and(|kind| kind.starts_with("text/event-stream"));
    ObservedResponse {
        status: answer.status.as_u16(),
        headers,
        shapes: if is_stream {
            frames::of_stream(body)
        } else {
            vec![shape::of_text(body)]
        },
        prices: None,
    }
}
