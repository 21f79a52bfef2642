//! One request from its first byte to its answer: read it, record it, check the key, find the
//! path. What is asked of a model goes to `chat`, what is asked of the simulator itself to `desk`.

use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Body as _, Incoming};
use sha2::{Digest, Sha256};

use crate::anthropic;
use crate::audio;
use crate::azure::{self, Door};
use crate::bedrock;
use crate::chat;
use crate::clock;
use crate::desk;
use crate::gemini;
use crate::headers::{self, Telltale};
use crate::house::House;
use crate::images;
use crate::models;
use crate::played::{Cut, Played, Watch};
use crate::refusal::Refusal;
use crate::responses;
use crate::script::Script;
use crate::small;
use crate::social;
use crate::truth::Served;
use crate::vertex;
use crate::video::{self, Taken};

/// A request that was read and is on record.
pub(crate) struct Read {
    pub(crate) house: Arc<House>,
    pub(crate) parts: Parts,
    pub(crate) body: Bytes,
    pub(crate) key: String,
    /// Set if it came through a door of Azure.
    pub(crate) azure: Option<Door>,
    pub(crate) number: u64,
    pub(crate) received_at_micros: u64,
    pub(crate) watch: Watch,
}

/// Largest body that is read.
const MAX_BODY_BYTES: usize = 64 * 1024 * 1024;
/// Longest path that is recorded.
const MAX_PATH_BYTES: usize = 1024;

/// Answers one request. An error closes the connection without an answer.
pub(crate) async fn serve(
    house: Arc<House>,
    request: Request<Incoming>,
) -> Result<Response<Played>, Cut> {
    let (parts, incoming) = request.into_parts();
    if audio::is_upload(&parts) {
        return audio::serve_upload(house, parts, incoming).await;
    }
    // The body is read before anything is decided: the record wants its hash, and a connection
    // with unread bytes could not be used again.
    let body = read_body(incoming).await?;
    // The desk is no part of the vendor: neither key nor record.
    if let Some(path) = parts.uri.path().strip_prefix("/_simulator") {
        let query = parts.uri.query().unwrap_or("");
        let answer = desk::answer(&house, &parts.method, path, query, body);
        let script = Script::json(answer.status, None, answer.body);
        let head = script.head;
        let played = Played::new(script, None);
        return Ok(headers::respond(head, &Telltale::default(), played));
    }
    let (body, too_large) = match body {
        Ok(body) => (body, None),
        Err(refusal) => (Bytes::new(), Some(refusal)),
    };
    let read = Read::open(house, parts, body);
    // These vendors say everything in their own words, from the key on.
    if anthropic::owns(read.parts.uri.path()) {
        return anthropic::serve(read, too_large.is_some()).await;
    }
    if bedrock::owns(read.parts.uri.path()) {
        return bedrock::serve(read, too_large.is_some()).await;
    }
    if gemini::owns(&read.parts) {
        return gemini::serve(read, too_large.is_some()).await;
    }
    if vertex::owns(&read.parts) {
        return vertex::serve(read, too_large.is_some()).await;
    }
    if let Some(refusal) = too_large {
        return Ok(read.refuse(&refusal));
    }
    let read = match audio::serve(read).await {
        Taken::Yes(answer) => return answer,
        Taken::No(read) => read,
    };
    // Before the videos, since one vendor makes both below one folder.
    let read = match images::serve(read).await {
        Taken::Yes(answer) => return answer,
        Taken::No(read) => read,
    };
    let read = match video::serve(read).await {
        Taken::Yes(answer) => return answer,
        Taken::No(read) => read,
    };
    if social::owns(read.parts.uri.path()) {
        return social::serve(read).await;
    }
    // The key comes before the path: a stranger does not learn what there is.
    if read.key.is_empty() {
        return Ok(read.refuse(&Refusal::no_key()));
    }
    if !read.house.accepts(&read.key) {
        let refusal = Refusal::wrong_key(&headers::last_four(&read.key));
        return Ok(read.refuse(&refusal));
    }
    route(read).await
}

// === impl Read ===

impl Read {
    /// Another key than a bearer's; the record shows its end.
    pub(crate) fn keyed(&mut self, key: &str) {
        key.clone_into(&mut self.key);
        let shown = headers::last_four(key);
        self.watch.entry().note(|served| served.key = shown);
    }

