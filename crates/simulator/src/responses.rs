//! The Responses API: a response from request to answer on one page, and what can be done with one
//! that is kept.

mod answer;
mod context;
mod echo;
mod events;
mod parts;
mod request;
mod script;
mod seal;
mod shape;
mod shelf;
mod stored;
mod telling;
mod tools;
mod wishes;

use std::sync::Arc;

use http::{Method, Response};
use serde_json::Value;

use crate::answer::Usage;
use crate::azure;
use crate::chat::{self, Met};
use crate::clock;
use crate::directives::Directives;
use crate::fault::Fault;
use crate::played::{Cut, Played};
use crate::refusal::Refusal;
use crate::request::{Glimpse, Object};
use crate::script::Script;
use crate::server::Read;

pub(crate) use shelf::Shelf;
pub use wishes::Spelling;
pub(crate) use wishes::{Filter, Wishes};

use answer::{Outcome, Output};
use context::{Context, Owner};
use echo::Echo;
use events::Event;
use request::Asked;
use shape::{Reply, Stage, Style};
use shelf::Stored;

const MICROS_PER_SECOND: u64 = 1_000_000;

/// Answers what is asked below `/responses`; `rest` is what stands behind it.
pub(crate) async fn serve(read: Read, rest: &str) -> Result<Response<Played>, Cut> {
    let method = read.parts.method.clone();
    let rest = rest.to_owned();
    let parts: Vec<&str> = rest.split('/').collect();
    let answer = match (parts.as_slice(), &method) {
        ([""], &Method::POST) => return create(read).await,
        (["", id], &Method::GET) => stored::show(&read, id),
        (["", id], &Method::DELETE) => stored::delete(&read, id),
        (["", id, "cancel"], &Method::POST) => stored::cancel(&read, id),
        (["", id, "input_items"], &Method::GET) => stored::input_items(&read, id),
        ([""] | ["", _] | ["", _, "cancel" | "input_items"], _) => {
            let path = read.parts.uri.path();
            Err(Refusal::wrong_method(method.as_str(), path))
        }
        _ => {
            let path = read.parts.uri.path();
            Err(Refusal::no_such_path(method.as_str(), path))
        }
    };
    match answer {
        Ok(body) => Ok(read.play(Script::json(200, None, body), None)),
        Err(refusal) => Ok(read.refuse(&refusal)),
    }
}

/// Makes a response. An error closes the connection without an answer.
async fn create(read: Read) -> Result<Response<Played>, Cut> {
    // What was asked is noted even if it is refused.
    let body = match chat::parse(&read) {
        Ok(body) => body,
        Err(refusal) => return Ok(read.refuse(&refusal)),
    };
    let glimpse = Glimpse::of(&body);
    read.watch.entry().note(|served| {
        served.model = glimpse.model;
        served.stream = glimpse.stream;
    });
    if let Err(refusal) = request::check(&body) {
        return Ok(read.refuse(&refusal));
    }
    // The earlier response is looked for before the items are: they may answer its calls.
    let before = match before(&read, &body) {
        Ok(before) => before,
        Err((id, spelling)) => return Ok(not_found(read, &body, &id, spelling)),
    };
    let id = read.house.id("resp_", read.number);
    let asked = match ask(&read, &body, before, &id) {
        Ok(asked) => asked,
        Err(refusal) => return Ok(read.refuse(&refusal)),
    };
    if let Some(refusal) = azure::refused(&read, &asked.directives, &asked.model) {
        return Ok(read.refuse(&refusal));
    }
    // Only an acceptable request meets a fault; the prompt goes before the rules.
    let fault = match asked.directives.fault {
        Some(fault) => Some(fault),
        None => read.house.plans().strike(&asked.model, &read.key),
    };
    read.watch.entry().note(|served| {
        served.marker.clone_from(&asked.directives.marker);
        served.fault = fault;
    });
    let read = match chat::meet(read, fault, &asked.model, asked.prompt_tokens).await {
        Met::Goes(read) => *read,
        Met::Ends(end) => return *end,
    };
    Ok(answer(read, &asked, id, fault).await)
}

