//! How the vendor says no: code, status and details in one error body. Wordings that are not
//! listed as seen in `docs/dev/upstreams.md` are recalled: [unverified].

use serde::Serialize;
use serde_json::{Value, json};

use crate::fault_stage::UpstreamError;
use crate::refusal::shortened;

use super::schema::Service;

/// A refused request, or a fault that looks like one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct GoogleError {
    pub(crate) code: u16,
    message: String,
    status: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    details: Vec<Value>,
}

#[derive(Serialize)]
struct ErrorBody<'a> {
    error: &'a GoogleError,
}

/// One field that is wrong, by its path in snake case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Violation {
    pub(super) field: String,
    pub(super) description: String,
}

const GEMINI_HOST: &str = "generativelanguage.googleapis.com";
const VERTEX_HOST: &str = "aiplatform.googleapis.com";
/// What the vendor says to credentials that are none.
const WRONG_TOKEN: &str = "Request had invalid authentication credentials. Expected OAuth 2 \
    access token, login cookie or other valid authentication credential. See \
    https://developers.google.com/identity/sign-in/web/devconsole-project.";
const NO_TOKEN: &str = "Request is missing required authentication credential. Expected OAuth 2 \
    access token, login cookie or other valid authentication credential. See \
    https://developers.google.com/identity/sign-in/web/devconsole-project.";

// === impl GoogleError ===

