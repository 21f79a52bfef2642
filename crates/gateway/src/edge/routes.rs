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

use super::account_routes::{self, Desk};
use super::body;
use super::multipart::{Made, filmed, made};
use crate::caller::Caller;
use crate::endpoint::{
    CHAT, COMPLETIONS, EMBEDDINGS, Endpoint, GEMINI, MESSAGES, MODERATIONS, RERANK, RESPONSES,
};
use crate::error::{ApiError, ErrorCode};
use crate::in_flight::InFlightPermit;
use crate::models::{Shape as ModelShape, plain};
use crate::rate_limit::Load;
use crate::request_context::RequestContext;
use crate::response::{self, Response};
use crate::services::Services;
use crate::video::Shape;

/// What a path is.
enum Route<'a> {
    Root,
    Live,
    Ready,
    /// A turn of a conversation, and what the path says of it.
    Talk(Endpoint, InPath<'a>),
    /// How many tokens a request has.
    Count(Endpoint, InPath<'a>),
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
    services: &Services,
    context: &Arc<RequestContext>,
    request: Request<Incoming>,
) -> Result<Response, ApiError> {
    let uri = request.uri().clone();
    let place = match_route(uri.path());
    let upgrades = request.headers().contains_key(http::header::UPGRADE);
    if upgrades && uri.path() == "/v1/responses" {
        let text = "responses are not spoken over a WebSocket here; send POST /v1/responses";
        return Err(ApiError::new(ErrorCode::NoWebSocket, text));
    }
    let place = place.with_method(request.method());
    if let Some(allowed) = place.methods()
        && !allowed.contains(request.method())
    {
        return Ok(wrong_method(context, allowed, format_of(uri.path())));
    }
    match place {
        Route::Root => Ok(response::json(
            StatusCode::OK,
            &json!({ "service": "trunkline" }),
        )),
        Route::Live => Ok(response::json(StatusCode::OK, &json!({ "status": "live" }))),
        Route::Ready => Ok(ready(services)),
        Route::Doubled(rest) => {
            let text = format!("the path has `/v1` twice; call `/v1/{rest}`");
            Err(ApiError::new(ErrorCode::NotFound, text))
        }
        Route::Unknown => Err(account_routes::nothing_there()),
        Route::Talk(..)
        | Route::Count(..)
        | Route::Quotes
        | Route::OlderVideos
        | Route::Make(_) => posted(services, context, request, &place).await,
        Route::Videos if request.method() == Method::POST => {
            posted(services, context, request, &place).await
        }
        Route::Media => {
            let whole = uri.path_and_query().map_or("", |whole| whole.as_str());
            Box::pin(services.linked(whole, request.headers())).await
        }
        Route::Social(platform, capability, pages) => {
            Box::pin(looked_up(
                services,
                context,
                &request,
                (platform, capability, pages),
            ))
            .await
        }
        Route::Desk(desk) => {
            let caller = known(services, context, &request)?;
            services.limit(context, &caller, Load::Read).await?;
            Box::pin(account_routes::answer(services, caller, (desk, request))).await
        }
        Route::Stored(..)
        | Route::Videos
        | Route::Video(..)
        | Route::VideoContent(_)
        | Route::Models { .. }
        | Route::Model { .. }
        | Route::Usage(_)
        | Route::Balance
        | Route::Key => asked(services, context, &request, &place).await,
    }
}

/// Who calls.
fn known(
    services: &Services,
    context: &RequestContext,
    request: &Request<Incoming>,
) -> Result<Caller, ApiError> {
    let sent = (request.headers(), request.uri().query());
    let caller = services.caller(sent, context.address)?;
    context.called_by(&caller);
    Ok(caller)
}

/// What brings a body. The key comes before it: strangers make us read nothing.
async fn posted(
    services: &Services,
    context: &Arc<RequestContext>,
    request: Request<Incoming>,
    place: &Route<'_>,
) -> Result<Response, ApiError> {
    if !matches!(place, Route::Count(..) | Route::Quotes) {
        context.is_call(&request);
    }
    let caller = known(services, context, &request)?;
    if let Route::Videos | Route::OlderVideos = place {
        return Box::pin(filmed(services, context, caller, request)).await;
    }
    if let Route::Make(what) = place {
        // Large and rarer than talk; in a box it costs talk nothing.
        return Box::pin(made(services, context, caller, (*what, request))).await;
    }
    if let Route::Count(..) | Route::Quotes = place {
        services.limit(context, &caller, Load::Read).await?;
    }
    let query = request.uri().query().unwrap_or_default().to_owned();
    let (headers, body, room) = with_body(services, &caller, request).await?;
    match place {
        Route::Talk(endpoint, path) => {
            let list = path.stream && StreamShape::of_query(&query) == StreamShape::Array;
            let door = (*endpoint, *path, list);
            services
                .talk(context, caller, door, &headers, body, room)
                .await
        }
        Route::Count(endpoint, path) => services.count_tokens(&caller, *endpoint, *path, body),
        Route::Quotes
        | Route::Root
        | Route::Live
        | Route::Ready
        | Route::Stored(..)
        | Route::Models { .. }
        | Route::Model { .. }
        | Route::Usage(_)
        | Route::Balance
        | Route::Key
        | Route::Desk(_)
        | Route::Videos
        | Route::OlderVideos
        | Route::Video(..)
        | Route::VideoContent(_)
        | Route::Make(_)
        | Route::Media
        | Route::Social(..)
        | Route::Doubled(_)
        | Route::Unknown => Box::pin(services.quote(caller, &headers, &body)).await,
    }
}

/// What is only asked.
async fn asked(
    services: &Services,
    context: &RequestContext,
    request: &Request<Incoming>,
    place: &Route<'_>,
) -> Result<Response, ApiError> {
    let caller = known(services, context, request)?;
    let of_tasks = matches!(
        place,
        Route::Videos | Route::Video(..) | Route::VideoContent(_)
    );
    let load = Load::question(of_tasks && request.method() != Method::DELETE);
    services.limit(context, &caller, load).await?;
    let (headers, query) = (request.headers(), request.uri().query());
    match place {
        Route::Stored(task, id) => Box::pin(services.stored(&caller, *task, id, query)).await,
        Route::Models { beta } => services.models(&caller, ModelShape::of(headers, *beta), query),
        Route::Model { beta, name } => {
            services.model(&caller, ModelShape::of(headers, *beta), &plain(name))
        }
        // What asks the database is large and rare; in a box it costs other requests nothing.
        Route::Usage(request) => Box::pin(services.usage(&caller, request)).await,
        Route::Balance => Box::pin(services.balance(&caller)).await,
        Route::Videos => Box::pin(services.videos(&caller, query)).await,
        Route::Video(name, _) if request.method() == Method::DELETE => {
            Box::pin(services.cancel_video(&caller, name)).await
        }
        Route::Video(name, shape) => Box::pin(services.video(&caller, (name, *shape), query)).await,
        Route::VideoContent(name) => Box::pin(services.video_content(&caller, name, headers)).await,
        Route::Media
        | Route::Social(..)
        | Route::OlderVideos
        | Route::Make(_)
        | Route::Desk(_)
        | Route::Key
        | Route::Root
        | Route::Live
        | Route::Ready
        | Route::Talk(..)
        | Route::Count(..)
        | Route::Quotes
        | Route::Doubled(_)
        | Route::Unknown => Box::pin(services.key(&caller)).await,
    }
}

/// Social data.
async fn looked_up(
    services: &Services,
    context: &Arc<RequestContext>,
    request: &Request<Incoming>,
    (platform, capability, pages): (&str, &str, bool),
) -> Result<Response, ApiError> {
    // Many pages are many calls, each with a story of its own.
    if !pages {
        context.is_call(request);
    }
    let caller = known(services, context, request)?;
    let query = request.uri().query().unwrap_or_default();
    let asked = (query, request.headers());
    let pair = (platform, capability);
    if pages {
        services.social_pages(context, caller, pair, asked).await
    } else {
        services.social(context, caller, pair, asked).await
    }
}

/// The body, once there is room for it.
pub(super) async fn with_body(
    services: &Services,
    caller: &Caller,
    request: Request<Incoming>,
) -> Result<(HeaderMap, Bytes, InFlightPermit), ApiError> {
    let settings = &services.inner.settings;
    let most = body::check(&request, settings)?;
    // Room for the body before its first byte is read.
    let room = services.place(caller.account.id, most)?;
    let (head, body) = request.into_parts();
    let body = body::read(body, settings).await?;
    Ok((head.headers, body, room))
}

fn match_route(path: &str) -> Route<'_> {
    match path {
        "/" => Route::Root,
        "/healthz" => Route::Live,
        "/readyz" => Route::Ready,
        "/v1/chat/completions" => Route::Talk(CHAT, InPath::default()),
        "/v1/messages" => Route::Talk(MESSAGES, InPath::default()),
        "/v1/messages/count_tokens" => Route::Count(MESSAGES, InPath::default()),
        "/v1/responses" => Route::Talk(RESPONSES, InPath::default()),
        "/v1/embeddings" => Route::Talk(EMBEDDINGS, InPath::default()),
        "/v1/rerank" => Route::Talk(RERANK, InPath::default()),
        "/v1/moderations" => Route::Talk(MODERATIONS, InPath::default()),
        "/v1/completions" => Route::Talk(COMPLETIONS, InPath::default()),
        "/v1/videos" => Route::Videos,
        "/v1/video/generations" => Route::OlderVideos,
        "/v1/images/generations" => Route::Make(Made::Images(Drawing::Generations)),
        "/v1/images/edits" => Route::Make(Made::Images(Drawing::Edits)),
        "/v1/audio/speech" => Route::Make(Made::Speech),
        "/v1/audio/transcriptions" => Route::Make(Made::Transcript(Listening::Transcriptions)),
        "/v1/audio/translations" => Route::Make(Made::Transcript(Listening::Translations)),
        "/v1/quotes" => Route::Quotes,
        "/v1/models" => Route::Models { beta: false },
        "/v1beta/models" => Route::Models { beta: true },
        "/v1/balance" => Route::Balance,
        "/v1/key" => Route::Key,
        other => {
            let below = |prefix| {
                other
                    .strip_prefix(prefix)
                    .filter(|rest: &&str| !rest.is_empty())
            };
            if let Some(rest) = below("/v1/v1/") {
                Route::Doubled(rest)
            } else if let Some(name) = below("/v1/models/") {
                verb(name).unwrap_or(Route::Model { beta: false, name })
            } else if let Some(name) = below("/v1beta/models/") {
                verb(name).unwrap_or(Route::Model { beta: true, name })
            } else if let Some(rest) = below("/v1/responses/") {
                stored(rest)
            } else if let Some(rest) = below("/v1/videos/") {
                match rest.split_once('/') {
                    None => Route::Video(rest, Shape::Openai),
                    Some((name, "content")) => Route::VideoContent(name),
                    Some(_) => Route::Unknown,
                }
            } else if let Some(name) = below("/v1/video/generations/") {
                Route::Video(name, Shape::Legacy)
            } else if let Some(rest) = below("/v1/social/") {
                social(rest)
            } else if below("/media/").is_some() {
                Route::Media
            } else if let Some(request) = below("/v1/usage/") {
                Route::Usage(request)
            } else if let Some(desk) = Desk::of(other) {
                Route::Desk(desk)
            } else {
                Route::Unknown
            }
        }
    }
}

