//! A gateway as its customer sees it: one address, one key, and errors with the gateway's own code.

use std::fmt;
use std::time::Duration;

use anyhow::bail;
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use serde::Deserialize;
use serde_json::Value;
use trunkline_types::Secret;
use trunkline_upstream::{Client, Deadlines, Outgoing, Protocol};

const KEY_VARIABLE: &str = "TRUNKLINE_KEY";
const URL_VARIABLE: &str = "TRUNKLINE_BASE_URL";
const CONNECTS_WITHIN: Duration = Duration::from_secs(10);
const ANSWERS_WITHIN: Duration = Duration::from_secs(30);
const MAX_ANSWER_BYTES: usize = 8_000_000;

/// A gateway's address and the connections to it. Clones share them.
#[derive(Clone)]
pub(super) struct GatewayAddress {
    client: Client,
    base_url: String,
}

/// A gateway with the key of one customer.
pub(super) struct GatewayClient {
    address: GatewayAddress,
    key: Secret,
}

/// A call without an answer of use.
#[derive(Debug)]
pub(super) struct CallError {
    /// Method and path.
    call: String,
    pub(super) status: Option<StatusCode>,
    /// The gateway's own code, or one of ours where it gave none.
    pub(super) code: String,
    pub(super) message: String,
}

#[derive(Deserialize)]
struct Refusal {
    error: Reason,
}

#[derive(Deserialize)]
struct Reason {
    code: Option<String>,
    message: String,
}

// === impl GatewayAddress ===

impl GatewayAddress {
    /// With an address that may end in `/v1`, as SDKs write it. Left out, it is that of the environment.
    pub(super) fn new(url: Option<&str>) -> anyhow::Result<Self> {
        let Some(url) = url.map(str::to_owned).or_else(|| variable(URL_VARIABLE)) else {
            bail!("no address; use --url or set {URL_VARIABLE}");
        };
        let base_url = url.trim_end_matches('/').trim_end_matches("/v1").to_owned();
        Ok(Self {
            client: Client::new(CONNECTS_WITHIN)?,
            base_url,
        })
    }

    pub(super) fn base_url(&self) -> &str {
        &self.base_url
    }

    pub(super) fn with_key(&self, key: Secret) -> GatewayClient {
        GatewayClient {
            address: self.clone(),
            key,
        }
    }
}

// === impl GatewayClient ===

impl GatewayClient {
    /// With the key of the environment.
    pub(super) fn connect(url: Option<&str>) -> anyhow::Result<Self> {
        let key = key_of_environment()?;
        Ok(GatewayAddress::new(url)?.with_key(key))
    }

    pub(super) fn base_url(&self) -> &str {
        self.address.base_url()
    }

    pub(super) async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Result<Bytes, CallError> {
        let call = format!("{method} {path}");
        let failed = |code: &str, message: String| CallError {
            call: call.clone(),
            status: None,
            code: code.to_owned(),
            message,
        };
        let uri: Result<Uri, _> = format!("{}{path}", self.address.base_url).parse();
        let outgoing = Outgoing {
            method,
            uri: uri.map_err(|error| failed("invalid_address", error.to_string()))?,
            headers: self
                .headers()
                .map_err(|message| failed("invalid_api_key", message))?,
            body: body
                .map_or_else(Bytes::new, |body| body.to_string().into())
                .into(),
            deadlines: Deadlines {
                first_byte: ANSWERS_WITHIN,
                idle: ANSWERS_WITHIN,
                total: ANSWERS_WITHIN,
            },
            proxy: None,
            protocol: Protocol::Http1,
        };
        let sent = self.address.client.send(outgoing).await;
        let mut answer = sent.map_err(|error| failed("gateway_unreachable", error.to_string()))?;
        let status = answer.status;
        let bytes = answer.whole(MAX_ANSWER_BYTES).await;
        let bytes = bytes.map_err(|error| failed("answer_incomplete", error.to_string()))?;
        if status.is_success() {
            return Ok(bytes);
        }
        let (code, message) = match serde_json::from_slice(&bytes) {
            Ok(Refusal { error }) => (error.code, error.message),
            Err(_) => (None, "no reason".to_owned()),
        };
        Err(CallError {
            call,
            status: Some(status),
            code: code.unwrap_or_else(|| "refused".to_owned()),
            message,
        })
    }

    fn headers(&self) -> Result<HeaderMap, String> {
        let mut headers = HeaderMap::new();
        let bearer = HeaderValue::from_str(&format!("Bearer {}", self.key.reveal()));
        let mut bearer =
            bearer.map_err(|_| "the API key holds characters that no key has".to_owned())?;
        bearer.set_sensitive(true);
        headers.insert(AUTHORIZATION, bearer);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Ok(headers)
    }
}

// === impl CallError ===

impl fmt::Display for CallError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { call, message, .. } = self;
        match self.status {
            Some(status) => write!(formatter, "{call}: {status}: {message}"),
            None => write!(formatter, "{call}: {message}"),
        }
    }
}

impl std::error::Error for CallError {}

pub(super) fn key_of_environment() -> anyhow::Result<Secret> {
    let Some(key) = variable(KEY_VARIABLE) else {
        bail!("{KEY_VARIABLE} is not set; it holds your API key");
    };
    Ok(Secret::new(key))
}

fn variable(name: &str) -> Option<String> {
    #[expect(
        clippy::disallowed_methods,
        reason = "a customer's key and address, not configuration of a node"
    )]
    let value = std::env::var(name);
    value.ok().filter(|value| !value.is_empty())
}
