//! `MiniMax`'s pictures: `POST /v1/image_generation`. Everything is answered with status 200, and
//! `base_resp` says what is wrong; counts are text. Written after the vendor's documents (October
//! 2026), nothing was called live: wordings are [unverified].

use http::Method;
use serde_json::{Map, Value, json};

use super::directives::ImageDirectives;
use super::generate;
use super::input_images::{self, Source};
use super::request::{Delivery, ImageError, ImageRequest, Item, ReportedCounts, Vendor};
use super::{field, kept};
use crate::fault_stage::UpstreamError;
use crate::picture::Format;
use crate::recorded_request::RecordedRequest;
use crate::script::Script;
use crate::scripted_body::{VendorResponse, VendorResult};

const PATH: &str = "/v1/image_generation";
const USUAL: &str = "image-01";
const LIVE: &str = "image-01-live";
const MAX_PROMPT: usize = 1_500;
const MAX_COUNT: u64 = 9;
const SIDES: std::ops::RangeInclusive<u64> = 512..=2_048;
const STEP: u64 = 8;
const LINK_SECONDS: u64 = 86_400;
const INTERNAL: u64 = 1_024;
const LIMITED: u64 = 1_002;
const INPUT_BLOCKED: u64 = 1_026;
const OUTPUT_BLOCKED: u64 = 1_027;
const INVALID: u64 = 2_013;

/// Why something is refused: the number and the text.
type Refused = (u64, String);

pub(super) fn owns(path: &str) -> bool {
    path == PATH
}

pub(super) async fn serve(recorded: RecordedRequest) -> VendorResult {
    if recorded.key.is_empty() {
        let text = "login fail: Please carry the API secret key in the 'Authorization' field";
        return Ok(refuse(recorded, 1_004, text));
    }
    if !recorded.state.accepts(&recorded.key) {
        return Ok(refuse(recorded, 2_049, "invalid api key"));
    }
    if recorded.parts.method != Method::POST {
        let body = json!({ "error": "404 page not found" }).to_string();
        return Ok(recorded.play(Script::json(404, None, body), None));
    }
    let Some(body) = recorded.json_object() else {
        return Ok(refuse(
            recorded,
            INVALID,
            "invalid params, body is not JSON",
        ));
    };
    let prompt = body.get("prompt").and_then(Value::as_str);
    super::note(&recorded, &body, prompt);
    match request(&body) {
        Ok(request) => generate::make(recorded, request).await,
        Err((code, text)) => Ok(refuse(recorded, code, &text)),
    }
}

pub(super) fn error(recorded: &RecordedRequest, error: ImageError) -> Script {
    let (status, retry_after, code, text) = match error {
        // This vendor tells of its limits under status 200.
        ImageError::Upstream(UpstreamError::RateLimited { retry_after_secs }) => {
            let text = "rate limit exceeded(RPM)";
            (200, Some(retry_after_secs), LIMITED, text)
        }
        ImageError::Upstream(UpstreamError::Status(429)) => {
            (429, None, LIMITED, "rate limit exceeded(RPM)")
        }
        ImageError::Upstream(UpstreamError::Status(status)) => {
            (status, None, INTERNAL, "internal error")
        }
        ImageError::Upstream(UpstreamError::Inside200 { code: None }) => {
            (200, None, INTERNAL, "internal error")
        }
        ImageError::Upstream(UpstreamError::Inside200 { code: Some(code) }) => {
            (200, None, u64::from(code), "the code that was asked for")
        }
        ImageError::Blocked => (200, None, INPUT_BLOCKED, "input new_sensitive"),
        ImageError::AllFailed => (200, None, OUTPUT_BLOCKED, "output new_sensitive"),
    };
    Script::json(status, retry_after, wrong(recorded, code, text))
}

pub(super) fn answer(
    recorded: &RecordedRequest,
    request: &ImageRequest,
    items: &[Item],
    reported: ReportedCounts,
) -> String {
    let made: Vec<&String> = items
        .iter()
        .filter_map(|item| match item {
            Item::Made(content) => Some(content),
            Item::Failed => None,
        })
        .collect();
    let data = match request.delivery {
        Delivery::Link { .. } => json!({ "image_urls": made }),
        Delivery::Base64 => json!({ "image_base64": made }),
    };
    let metadata = json!({
        "failed_count": reported.failed.to_string(),
        "success_count": reported.times(reported.made).to_string(),
    });
    let well = json!({ "status_code": 0, "status_msg": "success" });
    let mut answer = json!({ "id": id(recorded), "data": data, "base_resp": well });
    if let (Some(fields), Some(_)) = (answer.as_object_mut(), reported.factor) {
        fields.insert("metadata".to_owned(), metadata);
    }
    answer.to_string()
}

