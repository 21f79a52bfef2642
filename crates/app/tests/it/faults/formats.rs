//! The four formats as callers write them, by hand: nothing here is shared with the product.

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderName};
use http::{HeaderMap, HeaderValue, Method};
use serde_json::{Value, json};
use trunkline_upstream::{Deadlines, Outgoing, Protocol};

/// The format of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Format {
    Chat,
    Messages,
    Responses,
    Gemini,
}

/// A caller and an upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Pair {
    pub(crate) caller: Format,
    pub(crate) upstream: Format,
}

/// What a caller wants, in no format.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallParams<'a> {
    pub(crate) prompt: &'a str,
    pub(crate) stream: bool,
    /// Tokens of an answer at most.
    pub(crate) most: u64,
}

/// Longer than any call of a test.
const LONG: Duration = Duration::from_secs(40);

// === impl Format ===

impl Format {
    pub(crate) const ALL: [Self; 4] = [Self::Chat, Self::Messages, Self::Responses, Self::Gemini];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Messages => "messages",
            Self::Responses => "responses",
            Self::Gemini => "gemini",
        }
    }

    pub(crate) fn path(self, model: &str, stream: bool) -> String {
        match (self, stream) {
            (Self::Chat, _) => "/v1/chat/completions".to_owned(),
            (Self::Messages, _) => "/v1/messages".to_owned(),
            (Self::Responses, _) => "/v1/responses".to_owned(),
            (Self::Gemini, false) => format!("/v1beta/models/{model}:generateContent"),
            (Self::Gemini, true) => {
                format!("/v1beta/models/{model}:streamGenerateContent?alt=sse")
            }
        }
    }

    /// The header in which clients of this format send their key, and its value.
    pub(crate) fn key(self, key: &str) -> (HeaderName, String) {
        match self {
            Self::Chat | Self::Responses => (AUTHORIZATION, format!("Bearer {key}")),
            Self::Messages => (HeaderName::from_static("x-api-key"), key.to_owned()),
            Self::Gemini => (HeaderName::from_static("x-goog-api-key"), key.to_owned()),
        }
    }

    fn body(self, model: &str, params: CallParams<'_>) -> Value {
        let CallParams {
            prompt,
            stream,
            most,
        } = params;
        let turn = json!({ "role": "user", "content": prompt });
        match self {
            Self::Chat | Self::Messages => {
                json!({ "model": model, "messages": [turn], "stream": stream, "max_tokens": most })
            }
            Self::Responses => json!({
                "model": model, "input": [turn], "stream": stream, "max_output_tokens": most,
                "store": false,
            }),
            Self::Gemini => json!({
                "contents": [{ "role": "user", "parts": [{ "text": prompt }] }],
                "generationConfig": { "maxOutputTokens": most },
            }),
        }
    }

    /// A call for a model, as a client of this format sends it.
    pub(crate) fn call(
        self,
        (address, key): (SocketAddr, &str),
        model: &str,
        params: CallParams<'_>,
    ) -> Outgoing<'static> {
        let mut headers = HeaderMap::new();
        let (name, value) = self.key(key);
        headers.insert(name, HeaderValue::from_str(&value).unwrap());
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let path = self.path(model, params.stream);
        Outgoing {
            method: Method::POST,
            uri: format!("http://{address}{path}").parse().unwrap(),
            headers,
            body: Bytes::from(self.body(model, params).to_string()).into(),
            deadlines: Deadlines {
                first_byte: LONG,
                idle: LONG,
                total: LONG,
            },
            proxy: None,
            protocol: Protocol::Http1,
        }
    }
}

// === impl Pair ===

impl fmt::Display for Pair {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{}-to-{}",
            self.caller.as_str(),
            self.upstream.as_str()
        )
    }
}

impl Pair {
    /// A call that is not translated.
    pub(crate) const CHAT: Self = Self {
        caller: Format::Chat,
        upstream: Format::Chat,
    };

    /// All sixteen.
    pub(crate) fn all() -> Vec<Self> {
        let each = |caller| Format::ALL.map(|upstream| Self { caller, upstream });
        Format::ALL.into_iter().flat_map(each).collect()
    }

    /// One of the sixteen, the same for the same number.
    pub(crate) fn numbered(number: usize) -> Self {
        let all = Self::all();
        all[number % all.len()]
    }

    /// Every caller once and every upstream once, each with its neighbour: for steps that can be met
    /// by one call only.
    pub(crate) fn neighbours() -> [Self; 4] {
        let [chat, messages, responses, gemini] = Format::ALL;
        [
            (chat, messages),
            (messages, responses),
            (responses, gemini),
            (gemini, chat),
        ]
        .map(|(caller, upstream)| Self { caller, upstream })
    }

    /// The model that only this upstream serves. Gemini's path is for such names alone.
    pub(crate) fn model(self) -> String {
        model_of(self.upstream)
    }

    pub(crate) fn call(self, to: (SocketAddr, &str), params: CallParams<'_>) -> Outgoing<'static> {
        self.caller.call(to, &self.model(), params)
    }
}

pub(crate) fn model_of(upstream: Format) -> String {
    format!("gemini-to-{}", upstream.as_str())
}
