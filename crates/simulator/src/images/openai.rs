//! OpenAI's pictures: `POST /v1/images/generations` (JSON) and `POST /v1/images/edits` (a form, or
//! JSON with addresses). `gpt-image` models answer in base64 and tell tokens, `dall-e` models hand out
//! links and tell nothing.

mod body;
mod models;
mod request;

use http::Method;
use serde_json::{Map, Value, json};

use super::generate;
use super::request::{Delivery, ImageError, ImageRequest, Item, ReportedCounts};
use crate::clock;
use crate::fault_stage::UpstreamError;
use crate::headers::last_four;
use crate::recorded_request::RecordedRequest;
use crate::refusal::Refusal;
use crate::script::Script;
use crate::scripted_body::VendorResult;

const GENERATIONS: &str = "/v1/images/generations";
const EDITS: &str = "/v1/images/edits";

pub(super) fn owns(path: &str) -> bool {
    path == GENERATIONS || path == EDITS
}

pub(super) async fn serve(recorded: RecordedRequest) -> VendorResult {
    if recorded.key.is_empty() {
        return Ok(recorded.refuse(&Refusal::no_key()));
    }
    if !recorded.state.accepts(&recorded.key) {
        let refusal = Refusal::wrong_key(&last_four(&recorded.key));
        return Ok(recorded.refuse(&refusal));
    }
    if recorded.parts.method != Method::POST {
        let method = recorded.parts.method.as_str();
        let refusal = Refusal::wrong_method(method, recorded.parts.uri.path());
        return Ok(recorded.refuse(&refusal));
    }
    let is_edit = recorded.parts.uri.path() == EDITS;
    let sent = match body::read(&recorded, is_edit) {
        Ok(sent) => sent,
        Err(refusal) => return Ok(recorded.refuse(&refusal)),
    };
    let prompt = sent.fields.get("prompt").and_then(Value::as_str);
    super::note(&recorded, &sent.fields, prompt);
    match request::request(&sent, is_edit) {
        Ok(request) => generate::make(recorded, request).await,
        Err(refusal) => Ok(recorded.refuse(&refusal)),
    }
}

pub(super) fn error(model: &str, error: ImageError) -> Script {
    let refusal = match error {
        ImageError::Upstream(UpstreamError::RateLimited { retry_after_secs }) => {
            Refusal::rate_limited(model, retry_after_secs)
        }
        ImageError::Upstream(UpstreamError::Status(status)) => Refusal::with_status(status, model),
        ImageError::Blocked | ImageError::AllFailed => return blocked(model, error),
        ImageError::Upstream(UpstreamError::Inside200 { .. }) => {
            return Script::json(200, None, Refusal::after_ok().body());
        }
    };
    Script::refusal(&refusal)
}

/// The words of the newer models stand in public reports, those of the older too.
fn blocked(model: &str, error: ImageError) -> Script {
    let (message, kind, code) = if models::is_dalle(model) {
        let message = "Your request was rejected as a result of our safety system. Your prompt may \
                       contain text that is not allowed by our safety system.";
        (message, "invalid_request_error", "content_policy_violation")
    } else {
        let message = "Your request was rejected by the safety system. If you believe this is an \
                       error, contact us at help.openai.com. safety_violations=[violence].";
        (message, "image_generation_user_error", "moderation_blocked")
    };
    let mut body = json!({ "message": message, "type": kind, "param": null, "code": code });
    if !models::is_dalle(model) {
        let stage = if error == ImageError::Blocked {
            "input"
        } else {
            "output"
        };
        let details = json!({ "moderation_stage": stage, "categories": ["violence"] });
        put(&mut body, "moderation_details", details);
    }
    Script::json(400, None, json!({ "error": body }).to_string())
}

/// What fails is left out of `data`.
pub(super) fn answer(
    recorded: &RecordedRequest,
    request: &ImageRequest,
    items: &[Item],
    reported: ReportedCounts,
) -> String {
    let is_link = matches!(request.delivery, Delivery::Link { .. });
    let name = if is_link { "url" } else { "b64_json" };
    let data: Vec<Value> = items
        .iter()
        .filter_map(|item| match item {
            Item::Failed => None,
            Item::Made(content) => {
                let mut entry = Map::new();
                entry.insert(name.to_owned(), json!(content));
                if models::rewrites(&request.model) {
                    let revised = format!("{} (revised)", request.prompt);
                    entry.insert("revised_prompt".to_owned(), json!(revised));
                }
                Some(Value::Object(entry))
            }
        })
        .collect();
    let created = clock::seconds(recorded.received_at_micros);
    let mut answer = json!({ "created": created, "data": data });
    if models::is_dalle(&request.model) {
        return answer.to_string();
    }
    let background = if request.is_transparent {
        "transparent"
    } else {
        "opaque"
    };
    put(&mut answer, "background", json!(background));
    put(&mut answer, "output_format", json!(request.format.ending()));
    put(&mut answer, "quality", json!(request.quality));
    put(&mut answer, "size", json!(request.size_text()));
    if reported.factor.is_some() {
        put(&mut answer, "usage", usage(request, reported));
    }
    answer.to_string()
}

fn usage(request: &ImageRequest, reported: ReportedCounts) -> Value {
    let text = reported.times(request.tokens.text_in);
    let images = reported.times(request.tokens.images_in);
    let out = reported.times(request.tokens.out.saturating_mul(reported.made));
    let sent = text.saturating_add(images);
    json!({
        "input_tokens": sent,
        "input_tokens_details": { "text_tokens": text, "image_tokens": images },
        "output_tokens": out,
        "output_tokens_details": { "text_tokens": 0, "image_tokens": out },
        "total_tokens": sent.saturating_add(out),
    })
}

fn put(object: &mut Value, name: &str, value: Value) {
    if let Some(fields) = object.as_object_mut() {
        fields.insert(name.to_owned(), value);
    }
}
