//! Which path is which step.

use std::sync::Arc;

use bytes::Bytes;
use http::header::ALLOW;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use hyper::body::Incoming;
use serde_json::json;
use trunkline_studio::images::Door as Drawing;
use trunkline_studio::transcription::Door as Listening;
use trunkline_upstream::Task;
use trunkline_wire::gemini::StreamShape;
use trunkline_wire::{Format, InPath};

use super::bodies::{Made, filmed, made};
use super::body;
use super::desk::{self, Desk};
use crate::caller::Caller;
use crate::entrance::{
    CHAT, COMPLETIONS, EMBEDDINGS, Entrance, GEMINI, MESSAGES, MODERATIONS, RERANK, RESPONSES,
};
use crate::fault::{Fault, Kind};
use crate::gateway::Gateway;
use crate::limiting::Load;
use crate::models::{Shape as ModelShape, plain};
use crate::places::Place as Room;
use crate::reply::{self, Answered};
use crate::story::Story;
use crate::video::Shape;

/// What a path is.
enum Place<'a> {
    Root,
    Live,
    Ready,
    /// A turn of a conversation, and what the path says of it.
    Talk(Entrance, InPath<'a>),
    /// How many tokens a request has.
    Count(Entrance, InPath<'a>),
    /// A response that an upstream keeps, and what is asked of it.
    Stored(Task, &'a str),
    Quotes,
    /// Under Gemini's own version, or ours.
    Models {
        beta: bool,
    },
    Model {
        beta: bool,
        name: &'a str,
    },
    Usage(&'a str),
    Balance,
    Key,
    /// Where customers look after themselves.
    Desk(Desk<'a>),
    /// Videos: make one, or list them.
    Videos,
    /// The older path to make one.
    OlderVideos,
    Video(&'a str, Shape),
    VideoContent(&'a str),
    /// Something is made while the caller waits.
    Make(Made),
    /// Social data: a platform, a capability, and whether all pages are wanted.
    Social(&'a str, &'a str, bool),
    /// A signed link.
    Media,
    /// `/v1` stands twice, the commonest mistake in a base URL.
    Doubled(&'a str),
    Unknown,
}

/// Answers one request.
pub(super) async fn answer(
    gateway: &Gateway,
    story: &Arc<Story>,
    request: Request<Incoming>,
) -> Result<Answered, Fault> {
    let uri = request.uri().clone();
    let place = place_of(uri.path());
    let upgrades = request.headers().contains_key(http::header::UPGRADE);
    if upgrades && uri.path() == "/v1/responses" {
        let text = "responses are not spoken over a WebSocket here; send POST /v1/responses";
        return Err(Fault::new(Kind::NoWebSocket, text));
    }
    let place = place.with_method(request.method());
    if let Some(allowed) = place.methods()
        && !allowed.contains(request.method())
    {
        return Ok(wrong_method(story, allowed, format_of(uri.path())));
    }
    match place {
        Place::Root => Ok(reply::json(
            StatusCode::OK,
            &json!({ "service": "trunkline" }),
        )),
        Place::Live => Ok(reply::json(StatusCode::OK, &json!({ "status": "live" }))),
        Place::Ready => Ok(ready(gateway)),
        Place::Doubled(rest) => {
            let text = format!("the path has `/v1` twice; call `/v1/{rest}`");
            Err(Fault::new(Kind::NotFound, text))
        }
        Place::Unknown => Err(desk::nothing_there()),
        Place::Talk(..)
        | Place::Count(..)
        | Place::Quotes
        | Place::OlderVideos
        | Place::Make(_) => posted(gateway, story, request, &place).await,
        Place::Videos if request.method() == Method::POST => {
            posted(gateway, story, request, &place).await
        }
        Place::Media => {
            let whole = uri.path_and_query().map_or("", |whole| whole.as_str());
            Box::pin(gateway.linked(whole, request.headers())).await
        }
        Place::Social(platform, capability, pages) => {
            Box::pin(looked_up(
                gateway,
                story,
                &request,
                (platform, capability, pages),
            ))
            .await
        }
        Place::Desk(desk) => {
            let caller = known(gateway, story, &request)?;
            gateway.limit(story, &caller, Load::Read).await?;
            Box::pin(desk::answer(gateway, caller, (desk, request))).await
        }
        Place::Stored(..)
        | Place::Videos
        | Place::Video(..)
        | Place::VideoContent(_)
        | Place::Models { .. }
        | Place::Model { .. }
        | Place::Usage(_)
        | Place::Balance
        | Place::Key => asked(gateway, story, &request, &place).await,
    }
}

/// Who calls.
fn known(gateway: &Gateway, story: &Story, request: &Request<Incoming>) -> Result<Caller, Fault> {
    let sent = (request.headers(), request.uri().query());
    let caller = gateway.caller(sent, story.address)?;
    story.called_by(&caller);
    Ok(caller)
}

/// What brings a body. The key comes before it: strangers make us read nothing.
async fn posted(
    gateway: &Gateway,
    story: &Arc<Story>,
    request: Request<Incoming>,
    place: &Place<'_>,
) -> Result<Answered, Fault> {
    if !matches!(place, Place::Count(..) | Place::Quotes) {
        story.is_call(&request);
    }
    let caller = known(gateway, story, &request)?;
    if let Place::Videos | Place::OlderVideos = place {
        return Box::pin(filmed(gateway, story, caller, request)).await;
    }
    if let Place::Make(what) = place {
        // Large and rarer than talk; in a box it costs talk nothing.
        return Box::pin(made(gateway, story, caller, (*what, request))).await;
    }
    if let Place::Count(..) | Place::Quotes = place {
        gateway.limit(story, &caller, Load::Read).await?;
    }
    let query = request.uri().query().unwrap_or_default().to_owned();
    let (headers, body, room) = with_body(gateway, &caller, request).await?;
    match place {
        Place::Talk(entrance, path) => {
            let list = path.stream && StreamShape::of_query(&query) == StreamShape::Array;
            let door = (*entrance, *path, list);
            gateway
                .talk(story, caller, door, &headers, body, room)
                .await
        }
        Place::Count(entrance, path) => gateway.count_tokens(&caller, *entrance, *path, body),
        Place::Quotes
        | Place::Root
        | Place::Live
        | Place::Ready
        | Place::Stored(..)
        | Place::Models { .. }
        | Place::Model { .. }
        | Place::Usage(_)
        | Place::Balance
        | Place::Key
        | Place::Desk(_)
        | Place::Videos
        | Place::OlderVideos
        | Place::Video(..)
        | Place::VideoContent(_)
        | Place::Make(_)
        | Place::Media
        | Place::Social(..)
        | Place::Doubled(_)
        | Place::Unknown => Box::pin(gateway.quote(caller, &headers, &body)).await,
    }
}

/// What is only asked.
async fn asked(
    gateway: &Gateway,
    story: &Story,
    request: &Request<Incoming>,
    place: &Place<'_>,
) -> Result<Answered, Fault> {
    let caller = known(gateway, story, request)?;
    let of_tasks = matches!(
        place,
        Place::Videos | Place::Video(..) | Place::VideoContent(_)
    );
    let load = Load::question(of_tasks && request.method() != Method::DELETE);
    gateway.limit(story, &caller, load).await?;
    let (headers, query) = (request.headers(), request.uri().query());
    match place {
        Place::Stored(task, id) => Box::pin(gateway.stored(&caller, *task, id, query)).await,
        Place::Models { beta } => gateway.models(&caller, ModelShape::of(headers, *beta), query),
        Place::Model { beta, name } => {
            gateway.model(&caller, ModelShape::of(headers, *beta), &plain(name))
        }
        // What asks the database is large and rare; in a box it costs other requests nothing.
        Place::Usage(request) => Box::pin(gateway.usage(&caller, request)).await,
        Place::Balance => Box::pin(gateway.balance(&caller)).await,
        Place::Videos => Box::pin(gateway.videos(&caller, query)).await,
        Place::Video(name, _) if request.method() == Method::DELETE => {
            Box::pin(gateway.cancel_video(&caller, name)).await
        }
        Place::Video(name, shape) => Box::pin(gateway.video(&caller, (name, *shape), query)).await,
        Place::VideoContent(name) => Box::pin(gateway.video_content(&caller, name, headers)).await,
        Place::Media
        | Place::Social(..)
        | Place::OlderVideos
        | Place::Make(_)
        | Place::Desk(_)
        | Place::Key
        | Place::Root
        | Place::Live
        | Place::Ready
        | Place::Talk(..)
        | Place::Count(..)
        | Place::Quotes
        | Place::Doubled(_)
        | Place::Unknown => Box::pin(gateway.key(&caller)).await,
    }
}

/// Social data.
async fn looked_up(
    gateway: &Gateway,
    story: &Arc<Story>,
    request: &Request<Incoming>,
    (platform, capability, pages): (&str, &str, bool),
) -> Result<Answered, Fault> {
    // Many pages are many calls, each with a story of its own.
    if !pages {
        story.is_call(request);
    }
    let caller = known(gateway, story, request)?;
    let query = request.uri().query().unwrap_or_default();
    let asked = (query, request.headers());
    let pair = (platform, capability);
    if pages {
        gateway.social_pages(story, caller, pair, asked).await
    } else {
        gateway.social(story, caller, pair, asked).await
    }
}

/// The body, once there is room for it.
pub(super) async fn with_body(
    gateway: &Gateway,
    caller: &Caller,
    request: Request<Incoming>,
) -> Result<(HeaderMap, Bytes, Room), Fault> {
    let settings = &gateway.inner.settings;
    let most = body::check(&request, settings)?;
    // Room for the body before its first byte is read.
    let room = gateway.place(caller.account.id, most)?;
    let (head, body) = request.into_parts();
    let body = body::read(body, settings).await?;
    Ok((head.headers, body, room))
}

fn place_of(path: &str) -> Place<'_> {
    match path {
        "/" => Place::Root,
        "/healthz" => Place::Live,
        "/readyz" => Place::Ready,
        "/v1/chat/completions" => Place::Talk(CHAT, InPath::default()),
        "/v1/messages" => Place::Talk(MESSAGES, InPath::default()),
        "/v1/messages/count_tokens" => Place::Count(MESSAGES, InPath::default()),
        "/v1/responses" => Place::Talk(RESPONSES, InPath::default()),
        "/v1/embeddings" => Place::Talk(EMBEDDINGS, InPath::default()),
        "/v1/rerank" => Place::Talk(RERANK, InPath::default()),
        "/v1/moderations" => Place::Talk(MODERATIONS, InPath::default()),
        "/v1/completions" => Place::Talk(COMPLETIONS, InPath::default()),
        "/v1/videos" => Place::Videos,
        "/v1/video/generations" => Place::OlderVideos,
        "/v1/images/generations" => Place::Make(Made::Images(Drawing::Generations)),
        "/v1/images/edits" => Place::Make(Made::Images(Drawing::Edits)),
        "/v1/audio/speech" => Place::Make(Made::Speech),
        "/v1/audio/transcriptions" => Place::Make(Made::Transcript(Listening::Transcriptions)),
        "/v1/audio/translations" => Place::Make(Made::Transcript(Listening::Translations)),
        "/v1/quotes" => Place::Quotes,
        "/v1/models" => Place::Models { beta: false },
        "/v1beta/models" => Place::Models { beta: true },
        "/v1/balance" => Place::Balance,
        "/v1/key" => Place::Key,
        other => {
            let below = |prefix| {
                other
                    .strip_prefix(prefix)
                    .filter(|rest: &&str| !rest.is_empty())
            };
            if let Some(rest) = below("/v1/v1/") {
                Place::Doubled(rest)
            } else if let Some(name) = below("/v1/models/") {
                verb(name).unwrap_or(Place::Model { beta: false, name })
            } else if let Some(name) = below("/v1beta/models/") {
                verb(name).unwrap_or(Place::Model { beta: true, name })
            } else if let Some(rest) = below("/v1/responses/") {
                stored(rest)
            } else if let Some(rest) = below("/v1/videos/") {
                match rest.split_once('/') {
                    None => Place::Video(rest, Shape::Openai),
                    Some((name, "content")) => Place::VideoContent(name),
                    Some(_) => Place::Unknown,
                }
            } else if let Some(name) = below("/v1/video/generations/") {
                Place::Video(name, Shape::Legacy)
            } else if let Some(rest) = below("/v1/social/") {
                social(rest)
            } else if below("/media/").is_some() {
                Place::Media
            } else if let Some(request) = below("/v1/usage/") {
                Place::Usage(request)
            } else if let Some(desk) = Desk::of(other) {
                Place::Desk(desk)
            } else {
                Place::Unknown
            }
        }
    }
}

/// A platform and a capability, and perhaps all pages.
fn social(rest: &str) -> Place<'_> {
    let mut parts = rest.split('/');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(platform), Some(capability), None, None) => {
            Place::Social(platform, capability, false)
        }
        (Some(platform), Some(capability), Some("pages"), None) => {
            Place::Social(platform, capability, true)
        }
        _ => Place::Unknown,
    }
}

/// A stored response, and what stands behind its id.
fn stored(rest: &str) -> Place<'_> {
    match rest.split_once('/') {
        None => Place::Stored(Task::ReadResponse, rest),
        Some((id, "cancel")) => Place::Stored(Task::CancelResponse, id),
        Some((id, "input_items")) => Place::Stored(Task::ResponseItems, id),
        Some(_) => Place::Unknown,
    }
}

/// Gemini's verbs stand behind a colon.
fn verb(rest: &str) -> Option<Place<'_>> {
    let (model, verb) = rest.rsplit_once(':')?;
    let path = |stream| InPath {
        model: Some(model),
        stream,
    };
    match verb {
        "generateContent" => Some(Place::Talk(GEMINI, path(false))),
        "streamGenerateContent" => Some(Place::Talk(GEMINI, path(true))),
        "countTokens" => Some(Place::Count(GEMINI, path(false))),
        _ => None,
    }
}

/// The shape that errors have under a path.
pub(super) fn format_of(path: &str) -> Format {
    match place_of(path) {
        Place::Talk(entrance, _) | Place::Count(entrance, _) => entrance.format,
        Place::Models { beta: true } | Place::Model { beta: true, .. } => Format::Gemini,
        Place::Root
        | Place::Live
        | Place::Ready
        | Place::Stored(..)
        | Place::Quotes
        | Place::Models { beta: false }
        | Place::Model { beta: false, .. }
        | Place::Usage(_)
        | Place::Balance
        | Place::Key
        | Place::Desk(_)
        | Place::Videos
        | Place::OlderVideos
        | Place::Video(..)
        | Place::VideoContent(_)
        | Place::Make(_)
        | Place::Media
        | Place::Social(..)
        | Place::Doubled(_)
        | Place::Unknown => Format::OpenaiChat,
    }
}

/// Whether a task is asked for by the older path, whose errors have a shape of their own.
pub(super) fn is_legacy_poll(method: &Method, path: &str) -> bool {
    let reads = matches!(*method, Method::GET | Method::HEAD);
    reads && matches!(place_of(path), Place::Video(_, Shape::Legacy))
}

impl Place<'_> {
    /// What is read under one method is forgotten under another.
    fn with_method(self, method: &Method) -> Self {
        if let Self::Stored(Task::ReadResponse, id) = self
            && method == Method::DELETE
        {
            return Self::Stored(Task::DeleteResponse, id);
        }
        self
    }

    fn methods(&self) -> Option<&'static [Method]> {
        const READ: &[Method] = &[Method::GET, Method::HEAD];
        const GET: &[Method] = &[Method::GET];
        const WRITE: &[Method] = &[Method::POST];
        const LISTED: &[Method] = &[Method::GET, Method::HEAD, Method::POST];
        const KEPT: &[Method] = &[Method::GET, Method::HEAD, Method::DELETE];
        match self {
            Self::Root
            | Self::Live
            | Self::Ready
            | Self::Models { .. }
            | Self::Model { .. }
            | Self::Usage(_)
            | Self::Balance
            | Self::VideoContent(_)
            | Self::Video(_, Shape::Legacy)
            | Self::Media
            | Self::Key => Some(READ),
            Self::Desk(desk) => desk.methods(),
            Self::Social(..) => Some(GET),
            Self::Videos => Some(LISTED),
            Self::Video(_, Shape::Openai) => Some(KEPT),
            Self::Stored(Task::ReadResponse | Task::DeleteResponse, _) => Some(KEPT),
            Self::Stored(Task::ResponseItems, _) => Some(READ),
            Self::Talk(..)
            | Self::Count(..)
            | Self::Quotes
            | Self::OlderVideos
            | Self::Make(_)
            | Self::Stored(..) => Some(WRITE),
            Self::Doubled(_) | Self::Unknown => None,
        }
    }
}

fn wrong_method(story: &Story, allowed: &[Method], format: Format) -> Answered {
    let words: Vec<&str> = allowed.iter().map(Method::as_str).collect();
    let words = words.join(", ");
    let fault = Fault::new(Kind::MethodNotAllowed, format!("this path takes {words}"));
    let mut answered = reply::fault(&fault, story, format);
    if let Ok(value) = HeaderValue::from_str(&words) {
        answered.headers_mut().insert(ALLOW, value);
    }
    answered
}

fn ready(gateway: &Gateway) -> Answered {
    if gateway.is_ready() {
        return reply::json(StatusCode::OK, &json!({ "status": "ready" }));
    }
    let body = json!({ "status": "not ready" });
    reply::json(StatusCode::SERVICE_UNAVAILABLE, &body)
}

#[cfg(test)]
mod tests;
