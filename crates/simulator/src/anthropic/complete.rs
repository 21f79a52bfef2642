//! A message from request to answer, on one page, for Anthropic's own API, Bedrock and
//! Vertex AI.

use std::time::Duration;

use serde_json::Value;

use crate::bedrock;
use crate::chat::{MAX_WHOLE_WAIT, pause};
use crate::clock;
use crate::fault::Fault;
use crate::request::{Glimpse, Object};
use crate::script::Script;
use crate::scripted_body::{Abort, MAX_HANG, VendorResponse, VendorResult};
use crate::server::RecordedRequest;
use crate::vertex;

use super::answer::{Answer, Usage};
use super::decide::{decide, moved_by_prompt};
use super::refusal::Refusal;
use super::reply;
use super::request::{Context, MessagesRequest, Purpose};
use super::stream;

/// Whose clothes an answer wears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Platform {
    Anthropic,
    Bedrock,
    Vertex,
}

/// What is known of a call beside its body.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) face: Platform,
    /// Model and wish for a stream, where the path says them.
    pub(crate) model: Option<String>,
    pub(crate) stream: Option<bool>,
}

/// A fault that comes instead of an answer.
enum Early {
    /// The connection is closed after this time.
    Close { after: Duration },
    /// A status and an error body.
    Refuse(Refusal),
}

// === impl Asked ===

impl Asked {
    /// Everything stands in the body.
    pub(crate) fn by_body() -> Self {
        Self {
            face: Platform::Anthropic,
            model: None,
            stream: None,
        }
    }

    fn refuse(&self, recorded: RecordedRequest, refusal: &Refusal) -> VendorResponse {
        match self.face {
            Platform::Anthropic => super::refuse(recorded, refusal),
            Platform::Bedrock => bedrock::refuse(recorded, refusal),
            Platform::Vertex => vertex::refuse(recorded, refusal),
        }
    }

    fn play(&self, recorded: RecordedRequest, script: Script, usage: Usage) -> VendorResponse {
        match self.face {
            Platform::Anthropic => reply::play(recorded, script, Some(usage)),
            Platform::Bedrock => bedrock::play(recorded, script, usage),
            // Anthropic's limits are not Google's.
            Platform::Vertex => reply::play(recorded, script, None),
        }
    }
}

/// Answers a request for a message, or counts one. An error closes the connection without an
/// answer. A body of Bedrock brings its own context.
pub(crate) async fn complete(
    mut recorded: RecordedRequest,
    asked: Asked,
    context: Option<Context>,
) -> VendorResult {
    let (mut request, purpose) = match checked(&recorded, &asked, context) {
        Ok(checked) => checked,
        Err(refusal) => return Ok(asked.refuse(recorded, &refusal)),
    };
    // Only an acceptable request meets a fault, so a rule is never spent on a bad one. The prompt
    // goes before the rules: it speaks of this request alone. A count meets no rule, since rules
    // are for completions.
    let fault = match (request.directives.fault, purpose) {
        (Some(fault), _) => Some(fault),
        (None, Purpose::Answer) => recorded.state.plans().strike(&request.model, &recorded.key),
        (None, Purpose::Count) => None,
    };
    recorded.note(|record| {
        record.marker.clone_from(&request.directives.marker);
        record.fault = fault;
    });
    match fault.and_then(|fault| early(fault, &request.model)) {
        Some(Early::Close { after }) => {
            pause(after).await;
            recorded.watch.end(false);
            return Err(Abort);
        }
        Some(Early::Refuse(refusal)) => return Ok(asked.refuse(recorded, &refusal)),
        None => {}
    }
    if let Some(Fault::SlowFirstByte { millis }) = fault {
        pause(Duration::from_millis(millis.into())).await;
    }
    if purpose == Purpose::Count {
        return Ok(count(recorded, &request));
    }
    if asked.face == Platform::Bedrock {
        request.model = bedrock::bare_model(&request.model);
    }
    let answer = decided(&recorded, &request, fault);
    let usage = answer.usage;
    recorded.note(|record| {
        record.prompt_tokens = usage.prompt();
        record.cache_read_tokens = usage.read;
        record.cache_written_5m_tokens = usage.written_5m;
        record.cache_written_1h_tokens = usage.written_1h;
    });
    let pace_millis = request.directives.pace_millis;
    if !request.stream {
        // A whole answer takes as long as its tokens; if the client leaves meanwhile, this future
        // is dropped and the watch sees it.
        let wait = Duration::from_millis(pace_millis.saturating_mul(usage.output));
        pause(wait.min(MAX_WHOLE_WAIT)).await;
    }
    let script = match after_ok(fault, request.stream, &asked) {
        Some(body) => broken(body),
        None if fault == Some(Fault::ErrorInside200) => stream::throttled(answer),
        None => {
            let is_aws = asked.face == Platform::Bedrock;
            stream::script(answer, request.stream, is_aws, pace_millis, fault)
        }
    };
    Ok(asked.play(recorded, script, usage))
}

