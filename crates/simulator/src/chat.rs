//! A completion from request to answer, on one page.

use std::time::Duration;

use http::header::CONTENT_TYPE;
use serde_json::Value;

use crate::answer::Answer;
use crate::azure;
use crate::clock;
use crate::fault::Fault;
use crate::refusal::{Refusal, shown};
use crate::request::{ChatRequest, Glimpse, Object};
use crate::script::Script;
use crate::scripted_body::{Abort, MAX_HANG, VendorResult};
use crate::server::RecordedRequest;

/// Longest time a whole answer is held back by the pace of its prompt.
pub(crate) const MAX_WHOLE_WAIT: Duration = Duration::from_secs(600);

/// Whether a request goes on to its answer.
pub(crate) enum Met {
    Goes(Box<RecordedRequest>),
    /// It met a fault that comes instead of an answer.
    Ends(Box<VendorResult>),
}

/// A fault that comes instead of an answer.
enum Early {
    /// The connection is closed after this time.
    Close { after: Duration },
    /// A status and an error body.
    Refuse(Refusal),
}

/// Answers a request for a completion. An error closes the connection without an answer.
pub(crate) async fn complete(recorded: RecordedRequest) -> VendorResult {
    // What was asked is noted even if it is refused.
    let mut body = match parse(&recorded) {
        Ok(body) => body,
        Err(refusal) => return Ok(recorded.refuse(&refusal)),
    };
    azure::name_deployment(&recorded, &mut body);
    let glimpse = Glimpse::of(&body);
    recorded.note(|record| {
        record.model = glimpse.model;
        record.stream = glimpse.stream;
    });
    let mut request = match ChatRequest::read(&body) {
        Ok(request) => request,
        Err(refusal) => return Ok(recorded.refuse(&refusal)),
    };
    drop(body);
    if let Some(refusal) = azure::refused(&recorded, &request.directives, &request.model) {
        return Ok(recorded.refuse(&refusal));
    }
    request.is_filtered = recorded.azure.is_some();
    // Only an acceptable request meets a fault, so a rule is never spent on a bad one. The prompt
    // goes before the rules: it speaks of this request alone.
    let fault = match request.directives.fault {
        Some(fault) => Some(fault),
        None => recorded.state.plans().strike(&request.model, &recorded.key),
    };
    let prompt_tokens = request.prompt.tokens();
    recorded.note(|record| {
        record.marker.clone_from(&request.directives.marker);
        record.fault = fault;
    });
    let recorded = match meet(recorded, fault, &request.model, prompt_tokens).await {
        Met::Goes(recorded) => *recorded,
        Met::Ends(end) => return *end,
    };
    let id = recorded.id("chatcmpl-");
    let created = clock::seconds(recorded.received_at_micros);
    let answer = Answer::decide(&request, fault, id, created);
    recorded.note(|record| {
        record.prompt_tokens = prompt_tokens;
        record.cache_read_tokens = answer.usage.cached;
    });
    if let Some(Fault::SlowFirstByte { millis }) = fault {
        pause(Duration::from_millis(millis.into())).await;
    }
    if !request.stream {
        // A whole answer takes as long as its tokens; if the client leaves meanwhile, this future
        // is dropped and the watch sees it.
        pause(whole_wait(&request, &answer)).await;
    }
    let pace_millis = request.directives.pace_millis;
    let script = Script::answer(
        answer,
        request.stream,
        request.include_usage,
        pace_millis,
        fault,
    );
    Ok(recorded.play(script, Some(prompt_tokens)))
}

/// Carries out a fault that comes instead of an answer, if this is one.
pub(crate) async fn meet(
    mut recorded: RecordedRequest,
    fault: Option<Fault>,
    model: &str,
    prompt_tokens: u64,
) -> Met {
    match fault.and_then(|fault| early(fault, model)) {
        Some(Early::Close { after }) => {
            pause(after).await;
            recorded.watch.end(false);
            Met::Ends(Box::new(Err(Abort)))
        }
        Some(Early::Refuse(refusal)) => {
            // Only a refusal for a limit tells of limits.
            let limits = refusal.retry_after_secs.map(|_| prompt_tokens);
            let script = recorded.refusal(&refusal);
            Met::Ends(Box::new(Ok(recorded.play(script, limits))))
        }
        None => Met::Goes(Box::new(recorded)),
    }
}

/// What a fault does before an answer is thought of, if it is one of those.
fn early(fault: Fault, model: &str) -> Option<Early> {
    match fault {
        Fault::CloseBeforeHeaders => Some(Early::Close {
            after: Duration::ZERO,
        }),
        Fault::HangBeforeHeaders => Some(Early::Close { after: MAX_HANG }),
        Fault::RateLimited { retry_after_secs } => Some(Early::Refuse(Refusal::rate_limited(
            model,
            retry_after_secs,
        ))),
        Fault::Status(status) => Some(Early::Refuse(Refusal::with_status(status, model))),
        Fault::SlowFirstByte { .. }
        | Fault::HangMidStream { .. }
        | Fault::CloseMidStream { .. }
        | Fault::GarbageFrame { .. }
        | Fault::TruncatedJson
        | Fault::ErrorInside200
        | Fault::BaseResp(_)
        | Fault::ErrorFrameMidStream { .. }
        | Fault::SlowDrip { .. }
        | Fault::WrongContentLength
        | Fault::GiganticBody { .. }
        | Fault::GiganticFrame { .. }
        | Fault::LyingUsage { .. }
        | Fault::NoUsage
        | Fault::SplitUsage
        | Fault::NoDone
        | Fault::NoFinishReason
        | Fault::SplitBytes { .. }
        | Fault::CrLf
        | Fault::NotReady { .. }
        | Fault::Audio(_)
        | Fault::Image(_)
        | Fault::Social(_) => None,
    }
}

/// The body as an object, if it is JSON.
pub(crate) fn parse(recorded: &RecordedRequest) -> Result<Object, Refusal> {
    let kind = recorded.parts.headers.get(CONTENT_TYPE);
    let kind = kind.map(|value| String::from_utf8_lossy(value.as_bytes()));
    let essence = kind.as_deref().unwrap_or("").split(';').next();
    if essence.map(str::trim) != Some("application/json") {
        let message = format!(
            "Unsupported content type: '{}'. This API method only accepts 'application/json' \
             requests.",
            shown(kind.as_deref().unwrap_or(""))
        );
        return Err(Refusal::unnamed(&message));
    }
    match serde_json::from_slice(&recorded.body) {
        Ok(Value::Object(body)) => Ok(body),
        Ok(_) | Err(_) => Err(Refusal::unnamed(
            "We could not parse the JSON body of your request. The OpenAI API expects a JSON \
             payload, but what was sent was not valid JSON.",
        )),
    }
}

/// Even an empty sleep waits for the next tick of the timer, which a load test would see.
pub(crate) async fn pause(time: Duration) {
    if !time.is_zero() {
        tokio::time::sleep(time).await;
    }
}

fn whole_wait(request: &ChatRequest, answer: &Answer) -> Duration {
    wait(request.directives.pace_millis, answer.says.pieces())
}

/// How long a whole answer of so many tokens takes.
pub(crate) fn wait(pace_millis: u64, tokens: u64) -> Duration {
    Duration::from_millis(pace_millis.saturating_mul(tokens)).min(MAX_WHOLE_WAIT)
}
