//! How AWS says no: an exception by name in a header, and a message as the body.

use serde::Serialize;

use crate::anthropic::refusal::Refusal;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Exception {
    pub(crate) status: u16,
    pub(crate) name: &'static str,
    pub(crate) message: String,
}

#[derive(Serialize)]
struct Body<'a> {
    message: &'a str,
}

/// What the header carries behind the name.
const NAMESPACE: &str = "http://internal.amazon.com/coral/com.amazon.bedrock/";

// === impl Exception ===

impl Exception {
    pub(crate) fn new(status: u16, name: &'static str, message: &str) -> Self {
        Self {
            status,
            name,
            message: message.to_owned(),
        }
    }

    /// What the model's vendor refuses. Its words are kept where the caller is at fault.
    pub(crate) fn of(refusal: &Refusal) -> Self {
        let status = refusal.status;
        let (status, name, message) = match status {
            400 => return Self::new(400, "ValidationException", &refusal.message),
            401..=403 => (
                403,
                "AccessDeniedException",
                "You don't have access to the model with the specified model ID.",
            ),
            404 => (
                404,
                "ResourceNotFoundException",
                "Could not resolve the foundation model from the provided model identifier.",
            ),
            408 => (
                408,
                "ModelTimeoutException",
                "Model has timed out in processing the request.",
            ),
            424 => (
                424,
                "ModelErrorException",
                "The system encountered an unexpected error during processing. Try your request \
                 again.",
            ),
            429 => (
                429,
                "ThrottlingException",
                "Too many requests, please wait before trying again.",
            ),
            503 | 529 => (
                503,
                "ServiceUnavailableException",
                "Bedrock is unable to process your request.",
            ),
            500..600 => (
                status,
                "InternalServerException",
                "The system encountered an unexpected error during processing. Try your request \
                 again.",
            ),
            _ => (
                status,
                "ValidationException",
                "The request was not accepted.",
            ),
        };
        Self::new(status, name, message)
    }

    pub(crate) fn too_large() -> Self {
        Self::new(
            413,
            "RequestEntityTooLargeException",
            "The request body is larger than this service accepts.",
        )
    }

    pub(crate) fn wrong_bearer() -> Self {
        Self::new(
            403,
            "AccessDeniedException",
            "Authentication failed: Please make sure your API Key is valid.",
        )
    }

    pub(crate) fn unknown_operation() -> Self {
        Self::new(
            404,
            "UnknownOperationException",
            "The requested operation is not recognized by the service.",
        )
    }

    pub(crate) fn invalid_model() -> Self {
        Self::new(
            400,
            "ValidationException",
            "The provided model identifier is invalid.",
        )
    }

    /// The value of `x-amzn-errortype`.
    pub(crate) fn header(&self) -> String {
        format!("{}:{NAMESPACE}", self.name)
    }

    pub(crate) fn body(&self) -> String {
        let body = Body {
            message: &self.message,
        };
        // A struct of texts always has a JSON form.
        serde_json::to_string(&body).unwrap_or_default()
    }
}
