//! Alibaba's pictures in one call: `POST /api/v1/services/aigc/multimodal-generation/generation`.
//! Refusals are flat (`code`, `message`, `request_id`). The path is shared with models of speech,
//! which are not simulated here. Written after the vendor's documents as they were read in
//! stored form, wordings are recalled: [unverified].

mod models;

use http::Method;
use serde_json::{Map, Value, json};

use super::directives::ImageDirectives;
use super::generate;
use super::input_images::{self, Source};
use super::request::{Delivery, ImageError, ImageRequest, Item, ReportedCounts, Vendor};
use super::{field, kept};
use crate::dashscope_error::DashScopeError;
use crate::fault_stage::UpstreamError;
use crate::recorded_request::RecordedRequest;
use crate::script::Script;
use crate::scripted_body::{VendorResponse, VendorResult};
use models::Kind;

const PATH: &str = "/api/v1/services/aigc/multimodal-generation/generation";
/// Words in the names of models that speak or listen.
const SPEECH: [&str; 3] = ["tts", "asr", "audio"];
const LINK_SECONDS: u64 = 86_400;
const MAX_SEED: u64 = 2_147_483_647;
/// Characters of a prompt; what is longer is cut without a word.
const MAX_PROMPT: usize = 800;

struct PromptInput {
    text: String,
    sources: u32,
    /// Hashes of those that came as bytes.
    files: Vec<String>,
}

pub(super) fn owns(recorded: &RecordedRequest) -> bool {
    if recorded.parts.uri.path() != PATH {
        return false;
    }
    let body = recorded.json_object().unwrap_or_default();
    let model = body.get("model").and_then(Value::as_str);
    let model = model.unwrap_or_default();
    !SPEECH.iter().any(|word| model.contains(word))
}

pub(super) async fn serve(recorded: RecordedRequest) -> VendorResult {
    if recorded.key.is_empty() || !recorded.state.accepts(&recorded.key) {
        return Ok(refuse(recorded, &DashScopeError::key()));
    }
    if recorded.parts.method != Method::POST {
        return Ok(refuse(recorded, &DashScopeError::path(405)));
    }
    let Some(body) = recorded.json_object() else {
        return Ok(refuse(recorded, &DashScopeError::body_invalid()));
    };
    let prompt_input = read_prompt_input(body.get("input"));
    let prompt = prompt_input
        .as_ref()
        .ok()
        .map(|prompt_input| prompt_input.text.as_str());
    super::note(&recorded, &body, prompt);
    let asynchronous = recorded.parts.headers.get("x-dashscope-async");
    if asynchronous.is_some_and(|value| value.as_bytes() == b"enable") {
        let text = "current user api does not support asynchronous calls.";
        return Ok(refuse(
            recorded,
            &DashScopeError::new(403, "AccessDenied", text),
        ));
    }
    match request(&body, prompt_input) {
        Ok(request) => generate::make(recorded, request).await,
        Err(refused) => Ok(refuse(recorded, &refused)),
    }
}

pub(super) fn error(recorded: &RecordedRequest, error: ImageError) -> Script {
    let mut retry_after = None;
    let blocked = |what: &str| {
        let text = format!("{what} data may contain inappropriate content.");
        DashScopeError::new(400, "DataInspectionFailed", &text)
    };
    let refused = match error {
        ImageError::Upstream(UpstreamError::RateLimited { retry_after_secs }) => {
            retry_after = Some(retry_after_secs);
            DashScopeError::rate_limited()
        }
        ImageError::Upstream(UpstreamError::Status(429)) => DashScopeError::new(
            429,
            "Throttling.AllocationQuota",
            "Allocated quota exceeded.",
        ),
        ImageError::Upstream(UpstreamError::Status(503)) => {
            DashScopeError::new(503, "ServiceUnavailable", "The service is unavailable.")
        }
        ImageError::Upstream(UpstreamError::Status(status)) => DashScopeError::internal(status),
        ImageError::Upstream(UpstreamError::Inside200 { .. }) => DashScopeError::internal(200),
        ImageError::Blocked => blocked("Input"),
        ImageError::AllFailed => blocked("Output"),
    };
    let body = refused.body(&recorded.uuid("request"));
    Script::json(refused.status, retry_after, body.to_string())
}

/// What fails is left out, and `image_count` is smaller. One line of models puts all pictures into one
/// choice, another each into its own.
pub(super) fn answer(
    recorded: &RecordedRequest,
    request: &ImageRequest,
    items: &[Item],
    reported: ReportedCounts,
) -> String {
    let made = items.iter().filter_map(|item| match item {
        Item::Made(content) => Some(content),
        Item::Failed => None,
    });
    let choice = |content: Vec<Value>| {
        let message = json!({ "role": "assistant", "content": content });
        json!({ "finish_reason": "stop", "message": message })
    };
    let is_split = Kind::named(&request.model) == Some(Kind::Wan);
    let choices: Vec<Value> = if is_split {
        made.map(|link| choice(vec![json!({ "type": "image", "image": link })]))
            .collect()
    } else {
        vec![choice(made.map(|link| json!({ "image": link })).collect())]
    };
    let (width, height) = request.size;
    let request_id = recorded.uuid("request");
    let mut answer = json!({
        "output": { "choices": choices },
        "request_id": request_id,
    });
    if let (Some(fields), Some(_)) = (answer.as_object_mut(), reported.factor) {
        let count = reported.times(reported.made);
        let usage = json!({ "image_count": count, "width": width, "height": height });
        fields.insert("usage".to_owned(), usage);
    }
    answer.to_string()
}

