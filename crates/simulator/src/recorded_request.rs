//! A request that was read and is on record, and how a vendor answers it.

use std::sync::Arc;

use bytes::Bytes;
use http::Method;
use http::request::Parts;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::access_tokens::TOKEN_PATH;
use crate::azure_path::{self, AzurePath};
use crate::clock;
use crate::endpoint;
use crate::fault::UpstreamError;
use crate::headers::{self, ResponseMeta};
use crate::refusal::Refusal;
use crate::request_log::RequestRecord;
use crate::script::Script;
use crate::scripted_body::{BodyWatch, VendorResponse};
use crate::shared_state::SharedState;

/// A request that was read and is on record.
pub(crate) struct RecordedRequest {
    pub(crate) state: Arc<SharedState>,
    pub(crate) parts: Parts,
    pub(crate) body: Bytes,
    pub(crate) key: String,
    /// Set if it came to an endpoint of Azure.
    pub(crate) azure: Option<AzurePath>,
    pub(crate) number: u64,
    pub(crate) received_at_micros: u64,
    pub(crate) watch: BodyWatch,
}

/// Longest path that is recorded.
const MAX_PATH_BYTES: usize = 1024;

// === impl RecordedRequest ===

impl RecordedRequest {
    /// Another key than a bearer's; the record shows its end.
    pub(crate) fn keyed(&mut self, key: &str) {
        key.clone_into(&mut self.key);
        let masked_key = headers::last_four(key);
        self.note(|record| record.key = masked_key);
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

    /// The body, if it is a JSON object.
    pub(crate) fn json_object(&self) -> Option<Map<String, Value>> {
        match serde_json::from_slice(&self.body) {
            Ok(Value::Object(body)) => Some(body),
            Ok(_) | Err(_) => None,
        }
    }

    /// Whether the time in a link to a file is over, or is none. A link without a time does not end.
    pub(crate) fn is_link_over(&self) -> bool {
        let query = self.parts.uri.query().unwrap_or_default();
        let mut fields = query.split('&');
        let expires = fields.find_map(|field| field.strip_prefix("Expires="));
        let now = clock::seconds(clock::now_micros());
        expires.is_some_and(|expires| expires.parse::<u64>().map_or(true, |ends| now >= ends))
    }

    pub(crate) fn open(state: Arc<SharedState>, parts: Parts, body: Bytes) -> Self {
        let number = state.next_number();
        let received_at_micros = clock::now_micros();
        let azure = azure_path::azure_path(parts.uri.path(), parts.uri.query());
        let key = match &azure {
            Some(_) => azure_path::key(&parts.headers),
            None => headers::bearer(&parts.headers),
        };
        let key = key.unwrap_or_default().to_owned();
        let path = parts.uri.path();
        // A reader of the log could trade an assertion for a token.
        let kept_body = if path == TOKEN_PATH {
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
        match (&self.azure, endpoint::refusal_body(path, refusal)) {
            (Some(_), _) => azure_path::refusal(refusal),
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
