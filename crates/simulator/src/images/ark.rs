//! Ark's pictures: Seedream at `POST /api/v3/images/generations`. Refusals are `{"error": {"code",
//! "message", "param", "type"}}`; a picture of a series that fails has an `error` in its place. OrderedJson
//! after the vendor's SDK and documents, wordings are recalled: [unverified].

mod models;

use http::Method;
use serde_json::{Map, Value, json};

use super::directives::ImageDirectives;
use super::generate;
use super::input_images::{self, Source};
use super::request::{Delivery, ImageError, ImageRequest, Item, ReportedCounts, Tokens, Vendor};
use super::{field, kept};
use crate::ark_error::ArkError;
use crate::clock;
use crate::fault_stage::UpstreamError;
use crate::recorded_request::RecordedRequest;
use crate::script::Script;
use crate::scripted_body::{VendorResponse, VendorResult};
use models::Kind;

const PATH: &str = "/api/v3/images/generations";
const LINK_SECONDS: u64 = 86_400;
/// Pictures of a series, and with those that were sent.
const MAX_SERIES: u64 = 15;
/// Pictures that may be sent; one line of models takes fewer.
const MAX_SOURCES: u32 = 14;
const PIXELS_PER_TOKEN: u64 = 256;
const MAX_SEED: i64 = 2_147_483_647;
const BLOCKED_OUTPUT: &str = "OutputImageSensitiveContentDetected";
const BLOCKED_TEXT: &str = "The request failed because the output image may contain sensitive \
                            information.";

pub(super) fn owns(path: &str) -> bool {
    path == PATH
}

pub(super) async fn serve(recorded: RecordedRequest) -> VendorResult {
    if recorded.key.is_empty() || !recorded.state.accepts(&recorded.key) {
        return Ok(refuse(recorded, &ArkError::wrong_key()));
    }
    if recorded.parts.method != Method::POST {
        return Ok(refuse(recorded, &ArkError::wrong_method()));
    }
    let Some(body) = recorded.json_object() else {
        let refused = ArkError::invalid("body", "it is not JSON");
        return Ok(refuse(recorded, &refused));
    };
    let prompt = body.get("prompt").and_then(Value::as_str);
    super::note(&recorded, &body, prompt);
    match request(&body) {
        Ok(request) => generate::make(recorded, request).await,
        Err(refused) => Ok(refuse(recorded, &refused)),
    }
}

pub(super) fn error(recorded: &RecordedRequest, error: ImageError) -> Script {
    let mut retry_after = None;
    let (status, code, text) = match error {
        ImageError::Upstream(UpstreamError::RateLimited { retry_after_secs }) => {
            retry_after = Some(retry_after_secs);
            let text = "The requests per minute (RPM) limit of the model is exceeded.";
            (429, "ModelAccountRpmRateLimitExceeded", text)
        }
        ImageError::Upstream(UpstreamError::Status(429)) => {
            (429, "QuotaExceeded", "The quota of the account is used up.")
        }
        ImageError::Upstream(UpstreamError::Status(403)) => (
            403,
            "AccountOverdueError",
            "The account has an overdue balance.",
        ),
        ImageError::Upstream(UpstreamError::Status(503)) => {
            (503, "ServerOverloaded", "The service is overloaded.")
        }
        ImageError::Upstream(UpstreamError::Status(status)) => (
            status,
            "InternalServiceError",
            "The service encountered an unexpected internal error.",
        ),
        ImageError::Upstream(UpstreamError::Inside200 { .. }) => (
            200,
            "InternalServiceError",
            "The service encountered an unexpected internal error.",
        ),
        ImageError::Blocked => (
            400,
            "InputTextSensitiveContentDetected",
            "The request failed because the input text may contain sensitive information.",
        ),
        ImageError::AllFailed => (400, BLOCKED_OUTPUT, BLOCKED_TEXT),
    };
    let refused = ArkError::new(status, code, text.to_owned());
    Script::json(status, retry_after, refused.body(&recorded.id("0217")))
}

pub(super) fn answer(
    recorded: &RecordedRequest,
    request: &ImageRequest,
    items: &[Item],
    reported: ReportedCounts,
) -> String {
    let name = match request.delivery {
        Delivery::Link { .. } => "url",
        Delivery::Base64 => "b64_json",
    };
    let data: Vec<Value> = items
        .iter()
        .map(|item| match item {
            Item::Made(content) => json!({ name: content, "size": request.size_text() }),
            Item::Failed => json!({ "error": { "code": BLOCKED_OUTPUT, "message": BLOCKED_TEXT } }),
        })
        .collect();
    let mut answer = json!({
        "model": request.model,
        "created": clock::seconds(recorded.received_at_micros),
        "data": data,
    });
    if let (Some(fields), Some(_)) = (answer.as_object_mut(), reported.factor) {
        let tokens = reported.times(request.tokens.out.saturating_mul(reported.made));
        let usage = json!({
            "generated_images": reported.times(reported.made),
            "input_images": request.sources,
            "output_tokens": tokens,
            "total_tokens": tokens,
        });
        fields.insert("usage".to_owned(), usage);
    }
    answer.to_string()
}

