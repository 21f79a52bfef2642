//! The context of one request, from its first byte to its last: what the access line, the counters and
//! the trace are made of. It is shared by the handler and the call's own task; dropping the last
//! reference ends it, so that every request has exactly one line, whatever became of it.

mod answer;
mod facts;

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::{Method, Request};
use hyper::body::Incoming;
use serde_json::Value;
use tokio::time::Instant;
use trunkline_ledger::Outcome;
use trunkline_limits::Grant;
use trunkline_types::{Money, RequestId, Timestamp};
use trunkline_wire::Format;

use crate::attempt::{Attempt, samples};
use crate::caller::Caller;
use crate::error::ApiError;
use crate::limit_headers::RateLimitHeaders;
use crate::response::{Responder, Response, micros};
use crate::socket::PeerWatch;
use crate::state::{CompletedCall, EdgeState};
use crate::step::Step;
use crate::telemetry::{AttemptSpan, CallSpan, TraceParent};
pub use crate::tokens::Tokens;

/// Characters of a path in the access line.
const MAX_PATH_CHARACTERS: usize = 200;
/// What a key begins with; a path that holds one is not written down.
const KEY_MARK: &[u8] = b"sk-";

pub struct RequestContext {
    edge: Arc<EdgeState>,
    pub id: RequestId,
    pub address: IpAddr,
    /// A look at the connection that the answer goes to.
    pub watch: PeerWatch,
    method: Method,
    /// A copy: what it was read from is a buffer of its connection.
    path: Arc<str>,
    began: Instant,
    began_at: Timestamp,
    out_bytes: AtomicU64,
    facts: Mutex<RequestFacts>,
}

#[derive(Debug, Default)]
struct RequestFacts {
    /// Whether the path is one that costs money.
    is_call: bool,
    /// Some if it is traced, with the caller's span.
    traced: Option<Option<TraceParent>>,
    caller: Option<Caller>,
    model: Option<String>,
    endpoint: &'static str,
    stream: bool,
    in_bytes: u64,
    status: Option<u16>,
    error_code: Option<&'static str>,
    error_status: Option<u16>,
    outcome: Option<Outcome>,
    charged: Option<Money>,
    tokens: Option<Tokens>,
    attempts: Vec<Attempt>,
    steps: Vec<Step>,
    upstream_ended: Option<Duration>,
    first_byte: Option<Duration>,
    in_ledger: Option<Duration>,
    /// Fields and tools of the request that were not sent.
    dropped: String,
    response_model: String,
    finishes: Vec<&'static str>,
    /// Its part of the limits, held as long as the request lives.
    granted: Option<Grant>,
    limits: Option<RateLimitHeaders>,
    /// Its place at the channel that was asked last.
    seat: Option<Grant>,
}

impl RequestContext {
    pub(crate) fn begin(
        edge: &Arc<EdgeState>,
        request: &Request<Incoming>,
        address: IpAddr,
        watch: PeerWatch,
    ) -> Arc<Self> {
        Arc::new(Self {
            id: edge.request_id(),
            address,
            watch,
            method: request.method().clone(),
            path: Arc::from(request.uri().path()),
            began: Instant::now(),
            began_at: edge.now(),
            out_bytes: AtomicU64::new(0),
            facts: Mutex::default(),
            edge: Arc::clone(edge),
        })
    }

    /// It is a call, and not a question about one.
    pub fn mark_billable(&self, request: &Request<Incoming>) {
        let telemetry = self.edge.telemetry.as_ref();
        let traced = telemetry.and_then(|open| open.begin(self.id, request.headers()));
        let mut facts = self.facts();
        facts.is_call = true;
        facts.traced = traced;
    }

    pub fn error_pages(&self) -> &str {
        &self.edge.settings.error_pages
    }

    /// One of many executions of a request or a connection: a call of its own, with its own id and its own line.
    pub fn execution(&self, id: RequestId) -> Self {
        let facts = RequestFacts {
            is_call: true,
            caller: self.facts().caller.clone(),
            ..RequestFacts::default()
        };
        Self {
            edge: Arc::clone(&self.edge),
            id,
            address: self.address,
            watch: self.watch.clone(),
            method: self.method.clone(),
            path: Arc::clone(&self.path),
            began: Instant::now(),
            began_at: self.edge.now(),
            out_bytes: AtomicU64::new(0),
            facts: Mutex::new(facts),
        }
    }

