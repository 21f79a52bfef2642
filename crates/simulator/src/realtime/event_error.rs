//! How an event of the client is refused; the session goes on.

use serde_json::{Value, json};

use crate::refusal::Refusal;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EventError {
    pub(super) kind: &'static str,
    pub(super) code: &'static str,
    pub(super) message: String,
    pub(super) param: Option<&'static str>,
}

/// The longest `event_id` of a client.
const MAX_EVENT_ID_CHARACTERS: usize = 512;

// === impl EventError ===

impl EventError {
    pub(super) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            kind: "invalid_request_error",
            code,
            message: message.into(),
            param: None,
        }
    }

    pub(super) fn about(mut self, param: &'static str) -> Self {
        self.param = Some(param);
        self
    }

    /// A field that has no value of its kind.
    pub(super) fn invalid_value(param: &'static str, takes: &str) -> Self {
        let message = format!("Invalid value for '{param}': it takes {takes}.");
        Self::new("invalid_value", message).about(param)
    }

    pub(super) fn missing(param: &'static str) -> Self {
        let message = format!("Missing required parameter: '{param}'.");
        Self::new("missing_required_parameter", message).about(param)
    }

    pub(super) fn server(code: &'static str, message: &str) -> Self {
        Self {
            kind: "server_error",
            ..Self::new(code, message)
        }
    }

    /// A refused connection, told by an event.
    pub(super) fn refused(refusal: &Refusal) -> Self {
        Self {
            kind: refusal.detail.kind,
            code: refusal.detail.code.unwrap_or("invalid_api_key"),
            message: refusal.detail.message.clone(),
            param: None,
        }
    }

    /// The `error` event; it names the event that it answers.
    pub(super) fn event(&self, client_event_id: Option<&str>) -> Value {
        let event_id = client_event_id.filter(|id| id.chars().count() <= MAX_EVENT_ID_CHARACTERS);
        json!({
            "type": "error",
            "error": {
                "type": self.kind,
                "code": self.code,
                "message": self.message,
                "param": self.param,
                "event_id": event_id,
            },
        })
    }
}
