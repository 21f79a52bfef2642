//! Route table of the data plane.

mod account_routes;
mod router;
mod workflow_routes;

use std::sync::Arc;

use http::header::ALLOW;
use http::{HeaderValue, Method, Request, StatusCode};
use hyper::body::Incoming;
use serde_json::json;
use trunkline_account_api::resources::receipts;
use trunkline_account_api::self_info;
use trunkline_upstream::Task;
use trunkline_wire::gemini::StreamShape;
use trunkline_wire::{Format, PathParams};

use self::account_routes::AccountRoute;
use self::workflow_routes::WorkflowRoute;
use crate::authenticate::identify;
use crate::body;
use crate::count_tokens;
use crate::endpoint::{
    CHAT, COMPLETIONS, EMBEDDINGS, Endpoint, GEMINI, MESSAGES, MODERATIONS, RERANK, RESPONSES,
};
use crate::error::{ApiError, ErrorCode};
use crate::models::{self, Shape as ModelShape};
use crate::operation::Received;
use crate::operations::ROUTES;
use crate::operations::chat::{Chat, ChatRoute};
use crate::operations::realtime::{self, client_secret};
use crate::operations::responses_socket;
use crate::operations::social::{Social, SocialRoute, pages};
use crate::operations::video::{Shape, cancel, content, views};
use crate::paid_route::{PaidRequest, Run};
use crate::percent::plain;
use crate::pipeline::handle;
use crate::quote_endpoint;
use crate::rate_limit::{self, Cost};
use crate::request_context::RequestContext;
use crate::response::{self, Response};
use crate::services::Services;
use crate::stored_responses;

pub use self::router::Router;

