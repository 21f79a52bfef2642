//! A chat completion from request to answer, on one page.

mod frames;

use http::header::CONTENT_TYPE;
use serde_json::Value;

use crate::answer::Answer;
use crate::clock;
use crate::deployment;
use crate::fault::Fault;
use crate::fault_stage::{self, Injected, RuleScope};
use crate::glimpse::Glimpse;
use crate::prompt_memory::Prefix;
use crate::recorded_request::RecordedRequest;
use crate::refusal::{Refusal, shortened};
use crate::request::{ChatRequest, Object};
use crate::script::Script;
use crate::scripted_body::VendorResult;

use frames::{Frame, Renderer};

/// Answers a request for a completion. An error closes the connection without an answer.
pub(crate) async fn complete(mut recorded: RecordedRequest) -> VendorResult {
    let mut body = match parse(&recorded) {
        Ok(body) => body,
        Err(refusal) => return Ok(recorded.refuse(&refusal)),
    };
    deployment::name_deployment(&recorded, &mut body);
    Glimpse::of(&body).note(&recorded);
    let mut request = match ChatRequest::read(&body) {
        Ok(request) => request,
        Err(refusal) => return Ok(recorded.refuse(&refusal)),
    };
    if recorded.state.withdrawn().models.contains(&request.model) {
        return Ok(recorded.refuse(&Refusal::no_such_model(&request.model)));
    }
    let prefix = prefix(&recorded, &body);
    drop(body);
    if let Some(refusal) = deployment::refused(&recorded, &request.directives, &request.model) {
        return Ok(recorded.refuse(&refusal));
    }
    request.is_filtered = recorded.azure.is_some();
    let fault = fault_stage::select(
        &recorded,
        &request.directives,
        &request.model,
        RuleScope::Model,
    );
    let prompt_tokens = request.prompt.tokens();
    if let Some(error) = fault_stage::early(&mut recorded, fault).await? {
        return Ok(recorded.fail(error, &request.model, prompt_tokens));
    }
    let created = clock::seconds(recorded.received_at_micros);
    let mut answer = Answer::decide(&request, fault, recorded.id("chatcmpl-"), created);
    if let Some(chats) = &recorded.state.chats {
        let seen = chats.recall(&prefix).min(prompt_tokens);
        answer.usage.cached = answer.usage.cached.max(seen);
    }
    recorded.note(|record| {
        record.prompt_tokens = prompt_tokens;
        record.cache_read_tokens = answer.usage.cached;
    });
    fault_stage::delay_first_byte(fault).await;
    let pace_millis = request.directives.pace_millis;
    if !request.stream {
        // A whole answer takes as long as its tokens; if the client leaves meanwhile, this future
        // is dropped and the watch sees it.
        let wait = fault_stage::whole_wait(pace_millis, answer.says.pieces());
        fault_stage::pause(wait).await;
    }
    let script = script(answer, &request, fault).paced(request.stream, pace_millis, fault);
    Ok(recorded.play(script, Some(prompt_tokens)))
}

/// How the prompt begins, for the cache of its key and model.
fn prefix(recorded: &RecordedRequest, body: &Object) -> Prefix {
    let model = body.get("model").and_then(Value::as_str);
    let mut prefix = Prefix::new(&[&recorded.key, model.unwrap_or_default()]);
    let messages = body.get("messages").and_then(Value::as_array);
    for message in messages.into_iter().flatten() {
        prefix.add(message.to_string().as_bytes());
    }
    prefix
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
            shortened(kind.as_deref().unwrap_or(""))
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

fn script(answer: Answer, request: &ChatRequest, fault: Option<Fault>) -> Script {
    if let Some(script) = Script::error_under_ok(fault, request.stream) {
        return script;
    }
    let mut reported = answer.usage;
    if let Some(Fault::LyingUsage { factor }) = fault {
        reported = reported.times(factor.into());
    }
    let renderer = Renderer {
        answer,
        asks_usage: request.include_usage,
        reported,
        cr_lf: fault == Some(Fault::CrLf),
        accents: matches!(fault, Some(Fault::SplitBytes { .. })),
    };
    if !request.stream {
        return fault_stage::document(renderer.document(fault), fault);
    }
    let (start, filler, end) = frames(&renderer, fault);
    let filler = filler.map(|words| Frame::Filler { words });
    let frames = start.into_iter().chain(filler).chain(end);
    let injected = Injected {
        error: Frame::Error,
        garbage: Frame::Garbage,
    };
    fault_stage::stream(frames, injected, fault, move |_, frame| {
        renderer.render(frame)
    })
}

/// The frames before the filler of a gigantic answer, the words of each frame of filler, and the
/// frames behind it, with the faults that leave some out or add some.
fn frames(
    renderer: &Renderer,
    fault: Option<Fault>,
) -> (
    Vec<Frame>,
    impl Iterator<Item = u64> + Send + use<>,
    Vec<Frame>,
) {
    let each = fault_stage::filler_per_frame(fault);
    let words = each.map_or(0, |_| renderer.answer.says.pieces());
    let filler = fault_stage::portions(words, each.unwrap_or_default());
    let mut start = match each {
        Some(_) => renderer.opening(),
        None => renderer.spoken(),
    };
    let mut end = Vec::new();
    if fault == Some(Fault::TruncatedJson) {
        if let Some(Frame::Token { choice, index }) = start.pop() {
            start.push(Frame::Cut { choice, index });
        }
        return (start, filler, end);
    }
    if fault != Some(Fault::NoFinishReason) {
        end.extend((0..renderer.answer.choices).map(|choice| Frame::Finish { choice }));
    }
    if renderer.asks_usage && fault == Some(Fault::SplitUsage) {
        end.extend([Frame::PromptUsage, Frame::CompletionUsage]);
    } else if renderer.asks_usage && fault != Some(Fault::NoUsage) {
        end.push(Frame::Usage);
    }
    if fault != Some(Fault::NoDone) {
        end.push(Frame::Done);
    }
    (start, filler, end)
}
