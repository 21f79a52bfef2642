//! A message from request to answer, on one page, for Anthropic's own API, Bedrock and
//! Vertex AI.

use serde_json::Value;

use crate::clock;
use crate::fault::Fault;
use crate::fault_stage::{self, RuleScope, UpstreamError};
use crate::glimpse::Glimpse;
use crate::recorded_request::RecordedRequest;
use crate::request::Object;
use crate::script::Script;
use crate::scripted_body::{VendorResponse, VendorResult};

use super::answer::{Answer, Usage};
use super::bedrock;
use super::decide::{decide, moved_by_prompt};
use super::refusal::Refusal;
use super::reply;
use super::request::{Context, MessagesRequest, Purpose};
use super::stream;
use super::vertex;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Platform {
    Anthropic,
    Bedrock,
    Vertex,
}

/// What is known of a call beside its body.
#[derive(Clone, Debug)]
pub(crate) struct CallContext {
    pub(crate) platform: Platform,
    /// Model and whether a stream is asked for, where the path says them.
    pub(crate) model: Option<String>,
    pub(crate) stream: Option<bool>,
}

// === impl CallContext ===

impl CallContext {
    /// Everything stands in the body.
    pub(crate) fn by_body() -> Self {
        Self {
            platform: Platform::Anthropic,
            model: None,
            stream: None,
        }
    }

    fn refuse(&self, recorded: RecordedRequest, refusal: &Refusal) -> VendorResponse {
        match self.platform {
            Platform::Anthropic => super::refuse(recorded, refusal),
            Platform::Bedrock => bedrock::refuse(recorded, refusal),
            Platform::Vertex => vertex::refuse(recorded, refusal),
        }
    }

    fn play(&self, recorded: RecordedRequest, script: Script, usage: Usage) -> VendorResponse {
        match self.platform {
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
    call_context: CallContext,
    context: Option<Context>,
) -> VendorResult {
    let (mut request, purpose) = match checked(&recorded, &call_context, context) {
        Ok(checked) => checked,
        Err(refusal) => return Ok(call_context.refuse(recorded, &refusal)),
    };
    let directives = &request.directives;
    let fault = match purpose {
        Purpose::Answer => {
            fault_stage::select(&recorded, directives, &request.model, RuleScope::Model)
        }
        // A count meets no rule, since rules are for completions.
        Purpose::Count => {
            recorded.note(|record| {
                record.marker.clone_from(&directives.marker);
                record.fault = directives.fault;
            });
            directives.fault
        }
    };
    if let Some(error) = fault_stage::early(&mut recorded, fault).await? {
        let refusal = Refusal::upstream(error, &request.model);
        return Ok(call_context.refuse(recorded, &refusal));
    }
    fault_stage::delay_first_byte(fault).await;
    if purpose == Purpose::Count {
        return Ok(count(recorded, &request));
    }
    if call_context.platform == Platform::Bedrock {
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
        let wait = fault_stage::whole_wait(pace_millis, usage.output);
        fault_stage::pause(wait).await;
    }
    let script = match after_ok(fault, request.stream, &call_context) {
        Some(body) => Script::inside_200(body),
        None if fault == Some(Fault::ErrorInside200) => stream::throttled(answer),
        None => {
            let is_aws = call_context.platform == Platform::Bedrock;
            stream::script(answer, request.stream, is_aws, pace_millis, fault)
        }
    };
    Ok(call_context.play(recorded, script, usage))
}

/// The request, if it is acceptable.
fn checked(
    recorded: &RecordedRequest,
    call_context: &CallContext,
    context: Option<Context>,
) -> Result<(MessagesRequest, Purpose), Refusal> {
    let body = parse(recorded)?;
    // What was asked is noted even if it is refused.
    let glimpse = Glimpse::of(&body);
    recorded.note(|record| {
        record.model = call_context.model.clone().unwrap_or(glimpse.model);
        record.stream = call_context.stream.unwrap_or(glimpse.stream);
    });
    let context = match context {
        Some(context) => context,
        None => Context::in_body(&body)?,
    };
    let model = call_context.model.as_deref();
    let request = MessagesRequest::read(&body, &context, model, call_context.stream)?;
    Ok((request, context.purpose))
}

fn decided(recorded: &RecordedRequest, request: &MessagesRequest, fault: Option<Fault>) -> Answer {
    let now_secs = clock::seconds(recorded.received_at_micros);
    let moved_prompt = moved_by_prompt(&request.directives, request.prompt_tokens);
    let moved = moved_prompt.unwrap_or_else(|| {
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
fn after_ok(fault: Option<Fault>, is_stream: bool, call_context: &CallContext) -> Option<String> {
    let is_aws_stream = is_stream && call_context.platform == Platform::Bedrock;
    let error = fault_stage::inside_200(fault, is_stream)?;
    let refusal = Refusal::after_ok();
    match (error, call_context.platform) {
        (UpstreamError::Inside200 { code: Some(code) }, _) => {
            Some(crate::refusal::Refusal::base_resp(code))
        }
        _ if is_aws_stream => None,
        (_, Platform::Bedrock) => Some(bedrock::body(&refusal)),
        (_, Platform::Anthropic | Platform::Vertex) => Some(refusal.body(None)),
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