/// A platform and a capability, and perhaps all pages.
fn social(rest: &str) -> Route<'_> {
    let mut parts = rest.split('/');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(platform), Some(capability), None, None) => {
            Route::Social(platform, capability, false)
        }
        (Some(platform), Some(capability), Some("pages"), None) => {
            Route::Social(platform, capability, true)
        }
        _ => Route::Unknown,
    }
}

/// A stored response, and what stands behind its id.
fn stored(rest: &str) -> Route<'_> {
    match rest.split_once('/') {
        None => Route::Stored(Task::ReadResponse, rest),
        Some((id, "cancel")) => Route::Stored(Task::CancelResponse, id),
        Some((id, "input_items")) => Route::Stored(Task::ResponseItems, id),
        Some(_) => Route::Unknown,
    }
}

/// Gemini's verbs stand behind a colon.
fn verb(rest: &str) -> Option<Route<'_>> {
    let (model, verb) = rest.rsplit_once(':')?;
    let path = |stream| InPath {
        model: Some(model),
        stream,
    };
    match verb {
        "generateContent" => Some(Route::Talk(GEMINI, path(false))),
        "streamGenerateContent" => Some(Route::Talk(GEMINI, path(true))),
        "countTokens" => Some(Route::Count(GEMINI, path(false))),
        _ => None,
    }
}

