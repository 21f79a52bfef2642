//! How the vendor says no: one error body for every endpoint, with status, type, parameter and
//! code. The wordings are recalled from the vendor's answers, none was fetched live: [unverified].

use serde::Serialize;

use crate::fault::UpstreamError;

/// A refused request or a fault that looks like one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) retry_after_secs: Option<u32>,
    pub(crate) detail: Detail,
}

/// The inside of an error body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Detail {
    pub(crate) message: String,
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    pub(crate) param: Option<String>,
    pub(crate) code: Option<&'static str>,
}

#[derive(Serialize)]
struct ErrorBody<'a> {
    error: &'a Detail,
}

/// Text from a request is cut to this before it is shown back.
const MAX_SHOWN_BYTES: usize = 200;

const INVALID: &str = "invalid_request_error";

// === impl Refusal ===

impl Refusal {
    /// Status 400 for a parameter.
    pub(crate) fn invalid(param: &str, code: Option<&'static str>, message: String) -> Self {
        Self::new(400, INVALID, code, message).about(param)
    }

    /// Status 400 where the vendor names no parameter.
    pub(crate) fn unnamed(message: &str) -> Self {
        Self::new(400, INVALID, None, message.to_owned())
    }

    /// A directive of the simulator that makes no sense. No vendor answers this.
    pub(crate) fn directive(message: &str) -> Self {
        Self::new(
            400,
            INVALID,
            Some("simulator_directive"),
            format!("the prompt asks the simulator for something it cannot do: {message}"),
        )
        .about("messages")
    }

    pub(crate) fn no_key() -> Self {
        Self::new(
            401,
            INVALID,
            None,
            "You didn't provide an API key. You need to provide your API key in an Authorization \
             header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY)."
                .to_owned(),
        )
    }

    pub(crate) fn wrong_key(last_four: &str) -> Self {
        let message = format!("Incorrect API key provided: ********{last_four}.");
        Self::new(401, INVALID, Some("invalid_api_key"), message)
    }

    pub(crate) fn no_such_model(model: &str) -> Self {
        let message = format!(
            "The model `{}` does not exist or you do not have access to it.",
            shortened(model)
        );
        Self::new(404, INVALID, Some("model_not_found"), message)
    }

    pub(crate) fn no_such_path(method: &str, path: &str) -> Self {
        let message = format!("Invalid URL ({method} {})", shortened(path));
        Self::new(404, INVALID, None, message)
    }

    pub(crate) fn wrong_method(method: &str, path: &str) -> Self {
        let message = format!("Not allowed to {method} on {}.", shortened(path));
        Self::new(405, INVALID, Some("method_not_supported"), message)
    }

    pub(crate) fn too_large() -> Self {
        let message = "The request body is larger than this server accepts.".to_owned();
        Self::new(413, INVALID, Some("request_too_large"), message)
    }

    pub(crate) fn rate_limited(model: &str, retry_after_secs: u32) -> Self {
        let message = format!(
            "Rate limit reached for {} on requests per min (RPM). Please try again in \
             {retry_after_secs}s.",
            shortened(model)
        );
        let mut refusal = Self::new(429, "requests", Some("rate_limit_exceeded"), message);
        refusal.retry_after_secs = Some(retry_after_secs);
        refusal
    }

    /// An item of an earlier response that is not kept.
    pub(crate) fn no_such_item(id: &str) -> Self {
        let message = format!(
            "Item with id '{}' not found. Items are not persisted when `store` is set to false. \
             Try again with `store` set to true, or remove this item from your input.",
            shortened(id)
        );
        Self::new(404, INVALID, None, message).about("input")
    }

    /// Encrypted reasoning of another account. Seen in public reports of clients.
    pub(crate) fn strange_seal(excerpt: &str) -> Self {
        let message = format!(
            "The encrypted content {excerpt} could not be verified. Reason: Encrypted content could \
             not be decrypted or parsed."
        );
        Self::new(400, INVALID, Some("invalid_encrypted_content"), message)
    }

    /// A response that is not kept for this key.
    pub(crate) fn no_such_response(id: &str) -> Self {
        let message = format!("Response with id '{}' not found.", shortened(id));
        Self::new(404, INVALID, None, message)
    }

