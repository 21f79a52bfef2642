//! How this vendor says no: a type for every status, a message, and the request's id.

use serde::Serialize;

use crate::fault_stage::UpstreamError;
use crate::refusal::shortened;

/// A refused request or a fault that looks like one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) kind: &'static str,
    pub(crate) message: String,
    pub(crate) retry_after_secs: Option<u32>,
}

#[derive(Serialize)]
struct Body<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    error: Detail<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<&'a str>,
}

#[derive(Serialize)]
struct Detail<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    message: &'a str,
}

const INVALID: &str = "invalid_request_error";

// === impl Refusal ===

impl Refusal {
    /// Status 400.
    pub(crate) fn invalid(message: String) -> Self {
        Self::new(400, INVALID, &message)
    }

    /// Status 400 for a place in the body.
    pub(crate) fn at(path: &str, says: &str) -> Self {
        if path.is_empty() {
            return Self::invalid(says.to_owned());
        }
        Self::invalid(format!("{path}: {says}"))
    }

    /// A directive of the simulator that makes no sense. No vendor answers this.
    pub(crate) fn directive(message: &str) -> Self {
        Self::invalid(format!(
            "simulator_directive: the prompt asks the simulator for something it cannot do: \
             {message}"
        ))
    }

    pub(crate) fn no_key() -> Self {
        Self::new(401, "authentication_error", "x-api-key header is required")
    }

    pub(crate) fn wrong_key() -> Self {
        Self::new(401, "authentication_error", "invalid x-api-key")
    }

    pub(crate) fn no_such_model(model: &str) -> Self {
        let message = format!("model: {}", shortened(model));
        Self::new(404, "not_found_error", &message)
    }

    pub(crate) fn no_such_path() -> Self {
        Self::new(404, "not_found_error", "Not Found")
    }

    pub(crate) fn wrong_method() -> Self {
        Self::new(405, INVALID, "Method Not Allowed")
    }

    pub(crate) fn too_large() -> Self {
        Self::new(413, "request_too_large", "Request exceeds the maximum size")
    }

    pub(crate) fn rate_limited(retry_after_secs: u32) -> Self {
        let mut refusal = Self::new(
            429,
            "rate_limit_error",
            "This request would exceed your organization's rate limit of 4,000 requests per \
             minute.",
        );
        refusal.retry_after_secs = Some(retry_after_secs);
        refusal
    }

    /// What stands in a body or an event that fails after a good status.
    pub(crate) fn after_ok() -> Self {
        Self::with_status(529, "")
    }

    /// An error that comes instead of an answer.
    pub(crate) fn upstream(error: UpstreamError, model: &str) -> Self {
        match error {
            UpstreamError::RateLimited { retry_after_secs } => Self::rate_limited(retry_after_secs),
            UpstreamError::Status(status) => Self::with_status(status, model),
            UpstreamError::Inside200 { .. } => Self::after_ok(),
        }
    }

    /// The error for a status that a fault asks for.
    pub(crate) fn with_status(status: u16, model: &str) -> Self {
        let (kind, message) = match status {
            401 => return Self::wrong_key(),
            404 => return Self::no_such_model(model),
            413 => return Self::too_large(),
            402 => (
                "billing_error",
                "Your credit balance is too low to access the Anthropic API.",
            ),
            403 => (
                "permission_error",
                "Your API key does not have permission to use the specified resource.",
            ),
            429 => (
                "rate_limit_error",
                "Your account has hit a rate limit. Please try again later.",
            ),
            504 => ("timeout_error", "The request timed out while processing."),
            529 => ("overloaded_error", "Overloaded"),
            500..600 => ("api_error", "Internal server error"),
            400..500 => (INVALID, "The request was not accepted."),
            _ => return Self::new(500, "api_error", "Internal server error"),
        };
        Self::new(status, kind, message)
    }

    /// The body, one line of JSON. An error inside a stream carries no id.
    pub(crate) fn body(&self, request_id: Option<&str>) -> String {
        let body = Body {
            kind: "error",
            error: Detail {
                kind: self.kind,
                message: &self.message,
            },
            request_id,
        };
        // A struct of texts always has a JSON form.
        serde_json::to_string(&body).unwrap_or_default()
    }

    fn new(status: u16, kind: &'static str, message: &str) -> Self {
        Self {
            status,
            kind,
            message: message.to_owned(),
            retry_after_secs: None,
        }
    }
}