fn request(
    body: &Map<String, Value>,
    prompt_input: Result<PromptInput, DashScopeError>,
) -> Result<ImageRequest, DashScopeError> {
    let Some(model) = field(body, "model").and_then(Value::as_str) else {
        return Err(DashScopeError::invalid(
            "Required parameter(model) missing or invalid.",
        ));
    };
    let Some(kind) = Kind::named(model) else {
        return Err(DashScopeError::new(
            404,
            "ModelNotFound",
            "Model can not be found.",
        ));
    };
    let prompt_input = prompt_input?;
    let prompt: String = prompt_input.text.chars().take(MAX_PROMPT).collect();
    let directives =
        ImageDirectives::read(&prompt).map_err(|error| DashScopeError::invalid(&error.0))?;
    let mut request = ImageRequest::new(Vendor::DashScope, model, &prompt, directives);
    if !kind.sources().contains(&prompt_input.sources) {
        let text = "The number of images in the request does not fit the model.";
        return Err(DashScopeError::invalid(text));
    }
    request.sources = prompt_input.sources;
    request.files = prompt_input.files;
    request.fields = kept(&Value::Object(body.clone()));
    request.is_edit = prompt_input.sources > 0;
    request.delivery = Delivery::Link {
        seconds: LINK_SECONDS,
    };
    let none = Map::new();
    let parameters = match field(body, "parameters") {
        None => &none,
        Some(Value::Object(parameters)) => parameters,
        Some(_) => return Err(DashScopeError::invalid("parameters must be an object.")),
    };
    request.count = match field(parameters, "n").map(Value::as_u64) {
        None => kind.usual_count(),
        Some(Some(count)) => match u32::try_from(count) {
            Ok(count) if (1..=kind.max_count()).contains(&count) => count,
            Ok(_) | Err(_) => return Err(kind.wrong_count()),
        },
        Some(None) => return Err(kind.wrong_count()),
    };
    request.size = kind.size(field(parameters, "size"), request.is_edit)?;
    for name in ["prompt_extend", "watermark"] {
        if field(parameters, name).is_some_and(|value| !value.is_boolean()) {
            return Err(DashScopeError::invalid(&format!(
                "{name} must be a boolean."
            )));
        }
    }
    request.is_marked = field(parameters, "watermark") == Some(&Value::Bool(true));
    if field(parameters, "negative_prompt").is_some_and(|value| !value.is_string()) {
        return Err(DashScopeError::invalid("negative_prompt must be a string."));
    }
    request.seed = match field(parameters, "seed").map(Value::as_u64) {
        None => None,
        Some(Some(seed @ 0..=MAX_SEED)) => Some(seed),
        Some(_) => return Err(DashScopeError::invalid("seed must be in [0, 2147483647].")),
    };
    Ok(request)
}

/// One message of the user with one text and perhaps pictures.
fn read_prompt_input(input: Option<&Value>) -> Result<PromptInput, DashScopeError> {
    let wrong = |text: &str| Err(DashScopeError::invalid(text));
    let messages = input.and_then(|input| input.get("messages"));
    let [message] = messages
        .and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice)
    else {
        return wrong("input.messages must have exactly one message.");
    };
    if message.get("role").and_then(Value::as_str) != Some("user") {
        return wrong("Role must be user.");
    }
    let Some(parts) = message.get("content").and_then(Value::as_array) else {
        return wrong("content must be a list.");
    };
    let mut prompt_input = PromptInput {
        text: String::new(),
        sources: 0,
        files: Vec::new(),
    };
    let mut texts = 0u32;
    for part in parts {
        let word = |name: &str| part.get(name).and_then(Value::as_str);
        match (word("text"), word("image")) {
            (Some(text), None) => {
                text.clone_into(&mut prompt_input.text);
                texts = texts.saturating_add(1);
            }
            (None, Some(image)) => {
                match input_images::read(image) {
                    Source::Address => {}
                    Source::Bytes(bytes) => prompt_input.files.push(input_images::hash(&bytes)),
                    Source::Wrong => {
                        let text = "The image url is invalid or the image cannot be decoded.";
                        return Err(DashScopeError::new(400, "InvalidURL", text));
                    }
                }
                prompt_input.sources = prompt_input.sources.saturating_add(1);
            }
            (Some(_) | None, Some(_) | None) => return wrong("content must be text or image."),
        }
    }
    if texts != 1 || prompt_input.text.is_empty() {
        return wrong("content must have exactly one text, which is not empty.");
    }
    Ok(prompt_input)
}

fn refuse(recorded: RecordedRequest, refused: &DashScopeError) -> VendorResponse {
    let body = refused.body(&recorded.uuid("request"));
    recorded.play(Script::json(refused.status, None, body.to_string()), None)
}
