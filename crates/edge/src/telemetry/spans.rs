//! A finished call as spans: one for the call, one below it for each attempt at an upstream.

use std::time::Duration;

use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{Span, Status};
use trunkline_types::{RequestId, Timestamp};

use super::TraceParent;
use super::names;
use crate::splitmix::mix;
use crate::tokens::Tokens;

/// What is told of a call. Times count from its beginning.
#[derive(Debug)]
pub(crate) struct CallSpan<'a> {
    pub(crate) id: RequestId,
    pub(crate) parent: Option<TraceParent>,
    pub(crate) began_at: Timestamp,
    pub(crate) took: Duration,
    pub(crate) model: Option<&'a str>,
    pub(crate) response_model: Option<&'a str>,
    pub(crate) finishes: &'a [&'static str],
    pub(crate) tokens: Option<Tokens>,
    pub(crate) charged_nanos: Option<i64>,
    pub(crate) outcome: Option<&'static str>,
    pub(crate) error: Option<&'static str>,
    pub(crate) status: Option<u16>,
    pub(crate) stream: bool,
    pub(crate) ttft: Option<Duration>,
    pub(crate) tried: Vec<AttemptSpan<'a>>,
}

/// What is told of one attempt.
#[derive(Debug)]
pub(crate) struct AttemptSpan<'a> {
    pub(crate) channel: &'a str,
    pub(crate) provider: &'a str,
    pub(crate) model: &'a str,
    pub(crate) status: Option<u16>,
    pub(crate) error: Option<&'static str>,
    pub(crate) began: Duration,
    pub(crate) ended: Duration,
}

impl CallSpan<'_> {
    pub(crate) const fn spans_count(&self) -> usize {
        self.tried.len().saturating_add(1)
    }

    pub(crate) fn spans(&self) -> Vec<Span> {
        let id = self.id.uuid();
        // The trace is found by the request's id, unless the caller has one of its own.
        let trace = self.parent.map_or(*id.as_bytes(), |parent| parent.trace);
        let (_, mut state) = id.as_u64_pair();
        let own = state.to_be_bytes();
        let mut spans = vec![self.of_call(trace, own)];
        for (index, tried) in self.tried.iter().enumerate() {
            let span = mix(&mut state).max(1).to_be_bytes();
            let number = index.saturating_add(1);
            spans.push(self.of_attempt(tried, number, trace, own, span));
        }
        spans
    }

    fn attributes(&self) -> Vec<KeyValue> {
        let mut attributes = vec![
            text(names::OPERATION_NAME, names::CHAT),
            text(names::REQUEST_ID, &self.id.to_string()),
            pair(names::STREAM, Value::BoolValue(self.stream)),
            number(names::ATTEMPTS_COUNT, count(self.tried.len())),
        ];
        let words = [
            (
                names::PROVIDER_NAME,
                self.tried.last().map(|one| one.provider),
            ),
            (names::REQUEST_MODEL, self.model),
            (names::RESPONSE_MODEL, self.response_model),
            (names::OUTCOME, self.outcome),
            (names::ERROR_TYPE, self.error),
        ];
        attributes.extend(
            words
                .iter()
                .filter_map(|(key, word)| Some(text(key, (*word)?))),
        );
        let numbers = [
            (names::HTTP_STATUS, self.status.map(i64::from)),
            (names::COST_NANOS, self.charged_nanos),
            (
                names::INPUT_TOKENS,
                self.tokens.map(|tokens| whole(tokens.input)),
            ),
            (
                names::OUTPUT_TOKENS,
                self.tokens.map(|tokens| whole(tokens.output)),
            ),
            (names::TTFT_MS, self.ttft.map(millis)),
        ];
        attributes.extend(
            numbers
                .iter()
                .filter_map(|(key, value)| Some(number(key, (*value)?))),
        );
        if !self.finishes.is_empty() {
            let values = self
                .finishes
                .iter()
                .map(|word| any(Value::StringValue((*word).to_owned())));
            let values = values.collect();
            attributes.push(pair(
                names::FINISH_REASONS,
                Value::ArrayValue(ArrayValue { values }),
            ));
        }
        attributes
    }

    fn of_call(&self, trace: [u8; 16], own: [u8; 8]) -> Span {
        // A caller's mistake is not our error, as with every server span.
        let failed = self.error.is_some()
            && self
                .status
                .is_none_or(|status| status >= 500 || status == 200);
        Span {
            trace_id: trace.to_vec(),
            span_id: own.to_vec(),
            parent_span_id: self
                .parent
                .map_or_else(Vec::new, |parent| parent.span.to_vec()),
            name: named(self.model),
            kind: SpanKind::Server.into(),
            start_time_unix_nano: self.at(Duration::ZERO),
            end_time_unix_nano: self.at(self.took),
            attributes: self.attributes(),
            status: failed.then(failed_status),
            ..Span::default()
        }
    }

    fn of_attempt(
        &self,
        tried: &AttemptSpan<'_>,
        attempt: usize,
        trace: [u8; 16],
        parent: [u8; 8],
        own: [u8; 8],
    ) -> Span {
        let mut attributes = vec![
            text(names::OPERATION_NAME, names::CHAT),
            text(names::PROVIDER_NAME, tried.provider),
            text(names::REQUEST_MODEL, tried.model),
            text(names::CHANNEL_NAME, tried.channel),
            number(names::ATTEMPT_NUMBER, count(attempt)),
        ];
        attributes.extend(
            tried
                .status
                .map(|status| number(names::HTTP_STATUS, i64::from(status))),
        );
        attributes.extend(tried.error.map(|word| text(names::ERROR_TYPE, word)));
        Span {
            trace_id: trace.to_vec(),
            span_id: own.to_vec(),
            parent_span_id: parent.to_vec(),
            name: named(Some(tried.model)),
            kind: SpanKind::Client.into(),
            start_time_unix_nano: self.at(tried.began),
            end_time_unix_nano: self.at(tried.ended),
            attributes,
            status: tried.error.is_some().then(failed_status),
            ..Span::default()
        }
    }

    fn at(&self, since: Duration) -> u64 {
        let began = u64::try_from(self.began_at.micros()).unwrap_or(0);
        let since = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX);
        began.saturating_mul(1_000).saturating_add(since)
    }
}

pub(super) fn text(key: &str, value: &str) -> KeyValue {
    pair(key, Value::StringValue(value.to_owned()))
}

fn named(model: Option<&str>) -> String {
    match model {
        Some(model) => format!("{} {model}", names::CHAT),
        None => names::CHAT.to_owned(),
    }
}

fn failed_status() -> Status {
    Status {
        message: String::new(),
        code: StatusCode::Error.into(),
    }
}

fn number(key: &str, value: i64) -> KeyValue {
    pair(key, Value::IntValue(value))
}

fn pair(key: &str, value: Value) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(any(value)),
        ..KeyValue::default()
    }
}

const fn any(value: Value) -> AnyValue {
    AnyValue { value: Some(value) }
}

fn whole(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn count(value: usize) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