    /// The path that was called.
    pub fn path(&self) -> &str {
        &self.path
    }

    pub fn is_traced(&self) -> bool {
        self.facts().traced.is_some()
    }

    /// The public name of the model, if the call is traced.
    pub fn traced_model(&self) -> Option<String> {
        let facts = self.facts();
        facts.traced.and_then(|_| facts.model.clone())
    }

    pub(crate) fn authenticated(&self, caller: &Caller) {
        self.facts().caller = Some(caller.clone());
    }

    pub fn body_read(&self, bytes: usize) {
        self.facts().in_bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
    }

    /// What it asks for has a price, so the name of the model is one of ours.
    pub fn set_model(&self, endpoint: &'static str, model: &str, stream: bool) {
        let mut facts = self.facts();
        facts.endpoint = endpoint;
        facts.model = Some(model.to_owned());
        facts.stream = stream;
    }

    /// What of its limits it got, and what is told of them.
    pub(crate) fn limited(&self, limits: RateLimitHeaders, granted: Option<Grant>) {
        let mut facts = self.facts();
        facts.limits = Some(limits);
        facts.granted = granted;
    }

    /// What is told of the limits of a page is told of the whole request.
    pub fn limits_of(&self, whole: &Self) {
        let limits = self.facts().limits;
        whole.facts().limits = limits;
    }

    /// It has a place at a channel. The one it had at another is free.
    pub fn hold_permit(&self, seat: Option<Grant>) {
        self.facts().seat = seat;
    }

    /// Releases its permits and counts the tokens that were used: the work is done, and what is left is to
    /// deliver it. The next request of a caller that has its answer must not wait for its own last call,
    /// nor find its estimate in a limit.
    pub fn release_permits(&self, tokens: Tokens) {
        let mut facts = self.facts();
        facts.used(tokens);
        facts.leave();
    }

    /// Tells the caller how its limits stand.
    pub(crate) fn show_limits(&self, answer: &mut Response, format: Format) {
        let limits = self.facts().limits;
        if let Some(limits) = limits {
            limits.write(answer.headers_mut(), format, self.edge.now());
        }
    }

    /// An attempt begins. Until it ends, it counts as one that was left.
    pub fn attempt_started(&self, attempt: Attempt) {
        self.facts().attempts.push(attempt);
    }

    /// The attempt that began last is over, or its answer has begun.
    pub fn attempt_finished(&self, change: impl FnOnce(&mut Attempt)) {
        if let Some(attempt) = self.facts().attempts.last_mut() {
            change(attempt);
        }
    }

    /// The channel of the attempt that is open: it was sent, and no error ended it.
    pub fn open_attempt(&self) -> Option<i64> {
        let facts = self.facts();
        let last = facts.attempts.last();
        last.filter(|one| one.ended.is_none())
            .map(|one| one.channel.id)
    }

    /// The upstream has sent its last byte, or all that is needed of it.
    pub fn upstream_ended(&self) {
        let elapsed = self.elapsed();
        self.facts().upstream_ended = Some(elapsed);
    }

    /// What the answer says about itself, without secrets.
    pub fn set_response_facts(&self, model: String, finishes: Vec<&'static str>) {
        let mut facts = self.facts();
        facts.response_model = model;
        facts.finishes = finishes;
    }

    /// How the call ended and what it cost. Watchers are notified at once.
    pub fn complete(&self, outcome: Outcome, charged: Option<Money>, tokens: Tokens) {
        let mut facts = self.facts();
        facts.outcome = Some(outcome);
        facts.charged = charged;
        facts.tokens = charged.map(|_| tokens);
        facts.used(tokens);
        facts.leave();
        let model = facts.model.clone().unwrap_or_default();
        let stream_ended = facts.upstream_ended.filter(|_| facts.stream);
        let (endpoint, attempts) = (
            facts.endpoint,
            samples(&facts.attempts, outcome, stream_ended),
        );
        drop(facts);
        self.edge.record_call(CompletedCall {
            request: self.id,
            model,
            outcome,
            charged,
            tokens,
            endpoint,
            attempts,
        });
    }

