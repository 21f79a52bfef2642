//! A realtime connection as an operation: what its request says, and how one turn of it is priced.

use std::borrow::Cow;

use http::Request;
use http::header::{AUTHORIZATION, HeaderValue};
use hyper::body::Incoming;
use serde_json::Value;
use trunkline_catalog::{Attributes, FieldReport, Sale};
use trunkline_types::{Bucket, EndpointType, Usage};

use super::REALTIME;
use super::client_secret::ClientSecret;
use super::turn::{TurnExecution, TurnLink};
use crate::authenticate::{authenticate, authenticate_by_hash};
use crate::caller::Caller;
use crate::error::{ApiError, ErrorCode};
use crate::idempotency::{Fingerprint, IdempotencyPolicy};
use crate::operation::{Operation, Received};
use crate::operations::exact_price::{Planned, Priced, check_endpoint};
use crate::percent::plain;
use crate::priced_call::Pricing;
use crate::request_context::RequestContext;
use crate::services::Services;

/// The sub-protocol that carries a key: browsers can set no header.
const KEY_PROTOCOL: &str = "openai-insecure-api-key.";

/// A session that makes transcripts and nothing else, in queries and in sessions.
pub(super) const TRANSCRIPTION: &str = "transcription";
/// Where a session names its transcriber.
pub(super) const TRANSCRIBER: &str = "/audio/input/transcription/model";

/// One turn of a connection.
pub(crate) struct Realtime {
    pub(super) model: String,
    pub(super) kind: TurnKind,
    pub(super) bound: TokenBound,
    pub(super) report: FieldReport,
    /// The session that a client secret brings.
    pub(super) session: Value,
    /// The way to its connection; none before there is one.
    pub(super) link: Option<TurnLink>,
}

/// What is charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TurnKind {
    Response {
        /// It may be spoken.
        speaks: bool,
        /// The conversation has audio.
        hears: bool,
    },
    /// What a user said, written down by a model of its own.
    Transcription,
    /// Time of the connection.
    Time {
        /// Nothing but transcripts is made in it.
        transcribes: bool,
    },
}

/// The most that a turn can use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct TokenBound {
    /// Input that may be audio.
    pub(super) input: u64,
    /// Input that is text.
    pub(super) text: u64,
    pub(super) output: u64,
    /// Seconds of audio, where that is what a transcriber is billed by, or of the connection.
    pub(super) seconds: u64,
}

// === impl TokenBound ===

impl TokenBound {
    pub(super) const fn covers(self, other: Self) -> bool {
        self.input >= other.input
            && self.text >= other.text
            && self.output >= other.output
            && self.seconds >= other.seconds
    }

    /// The same with so much more input.
    pub(super) const fn ahead(self, tokens: u64) -> Self {
        Self {
            input: self.input.saturating_add(tokens),
            text: self.text.saturating_add(tokens),
            output: self.output,
            seconds: self.seconds.saturating_add(tokens.div_ceil(10)),
        }
    }
}

// === impl TurnKind ===

impl TurnKind {
    /// Every way in which a bound may be used: the dearest counts.
    pub(super) fn usages(self, bound: TokenBound) -> Vec<Usage> {
        let of = |input: Bucket, output: Bucket| {
            let usage = if input == Bucket::PlainInput {
                Usage::unknown().with(input, bound.input.saturating_add(bound.text))
            } else {
                Usage::unknown()
                    .with(Bucket::PlainInput, bound.text)
                    .with(input, bound.input)
            };
            usage
                .with(output, bound.output)
                .with(Bucket::AudioSeconds, bound.seconds)
        };
        match self {
            Self::Transcription => vec![of(Bucket::AudioInput, Bucket::PlainOutput)],
            Self::Time { .. } => vec![time_used(bound.seconds)],
            Self::Response { speaks, hears } => {
                let output = if speaks {
                    Bucket::AudioOutput
                } else {
                    Bucket::PlainOutput
                };
                let audio = [Bucket::AudioInput, Bucket::CachedAudio];
                let audio = audio.into_iter().filter(|_| speaks || hears);
                let inputs = [Bucket::PlainInput, Bucket::ImageInput].into_iter();
                let inputs = inputs.chain(audio);
                let spoken = inputs.map(|input| of(input, output));
                spoken
                    .chain([of(Bucket::PlainInput, Bucket::PlainOutput)])
                    .collect()
            }
        }
    }

    const fn endpoint(self) -> EndpointType {
        match self {
            Self::Response { .. } | Self::Time { transcribes: false } => EndpointType::Realtime,
            Self::Transcription | Self::Time { transcribes: true } => {
                EndpointType::AudioTranscription
            }
        }
    }
}

impl Realtime {
    pub(super) fn turn(
        model: &str,
        kind: TurnKind,
        bound: TokenBound,
        report: FieldReport,
    ) -> Self {
        Self {
            model: model.to_owned(),
            kind,
            bound,
            report,
            session: Value::Null,
            link: None,
        }
    }
}

impl Operation for Realtime {
    /// The client secret that it came with.
    type Route = Option<ClientSecret>;
    /// The query.
    type Body = String;
    type Priced = TurnExecution;

    const IDEMPOTENCY: IdempotencyPolicy = IdempotencyPolicy::Ignored;