/// The request, if it is acceptable.
fn checked(
    recorded: &RecordedRequest,
    asked: &Asked,
    context: Option<Context>,
) -> Result<(MessagesRequest, Purpose), Refusal> {
    let body = parse(recorded)?;
    // What was asked is noted even if it is refused.
    let glimpse = Glimpse::of(&body);
    recorded.note(|record| {
        record.model = asked.model.clone().unwrap_or(glimpse.model);
        record.stream = asked.stream.unwrap_or(glimpse.stream);
    });
    let context = match context {
        Some(context) => context,
        None => Context::in_body(&body)?,
    };
    let model = asked.model.as_deref();
    let request = MessagesRequest::read(&body, &context, model, asked.stream)?;
    Ok((request, context.purpose))
}

fn decided(recorded: &RecordedRequest, request: &MessagesRequest, fault: Option<Fault>) -> Answer {
    let now_secs = clock::seconds(recorded.received_at_micros);
    let said = moved_by_prompt(&request.directives, request.prompt_tokens);
    let moved = said.unwrap_or_else(|| {
        let boundaries = request.cache_keys(&recorded.key);
        recorded.state.prompts.pass(&boundaries, now_secs)
    });
    let id = recorded.id("msg_");
    let call_id = recorded.id("toolu_");
    decide(request, fault, id, &call_id, moved)
}

/// How many tokens a prompt has.
fn count(recorded: RecordedRequest, request: &MessagesRequest) -> VendorResponse {
    let body = format!("{{\"input_tokens\":{}}}", request.prompt_tokens);
    reply::play(
        recorded,
        Script::json(200, None, body),
        Some(Usage::default()),
    )
}

/// An error body under a good status, where a fault wants one. A stream of AWS has its own way.
fn after_ok(fault: Option<Fault>, is_stream: bool, asked: &Asked) -> Option<String> {
    let is_aws_stream = is_stream && asked.face == Platform::Bedrock;
    let is_inside = fault == Some(Fault::ErrorInside200) && !is_aws_stream;
    let is_late = !is_stream && matches!(fault, Some(Fault::ErrorFrameMidStream { .. }));
    if is_inside || is_late {
        let refusal = Refusal::after_ok();
        return Some(match asked.face {
            Platform::Anthropic | Platform::Vertex => refusal.body(None),
            Platform::Bedrock => bedrock::body(&refusal),
        });
    }
    match fault {
        Some(Fault::BaseResp(code)) => Some(crate::refusal::Refusal::base_resp(code)),
        Some(_) | None => None,
    }
}

/// A document under a good status that is no answer.
fn broken(body: String) -> Script {
    let mut script = Script::json(200, None, body);
    script.is_complete = false;
    script
}

/// What a fault does before an answer is thought of, if it is one of those.
fn early(fault: Fault, model: &str) -> Option<Early> {
    match fault {
        Fault::CloseBeforeHeaders => Some(Early::Close {
            after: Duration::ZERO,
        }),
        Fault::HangBeforeHeaders => Some(Early::Close { after: MAX_HANG }),
        Fault::RateLimited { retry_after_secs } => {
            Some(Early::Refuse(Refusal::rate_limited(retry_after_secs)))
        }
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

fn parse(recorded: &RecordedRequest) -> Result<Object, Refusal> {
    match serde_json::from_slice(&recorded.body) {
        Ok(Value::Object(body)) => Ok(body),
        Ok(_) => Err(Refusal::invalid(
            "Input should be a valid dictionary or object to extract fields from".to_owned(),
        )),
        Err(_) => Err(Refusal::invalid(
            "The request body is not valid JSON".to_owned(),
        )),
    }
}