    /// Fields, tools and flags that a provider was not sent.
    pub fn fields_dropped(&self, provider: &str, names: &[&str]) {
        for name in names {
            self.edge.metrics.dropped.add(provider, name);
        }
        self.facts().dropped = names.join(" ");
    }

    pub fn failed(&self, error: &ApiError) {
        let mut facts = self.facts();
        facts.error_code = Some(error.kind.as_str());
        facts.error_status = Some(error.kind.status().as_u16());
        facts.leave();
    }

    /// So many bytes of the answer went to the connection.
    pub fn sent(&self, bytes: u64) {
        self.out_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// All attempts so far, for the usage row.
    pub fn attempts_json(&self) -> Value {
        let attempts = serde_json::to_value(&self.facts().attempts);
        attempts.unwrap_or_else(|_| Value::Array(Vec::new()))
    }

    /// Since the latest attempt began.
    pub fn attempt_time(&self) -> Duration {
        let began = self.facts().attempts.last().map(|attempt| attempt.began);
        self.elapsed().saturating_sub(began.unwrap_or_default())
    }

    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Waits until the client has gone: its handler is dropped, or its connection was reset.
    pub async fn client_gone(&self, responder: &mut Responder) {
        tokio::select! {
            () = responder.closed() => {}
            () = self.watch.gone() => {}
        }
    }

    /// A step of the pipeline is done. Steps are kept where they are logged.
    pub fn step(&self, step: Step) {
        if Step::are_logged() {
            self.facts().steps.push(step);
        }
    }

    fn facts(&self) -> MutexGuard<'_, RequestFacts> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for RequestContext {
    fn drop(&mut self) {
        let took = self.elapsed();
        let mut facts = std::mem::take(&mut *self.facts());
        // What never became a call has used nothing.
        if let Some(granted) = &mut facts.granted {
            granted.used(0);
        }
        // Without an end of its own, a streamed attempt is over with its call.
        let upstream_ended = facts.upstream_ended.unwrap_or(took);
        for attempt in &mut facts.attempts {
            attempt.ended.get_or_insert(upstream_ended);
        }
        self.count(&facts, took);
        self.write_line(&facts, took);
        self.write_steps(&facts);
        self.trace(&facts, took);
    }
}

/// What becomes of it in the end.
impl RequestContext {
    fn count(&self, facts: &RequestFacts, took: Duration) {
        let numbers = &self.edge.metrics;
        numbers.answered.fetch_add(1, Ordering::Relaxed);
        for attempt in &facts.attempts {
            let metrics = &attempt.channel.metrics;
            metrics.count(attempt.as_str(), attempt.head_took());
        }
        if !facts.is_call {
            return;
        }
        numbers.responses.add(facts.response_class());
        if let Some(code) = facts.error_code {
            numbers.errors.add(code);
        }
        if let (Some(model), Some(outcome)) = (&facts.model, facts.outcome) {
            let tokens = facts.tokens.unwrap_or_default();
            numbers.ended(model, outcome.as_str(), tokens);
            numbers.duration.of(facts.stream).took(took);
            if let Some(first_byte) = facts.first_byte.filter(|_| facts.error_code.is_none()) {
                numbers.first_byte.of(facts.stream).took(first_byte);
                let added = first_byte.saturating_sub(facts.at_upstreams());
                numbers.added.of(facts.stream).took(added);
            }
        }
    }

