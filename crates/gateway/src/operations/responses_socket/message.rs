//! Messages of a client, the requests that they stand for, and errors as events.

use bytes::Bytes;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Utf8Bytes;
use trunkline_types::RequestId;
use trunkline_wire::{Edit, Object, patch, scan};

use super::Accepted;
use super::conversation::{Items, input_items, join};
use crate::error::{ApiError, ErrorCode};
use crate::response_id::{PREVIOUS, not_found, open_response};
use crate::websocket::error_fields;

/// Messages with the same name are answered in their order, others side by side.
pub(super) type Lane = Option<String>;

/// A message that asks for a response.
pub(super) struct CreateMessage {
    pub(super) lane: Lane,
    body: Bytes,
}

/// A message that is answered with an error.
pub(super) struct RefusedMessage {
    pub(super) lane: Lane,
    pub(super) error: Box<ApiError>,
}

/// The request that a message stands for.
pub(super) struct TurnRequest {
    pub(super) body: Bytes,
    /// The conversation up to here; none if an upstream alone knows all of it.
    pub(super) items: Option<Items>,
    pub(super) previous: Option<String>,
    /// The conversation was put in for the id of the response before.
    pub(super) is_expanded: bool,
    /// False for a message that only brings a conversation.
    pub(super) generates: bool,
}

// === impl CreateMessage ===

impl CreateMessage {
    pub(super) fn read(text: Utf8Bytes) -> Result<Self, RefusedMessage> {
        let body = Bytes::from(text);
        let refused = |lane: Lane, error: ApiError| RefusedMessage {
            lane,
            error: Box::new(error),
        };
        let object = scan(&body).map_err(|error| {
            let text = format!("a message must be a JSON object: {error}");
            let error = ApiError::new(ErrorCode::Invalid("invalid_request"), text);
            refused(None, error)
        })?;
        let lane = text_of(&object, "stream_id");
        if text_of(&object, "type").as_deref() != Some("response.create") {
            let text = "only `response.create` is supported as the type of a message";
            let error = ApiError::new(ErrorCode::Invalid("invalid_request"), text).at("type");
            return Err(refused(lane, error));
        }
        drop(object);
        Ok(Self { lane, body })
    }

    pub(super) const fn bytes(&self) -> usize {
        self.body.len()
    }

    /// The request. A response that only this connection keeps is continued by its conversation.
    pub(super) fn request(&self, accepted: &Accepted) -> Result<TurnRequest, ApiError> {
        let object = scan(&self.body).map_err(|_| ApiError::unavailable())?;
        let previous = text_of(&object, PREVIOUS);
        let own = input_items(object.value("input"));
        let known = previous.as_ref().and_then(|id| accepted.kept().get(id));
        let items: Option<Items> = match (&previous, &known) {
            (None, _) => own.map(Items::from),
            (Some(_), Some(before)) => own.map(|own| join(before, &own).into()),
            (Some(_), None) => None,
        };
        let mut edits = vec![
            Edit::Remove("type"),
            Edit::Remove("stream_id"),
            Edit::Remove("generate"),
            Edit::Set("stream", b"true".to_vec()),
        ];
        let generates = object.value("generate") != Some(b"false");
        if !generates && items.is_none() {
            return Err(not_found("this connection has no response with this id"));
        }
        // What an upstream keeps is continued there.
        let is_stored = previous.as_ref().is_some_and(|id| {
            let account = accepted.caller.account.id;
            open_response(&accepted.services, account, id).is_some_and(|opened| opened.stored)
        });
        let expanded = items.as_ref().filter(|_| known.is_some() && !is_stored);
        if let Some(items) = expanded {
            edits.push(Edit::Remove(PREVIOUS));
            edits.push(Edit::Set("input", format!("[{items}]").into_bytes()));
        }
        Ok(TurnRequest {
            body: Bytes::from(patch(&object, &edits)),
            is_expanded: expanded.is_some(),
            items,
            previous,
            generates,
        })
    }

    /// The model, as the client wrote it.
    pub(super) fn model(&self) -> Option<String> {
        text_of(&scan(&self.body).ok()?, "model")
    }
}

fn text_of(object: &Object<'_>, name: &str) -> Option<String> {
    serde_json::from_slice(object.value(name)?).ok()
}

/// An error as an event: with the status that it has over HTTP.
pub(super) fn error_event(
    error: &ApiError,
    request: RequestId,
    pages: &str,
    lane: Option<&str>,
) -> String {
    let fields = error_fields(error, request, pages);
    let status = error.kind.status().as_u16();
    let mut event = json!({ "type": "error", "status": status, "error": fields });
    if let (Some(lane), Some(event)) = (lane, event.as_object_mut()) {
        event.insert("stream_id".to_owned(), Value::from(lane));
    }
    event.to_string()
}
