//! The Responses API: a response from request to answer on one page, and what can be done with one
//! that is kept.

mod event_bytes;
mod events;
mod script;
mod store_api;

use std::sync::Arc;

use http::Method;
use serde_json::Value;

use crate::chat;
use crate::clock;
use crate::deployment;
use crate::directives::Directives;
use crate::fault::{Fault, Spelling};
use crate::fault_stage::{self, RuleScope};
use crate::glimpse::Glimpse;
use crate::recorded_request::RecordedRequest;
use crate::refusal::Refusal;
use crate::request::Object;
use crate::script::Script;
use crate::scripted_body::{VendorResponse, VendorResult};

use crate::responses::answer::{Outcome, Output};
use crate::responses::context::{self, Context, Owner};
use crate::responses::echo::Echo;
use crate::responses::request::{self, ResponsesRequest};
use crate::responses::store::{SocketResponses, Stored};
use crate::responses::wire_types::{Reply, Stage, Style};
use events::Event;

const MICROS_PER_SECOND: u64 = 1_000_000;

/// Answers what is asked below `/responses`; `rest` is what stands behind it.
pub(crate) async fn serve(recorded: RecordedRequest, rest: &str) -> VendorResult {
    let method = recorded.parts.method.clone();
    let rest = rest.to_owned();
    let parts: Vec<&str> = rest.split('/').collect();
    let answer = match (parts.as_slice(), &method) {
        ([""], &Method::POST) => return create(recorded).await,
        (["", id], &Method::GET) => store_api::show(&recorded, id),
        (["", id], &Method::DELETE) => store_api::delete(&recorded, id),
        (["", id, "cancel"], &Method::POST) => store_api::cancel(&recorded, id),
        (["", id, "input_items"], &Method::GET) => store_api::input_items(&recorded, id),
        ([""] | ["", _] | ["", _, "cancel" | "input_items"], _) => {
            let path = recorded.parts.uri.path();
            Err(Refusal::wrong_method(method.as_str(), path))
        }
        _ => {
            let path = recorded.parts.uri.path();
            Err(Refusal::no_such_path(method.as_str(), path))
        }
    };
    match answer {
        Ok(body) => Ok(recorded.play(Script::json(200, None, body), None)),
        Err(refusal) => Ok(recorded.refuse(&refusal)),
    }
}

/// Makes a response. An error closes the connection without an answer.
async fn create(mut recorded: RecordedRequest) -> VendorResult {
    let body = match chat::parse(&recorded) {
        Ok(body) => body,
        Err(refusal) => return Ok(recorded.refuse(&refusal)),
    };
    Glimpse::of(&body).note(&recorded);
    if let Err(refusal) = request::check(&body) {
        return Ok(recorded.refuse(&refusal));
    }
    // The earlier response is looked for before the items are: they may answer its calls.
    let before = match before(&recorded, &body) {
        Ok(before) => before,
        Err((id, spelling)) => return Ok(not_found(recorded, &body, &id, spelling)),
    };
    let id = recorded.id("resp_");
    let request = match ask(&recorded, &body, before, &id) {
        Ok(request) => request,
        Err(refusal) => return Ok(recorded.refuse(&refusal)),
    };
    if let Some(refusal) = deployment::refused(&recorded, &request.directives, &request.model) {
        return Ok(recorded.refuse(&refusal));
    }
    let fault = fault_stage::select(
        &recorded,
        &request.directives,
        &request.model,
        RuleScope::Model,
    );
    if let Some(error) = fault_stage::early(&mut recorded, fault).await? {
        return Ok(recorded.fail(error, &request.model, request.prompt_tokens));
    }
    fault_stage::delay_first_byte(fault).await;
    Ok(answer(recorded, &request, id, fault).await)
}

/// Answers an acceptable request, in whichever of the three ways it asked for.
async fn answer(
    recorded: RecordedRequest,
    request: &ResponsesRequest,
    id: String,
    fault: Option<Fault>,
) -> VendorResponse {
    let output = Output::decide(request, fault, digits(&id), &recorded.key);
    let reply = Reply {
        id,
        created_at: clock::seconds(recorded.received_at_micros),
        model: request.model.clone(),
        echo: request.echo.clone(),
        output,
        style: Style::default(),
    };
    let prompt_tokens = request.prompt_tokens;
    recorded.note(|record| {
        record.prompt_tokens = prompt_tokens;
        record.cache_read_tokens = reply.output.usage.cached;
        // This vendor does not say for how long; its caches live for minutes.
        record.cache_written_5m_tokens = reply.output.cache_write_tokens;
    });
    keep(&recorded, request, &reply, fault);
    let pace = request.directives.pace_millis;
    if request.background && !request.stream {
        let body = reply.document(Stage::Queued);
        return recorded.play(Script::json(200, None, body), Some(prompt_tokens));
    }
    if !request.stream {
        let text_tokens: u64 = reply
            .output
            .items
            .iter()
            .map(|item| item.what.deltas())
            .sum();
        fault_stage::pause(fault_stage::whole_wait(pace, text_tokens)).await;
    }
    let script = script::script(reply, request.stream, pace, fault);
    recorded.play(script, Some(prompt_tokens))
}