    /// The one line of this request. Nothing of it is made when its log level is off.
    fn write_line(&self, facts: &RequestFacts, took: Duration) {
        let caller = facts.caller.as_ref();
        let channel = facts.attempts.last().map(|one| one.channel.name.as_str());
        tracing::info!(
            target: "trunkline::access",
            {
                request.id = %self.id,
                http.method = %self.method,
                http.path = logged(&self.path),
                http.status = facts.status,
                client.address = %self.address.to_canonical(),
                account.id = caller.map(|caller| caller.account.id.number()),
                key.id = caller.map(|caller| caller.key.id.number()),
                model = facts.model.as_deref(),
                stream = facts.is_call.then_some(facts.stream),
                channel.name = channel,
                attempts_count = facts.is_call.then_some(facts.attempts.len()),
                outcome = facts.outcome.map(Outcome::as_str),
                fault = facts.error_code,
                fields.dropped = Some(facts.dropped.as_str()).filter(|names| !names.is_empty()),
                input_tokens_count = facts.tokens.map(|tokens| tokens.input),
                output_tokens_count = facts.tokens.map(|tokens| tokens.output),
                charge.nanos = facts.charged.map(Money::nanos),
                latency_ms = millis(took),
                ttft_ms = facts.first_byte.filter(|_| facts.stream).map(millis),
                head_us = facts.first_byte.map(micros),
                ledger_us = facts.first_byte.and(facts.in_ledger).map(micros),
                in_bytes = facts.in_bytes,
                out_bytes = self.out_bytes.load(Ordering::Relaxed)
            },
            "answered"
        );
    }

    /// Which steps of the pipeline the request took, for debugging.
    fn write_steps(&self, facts: &RequestFacts) {
        if facts.steps.is_empty() || !Step::are_logged() {
            return;
        }
        let steps: Vec<&str> = facts.steps.iter().map(|step| step.name()).collect();
        let steps = steps.join(" ");
        tracing::trace!(target: "trunkline::steps", { request.id = %self.id, steps }, "steps");
    }

    fn trace(&self, facts: &RequestFacts, took: Duration) {
        let (Some(telemetry), Some(parent)) = (&self.edge.telemetry, facts.traced) else {
            return;
        };
        let model = &facts.response_model;
        let failed = facts.outcome.filter(|outcome| is_failure(*outcome));
        telemetry.tell(&CallSpan {
            id: self.id,
            parent,
            began_at: self.began_at,
            took,
            model: facts.model.as_deref(),
            response_model: (!model.is_empty()).then_some(model),
            finishes: &facts.finishes,
            tokens: facts.tokens,
            charged_nanos: facts.charged.map(Money::nanos),
            outcome: facts.outcome.map(Outcome::as_str),
            error: facts.error_code.or(failed.map(Outcome::as_str)),
            status: facts.status,
            stream: facts.stream,
            ttft: facts.first_byte.filter(|_| facts.stream),
            tried: facts.attempts.iter().map(span_of).collect(),
        });
    }
}

fn span_of(attempt: &Attempt) -> AttemptSpan<'_> {
    AttemptSpan {
        channel: &attempt.channel.name,
        provider: &attempt.channel.provider,
        model: attempt.upstream_model.as_deref().unwrap_or_default(),
        status: attempt.status,
        error: attempt.error_code(),
        began: attempt.began,
        ended: attempt.ended.unwrap_or(attempt.began),
    }
}

const fn is_failure(outcome: Outcome) -> bool {
    match outcome {
        Outcome::Complete | Outcome::Accepted | Outcome::BalanceExhausted => false,
        Outcome::ClientGone
        | Outcome::Refused
        | Outcome::UpstreamFailed
        | Outcome::UpstreamTimeout
        | Outcome::NoResult
        | Outcome::Interrupted
        | Outcome::Expired
        | Outcome::Drained
        | Outcome::DatabaseAway
        | Outcome::Cancelled => true,
    }
}

/// A path as far as it is logged. A key that a client put into it is not.
fn logged(path: &str) -> &str {
    let mut parts = path.as_bytes().windows(KEY_MARK.len());
    if parts.any(|part| part == KEY_MARK) {
        return "[hidden]";
    }
    if path.len() <= MAX_PATH_CHARACTERS {
        return path;
    }
    let cut = path.char_indices().nth(MAX_PATH_CHARACTERS);
    cut.and_then(|(end, _)| path.get(..end)).unwrap_or(path)
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_in_an_address_is_in_no_path_of_the_log() {
        let key = "sk-tl-00aaaaaaaa";
        let written = |text: String| logged(text.parse::<http::Uri>().unwrap().path()).to_owned();
        assert_eq!(written(format!("/v1/models?key={key}")), "/v1/models");
        assert_eq!(written(format!("/{key}/v1/models")), "[hidden]");
        let long = written(format!("/{}", "x".repeat(9_000)));
        assert_eq!(long.len(), MAX_PATH_CHARACTERS);
    }
}
