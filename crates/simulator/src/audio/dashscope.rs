//! Alibaba's `DashScope`: speech and short recognition on the path of everything multimodal, short
//! recognition in OpenAI's dialect too, and recognition of files as tasks. What on these paths is no
//! audio is given back.

mod recognition;
mod speech;
mod tasks;

use http::Method;
use serde_json::{Value, json};

use crate::dashscope_error::DashScopeError;
use crate::fault_stage::UpstreamError;
use crate::recorded_request::RecordedRequest;
use crate::script::Script;
use crate::scripted_body::VendorResponse;
use crate::video::Taken;

pub(super) const VENDOR: &str = "dashscope";
const MULTIMODAL: &str = "/api/v1/services/aigc/multimodal-generation/generation";
const COMPATIBLE: &str = "/compatible-mode/v1/chat/completions";
const FILES: &str = "/api/v1/services/audio/asr/transcription";
const TASKS: &str = "/api/v1/tasks/";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dialect {
    /// `code`, `message` and `request_id` side by side.
    Native,
    /// An `error` object, as OpenAI has it.
    Compatible,
}

/// Answers what is ours; gives everything else back.
pub(super) async fn serve(recorded: RecordedRequest) -> Taken {
    let method = recorded.parts.method.clone();
    let path = recorded.parts.uri.path().to_owned();
    if let Some(id) = path.strip_prefix(TASKS) {
        let is_ours = recorded.state.audio.tasks.knows(id) && method == Method::GET;
        if is_ours {
            return Taken::Yes(Ok(tasks::poll(recorded, id)));
        }
        return Taken::No(recorded);
    }
    if method != Method::POST {
        return Taken::No(recorded);
    }
    if path == FILES {
        if stranger(&recorded) {
            return Taken::Yes(Ok(refuse(
                recorded,
                Dialect::Native,
                &DashScopeError::key(),
            )));
        }
        return Taken::Yes(tasks::submit(recorded).await);
    }
    if path != MULTIMODAL && path != COMPATIBLE {
        return Taken::No(recorded);
    }
    let body: Value = serde_json::from_slice(&recorded.body).unwrap_or(Value::Null);
    let dialect = if path == COMPATIBLE {
        Dialect::Compatible
    } else {
        Dialect::Native
    };
    let is_speech = dialect == Dialect::Native && speech::is_asked(&body);
    if !is_speech && !recognition::is_asked(&body, dialect) {
        return Taken::No(recorded);
    }
    if stranger(&recorded) {
        return Taken::Yes(Ok(refuse(recorded, dialect, &DashScopeError::key())));
    }
    if is_speech {
        return Taken::Yes(speech::serve(recorded, &body).await);
    }
    Taken::Yes(recognition::serve(recorded, &body, dialect).await)
}

/// Characters that are billed: one of Chinese, Japanese or Korean writing counts as two.
pub(super) fn billed_characters(text: &str) -> u64 {
    let weight = |character: char| match character {
        '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' => 2,
        '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}' => 2,
        _ => 1u64,
    };
    text.chars().map(weight).sum()
}

fn unreachable() -> DashScopeError {
    let text = "Unable to download the media resource during the data inspection process.";
    DashScopeError::new(400, "InvalidParameter.DataInspection", text)
}

// === impl Dialect ===

impl Dialect {
    fn error(self, error: &DashScopeError, request_id: &str, retry_after: Option<u32>) -> Script {
        let body = match self {
            Self::Native => error.body(request_id),
            Self::Compatible => json!({
                "error": {
                    "message": error.message,
                    "type": match error.status {
                        429 => "rate_limit_error",
                        500..600 => "server_error",
                        _ => "invalid_request_error",
                    },
                    "param": null,
                    "code": match error.code.as_str() {
                        "InvalidApiKey" => "invalid_api_key",
                        "ModelNotFound" => "model_not_found",
                        "InvalidParameter" => "invalid_parameter_error",
                        other => other,
                    },
                },
                "request_id": request_id,
            }),
        };
        Script::json(error.status, retry_after, body.to_string())
    }
}

/// What comes instead of an answer.
fn upstream_error(recorded: &RecordedRequest, error: UpstreamError, dialect: Dialect) -> Script {
    let id = request_id(recorded);
    match error {
        UpstreamError::RateLimited { retry_after_secs } => {
            dialect.error(&DashScopeError::rate_limited(), &id, Some(retry_after_secs))
        }
        UpstreamError::Status(status) => {
            let limit = "Requests rate limit exceeded, please try again later.";
            let error = match status {
                401 => DashScopeError::key(),
                403 => DashScopeError::new(status, "AccessDenied", "Access denied."),
                404 => DashScopeError::model(),
                429 => DashScopeError::new(status, "Throttling.AllocationQuota", limit),
                503 => {
                    let text = "Service is temporarily unavailable.";
                    DashScopeError::new(status, "ServiceUnavailable", text)
                }
                400..500 => {
                    let text = "The request was not accepted.";
                    DashScopeError::new(status, "InvalidParameter", text)
                }
                _ => DashScopeError::internal(status),
            };
            dialect.error(&error, &id, None)
        }
        UpstreamError::Inside200 { code: _ } => {
            dialect.error(&DashScopeError::internal(200), &id, None)
        }
    }
}

fn refuse(recorded: RecordedRequest, dialect: Dialect, error: &DashScopeError) -> VendorResponse {
    let script = dialect.error(error, &request_id(&recorded), None);
    recorded.play(script, None)
}

fn request_id(recorded: &RecordedRequest) -> String {
    recorded.uuid("request")
}

fn stranger(recorded: &RecordedRequest) -> bool {
    recorded.key.is_empty() || !recorded.state.accepts(&recorded.key)
}

/// Whether a header switches something on.
fn is_enabled(recorded: &RecordedRequest, name: &str) -> bool {
    let value = recorded.parts.headers.get(name);
    value.is_some_and(|value| value.as_bytes() == b"enable")
}