    fn endpoint(_route: &Self::Route) -> &'static str {
        REALTIME
    }

    fn name(&self) -> &'static str {
        REALTIME
    }

    fn authenticate(
        services: &Services,
        context: &RequestContext,
        route: &Self::Route,
        request: &Request<Incoming>,
    ) -> Result<Caller, ApiError> {
        match route {
            Some(secret) => authenticate_by_hash(&services.edge, context, secret.key, REALTIME),
            None => authenticate(&services.edge, context, request, REALTIME),
        }
    }

    async fn receive(
        services: &Services,
        caller: &Caller,
        _route: &Self::Route,
        request: Request<Incoming>,
    ) -> Result<Received<String>, ApiError> {
        let permit = services.edge.acquire(caller.account.id, 0)?;
        let (head, _) = request.into_parts();
        Ok(Received {
            body: head.uri.query().unwrap_or_default().to_owned(),
            headers: head.headers,
            permit,
        })
    }

    fn body_bytes(_query: &String) -> usize {
        0
    }

    fn fingerprint<'a>(
        context: &'a RequestContext,
        _route: &Self::Route,
        query: &'a String,
    ) -> Fingerprint<'a> {
        Fingerprint {
            path: context.path(),
            class: REALTIME,
            body: Cow::Borrowed(query.as_bytes()),
            task: false,
        }
    }

    fn parse(secret: Self::Route, query: String) -> Result<Self, ApiError> {
        let session = secret.map(|secret| secret.session);
        let session = session.unwrap_or(Value::Null);
        let intent = parameter(&query, "intent");
        let transcribes = intent.is_some_and(|intent| intent == TRANSCRIPTION)
            || session
                .get("type")
                .is_some_and(|kind| kind == TRANSCRIPTION);
        let of_session = if transcribes {
            session.pointer(TRANSCRIBER)
        } else {
            session.get("model")
        };
        let of_session = of_session.and_then(Value::as_str).map(ToOwned::to_owned);
        let model = parameter(&query, "model").or(of_session);
        let model = match model.filter(|model| !model.is_empty()) {
            Some(model) => model,
            // Its first update names it.
            None if transcribes => String::new(),
            None => {
                let text = "name the model in the query: /v1/realtime?model=…";
                let error = ApiError::new(ErrorCode::Invalid("invalid_request"), text);
                return Err(error.at("model"));
            }
        };
        let kind = if transcribes {
            TurnKind::Transcription
        } else {
            TurnKind::Response {
                speaks: true,
                hears: true,
            }
        };
        Ok(Self {
            model,
            kind,
            bound: TokenBound::default(),
            report: FieldReport::default(),
            session,
            link: None,
        })
    }

    fn model(&self) -> &str {
        &self.model
    }

    fn set_model(&mut self, model: String) {
        self.model = model;
    }

    fn quoted_body(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&[])
    }

    fn check_endpoint(&self, sale: &Sale) -> Result<(), ApiError> {
        check_endpoint(sale, &self.model, self.kind.endpoint())
    }

    fn field(&self, _name: &str) -> Option<Value> {
        None
    }

    async fn price(
        self,
        _services: &Services,
        pricing: Pricing<'_>,
    ) -> Result<TurnExecution, ApiError> {
        let entry = pricing.offer.sale.model.entry();
        let longest = entry.specs.max_output();
        let window = entry.specs.context_window;
        let mut bound = self.bound;
        if let TurnKind::Response { .. } = self.kind {
            bound.output = bound.output.min(longest);
            bound.input = window.map_or(bound.input, |window| bound.input.min(window));
        }
        let kind = self.kind;
        let terms = Planned {
            name: REALTIME,
            // Of the channels that can be connected to.
            endpoint: EndpointType::Realtime,
            model: self.model,
            usage: Usage::unknown()
                .with(Bucket::PlainInput, 0)
                .with(Bucket::AudioSeconds, 0),
            attributes: Attributes::none(),
            report: self.report,
        };
        let mut priced = Priced::new(pricing, terms)?;
        for usage in kind.usages(bound) {
            let price = priced.call.price(&usage)?;
            if price.amount > priced.price.amount {
                priced.price = price;
            }
        }
        Ok(TurnExecution {
            priced,
            kind,
            bound,
            link: self.link.unwrap_or_default(),
        })
    }
}

/// Time of a connection as usage. Nothing else was used in it.
pub(super) fn time_used(seconds: u64) -> Usage {
    Usage::unknown()
        .with(Bucket::PlainInput, 0)
        .with(Bucket::AudioSeconds, 0)
        .with(Bucket::ConnectionSeconds, seconds)
}

/// A parameter of a query, without percent signs.
pub(super) fn parameter(query: &str, name: &str) -> Option<String> {
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let (_, value) = pairs.find(|(key, _)| *key == name)?;
    Some(plain(value))
}

/// The key of a sub-protocol becomes the request's, unless a header has one. True if it did.
pub(super) fn take_protocol_key(request: &mut Request<Incoming>, protocols: &[String]) -> bool {
    let mut keys = protocols
        .iter()
        .filter_map(|one| one.strip_prefix(KEY_PROTOCOL));
    let Some(key) = keys.next() else {
        return false;
    };
    if request.headers().contains_key(AUTHORIZATION) {
        return false;
    }
    let Ok(mut value) = HeaderValue::from_str(&format!("Bearer {key}")) else {
        return false;
    };
    value.set_sensitive(true);
    request.headers_mut().insert(AUTHORIZATION, value);
    true
}