    pub(crate) fn open(house: Arc<House>, parts: Parts, body: Bytes) -> Self {
        let number = house.next_number();
        let received_at_micros = clock::now_micros();
        let azure = azure::door(parts.uri.path(), parts.uri.query());
        let key = match &azure {
            Some(_) => azure::key(&parts.headers),
            None => headers::bearer(&parts.headers),
        };
        let key = key.unwrap_or_default().to_owned();
        let path = parts.uri.path();
        // An assertion could be traded for a token by whoever reads it.
        let kept_body = if path == vertex::TOKEN_PATH {
            Bytes::new()
        } else {
            body.clone()
        };
        let entry = house.truth.open(Served {
            number,
            marker: None,
            key: headers::last_four(&key),
            model: String::new(),
            stream: false,
            body_sha256: Sha256::digest(&body).into(),
            body: kept_body,
            headers: headers::kept(&parts.headers),
            path: path
                .get(..path.floor_char_boundary(MAX_PATH_BYTES))
                .unwrap_or_default()
                .to_owned(),
            fault: None,
            status: 0,
            prompt_tokens: 0,
            cache_read_tokens: 0,
            cache_written_5m_tokens: 0,
            cache_written_1h_tokens: 0,
            completion_tokens: 0,
            told_usage: None,
            finished: false,
            client_left: false,
            received_at_micros,
        });
        Self {
            watch: Watch::new(Arc::clone(&house), entry),
            house,
            parts,
            body,
            key,
            azure,
            number,
            received_at_micros,
        }
    }

    pub(crate) fn refuse(self, refusal: &Refusal) -> Response<Played> {
        let script = self.refusal(refusal);
        self.play(script, None)
    }

    /// A refusal in the words of the house that was asked.
    pub(crate) fn refusal(&self, refusal: &Refusal) -> Script {
        let path = self.parts.uri.path();
        match (&self.azure, small::refusal_body(path, refusal)) {
            (Some(_), _) => azure::refusal(refusal),
            (None, Some(body)) => Script::json(refusal.status, refusal.retry_after_secs, body),
            (None, None) => Script::refusal(refusal),
        }
    }

    /// Sends a script and leaves the record to it.
    pub(crate) fn play(mut self, script: Script, prompt_tokens: Option<u64>) -> Response<Played> {
        let head = script.head;
        self.watch
            .entry()
            .note(|served| served.status = head.status);
        if self.parts.method == Method::HEAD {
            // The transport drops such a body unread, which must not look like a client leaving.
            self.watch.end(true);
        }
        let waited = clock::now_micros().saturating_sub(self.received_at_micros);
        let telltale = Telltale {
            request_id: self.house.id("req_", self.number),
            processing_millis: waited / 1000,
            prompt_tokens,
        };
        headers::respond(head, &telltale, Played::new(script, Some(self.watch)))
    }
}

/// The whole body, or the refusal of one that is too large; a length that is announced is refused
/// before it is read. An error means that the client broke off inside its own request, so there is
/// nobody to answer.
async fn read_body(incoming: Incoming) -> Result<Result<Bytes, Refusal>, Cut> {
    if usize::try_from(incoming.size_hint().lower()).map_or(true, |length| length > MAX_BODY_BYTES)
    {
        return Ok(Err(Refusal::too_large()));
    }
    match Limited::new(incoming, MAX_BODY_BYTES).collect().await {
        Ok(collected) => Ok(Ok(collected.to_bytes())),
        Err(error) if error.is::<LengthLimitError>() => Ok(Err(Refusal::too_large())),
        Err(_) => Err(Cut),
    }
}

async fn route(read: Read) -> Result<Response<Played>, Cut> {
    let method = read.parts.method.clone();
    let path = read.parts.uri.path().to_owned();
    let refused = |refusal: Refusal, read: Read| Ok(read.refuse(&refusal));
    if read.azure.is_some() {
        return azure::route(read).await;
    }
    if let Some(rest) = path.strip_prefix("/v1/responses") {
        return responses::serve(read, rest).await;
    }
    if let Some(endpoint) = small::Endpoint::at(&path) {
        return small::serve(read, endpoint).await;
    }
    match path.as_str() {
        "/v1/chat/completions" if method == Method::POST => chat::complete(read).await,
        "/v1/models" if method == Method::GET => {
            Ok(read.play(Script::json(200, None, models::list()), None))
        }
        "/v1/chat/completions" | "/v1/models" => {
            refused(Refusal::wrong_method(method.as_str(), &path), read)
        }
        other => match other.strip_prefix("/v1/models/") {
            Some(id) if method == Method::GET => match models::one(id) {
                Some(model) => Ok(read.play(Script::json(200, None, model), None)),
                None => refused(Refusal::no_such_model(id), read),
            },
            Some(_) => refused(Refusal::wrong_method(method.as_str(), &path), read),
            None => refused(Refusal::no_such_path(method.as_str(), &path), read),
        },
    }
}
