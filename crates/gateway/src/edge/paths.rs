//! Which path is which step.

use std::sync::Arc;

use bytes::Bytes;
use http::header::ALLOW;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use hyper::body::Incoming;
use serde_json::json;
use trunkline_terms::RequestId;

use super::body;
use crate::caller::Caller;
use crate::fault::{Fault, Kind};
use crate::gateway::Gateway;
use crate::models::{Shape, plain};
use crate::places::Place as Room;
use crate::reply::{self, Answered};
use crate::story::Story;

/// What a path is.
enum Place<'a> {
    Root,
    Live,
    Ready,
    Chat,
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
    if let Some(allowed) = place.methods()
        && !allowed.contains(request.method())
    {
        return Ok(wrong_method(story.id, allowed));
    }
    let headers = request.headers();
    let known = || {
        let caller = gateway.caller((headers, request.uri().query()), story.address)?;
        story.called_by(&caller);
        Ok::<_, Fault>(caller)
    };
    match place {
        Place::Root => Ok(reply::json(
            StatusCode::OK,
            &json!({ "service": "trunkline" }),
        )),
        Place::Live => Ok(reply::json(StatusCode::OK, &json!({ "status": "live" }))),
        Place::Ready => Ok(ready(gateway)),
        Place::Chat => {
            story.is_call(&request);
            // The key before the body: strangers make us read nothing.
            let caller = known()?;
            let (headers, body, place) = with_body(gateway, &caller, request).await?;
            gateway.chat(story, caller, &headers, body, place).await
        }
        Place::Quotes => {
            let caller = known()?;
            let (headers, body, _place) = with_body(gateway, &caller, request).await?;
            gateway.quote(caller, &headers, &body)
        }
        Place::Models { beta } => {
            let caller = known()?;
            gateway.models(&caller, Shape::of(headers, beta), uri.query())
        }
        Place::Model { beta, name } => {
            let caller = known()?;
            gateway.model(&caller, Shape::of(headers, beta), &plain(name))
        }
        Place::Usage(request) => {
            let caller = known()?;
            // What asks the database is large and rare; in a box it costs other requests nothing.
            Box::pin(gateway.usage(&caller, request)).await
        }
        Place::Balance => {
            let caller = known()?;
            Box::pin(gateway.balance(&caller)).await
        }
        Place::Key => Ok(gateway.key(&known()?)),
        Place::Doubled(rest) => {
            let text = format!("the path has `/v1` twice; call `/v1/{rest}`");
            Err(Fault::new(Kind::NotFound, text))
        }
        Place::Unknown => {
            let text = "there is nothing here; see POST /v1/chat/completions, POST /v1/quotes, \
                        GET /v1/models, GET /v1/usage/{request_id}, GET /v1/balance, GET /v1/key";
            Err(Fault::new(Kind::NotFound, text))
        }
    }
}

/// The body, once there is room for it.
async fn with_body(
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
        "/v1/chat/completions" => Place::Chat,
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
                Place::Model { beta: false, name }
            } else if let Some(name) = below("/v1beta/models/") {
                Place::Model { beta: true, name }
            } else if let Some(request) = below("/v1/usage/") {
                Place::Usage(request)
            } else {
                Place::Unknown
            }
        }
    }
}

impl Place<'_> {
    fn methods(&self) -> Option<&'static [Method]> {
        const READ: &[Method] = &[Method::GET, Method::HEAD];
        const WRITE: &[Method] = &[Method::POST];
        match self {
            Self::Root
            | Self::Live
            | Self::Ready
            | Self::Models { .. }
            | Self::Model { .. }
            | Self::Usage(_)
            | Self::Balance
            | Self::Key => Some(READ),
            Self::Chat | Self::Quotes => Some(WRITE),
            Self::Doubled(_) | Self::Unknown => None,
        }
    }
}

fn wrong_method(id: RequestId, allowed: &[Method]) -> Answered {
    let words: Vec<&str> = allowed.iter().map(Method::as_str).collect();
    let words = words.join(", ");
    let fault = Fault::new(Kind::MethodNotAllowed, format!("this path takes {words}"));
    let mut answered = reply::fault(&fault, id);
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