/// Names that the vendor does not know are ignored, `n` among them.
fn request(body: &Map<String, Value>) -> Result<ImageRequest, ArkError> {
    let text = |name: &'static str| match field(body, name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str())),
        Some(_) => Err(ArkError::invalid(name, "it must be a string")),
    };
    let model = text("model")?.ok_or_else(|| ArkError::missing("model"))?;
    let kind = Kind::named(model)?;
    let prompt = text("prompt")?.ok_or_else(|| ArkError::missing("prompt"))?;
    if prompt.is_empty() {
        return Err(ArkError::invalid("prompt", "it is empty"));
    }
    let directives = ImageDirectives::read(prompt);
    let directives = directives.map_err(|error| ArkError::invalid("prompt", &error.0))?;
    if field(body, "stream") == Some(&Value::Bool(true)) {
        let why = "the simulator cannot do this: pictures are not streamed";
        return Err(ArkError::invalid("stream", why));
    }
    let mut request = ImageRequest::new(Vendor::Ark, model, prompt, directives);
    take_sources(body, &mut request)?;
    request.count = series(body, &request)?;
    request.size = kind.size(text("size")?)?;
    request.format = kind.format(text("output_format")?)?;
    request.delivery = match text("response_format")? {
        None | Some("url") => Delivery::Link {
            seconds: LINK_SECONDS,
        },
        Some("b64_json") => Delivery::Base64,
        Some(_) => return Err(ArkError::invalid("response_format", "url or b64_json")),
    };
    request.is_marked = match field(body, "watermark") {
        None => true,
        Some(Value::Bool(is_marked)) => *is_marked,
        Some(_) => return Err(ArkError::invalid("watermark", "it must be a boolean")),
    };
    request.seed = match field(body, "seed").map(Value::as_i64) {
        None | Some(Some(-1)) => None,
        Some(Some(seed @ 0..=MAX_SEED)) => u64::try_from(seed).ok(),
        Some(_) => return Err(ArkError::invalid("seed", "-1 to 2147483647")),
    };
    request.tokens = Tokens {
        out: request.pixels() / PIXELS_PER_TOKEN,
        ..Tokens::default()
    };
    request.fields = kept(&Value::Object(body.clone()));
    Ok(request)
}

/// One address or several, or pictures themselves.
fn take_sources(body: &Map<String, Value>, request: &mut ImageRequest) -> Result<(), ArkError> {
    let list = match field(body, "image") {
        None => return Ok(()),
        Some(Value::Array(list)) => list.as_slice(),
        Some(one) => std::slice::from_ref(one),
    };
    let wrong = || {
        let why = "each must be an address or a base64-encoded data URL of a picture";
        ArkError::invalid("image", why)
    };
    if list.is_empty() {
        return Err(wrong());
    }
    for entry in list {
        match entry.as_str().map(input_images::read) {
            Some(Source::Address) => {}
            Some(Source::Bytes(bytes)) => request.files.push(input_images::hash(&bytes)),
            Some(Source::Wrong) | None => return Err(wrong()),
        }
        request.sources = request.sources.saturating_add(1);
    }
    if request.sources > MAX_SOURCES {
        return Err(ArkError::invalid("image", "there are more than 14"));
    }
    request.is_edit = true;
    Ok(())
}

/// How many pictures: one, or of a series as many as the model likes, up to a bound.
fn series(body: &Map<String, Value>, request: &ImageRequest) -> Result<u32, ArkError> {
    const MODE: &str = "sequential_image_generation";
    const OPTIONS: &str = "sequential_image_generation_options.max_images";
    match field(body, MODE).map(Value::as_str) {
        None | Some(Some("disabled")) => return Ok(1),
        Some(Some("auto")) => {}
        Some(_) => return Err(ArkError::invalid(MODE, "auto or disabled")),
    }
    let options = field(body, "sequential_image_generation_options");
    let most = options.and_then(|options| options.get("max_images"));
    let most = match most.map(Value::as_u64) {
        None => MAX_SERIES.saturating_sub(request.sources.into()),
        Some(Some(most @ 1..=MAX_SERIES)) => most,
        Some(_) => return Err(ArkError::invalid(OPTIONS, "1 to 15")),
    };
    if most.saturating_add(request.sources.into()) > MAX_SERIES {
        let why = "together with the pictures that were sent there are more than 15";
        return Err(ArkError::invalid(OPTIONS, why));
    }
    let most = u32::try_from(most).unwrap_or(1);
    Ok(request.directives.count.unwrap_or(most).min(most))
}

fn refuse(recorded: RecordedRequest, refused: &ArkError) -> VendorResponse {
    let script = Script::json(refused.status, None, refused.body(&recorded.id("0217")));
    recorded.play(script, None)
}
