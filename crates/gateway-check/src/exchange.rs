//! One request and what came back, up to a bound and a deadline, however it ended.

use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use trunkline_types::Secret;
use trunkline_upstream::{Client, Deadlines, Outgoing, Protocol};

use crate::format::Format;
use crate::request::Request;

/// One server that is asked: the gateway or the simulator.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) client: Client,
    /// Without a slash at its end.
    pub(crate) address: String,
    pub(crate) key: Secret,
}

/// What came back.
#[derive(Debug, Default, Clone)]
pub(crate) struct Answer {
    /// Zero if no head came.
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// The body ended as its head had promised.
    pub(crate) is_whole: bool,
    /// Why it did not.
    pub(crate) broken: Option<String>,
}

const CONNECTS_WITHIN: Duration = Duration::from_secs(5);
const ANSWERS_WITHIN: Duration = Duration::from_secs(30);
const MAX_BODY_BYTES: usize = 4_000_000;
const WRONG_KEY: &str = "sk-gateway-check-wrong-key";
const ANTHROPIC_VERSION: &str = "2023-06-01";

// === impl Server ===

impl Server {
    pub(crate) fn new(address: &str, key: Secret) -> Result<Self, trunkline_upstream::ClientError> {
        Ok(Self {
            client: Client::new(CONNECTS_WITHIN)?,
            address: address.trim_end_matches('/').to_owned(),
            key,
        })
    }

    pub(crate) fn with_wrong_key(&self) -> Self {
        Self {
            key: Secret::new(WRONG_KEY.to_owned()),
            ..self.clone()
        }
    }

    pub(crate) async fn ask(&self, format: Format, request: &Request) -> Answer {
        let headers = self.headers(format);
        let body = Bytes::from(request.body.clone());
        self.send(Method::POST, &request.path, headers, body).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        let headers = self.headers(Format::Chat);
        self.send(Method::GET, path, headers, Bytes::new()).await
    }

    async fn send(&self, method: Method, path: &str, headers: HeaderMap, body: Bytes) -> Answer {
        let Ok(uri) = format!("{}{path}", self.address).parse() else {
            return Answer::broken("not an address");
        };
        let call = Outgoing {
            method,
            uri,
            headers,
            body: body.into(),
            deadlines: Deadlines {
                first_byte: ANSWERS_WITHIN,
                idle: ANSWERS_WITHIN,
                total: ANSWERS_WITHIN,
            },
            proxy: None,
            protocol: Protocol::Http1,
        };
        let mut response = match self.client.send(call).await {
            Ok(response) => response,
            Err(error) => return Answer::broken(&error.to_string()),
        };
        let mut answer = Answer {
            status: response.status.as_u16(),
            headers: response.headers.clone(),
            ..Answer::default()
        };
        let mut body = Vec::new();
        loop {
            match response.piece().await {
                Ok(Some(piece)) if body.len().saturating_add(piece.len()) <= MAX_BODY_BYTES => {
                    body.extend_from_slice(&piece);
                }
                Ok(Some(_)) => {
                    answer.broken = Some(format!("longer than {MAX_BODY_BYTES} bytes"));
                    break;
                }
                Ok(None) => {
                    answer.is_whole = true;
                    break;
                }
                Err(error) => {
                    answer.broken = Some(error.to_string());
                    break;
                }
            }
        }
        answer.body = body.into();
        answer
    }

    fn headers(&self, format: Format) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let (name, text) = match format {
            Format::Chat | Format::Responses => {
                (AUTHORIZATION, format!("Bearer {}", self.key.reveal()))
            }
            Format::Messages => {
                let version = HeaderName::from_static("anthropic-version");
                headers.insert(version, HeaderValue::from_static(ANTHROPIC_VERSION));
                let name = HeaderName::from_static("x-api-key");
                (name, self.key.reveal().to_owned())
            }
            Format::Gemini => {
                let name = HeaderName::from_static("x-goog-api-key");
                (name, self.key.reveal().to_owned())
            }
        };
        // A key that no header can hold is sent as none, and refused.
        if let Ok(mut value) = HeaderValue::from_str(&text) {
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        headers
    }
}

// === impl Answer ===

impl Answer {
    fn broken(why: &str) -> Self {
        Self {
            broken: Some(why.to_owned()),
            ..Self::default()
        }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    pub(crate) fn is_success(&self) -> bool {
        self.status == 200
    }
}