/// Names that the vendor does not know are ignored.
fn request(body: &Map<String, Value>) -> Result<ImageRequest, Refused> {
    let invalid = |what: &str| (INVALID, format!("invalid params, {what}"));
    let text = |name: &str| match field(body, name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str())),
        Some(_) => Err(invalid(name)),
    };
    let Some(model @ (USUAL | LIVE)) = text("model")? else {
        return Err(invalid("model"));
    };
    let prompt = text("prompt")?.unwrap_or_default();
    if prompt.is_empty() || prompt.chars().count() > MAX_PROMPT {
        return Err(invalid("prompt"));
    }
    let directives = ImageDirectives::read(prompt).map_err(|error| (INVALID, error.0))?;
    let mut request = ImageRequest::new(Vendor::MiniMax, model, prompt, directives);
    request.format = Format::Jpeg;
    request.count = match field(body, "n").map(Value::as_u64) {
        None => 1,
        Some(Some(count @ 1..=MAX_COUNT)) => u32::try_from(count).unwrap_or(1),
        Some(_) => return Err(invalid("n")),
    };
    request.size = size(body, model == USUAL, text("aspect_ratio")?)?;
    request.delivery = match text("response_format")? {
        None | Some("url") => Delivery::Link {
            seconds: LINK_SECONDS,
        },
        Some("base64") => Delivery::Base64,
        Some(_) => return Err(invalid("response_format")),
    };
    for name in ["prompt_optimizer", "aigc_watermark"] {
        if field(body, name).is_some_and(|value| !value.is_boolean()) {
            return Err(invalid(name));
        }
    }
    request.is_marked = field(body, "aigc_watermark") == Some(&Value::Bool(true));
    request.seed = match field(body, "seed") {
        None => None,
        Some(seed) if seed.is_i64() || seed.is_u64() => seed.as_i64().map(i64::unsigned_abs),
        Some(_) => return Err(invalid("seed")),
    };
    request.files =
        subjects(body, &mut request.sources).ok_or_else(|| invalid("subject_reference"))?;
    request.is_edit = request.sources > 0;
    request.fields = kept(&Value::Object(body.clone()));
    Ok(request)
}

/// A ratio goes before width and height, which come together and for one model alone.
fn size(
    body: &Map<String, Value>,
    is_usual: bool,
    ratio: Option<&str>,
) -> Result<(u32, u32), Refused> {
    let invalid = |what: &str| (INVALID, format!("invalid params, {what}"));
    if let Some(ratio) = ratio {
        return match ratio {
            "1:1" => Ok((1024, 1024)),
            "16:9" => Ok((1280, 720)),
            "4:3" => Ok((1152, 864)),
            "3:2" => Ok((1248, 832)),
            "2:3" => Ok((832, 1248)),
            "3:4" => Ok((864, 1152)),
            "9:16" => Ok((720, 1280)),
            "21:9" if is_usual => Ok((1344, 576)),
            _ => Err(invalid("aspect_ratio")),
        };
    }
    let side = |name: &str| match field(body, name).map(Value::as_u64) {
        None => Ok(None),
        Some(Some(pixels)) if SIDES.contains(&pixels) && pixels.is_multiple_of(STEP) => {
            Ok(u32::try_from(pixels).ok())
        }
        Some(_) => Err(invalid(name)),
    };
    match (side("width")?, side("height")?) {
        (None, None) => Ok((1024, 1024)),
        (Some(width), Some(height)) if is_usual => Ok((width, height)),
        (Some(_) | None, Some(_) | None) => Err(invalid("width and height")),
    }
}

/// Counts the references, and gives the hashes of those that are bytes; none if one is wrong.
fn subjects(body: &Map<String, Value>, number: &mut u32) -> Option<Vec<String>> {
    let list = match field(body, "subject_reference") {
        None => return Some(Vec::new()),
        Some(Value::Array(list)) => list,
        Some(_) => return None,
    };
    let mut files = Vec::new();
    for entry in list {
        let word = |name: &str| entry.get(name).and_then(Value::as_str);
        if word("type") != Some("character") {
            return None;
        }
        match input_images::read(word("image_file")?) {
            Source::Address => {}
            Source::Bytes(bytes) => files.push(input_images::hash(&bytes)),
            Source::Wrong => return None,
        }
        *number = number.saturating_add(1);
    }
    Some(files)
}

fn refuse(recorded: RecordedRequest, code: u64, text: &str) -> VendorResponse {
    let script = Script::json(200, None, wrong(&recorded, code, text));
    recorded.play(script, None)
}

fn wrong(recorded: &RecordedRequest, code: u64, text: &str) -> String {
    let base = json!({ "status_code": code, "status_msg": text });
    json!({ "id": id(recorded), "base_resp": base }).to_string()
}

/// 32 digits, as the vendor's are.
fn id(recorded: &RecordedRequest) -> String {
    recorded.uuid("image").replace('-', "")
}
