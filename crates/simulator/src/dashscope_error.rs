//! How Alibaba's `DashScope` says no: `code`, `message` and `request_id` side by side.

use serde_json::{Value, json};

/// A refusal at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DashScopeError {
    pub(crate) status: u16,
    pub(crate) code: String,
    pub(crate) message: String,
}

impl DashScopeError {
    pub(crate) fn new(status: u16, code: &str, message: &str) -> Self {
        Self {
            status,
            code: code.to_owned(),
            message: message.to_owned(),
        }
    }

    pub(crate) fn invalid(message: &str) -> Self {
        Self::new(400, "InvalidParameter", message)
    }

    pub(crate) fn body_invalid() -> Self {
        Self::invalid("Required body invalid, please check the request body.")
    }

    pub(crate) fn key() -> Self {
        Self::new(401, "InvalidApiKey", "Invalid API-key provided.")
    }

    pub(crate) fn model() -> Self {
        Self::new(404, "ModelNotFound", "Model not exist.")
    }

    pub(crate) fn path(status: u16) -> Self {
        Self::new(status, "InvalidURL", "url error, please check url!")
    }

    pub(crate) fn rate_limited() -> Self {
        let text = "Requests rate limit exceeded, please try again later.";
        Self::new(429, "Throttling.RateQuota", text)
    }

    pub(crate) fn internal(status: u16) -> Self {
        let text =
            "An internal error has occured, please try again later or contact service support.";
        Self::new(status, "InternalError", text)
    }

    pub(crate) fn body(&self, request_id: &str) -> Value {
        json!({ "code": self.code, "message": self.message, "request_id": request_id })
    }
}
