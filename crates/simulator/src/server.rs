//! Reads a request, has it recorded, checks the key and finds the path. What is asked of a model goes to
//! that model's vendor, what is asked of the simulator itself to `control_api`.

use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Body as _, Incoming};
use tokio::sync::mpsc;

use crate::anthropic;
use crate::audio;
use crate::azure;
use crate::bedrock;
use crate::chat;
use crate::control_api;
use crate::endpoint::Endpoint;
use crate::gemini;
use crate::headers::{self, ResponseMeta};
use crate::images;
use crate::models;
use crate::passthrough;
use crate::realtime::{self, Connection};
use crate::recorded_request::RecordedRequest;
use crate::refusal::Refusal;
use crate::responses_api;
use crate::script::Script;
use crate::scripted_body::{Abort, VendorResult};
use crate::shared_state::SharedState;
use crate::social;
use crate::stripe;
use crate::vertex;
use crate::video::{self, Taken};

/// Largest body that is read.
const MAX_BODY_BYTES: usize = 64 * 1024 * 1024;

/// Answers one request. An error closes the connection without an answer.
pub(crate) async fn serve(
    state: Arc<SharedState>,
    mut request: Request<Incoming>,
    upgrades: mpsc::Sender<Connection>,
) -> VendorResult {
    let upgrade = realtime::is_upgrade(&request).then(|| hyper::upgrade::on(&mut request));
    let (parts, incoming) = request.into_parts();
    if audio::is_upload(&parts) {
        return audio::serve_upload(state, parts, incoming).await;
    }
    // The body is read before anything is decided: the record wants its hash, and a connection
    // with unread bytes could not be used again.
    let body = read_body(incoming).await?;
    // The control API is no part of the vendor: neither key nor record.
    if let Some(path) = parts.uri.path().strip_prefix("/_simulator") {
        let query = parts.uri.query().unwrap_or("");
        let script = control_api::answer(&state, &parts.method, path, query, body);
        let head = script.head;
        let mut response = headers::response(script, "application/json", None);
        headers::set_openai(response.headers_mut(), head, &ResponseMeta::default());
        return Ok(response);
    }
    let (body, too_large) = match body {
        Ok(body) => (body, None),
        Err(refusal) => (Bytes::new(), Some(refusal)),
    };
    let recorded = RecordedRequest::open(state, parts, body);
    if let Some(upgrade) = upgrade {
        return realtime::serve_upgrade(recorded, upgrade, upgrades).await;
    }
    dispatch(recorded, too_large).await
}

/// Finds the vendor of a request.
async fn dispatch(recorded: RecordedRequest, too_large: Option<Refusal>) -> VendorResult {
    // These vendors say everything in their own words, from the key on.
    if anthropic::owns(recorded.parts.uri.path()) {
        return anthropic::serve(recorded, too_large.is_some()).await;
    }
    if bedrock::owns(recorded.parts.uri.path()) {
        return bedrock::serve(recorded, too_large.is_some()).await;
    }
    if gemini::owns(&recorded.parts) {
        return gemini::serve(recorded, too_large.is_some()).await;
    }
    if vertex::owns(&recorded.parts) {
        return vertex::serve(recorded, too_large.is_some()).await;
    }
    if let Some(refusal) = too_large {
        return Ok(recorded.refuse(&refusal));
    }
    let recorded = match audio::serve(recorded).await {
        Taken::Yes(answer) => return answer,
        Taken::No(recorded) => recorded,
    };
    // Before the videos, since one vendor makes both below one folder.
    let recorded = match images::serve(recorded).await {
        Taken::Yes(answer) => return answer,
        Taken::No(recorded) => recorded,
    };
    let recorded = match video::serve(recorded).await {
        Taken::Yes(answer) => return answer,
        Taken::No(recorded) => recorded,
    };
    if stripe::owns(recorded.parts.uri.path()) {
        return stripe::serve(recorded);
    }
    if social::owns(recorded.parts.uri.path()) {
        return social::serve(recorded).await;
    }
    // The key comes before the path: a stranger does not learn what there is.
    if recorded.key.is_empty() {
        return Ok(recorded.refuse(&Refusal::no_key()));
    }
    if !recorded.state.accepts(&recorded.key) {
        let refusal = Refusal::wrong_key(&headers::last_four(&recorded.key));
        return Ok(recorded.refuse(&refusal));
    }
    route(recorded).await
}

/// The whole body, or the refusal of one that is too large; a length that is announced is refused
/// before it is read. An error means that the client broke off inside its own request, so there is
/// no client left to answer.
async fn read_body(incoming: Incoming) -> Result<Result<Bytes, Refusal>, Abort> {
    if usize::try_from(incoming.size_hint().lower()).map_or(true, |length| length > MAX_BODY_BYTES)
    {
        return Ok(Err(Refusal::too_large()));
    }
    match Limited::new(incoming, MAX_BODY_BYTES).collect().await {
        Ok(collected) => Ok(Ok(collected.to_bytes())),
        Err(error) if error.is::<LengthLimitError>() => Ok(Err(Refusal::too_large())),
        Err(_) => Err(Abort),
    }
}

async fn route(recorded: RecordedRequest) -> VendorResult {
    let method = recorded.parts.method.clone();
    let path = recorded.parts.uri.path().to_owned();
    let refused = |refusal: Refusal, recorded: RecordedRequest| Ok(recorded.refuse(&refusal));
    if recorded.azure.is_some() {
        return azure::route(recorded).await;
    }
    if realtime::owns(&path) {
        return Ok(realtime::serve(recorded));
    }
    if let Some(rest) = path.strip_prefix("/v1/responses") {
        return responses_api::serve(recorded, rest).await;
    }
    if let Some(endpoint) = Endpoint::at(&path) {
        return passthrough::serve(recorded, endpoint).await;
    }
    match path.as_str() {
        "/v1/chat/completions" if method == Method::POST => chat::complete(recorded).await,
        "/v1/models" if method == Method::GET && recorded.state.hides_models => {
            Ok(recorded.play(Script::json(403, None, models::hidden()), None))
        }
        "/v1/models" if method == Method::GET => {
            let listed = recorded.state.listed_models();
            Ok(recorded.play(Script::json(200, None, listed), None))
        }
        "/v1/chat/completions" | "/v1/models" => {
            refused(Refusal::wrong_method(method.as_str(), &path), recorded)
        }
        other => match other.strip_prefix("/v1/models/") {
            Some(id) if method == Method::GET => match models::one(id) {
                Some(model) => Ok(recorded.play(Script::json(200, None, model), None)),
                None => refused(Refusal::no_such_model(id), recorded),
            },
            Some(_) => refused(Refusal::wrong_method(method.as_str(), &path), recorded),
            None => refused(Refusal::no_such_path(method.as_str(), &path), recorded),
        },
    }
}