/// The shape that errors have under a path.
pub(super) fn format_of(path: &str) -> Format {
    match match_route(path) {
        Route::Talk(endpoint, _) | Route::Count(endpoint, _) => endpoint.format,
        Route::Models { beta: true } | Route::Model { beta: true, .. } => Format::Gemini,
        Route::Root
        | Route::Live
        | Route::Ready
        | Route::Stored(..)
        | Route::Quotes
        | Route::Models { beta: false }
        | Route::Model { beta: false, .. }
        | Route::Usage(_)
        | Route::Balance
        | Route::Key
        | Route::Desk(_)
        | Route::Videos
        | Route::OlderVideos
        | Route::Video(..)
        | Route::VideoContent(_)
        | Route::Make(_)
        | Route::Media
        | Route::Social(..)
        | Route::Doubled(_)
        | Route::Unknown => Format::OpenaiChat,
    }
}

/// Whether a task is asked for by the older path, whose errors have a shape of their own.
pub(super) fn is_legacy_poll(method: &Method, path: &str) -> bool {
    let reads = matches!(*method, Method::GET | Method::HEAD);
    reads && matches!(match_route(path), Route::Video(_, Shape::Legacy))
}

impl Route<'_> {
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

fn wrong_method(context: &RequestContext, allowed: &[Method], format: Format) -> Response {
    let words: Vec<&str> = allowed.iter().map(Method::as_str).collect();
    let words = words.join(", ");
    let fault = ApiError::new(
        ErrorCode::MethodNotAllowed,
        format!("this path takes {words}"),
    );
    let mut answered = response::fault(&fault, context, format);
    if let Ok(value) = HeaderValue::from_str(&words) {
        answered.headers_mut().insert(ALLOW, value);
    }
    answered
}

fn ready(services: &Services) -> Response {
    if services.is_ready() {
        return response::json(StatusCode::OK, &json!({ "status": "ready" }));
    }
    let body = json!({ "status": "not ready" });
    response::json(StatusCode::SERVICE_UNAVAILABLE, &body)
}

#[cfg(test)]
mod tests;
