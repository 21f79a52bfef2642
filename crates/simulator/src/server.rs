//! One request from its first byte to its answer: read it, record it, check the key, find the
//! path. What is asked of a model goes to `chat`, what is asked of the simulator itself to `control_api`.

use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{Method, Request};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Body as _, Incoming};
use sha2::{Digest, Sha256};

use crate::anthropic;
use crate::audio;
use crate::azure::{self, Door};
use crate::bedrock;
use crate::chat;
use crate::clock;
use crate::control_api;
use crate::fault_stage::UpstreamError;
use crate::gemini;
use crate::headers::{self, ResponseMeta};
use crate::images;
use crate::models;
use crate::passthrough;
use crate::refusal::Refusal;
use crate::request_log::RequestRecord;
use crate::responses;
use crate::script::Script;
use crate::scripted_body::{Abort, BodyWatch, VendorResponse, VendorResult};
use crate::shared_state::SharedState;
use crate::social;
use crate::vertex;
use crate::video::{self, Taken};

/// A request that was read and is on record.
pub(crate) struct RecordedRequest {
    pub(crate) state: Arc<SharedState>,
    pub(crate) parts: Parts,
    pub(crate) body: Bytes,
    pub(crate) key: String,
    /// Set if it came to an endpoint of Azure.
    pub(crate) azure: Option<Door>,
    pub(crate) number: u64,
    pub(crate) received_at_micros: u64,
    pub(crate) watch: BodyWatch,
}

/// Largest body that is read.
const MAX_BODY_BYTES: usize = 64 * 1024 * 1024;
/// Longest path that is recorded.
const MAX_PATH_BYTES: usize = 1024;

/// Answers one request. An error closes the connection without an answer.
pub(crate) async fn serve(state: Arc<SharedState>, request: Request<Incoming>) -> VendorResult {
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

// === impl RecordedRequest ===

impl RecordedRequest {
    /// Another key than a bearer's; the record shows its end.
    pub(crate) fn keyed(&mut self, key: &str) {
        key.clone_into(&mut self.key);
        let shown = headers::last_four(key);
        self.note(|record| record.key = shown);
    }

    /// Adds to the request's record.
    pub(crate) fn note(&self, write: impl FnOnce(&mut RequestRecord)) {
        self.watch.entry().note(write);
    }

    /// An id of this kind for what the request makes.
    pub(crate) fn id(&self, kind: &str) -> String {
        self.state.id(kind, self.number)
    }

    /// The same in the form of a UUID.
    pub(crate) fn uuid(&self, kind: &str) -> String {
        self.state.uuid(kind, self.number)
    }

    pub(crate) fn open(state: Arc<SharedState>, parts: Parts, body: Bytes) -> Self {
        let number = state.next_number();
        let received_at_micros = clock::now_micros();
        let azure = azure::door(parts.uri.path(), parts.uri.query());
        let key = match &azure {
            Some(_) => azure::key(&parts.headers),
            None => headers::bearer(&parts.headers),
        };
        let key = key.unwrap_or_default().to_owned();
        let path = parts.uri.path();
        // A reader of the log could trade an assertion for a token.
        let kept_body = if path == vertex::TOKEN_PATH {
            Bytes::new()
        } else {
            body.clone()
        };
        let entry = state.requests.open(RequestRecord {
            number,
            key: headers::last_four(&key),
            body_sha256: Sha256::digest(&body).into(),
            body: kept_body,
            headers: headers::kept(&parts.headers),
            path: path
                .get(..path.floor_char_boundary(MAX_PATH_BYTES))
                .unwrap_or_default()
                .to_owned(),
            received_at_micros,
            ..RequestRecord::default()
        });
        Self {
            watch: BodyWatch::new(Arc::clone(&state), entry),
            state,
            parts,
            body,
            key,
            azure,
            number,
            received_at_micros,
        }
    }

    pub(crate) fn refuse(self, refusal: &Refusal) -> VendorResponse {
        let script = self.refusal(refusal);
        self.play(script, None)
    }

    /// Sends the error of an early fault. Only a refusal for a limit reports limits.
    pub(crate) fn fail(
        self,
        error: UpstreamError,
        model: &str,
        prompt_tokens: u64,
    ) -> VendorResponse {
        let refusal = Refusal::upstream(error, model);
        let limits = refusal.retry_after_secs.map(|_| prompt_tokens);
        let script = self.refusal(&refusal);
        self.play(script, limits)
    }

    /// Sends an error in a vendor's own words. One under status 200 is no complete answer.
    pub(crate) fn play_error(self, mut script: Script) -> VendorResponse {
        script.is_complete = script.head.status != 200;
        self.play(script, None)
    }

    /// A refusal in the words of the vendor that was asked.
    pub(crate) fn refusal(&self, refusal: &Refusal) -> Script {
        let path = self.parts.uri.path();
        match (&self.azure, passthrough::refusal_body(path, refusal)) {
            (Some(_), _) => azure::refusal(refusal),
            (None, Some(body)) => Script::json(refusal.status, refusal.retry_after_secs, body),
            (None, None) => Script::refusal(refusal),
        }
    }

    /// Sends a script with OpenAI's headers and leaves the record to it.
    pub(crate) fn play(self, script: Script, prompt_tokens: Option<u64>) -> VendorResponse {
        let head = script.head;
        let waited = clock::now_micros().saturating_sub(self.received_at_micros);
        let meta = ResponseMeta {
            request_id: self.id("req_"),
            processing_millis: waited / 1000,
            prompt_tokens,
        };
        let content_type = if head.is_event_stream {
            "text/event-stream; charset=utf-8"
        } else {
            "application/json"
        };
        let mut response = self.respond(script, content_type);
        headers::set_openai(response.headers_mut(), head, &meta);
        response
    }

    /// Sends a script; the vendor adds its headers.
    pub(crate) fn respond(mut self, script: Script, content_type: &'static str) -> VendorResponse {
        let status = script.head.status;
        self.note(|record| record.status = status);
        if self.parts.method == Method::HEAD {
            // The transport drops such a body unread, which must not look like a client leaving.
            self.watch.end(true);
        }
        headers::response(script, content_type, Some(self.watch))
    }
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
    if let Some(rest) = path.strip_prefix("/v1/responses") {
        return responses::serve(recorded, rest).await;
    }
    if let Some(endpoint) = passthrough::Endpoint::at(&path) {
        return passthrough::serve(recorded, endpoint).await;
    }
    match path.as_str() {
        "/v1/chat/completions" if method == Method::POST => chat::complete(recorded).await,
        "/v1/models" if method == Method::GET => {
            Ok(recorded.play(Script::json(200, None, models::list()), None))
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
