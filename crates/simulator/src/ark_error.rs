//! How Ark says no: `{"error": {"code", "message", "param", "type"}}`.

use serde_json::json;

use crate::refusal::shortened;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ArkError {
    pub(crate) status: u16,
    pub(crate) code: String,
    message: String,
    param: String,
}

/// A ratio or a length that a kind of task does not have.
pub(crate) const CONSTRAINT: &str = "InvalidParameter.TaskTypeConstraint";

impl ArkError {
    pub(crate) fn invalid(param: &str, why: &str) -> Self {
        Self::with_code("InvalidParameter", param, why)
    }

    pub(crate) fn with_code(code: &str, param: &str, why: &str) -> Self {
        let message =
            format!("The parameter `{param}` specified in the request is not valid: {why}.");
        Self::new(400, code, message).about(param)
    }

    pub(crate) fn missing(param: &str) -> Self {
        let message = format!("The request failed because it is missing `{param}` parameter.");
        Self::new(400, "MissingParameter", message).about(param)
    }

    pub(crate) fn no_such_model(model: &str) -> Self {
        let model = shortened(model);
        let message = format!(
            "The model or endpoint {model} does not exist or you do not have access to it."
        );
        Self::new(404, "InvalidEndpointOrModel.NotFound", message)
    }

    pub(crate) fn no_such_task(id: &str) -> Self {
        let message = format!("The specified task {} is not found.", shortened(id));
        Self::new(404, "ResourceNotFound", message)
    }

    pub(crate) fn wrong_key() -> Self {
        let message = "The API key or AK/SK in the request is missing or invalid.";
        Self::new(401, "AuthenticationError", message.to_owned())
    }

    pub(crate) fn wrong_method() -> Self {
        let message = "The method is not allowed at this path.";
        Self::new(405, "InvalidAction", message.to_owned())
    }

    pub(crate) fn cannot_cancel() -> Self {
        let message = "Only tasks that wait can be cancelled.";
        Self::new(403, "OperationDenied.TaskStatus", message.to_owned())
    }

    pub(crate) fn full() -> Self {
        let message = "The number of tasks of your account has reached its limit. Please try again \
                       later.";
        Self::new(429, "QuotaExceeded", message.to_owned())
    }

    /// A code that the prompt asked for, under the status it comes with.
    pub(crate) fn requested(code: &str) -> Self {
        let family = code.split('.').next().unwrap_or_default();
        let status = match family {
            "AuthenticationError" => 401,
            "AccountOverdueError" | "AccessDenied" | "OperationDenied" => 403,
            "ModelNotOpen" | "InvalidEndpointOrModel" | "NotFound" | "ResourceNotFound" => 404,
            "RateLimitExceeded"
            | "ModelAccountRpmRateLimitExceeded"
            | "QuotaExceeded"
            | "InflightBatchsizeExceeded"
            | "ServerOverloaded"
            | "RequestBurstTooFast" => 429,
            "InternalServiceError" => 500,
            _ => 400,
        };
        Self::new(status, code, format!("the prompt asked for {code}"))
    }

    pub(crate) fn body(&self, request_id: &str) -> String {
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
        json!({ "error": {
            "code": self.code,
            "message": format!("{} Request id: {request_id}", self.message),
            "param": self.param,
            "type": kind,
        } })
        .to_string()
    }

    pub(crate) fn new(status: u16, code: &str, message: String) -> Self {
        Self {
            status,
            code: code.to_owned(),
            message,
            param: String::new(),
        }
    }

    fn about(mut self, param: &str) -> Self {
        param.clone_into(&mut self.param);
        self
    }
}