impl GoogleError {
    /// Status 400 without details.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(400, message)
    }

    /// Status 400 for a field that is well formed and not acceptable.
    pub(super) fn field(path: &str, problem: &str) -> Self {
        Self::invalid(format!("* GenerateContentRequest.{path}: {problem}\n"))
    }

    /// Status 400 for fields that do not exist or have the wrong type.
    pub(super) fn violations(all: &[Violation]) -> Self {
        let messages: Vec<&str> = all.iter().map(|one| one.description.as_str()).collect();
        let mut error = Self::invalid(messages.join("\n"));
        let list: Vec<Value> = all
            .iter()
            .map(|one| json!({"field": one.field, "description": one.description}))
            .collect();
        error.details.push(json!({
            "@type": "type.googleapis.com/google.rpc.BadRequest",
            "fieldViolations": list,
        }));
        error
    }

    /// A directive of the simulator that makes no sense. The vendor never answers this.
    pub(crate) fn directive(message: &str) -> Self {
        let text = format!("the prompt asks the simulator for something it cannot do: {message}");
        Self::invalid(text).because("SIMULATOR_DIRECTIVE", Service::Gemini)
    }

    pub(crate) fn not_json() -> Self {
        Self::invalid("Invalid JSON payload received. Unexpected token.\n^")
    }

    pub(crate) fn bad_key() -> Self {
        let message = "API key not valid. Please pass a valid API key.";
        let mut error = Self::invalid(message).because("API_KEY_INVALID", Service::Gemini);
        error.details.push(json!({
            "@type": "type.googleapis.com/google.rpc.LocalizedMessage",
            "locale": "en-US",
            "message": message,
        }));
        error
    }

    pub(crate) fn no_key() -> Self {
        Self::new(
            403,
            "Method doesn't allow unregistered callers (callers without established identity). \
             Please use API Key or other form of API consumer identity to call this API.",
        )
    }

    pub(crate) fn no_token() -> Self {
        Self::new(401, NO_TOKEN).because("CREDENTIALS_MISSING", Service::Vertex)
    }

    pub(crate) fn wrong_token() -> Self {
        Self::new(401, WRONG_TOKEN).because("ACCESS_TOKEN_TYPE_UNSUPPORTED", Service::Vertex)
    }

    pub(crate) fn expired_token() -> Self {
        Self::new(401, WRONG_TOKEN).because("ACCESS_TOKEN_EXPIRED", Service::Vertex)
    }

    /// The model is not there, or not for this method.
    pub(crate) fn no_such_model(model: &str, version: &str, method: &str) -> Self {
        Self::new(
            404,
            format!(
                "models/{} is not found for API version {}, or is not supported for {}. Call \
                 ListModels to see the list of available models and their supported methods.",
                shortened(model),
                shortened(version),
                shortened(method)
            ),
        )
    }

    /// The same in Vertex' words.
    pub(crate) fn no_such_publisher_model(name: &str) -> Self {
        Self::new(
            404,
            format!(
                "Publisher Model `{}` was not found or your project does not have access to it. \
                 Please ensure you are using a valid model version.",
                shortened(name)
            ),
        )
    }

    pub(crate) fn no_such_path(path: &str) -> Self {
        let path = shortened(path);
        Self::new(404, format!("Requested path {path} was not found."))
    }

    pub(crate) fn too_large() -> Self {
        Self::invalid("Request payload size exceeds the limit: 67108864 bytes.")
    }

    pub(crate) fn no_such_cache() -> Self {
        Self::new(403, "CachedContent not found (or permission denied)")
    }

    pub(crate) fn rate_limited(model: &str, retry_after_secs: u32) -> Self {
        let mut error = Self::with_code(429);
        let delay = format!("{retry_after_secs}s");
        error.message = format!("{}\nPlease retry in {delay}.", error.message);
        error.details = vec![
            json!({
                "@type": "type.googleapis.com/google.rpc.QuotaFailure",
                "violations": [{
                    "quotaMetric":
                        "generativelanguage.googleapis.com/generate_content_requests",
                    "quotaId": "GenerateRequestsPerMinutePerProjectPerModel",
                    "quotaDimensions": {"location": "global", "model": shortened(model)},
                }],
            }),
            json!({
                "@type": "type.googleapis.com/google.rpc.Help",
                "links": [{
                    "description": "Learn more about Gemini API quotas",
                    "url": "https://ai.google.dev/gemini-api/docs/rate-limits",
                }],
            }),
            json!({
                "@type": "type.googleapis.com/google.rpc.RetryInfo",
                "retryDelay": delay,
            }),
        ];
        error
    }

    /// What stands in a body or a frame that fails after a good status.
    pub(crate) fn after_ok() -> Self {
        Self::with_code(503)
    }

    /// An error that comes instead of an answer.
    pub(crate) fn upstream(error: UpstreamError, model: &str) -> Self {
        match error {
            UpstreamError::RateLimited { retry_after_secs } => {
                Self::rate_limited(model, retry_after_secs)
            }
            UpstreamError::Status(status) => Self::with_code(status),
            UpstreamError::Inside200 { .. } => Self::after_ok(),
        }
    }

    /// The error for a status that a fault asks for.
    pub(crate) fn with_code(code: u16) -> Self {
        let code = if (400..600).contains(&code) {
            code
        } else {
            500
        };
        let message = match code {
            401 => return Self::wrong_token(),
            403 => "The caller does not have permission",
            404 => "Requested entity was not found.",
            429 => {
                "You exceeded your current quota, please check your plan and billing details. For \
                 more information on this error, head to: \
                 https://ai.google.dev/gemini-api/docs/rate-limits."
            }
            499 => "The operation was cancelled.",
            503 => "The model is overloaded. Please try again later.",
            504 => "Deadline expired before operation could complete.",
            500..600 => {
                "An internal error has occurred. Please retry or report in \
                 https://developers.generativeai.google/guide/troubleshooting"
            }
            _ => "Request contains an invalid argument.",
        };
        Self::new(code, message)
    }

    /// The error as a document of one line.
    pub(crate) fn line(&self) -> String {
        // A struct of texts and numbers always has a JSON form.
        serde_json::to_string(&ErrorBody { error: self }).unwrap_or_default()
    }

    /// The body as the vendor prints it; in a list of one for a method that streams.
    pub(crate) fn body(&self, is_wrapped: bool) -> String {
        let error = ErrorBody { error: self };
        let printed = if is_wrapped {
            serde_json::to_string_pretty(&[error])
        } else {
            serde_json::to_string_pretty(&error)
        };
        let mut text = printed.unwrap_or_default();
        text.push('\n');
        text
    }

    fn new(code: u16, message: impl Into<String>) -> Self {
        Self {
            code,
            status: status(code),
            message: message.into(),
            details: Vec::new(),
        }
    }

    fn because(mut self, reason: &str, service: Service) -> Self {
        let host = match service {
            Service::Gemini => GEMINI_HOST,
            Service::Vertex => VERTEX_HOST,
        };
        self.details.push(json!({
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": reason,
            "domain": "googleapis.com",
            "metadata": {"service": host},
        }));
        self
    }
}

/// The vendor's word for a code.
fn status(code: u16) -> &'static str {
    match code {
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        409 => "ABORTED",
        429 => "RESOURCE_EXHAUSTED",
        499 => "CANCELLED",
        501 => "UNIMPLEMENTED",
        503 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        500..600 => "INTERNAL",
        _ => "INVALID_ARGUMENT",
    }
}
