//! A message from request to answer, on one page, for Anthropic's own house, Bedrock and
//! Vertex AI.

use std::time::Duration;

use http::Response;
use serde_json::Value;

use crate::bedrock;
use crate::chat::{MAX_WHOLE_WAIT, pause};
use crate::clock;
use crate::fault::Fault;
use crate::played::{Cut, MAX_HANG, Played};
use crate::request::{Glimpse, Object};
use crate::script::Script;
use crate::server::Read;
use crate::vertex;

use super::answer::{Answer, Usage};
use super::decide::{decide, moved_by_prompt};
use super::refusal::Refusal;
use super::reply;
use super::request::{Context, MessagesRequest, Purpose};
use super::stream;

/// Whose clothes an answer wears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Face {
    Anthropic,
    Bedrock,
    Vertex,
}

/// What is known of a call beside its body.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) face: Face,
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
            face: Face::Anthropic,
            model: None,
            stream: None,
        }
    }

    fn refuse(&self, read: Read, refusal: &Refusal) -> Response<Played> {
        match self.face {
            Face::Anthropic => super::refuse(read, refusal),
            Face::Bedrock => bedrock::refuse(read, refusal),
            Face::Vertex => vertex::refuse(read, refusal),
        }
    }

    fn play(&self, read: Read, script: Script, usage: Usage) -> Response<Played> {
        match self.face {
            Face::Anthropic => reply::play(read, script, Some(usage)),
            Face::Bedrock => bedrock::play(read, script, usage),
            // Anthropic's limits are not Google's.
            Face::Vertex => reply::play(read, script, None),
        }
    }
}

/// Answers a request for a message, or counts one. An error closes the connection without an
/// answer. A body of Bedrock brings its own context.
pub(crate) async fn complete(
    mut read: Read,
    asked: Asked,
    context: Option<Context>,
) -> Result<Response<Played>, Cut> {
    let (mut request, purpose) = match checked(&read, &asked, context) {
        Ok(checked) => checked,
        Err(refusal) => return Ok(asked.refuse(read, &refusal)),
    };
    // Only an acceptable request meets a fault, so a rule is never spent on a bad one. The prompt
    // goes before the rules: it speaks of this request alone. A count meets no rule, since rules
    // are for completions.
    let fault = match (request.directives.fault, purpose) {
        (Some(fault), _) => Some(fault),
        (None, Purpose::Answer) => read.house.plans().strike(&request.model, &read.key),
        (None, Purpose::Count) => None,
    };
    read.watch.entry().note(|served| {
        served.marker.clone_from(&request.directives.marker);
        served.fault = fault;
    });
    match fault.and_then(|fault| early(fault, &request.model)) {
        Some(Early::Close { after }) => {
            pause(after).await;
            read.watch.end(false);
            return Err(Cut);
        }
        Some(Early::Refuse(refusal)) => return Ok(asked.refuse(read, &refusal)),
        None => {}
    }
    if let Some(Fault::SlowFirstByte { millis }) = fault {
        pause(Duration::from_millis(millis.into())).await;
    }
    if purpose == Purpose::Count {
        return Ok(count(read, &request));
    }
    if asked.face == Face::Bedrock {
        request.model = bedrock::bare_model(&request.model);
    }
    let answer = decided(&read, &request, fault);
    let usage = answer.usage;
    read.watch.entry().note(|served| {
        served.prompt_tokens = usage.prompt();
        served.cache_read_tokens = usage.read;
        served.cache_written_5m_tokens = usage.written_5m;
        served.cache_written_1h_tokens = usage.written_1h;
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
            let is_aws = asked.face == Face::Bedrock;
            stream::script(answer, request.stream, is_aws, pace_millis, fault)
        }
    };
    Ok(asked.play(read, script, usage))
}

/// The request, if it is acceptable.
fn checked(
    read: &Read,
    asked: &Asked,
    context: Option<Context>,
) -> Result<(MessagesRequest, Purpose), Refusal> {
    let body = parse(read)?;
    // What was asked is noted even if it is refused.
    let glimpse = Glimpse::of(&body);
    read.watch.entry().note(|served| {
        served.model = asked.model.clone().unwrap_or(glimpse.model);
        served.stream = asked.stream.unwrap_or(glimpse.stream);
    });
    let context = match context {
        Some(context) => context,
        None => Context::in_body(&body)?,
    };
    let model = asked.model.as_deref();
    let request = MessagesRequest::read(&body, &context, model, asked.stream)?;
    Ok((request, context.purpose))
}

fn decided(read: &Read, request: &MessagesRequest, fault: Option<Fault>) -> Answer {
    let now_secs = clock::seconds(read.received_at_micros);
    let said = moved_by_prompt(&request.directives, request.prompt_tokens);
    let moved = said.unwrap_or_else(|| {
        let boundaries = request.cache_keys(&read.key);
        read.house.prompts.pass(&boundaries, now_secs)
    });
    let id = read.house.id("msg_", read.number);
    let call_id = read.house.id("toolu_", read.number);
    decide(request, fault, id, &call_id, moved)
}

/// How many tokens a prompt has.
fn count(read: Read, request: &MessagesRequest) -> Response<Played> {
    let body = format!("{{\"input_tokens\":{}}}", request.prompt_tokens);
    reply::play(read, Script::json(200, None, body), Some(Usage::default()))
}

/// An error body under a good status, where a fault wants one. A stream of AWS has its own way.
fn after_ok(fault: Option<Fault>, is_stream: bool, asked: &Asked) -> Option<String> {
    let is_aws_stream = is_stream && asked.face == Face::Bedrock;
    let is_inside = fault == Some(Fault::ErrorInside200) && !is_aws_stream;
    let is_late = !is_stream && matches!(fault, Some(Fault::ErrorFrameMidStream { .. }));
    if is_inside || is_late {
        let refusal = Refusal::after_ok();
        return Some(match asked.face {
            Face::Anthropic | Face::Vertex => refusal.body(None),
            Face::Bedrock => bedrock::body(&refusal),
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

fn parse(read: &Read) -> Result<Object, Refusal> {
    match serde_json::from_slice(&read.body) {
        Ok(Value::Object(body)) => Ok(body),
        Ok(_) => Err(Refusal::invalid(
            "Input should be a valid dictionary or object to extract fields from".to_owned(),
        )),
        Err(_) => Err(Refusal::invalid(
            "The request body is not valid JSON".to_owned(),
        )),
    }
}