enum Route<'a> {
    Root,
    Live,
    Ready,
    /// The public keys of statements.
    PublishedKeys,
    Paid(Paid<'a>),
    /// What has a body and costs nothing.
    FreeBody(FreeBody<'a>),
    /// What is only read.
    Read(Read<'a>),
    /// Videos: make one, or list them.
    Videos,
    /// Responses: one of a request, or many over a WebSocket.
    Responses,
    /// Where customers look after themselves.
    Account(AccountRoute<'a>),
    /// Runs of workflows.
    Workflow(WorkflowRoute<'a>),
    /// A signed link.
    Media,
    /// `/v1` stands twice, the commonest mistake in a base URL.
    Doubled(&'a str),
    Unknown,
}

#[derive(Clone, Copy)]
enum Paid<'a> {
    Chat(Endpoint, PathParams<'a>),
    /// A row of the table of operations.
    Operation(Run),
    /// A platform and a capability.
    Social(&'a str, &'a str),
    SocialPages(&'a str, &'a str),
    Realtime,
    ResponsesSocket,
}

#[derive(Clone, Copy)]
enum FreeBody<'a> {
    CountTokens(Endpoint, PathParams<'a>),
    Quotes,
    ClientSecrets,
}

#[derive(Clone, Copy)]
enum Read<'a> {
    /// A response that an upstream keeps, and what is asked of it.
    Stored(Task, &'a str),
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
    Videos,
    Video(&'a str, Shape),
    VideoContent(&'a str),
}

async fn answer(
    services: &Arc<Services>,
    context: &Arc<RequestContext>,
    request: Request<Incoming>,
) -> Result<Response, ApiError> {
    let uri = request.uri().clone();
    let route = match_route(uri.path()).with_method(request.method());
    if let Some(allowed) = route.methods()
        && !allowed.contains(request.method())
    {
        return Ok(wrong_method(context, allowed, format_of(uri.path())));
    }
    match route {
        Route::Root => {
            let body = json!({ "service": "trunkline" });
            Ok(response::json(StatusCode::OK, &body))
        }
        Route::Live => Ok(response::json(StatusCode::OK, &json!({ "status": "live" }))),
        Route::Ready => Ok(ready(services)),
        Route::PublishedKeys => Box::pin(receipts::published_keys(&services.account_api)).await,
        Route::Doubled(rest) => {
            let text = format!("the path contains `/v1` twice; call `/v1/{rest}`");
            Err(ApiError::new(ErrorCode::NotFound, text))
        }
        Route::Unknown | Route::Responses => Err(account_routes::nothing_there()),
        Route::Paid(paid) => execute(services, context, paid, request).await,
        Route::Videos if request.method() == Method::POST => {
            let paid = PaidRequest {
                services,
                context,
                request,
            };
            Box::pin(views::create_video(paid)).await
        }
        Route::Videos => read(services, context, Read::Videos, &request).await,
        Route::Read(what) => read(services, context, what, &request).await,
        Route::FreeBody(what) => free_body(services, context, what, request).await,
        Route::Media => {
            let whole = uri.path_and_query().map_or("", |whole| whole.as_str());
            Box::pin(content::serve_link(services, whole, request.headers())).await
        }
        Route::Workflow(what) => {
            let paid = PaidRequest {
                services,
                context,
                request,
            };
            Box::pin(workflow_routes::answer(paid, what)).await
        }
        Route::Account(account_route) => {
            let caller = identify(&services.edge, context, &request)?;
            rate_limit::check(&services.edge, context, &caller, Cost::Read).await?;
            Box::pin(account_routes::answer(
                services,
                caller,
                account_route,
                request,
            ))
            .await
        }
    }
}

/// Brings a paid request to the pipeline.
async fn execute(
    services: &Arc<Services>,
    context: &Arc<RequestContext>,
    paid: Paid<'_>,
    request: Request<Incoming>,
) -> Result<Response, ApiError> {
    let paid_request = |request| PaidRequest {
        services,
        context,
        request,
    };
    // Chat is what is called most; the others are in boxes, so that they cost it nothing.
    match paid {
        Paid::Chat(endpoint, path) => {
            let query = request.uri().query().unwrap_or_default();
            let list = path.stream && StreamShape::of_query(query) == StreamShape::Array;
            let route = ChatRoute {
                endpoint,
                model: path.model.map(str::to_owned),
                stream: path.stream,
                as_json_array: list,
            };
            handle::<Chat>(services, context, route, request).await
        }
        Paid::Operation(run) => run(paid_request(request)).await,
        Paid::Social(platform, capability) => {
            let route = social_route(platform, capability);
            Box::pin(handle::<Social>(services, context, route, request)).await
        }
        Paid::SocialPages(platform, capability) => {
            let route = social_route(platform, capability);
            Box::pin(pages(services, context, route, request)).await
        }
        Paid::Realtime => Box::pin(realtime::open(paid_request(request))).await,
        Paid::ResponsesSocket => Box::pin(responses_socket::open(paid_request(request))).await,
    }
}

fn social_route(platform: &str, capability: &str) -> SocialRoute {
    SocialRoute {
        platform: platform.to_owned(),
        capability: capability.to_owned(),
    }
}

/// What has a body and costs nothing. The key comes before it: a stranger makes us read nothing.
async fn free_body(
    services: &Services,
    context: &RequestContext,
    what: FreeBody<'_>,
    request: Request<Incoming>,
) -> Result<Response, ApiError> {
    let caller = identify(&services.edge, context, &request)?;
    rate_limit::check(&services.edge, context, &caller, Cost::Read).await?;
    let Received {
        headers,
        body,
        permit: _permit,
    } = body::receive_json(services, &caller, request).await?;
    match what {
        FreeBody::CountTokens(endpoint, path) => {
            count_tokens::handle(services, &caller, endpoint, path, body)
        }
        FreeBody::ClientSecrets => client_secret::create(services, &caller, &body),
        FreeBody::Quotes => {
            Box::pin(quote_endpoint::handle(
                services, context, caller, &headers, &body,
            ))
            .await
        }
    }
}

/// What is only read.
async fn read(
    services: &Services,
    context: &RequestContext,
    what: Read<'_>,
    request: &Request<Incoming>,
) -> Result<Response, ApiError> {
    let caller = identify(&services.edge, context, request)?;
    let of_tasks = matches!(what, Read::Videos | Read::Video(..) | Read::VideoContent(_));
    let load = Cost::question(of_tasks && request.method() != Method::DELETE);
    rate_limit::check(&services.edge, context, &caller, load).await?;
    let (headers, query) = (request.headers(), request.uri().query());
    match what {
        Read::Stored(task, id) => {
            Box::pin(stored_responses::handle(services, &caller, task, id, query)).await
        }
        Read::Models { beta } => {
            models::list(services, &caller, ModelShape::of(headers, beta), query)
        }
        Read::Model { beta, name } => models::describe(
            services,
            &caller,
            ModelShape::of(headers, beta),
            &plain(name),
        ),
        // What asks the database is large and rare; in a box it costs other requests nothing.
        Read::Usage(request) => {
            Box::pin(self_info::usage(&services.account_api, &caller, request)).await
        }
        Read::Balance => Box::pin(self_info::balance(&services.account_api, &caller)).await,
        Read::Key => Box::pin(self_info::key(&services.account_api, &caller)).await,
        Read::Videos => Box::pin(views::list_videos(services, &caller, query)).await,
        Read::Video(name, _) if request.method() == Method::DELETE => {
            Box::pin(cancel::cancel_video(services, &caller, name)).await
        }
        Read::Video(name, shape) => {
            Box::pin(views::show_video(services, &caller, name, shape, query)).await
        }
        Read::VideoContent(name) => {
            Box::pin(content::video_content(services, &caller, name, headers)).await
        }
    }
}

fn match_route(path: &str) -> Route<'_> {
    match path {
        "/" => Route::Root,
        "/healthz" => Route::Live,
        "/readyz" => Route::Ready,
        "/.well-known/trunkline-keys.json" => Route::PublishedKeys,
        "/v1/chat/completions" => Route::Paid(Paid::Chat(CHAT, PathParams::default())),
        "/v1/messages" => Route::Paid(Paid::Chat(MESSAGES, PathParams::default())),
        "/v1/messages/count_tokens" => {
            Route::FreeBody(FreeBody::CountTokens(MESSAGES, PathParams::default()))
        }
        "/v1/responses" => Route::Responses,
        "/v1/embeddings" => Route::Paid(Paid::Chat(EMBEDDINGS, PathParams::default())),
        "/v1/rerank" => Route::Paid(Paid::Chat(RERANK, PathParams::default())),
        "/v1/moderations" => Route::Paid(Paid::Chat(MODERATIONS, PathParams::default())),
        "/v1/completions" => Route::Paid(Paid::Chat(COMPLETIONS, PathParams::default())),
        "/v1/videos" => Route::Videos,
        "/v1/realtime" => Route::Paid(Paid::Realtime),
        "/v1/realtime/client_secrets" => Route::FreeBody(FreeBody::ClientSecrets),
        "/v1/quotes" => Route::FreeBody(FreeBody::Quotes),
        "/v1/models" => Route::Read(Read::Models { beta: false }),
        "/v1beta/models" => Route::Read(Read::Models { beta: true }),
        "/v1/balance" => Route::Read(Read::Balance),
        "/v1/key" => Route::Read(Read::Key),
        other => {
            let below = |prefix| {
                other
                    .strip_prefix(prefix)
                    .filter(|rest: &&str| !rest.is_empty())
            };
            let mut operations = ROUTES.iter();
            if let Some(row) = operations.find(|row| row.path == other) {
                Route::Paid(Paid::Operation(row.run))
            } else if let Some(rest) = below("/v1/v1/") {
                Route::Doubled(rest)
            } else if let Some(name) = below("/v1/models/") {
                verb(name).unwrap_or(Route::Read(Read::Model { beta: false, name }))
            } else if let Some(name) = below("/v1beta/models/") {
                verb(name).unwrap_or(Route::Read(Read::Model { beta: true, name }))
            } else if let Some(rest) = below("/v1/responses/") {
                stored(rest)
            } else if let Some(rest) = below("/v1/videos/") {
                match rest.split_once('/') {
                    None => Route::Read(Read::Video(rest, Shape::Openai)),
                    Some((name, "content")) => Route::Read(Read::VideoContent(name)),
                    Some(_) => Route::Unknown,
                }
            } else if let Some(name) = below("/v1/video/generations/") {
                Route::Read(Read::Video(name, Shape::Legacy))
            } else if let Some(rest) = below("/v1/social/") {
                social(rest)
            } else if let Some(route) = below("/v1/workflows/").and_then(WorkflowRoute::of) {
                Route::Workflow(route)
            } else if below("/media/").is_some() {
                Route::Media
            } else if let Some(request) = below("/v1/usage/").filter(|rest| !rest.contains('/')) {
                Route::Read(Read::Usage(request))
            } else if let Some(account_route) = AccountRoute::of(other) {
                Route::Account(account_route)
            } else {
                Route::Unknown
            }
        }
    }
}

/// A platform and a capability, or all pages of them.
fn social(rest: &str) -> Route<'_> {
    let mut parts = rest.split('/');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(platform), Some(capability), None, None) => {
            Route::Paid(Paid::Social(platform, capability))
        }
        (Some(platform), Some(capability), Some("pages"), None) => {
            Route::Paid(Paid::SocialPages(platform, capability))
        }
        _ => Route::Unknown,
    }
}

/// A stored response, and what stands behind its id.
fn stored(rest: &str) -> Route<'_> {
    match rest.split_once('/') {
        None => Route::Read(Read::Stored(Task::ReadResponse, rest)),
        Some((id, "cancel")) => Route::Read(Read::Stored(Task::CancelResponse, id)),
        Some((id, "input_items")) => Route::Read(Read::Stored(Task::ResponseItems, id)),
        Some(_) => Route::Unknown,
    }
}

/// Gemini's verbs stand behind a colon.
fn verb(rest: &str) -> Option<Route<'_>> {
    let (model, verb) = rest.rsplit_once(':')?;
    let path = |stream| PathParams {
        model: Some(model),
        stream,
    };
    match verb {
        "generateContent" => Some(Route::Paid(Paid::Chat(GEMINI, path(false)))),
        "streamGenerateContent" => Some(Route::Paid(Paid::Chat(GEMINI, path(true)))),
        "countTokens" => Some(Route::FreeBody(FreeBody::CountTokens(GEMINI, path(false)))),
        _ => None,
    }
}

/// The shape that errors have under a path.
fn format_of(path: &str) -> Format {
    match match_route(path) {
        Route::Paid(Paid::Chat(endpoint, _))
        | Route::FreeBody(FreeBody::CountTokens(endpoint, _)) => endpoint.format,
        Route::Responses => RESPONSES.format,
        Route::Read(Read::Models { beta: true } | Read::Model { beta: true, .. }) => Format::Gemini,
        Route::Root
        | Route::Live
        | Route::Ready
        | Route::PublishedKeys
        | Route::Paid(_)
        | Route::FreeBody(_)
        | Route::Read(_)
        | Route::Videos
        | Route::Workflow(_)
        | Route::Account(_)
        | Route::Media
        | Route::Doubled(_)
        | Route::Unknown => Format::OpenaiChat,
    }
}

/// Whether a task is asked for by the older path, whose errors have a shape of their own.
fn is_legacy_poll(method: &Method, path: &str) -> bool {
    let reads = matches!(*method, Method::GET | Method::HEAD);
    let legacy = Shape::Legacy;
    reads && matches!(match_route(path), Route::Read(Read::Video(_, shape)) if shape == legacy)
}

impl Route<'_> {
    /// What is read under one method is forgotten under another.
    fn with_method(self, method: &Method) -> Self {
        if let Self::Read(Read::Stored(Task::ReadResponse, id)) = self
            && method == Method::DELETE
        {
            return Self::Read(Read::Stored(Task::DeleteResponse, id));
        }
        if matches!(self, Self::Responses) && method == Method::POST {
            return Self::Paid(Paid::Chat(RESPONSES, PathParams::default()));
        }
        if matches!(self, Self::Responses) && method == Method::GET {
            return Self::Paid(Paid::ResponsesSocket);
        }
        self
    }

    fn methods(&self) -> Option<&'static [Method]> {
        const READ: &[Method] = &[Method::GET, Method::HEAD];
        const GET: &[Method] = &[Method::GET];
        const WRITE: &[Method] = &[Method::POST];
        const OPENED: &[Method] = &[Method::GET, Method::POST];
        const LISTED: &[Method] = &[Method::GET, Method::HEAD, Method::POST];
        const KEPT: &[Method] = &[Method::GET, Method::HEAD, Method::DELETE];
        match self {
            Self::Read(
                Read::Video(_, Shape::Openai)
                | Read::Stored(Task::ReadResponse | Task::DeleteResponse, _),
            ) => Some(KEPT),
            Self::Read(Read::Stored(Task::CancelResponse, _)) => Some(WRITE),
            Self::Root | Self::Live | Self::Ready | Self::Media | Self::Read(_) => Some(READ),
            Self::PublishedKeys => Some(READ),
            Self::Account(account_route) => account_route.methods(),
            Self::Workflow(route) => Some(route.methods()),
            Self::Paid(
                Paid::Social(..) | Paid::SocialPages(..) | Paid::Realtime | Paid::ResponsesSocket,
            ) => Some(GET),
            Self::Responses => Some(OPENED),
            Self::Videos => Some(LISTED),
            Self::Paid(_) | Self::FreeBody(_) => Some(WRITE),
            Self::Doubled(_) | Self::Unknown => None,
        }
    }
}

fn wrong_method(context: &RequestContext, allowed: &[Method], format: Format) -> Response {
    let methods: Vec<&str> = allowed.iter().map(Method::as_str).collect();
    let methods = methods.join(", ");
    let error = ApiError::new(
        ErrorCode::MethodNotAllowed,
        format!("this path supports {methods}"),
    );
    let mut answered = response::error_response(&error, context.id, context.error_pages(), format);
    if let Ok(value) = HeaderValue::from_str(&methods) {
        answered.headers_mut().insert(ALLOW, value);
    }
    answered
}

fn ready(services: &Services) -> Response {
    // Why not is said at the private address: what it is about is the operator's.
    if services.edge.is_ready() {
        return response::json(StatusCode::OK, &json!({ "status": "ready" }));
    }
    let body = json!({ "status": "not ready" });
    response::json(StatusCode::SERVICE_UNAVAILABLE, &body)
}

#[cfg(test)]
mod tests;