/// What the request continues, if it does; otherwise the id it names, and how to say no.
fn before(
    recorded: &RecordedRequest,
    body: &Object,
) -> Result<Option<Context>, (String, Spelling)> {
    let Some(id) = request::text(body, "previous_response_id") else {
        return Ok(None);
    };
    let socket = recorded.parts.extensions.get::<SocketResponses>();
    let on_socket = socket.map(|socket| socket.store().continued(&recorded.key, id, u64::MAX));
    if let Some(Ok(context)) = on_socket {
        return Ok(Some(context));
    }
    let found = recorded.state.responses();
    match found.continued(&recorded.key, id, clock::now_micros()) {
        Ok(context) => Ok(Some(context)),
        Err(spelling) => {
            drop(found);
            // The request's own prompt goes before the one that made the response.
            let text = context::glimpse(body.get("input"));
            let requested = Directives::read(&text).ok();
            let requested = requested.and_then(|directives| directives.openai.spelling);
            let spelling = requested.or(spelling).unwrap_or_default();
            Err((id.to_owned(), spelling))
        }
    }
}

fn ask(
    recorded: &RecordedRequest,
    body: &Object,
    before: Option<Context>,
    id: &str,
) -> Result<ResponsesRequest, Refusal> {
    let find = |item: &str| recorded.state.responses().find_item(&recorded.key, item);
    let owner = Owner {
        key: &recorded.key,
        find: &find,
        digits: digits(id),
    };
    ResponsesRequest::read(body, before, &owner)
}

/// Keeps the response, if it is to be kept and came to something.
fn keep(
    recorded: &RecordedRequest,
    request: &ResponsesRequest,
    reply: &Reply,
    fault: Option<Fault>,
) {
    let socket = recorded.parts.extensions.get::<SocketResponses>();
    if (!request.store && socket.is_none())
        || fault_stage::is_gigantic(fault)
        || matches!(reply.output.outcome, Outcome::Failed(_))
    {
        return;
    }
    let mut context = request.context.clone();
    let inputs = context.items.len();
    let mut bytes = recorded.body.len();
    for item in &reply.output.items {
        let text = reply.item(item, false);
        bytes = bytes.saturating_add(text.len());
        // What we wrote is JSON.
        context.absorb(serde_json::from_str(&text).unwrap_or_default());
    }
    let (delay_micros, named) = match fault {
        Some(Fault::NotReady { secs, spelling }) => {
            (u64::from(secs).saturating_mul(MICROS_PER_SECOND), spelling)
        }
        Some(_) | None => (0, Spelling::default()),
    };
    let now = clock::now_micros();
    let running = if request.background {
        fault_stage::whole_wait(
            request.directives.pace_millis,
            reply.output.usage.completion,
        )
    } else {
        std::time::Duration::ZERO
    };
    let running = u64::try_from(running.as_micros()).unwrap_or(u64::MAX);
    let stored = Stored {
        key: recorded.key.clone(),
        reply: Arc::new(reply.clone()),
        context,
        inputs,
        ready_at_micros: now.saturating_add(delay_micros),
        spelling: request.directives.openai.spelling.unwrap_or(named),
        ends_at_micros: now.saturating_add(running),
        is_cancelled: false,
        bytes,
    };
    if let Some(socket) = socket {
        socket.store().keep(stored.clone());
    }
    if request.store {
        recorded.state.responses().keep(stored);
    }
}

/// Says that the earlier response is not known, in one of the ways in which that is said.
fn not_found(
    recorded: RecordedRequest,
    body: &Object,
    id: &str,
    spelling: Spelling,
) -> VendorResponse {
    let plain = |status, has_code| Refusal::previous_not_found(id, status, has_code);
    let boxed = || Box::new(plain(400, true));
    let is_streamed = body.get("stream") == Some(&Value::Bool(true));
    let events = match spelling {
        Spelling::Status404 => return recorded.refuse(&plain(404, true)),
        Spelling::NoCode => return recorded.refuse(&plain(400, false)),
        Spelling::ErrorEvent if is_streamed => vec![Event::Error(boxed())],
        Spelling::NestedErrorEvent if is_streamed => vec![Event::NestedError(boxed())],
        Spelling::FailedEvent if is_streamed => vec![Event::Failed(boxed())],
        Spelling::LateFailedEvent if is_streamed => {
            vec![Event::Created, Event::InProgress, Event::Failed(boxed())]
        }
        Spelling::Status400
        | Spelling::ErrorEvent
        | Spelling::NestedErrorEvent
        | Spelling::FailedEvent
        | Spelling::LateFailedEvent => return recorded.refuse(&plain(400, true)),
    };
    let model = request::text(body, "model").unwrap_or_default();
    let reply = Reply {
        id: recorded.id("resp_"),
        created_at: clock::seconds(recorded.received_at_micros),
        model: model.to_owned(),
        echo: Echo::of(body, crate::models::reasons(model)),
        output: Output::nothing(),
        style: Style::default(),
    };
    recorded.play(script::broken(reply, events), None)
}

fn digits(id: &str) -> &str {
    id.trim_start_matches("resp_")
}
