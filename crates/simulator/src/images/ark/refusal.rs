//! How Ark says no: `{"error": {"code", "message", "param", "type"}}`.

use serde_json::json;

use crate::server::RecordedRequest;

/// A refused request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refused {
    pub(super) status: u16,
    code: String,
    param: String,
    message: String,
}

impl Refused {
    pub(super) fn new(status: u16, code: &str, message: &str) -> Self {
        Self {
            status,
            code: code.to_owned(),
            param: String::new(),
            message: message.to_owned(),
        }
    }

    pub(super) fn invalid(param: &str, why: &str) -> Self {
        let text = format!("The parameter `{param}` specified in the request is not valid: {why}.");
        let mut refused = Self::new(400, "InvalidParameter", &text);
        param.clone_into(&mut refused.param);
        refused
    }

    pub(super) fn missing(param: &str) -> Self {
        let text = format!("The request failed because it is missing `{param}` parameter.");
        let mut refused = Self::new(400, "MissingParameter", &text);
        param.clone_into(&mut refused.param);
        refused
    }

    pub(super) fn body(&self, recorded: &RecordedRequest) -> String {
        let kind = match self.status {
            400 => "BadRequest",
            401 => "Unauthorized",
            403 => "Forbidden",
            404 => "NotFound",
            405 => "MethodNotAllowed",
            429 => "TooManyRequests",
            503 => "ServiceUnavailable",
            _ => "InternalServerError",
        };
        let id = recorded.id("0217");
        json!({ "error": {
            "code": self.code,
            "message": format!("{} Request id: {id}", self.message),
            "param": self.param,
            "type": kind,
        } })
        .to_string()
    }
}