    /// A response that cannot be continued, with this status and with or without its code.
    pub(crate) fn previous_not_found(id: &str, status: u16, has_code: bool) -> Self {
        let message = format!("Previous response with id '{}' not found.", shortened(id));
        let code = has_code.then_some("previous_response_not_found");
        Self::new(status, INVALID, code, message).about("previous_response_id")
    }

    /// A prompt that a filter stopped; Azure says it in its own words.
    pub(crate) fn filtered_prompt(is_azure: bool) -> Self {
        if is_azure {
            let message = "The response was filtered due to the prompt triggering Azure OpenAI's \
                           content management policy. Please modify your prompt and retry. To \
                           learn more about our content filtering policies please read our \
                           documentation: https://go.microsoft.com/fwlink/?linkid=2198766";
            let code = Some("content_filter");
            return Self::new(400, INVALID, code, message.to_owned()).about("prompt");
        }
        let message = "Invalid prompt: your prompt was flagged as potentially violating our usage \
                       policy. Please try again with a different prompt.";
        Self::new(400, INVALID, Some("invalid_prompt"), message.to_owned())
    }

    /// What stands in a body or a frame that fails after a good status.
    pub(crate) fn after_ok() -> Self {
        Self::with_status(500, "")
    }

    /// An error that comes instead of an answer.
    pub(crate) fn upstream(error: UpstreamError, model: &str) -> Self {
        match error {
            UpstreamError::RateLimited { retry_after_secs } => {
                Self::rate_limited(model, retry_after_secs)
            }
            UpstreamError::Status(status) => Self::with_status(status, model),
            UpstreamError::Inside200 { .. } => Self::after_ok(),
        }
    }

    /// The body in which MiniMax tells of a failure under a good status.
    pub(crate) fn base_resp(code: u32) -> String {
        let message = match code {
            2013 => "invalid params",
            1002 => "rate limit",
            1008 => "insufficient balance",
            _ => "unknown error",
        };
        serde_json::json!({
            "id": "0627",
            "choices": null,
            "base_resp": { "status_code": code, "status_msg": message },
        })
        .to_string()
    }

    /// The error for a status that a fault asks for.
    pub(crate) fn with_status(status: u16, model: &str) -> Self {
        let status = if (400..600).contains(&status) {
            status
        } else {
            500
        };
        let (kind, code, message) = match status {
            401 => return Self::wrong_key("0000"),
            404 => return Self::no_such_model(model),
            413 => return Self::too_large(),
            402 => (
                "insufficient_balance",
                Some("insufficient_balance"),
                "The account has no balance left.",
            ),
            403 => (
                "request_forbidden",
                Some("unsupported_country_region_territory"),
                "Country, region, or territory not supported",
            ),
            429 => (
                "insufficient_quota",
                Some("insufficient_quota"),
                "You exceeded your current quota, please check your plan and billing details.",
            ),
            503 | 529 => (
                "server_error",
                Some("overloaded"),
                "The engine is currently overloaded, please try again later",
            ),
            500..600 => (
                "server_error",
                None,
                "The server had an error while processing your request. Sorry about that!",
            ),
            _ => (INVALID, None, "The request was not accepted."),
        };
        Self::new(status, kind, code, message.to_owned())
    }

    /// The body, one line of JSON.
    pub(crate) fn body(&self) -> String {
        let body = ErrorBody {
            error: &self.detail,
        };
        // A struct of texts always has a JSON form.
        serde_json::to_string(&body).unwrap_or_default()
    }

    fn new(status: u16, kind: &'static str, code: Option<&'static str>, message: String) -> Self {
        Self {
            status,
            retry_after_secs: None,
            detail: Detail {
                message,
                kind,
                param: None,
                code,
            },
        }
    }

    fn about(mut self, param: &str) -> Self {
        self.detail.param = Some(param.to_owned());
        self
    }
}

/// The beginning of a text from outside, cut at a character.
pub(crate) fn shortened(text: &str) -> &str {
    text.get(..text.floor_char_boundary(MAX_SHOWN_BYTES))
        .unwrap_or_default()
}