/// Answers an acceptable request, in whichever of the three ways it asked for.
async fn answer(read: Read, asked: &Asked, id: String, fault: Option<Fault>) -> Response<Played> {
    let output = Output::decide(asked, fault, digits(&id), &read.key);
    let reply = Reply {
        id,
        created_at: clock::seconds(read.received_at_micros),
        model: asked.model.clone(),
        echo: asked.echo.clone(),
        output,
        style: Style::default(),
    };
    let prompt_tokens = asked.prompt_tokens;
    read.watch.entry().note(|served| {
        served.prompt_tokens = prompt_tokens;
        served.cache_read_tokens = reply.output.usage.cached;
        // This vendor does not say for how long; its caches live for minutes.
        served.cache_written_5m_tokens = reply.output.cache_write_tokens;
    });
    keep(&read, asked, &reply, fault);
    let pace = asked.directives.pace_millis;
    if asked.background && !asked.stream {
        let body = reply.document(Stage::Queued);
        return read.play(Script::json(200, None, body), Some(prompt_tokens));
    }
    if !asked.stream {
        let said: u64 = reply
            .output
            .items
            .iter()
            .map(|item| item.what.deltas())
            .sum();
        chat::pause(chat::wait(pace, said)).await;
    }
    let script = script::script(reply, asked.stream, pace, fault);
    read.play(script, Some(prompt_tokens))
}

/// What the request continues, if it does; otherwise the id it names, and how to say no.
fn before(read: &Read, body: &Object) -> Result<Option<Context>, (String, Spelling)> {
    let Some(id) = request::text(body, "previous_response_id") else {
        return Ok(None);
    };
    let found = read.house.shelf();
    match found.continued(&read.key, id, clock::now_micros()) {
        Ok(context) => Ok(Some(context)),
        Err(spelling) => {
            drop(found);
            // The request's own prompt goes before the one that made the response.
            let text = context::glimpse(body.get("input"));
            let wished = Directives::read(&text).ok();
            let wished = wished.and_then(|directives| directives.openai.spelling);
            let spelling = wished.or(spelling).unwrap_or_default();
            Err((id.to_owned(), spelling))
        }
    }
}

fn ask(read: &Read, body: &Object, before: Option<Context>, id: &str) -> Result<Asked, Refusal> {
    let find = |item: &str| read.house.shelf().find_item(&read.key, item);
    let owner = Owner {
        key: &read.key,
        find: &find,
        digits: digits(id),
    };
    Asked::read(body, before, &owner)
}

/// Keeps the response, if it is to be kept and came to something.
fn keep(read: &Read, asked: &Asked, reply: &Reply, fault: Option<Fault>) {
    let is_flood = matches!(
        fault,
        Some(Fault::GiganticBody { .. } | Fault::GiganticFrame { .. })
    );
    if !asked.store || is_flood || matches!(reply.output.outcome, Outcome::Failed(_)) {
        return;
    }
    let mut context = asked.context.clone();
    let inputs = context.items.len();
    let mut bytes = read.body.len();
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
    let running = if asked.background {
        chat::wait(asked.directives.pace_millis, reply.output.usage.completion)
    } else {
        std::time::Duration::ZERO
    };
    let running = u64::try_from(running.as_micros()).unwrap_or(u64::MAX);
    read.house.shelf().keep(Stored {
        key: read.key.clone(),
        reply: Arc::new(reply.clone()),
        context,
        inputs,
        ready_at_micros: now.saturating_add(delay_micros),
        spelling: asked.directives.openai.spelling.unwrap_or(named),
        ends_at_micros: now.saturating_add(running),
        is_cancelled: false,
        bytes,
    });
}

/// Says that the earlier response is not known, in one of the ways in which that is said.
fn not_found(read: Read, body: &Object, id: &str, spelling: Spelling) -> Response<Played> {
    let plain = |status, has_code| Refusal::previous_not_found(id, status, has_code);
    let boxed = || Box::new(plain(400, true));
    let is_streamed = body.get("stream") == Some(&Value::Bool(true));
    let events = match spelling {
        Spelling::Status404 => return read.refuse(&plain(404, true)),
        Spelling::NoCode => return read.refuse(&plain(400, false)),
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
        | Spelling::LateFailedEvent => return read.refuse(&plain(400, true)),
    };
    let model = request::text(body, "model").unwrap_or_default();
    let reply = Reply {
        id: read.house.id("resp_", read.number),
        created_at: clock::seconds(read.received_at_micros),
        model: model.to_owned(),
        echo: Echo::of(body, crate::models::reasons(model)),
        output: Output {
            items: Vec::new(),
            outcome: Outcome::Completed,
            usage: Usage {
                prompt: 0,
                cached: 0,
                completion: 0,
                reasoning: 0,
            },
            cache_write_tokens: 0,
            hidden_tokens: 0,
        },
        style: Style::default(),
    };
    read.play(script::broken(reply, events), None)
}

fn digits(id: &str) -> &str {
    id.trim_start_matches("resp_")
}
