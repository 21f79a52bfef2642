//! What a job is to be, with the vendor's defaults.

use serde_json::{Map, Value};

use crate::refusal::Refusal;

pub(super) struct VideoRequest {
    pub(super) model: String,
    pub(super) seconds: u64,
}

/// What is made where nothing is asked for.
pub(super) const DEFAULT_SIZE: &str = "720x1280";
const DEFAULT_MODEL: &str = "sora-2";
const DEFAULT_SECONDS: u64 = 4;
const MAX_PROMPT: usize = 32_000;
/// Longest video of a relay.
const MAX_SECONDS: u64 = 60;

const SECONDS: [u64; 3] = [4, 8, 12];
const SIZES: [&str; 2] = ["720x1280", "1280x720"];
const PRO_SIZES: [&str; 4] = ["720x1280", "1280x720", "1024x1792", "1792x1024"];
const FIELDS: [&str; 5] = ["model", "prompt", "seconds", "size", "input_reference"];

/// Reads a job or refuses it.
pub(super) fn read(body: &Map<String, Value>) -> Result<VideoRequest, Refusal> {
    let model = text(body, "model")?.unwrap_or(DEFAULT_MODEL);
    let is_relay = model.starts_with("sim-");
    let sizes = match model {
        "sora-2-pro" => PRO_SIZES.as_slice(),
        _ if model.starts_with("sora-2") => SIZES.as_slice(),
        _ if is_relay => [].as_slice(),
        _ => return Err(wrong("model", &format!("Invalid value: '{model}'."))),
    };
    if let Some(name) = body.keys().find(|name| !FIELDS.contains(&name.as_str()))
        && !is_relay
    {
        return Err(wrong(name, &format!("Unknown parameter: '{name}'.")));
    }
    let prompt = text(body, "prompt")?.unwrap_or_default();
    if prompt.is_empty() {
        return Err(wrong("prompt", "Missing required parameter: 'prompt'."));
    }
    if prompt.chars().count() > MAX_PROMPT {
        return Err(wrong("prompt", "Invalid 'prompt': string too long."));
    }
    let seconds = match text(body, "seconds")? {
        None => DEFAULT_SECONDS,
        Some(text) => text
            .parse()
            .ok()
            .filter(|seconds| takes(*seconds, is_relay))
            .ok_or_else(|| wrong("seconds", &format!("Invalid value: '{text}'.")))?,
    };
    let size = text(body, "size")?.unwrap_or(DEFAULT_SIZE);
    if !is_relay && !sizes.contains(&size) {
        return Err(wrong("size", &format!("Invalid value: '{size}'.")));
    }
    match body.get("input_reference") {
        None => {}
        Some(Value::Object(fields)) if is_picture(fields) => {}
        Some(_) => return Err(wrong("input_reference", "Invalid 'input_reference'.")),
    }
    Ok(VideoRequest {
        model: model.to_owned(),
        seconds,
    })
}

fn takes(seconds: u64, is_relay: bool) -> bool {
    if is_relay {
        (1..=MAX_SECONDS).contains(&seconds)
    } else {
        SECONDS.contains(&seconds)
    }
}

/// An address, a file of the vendor's, or a part of a form.
fn is_picture(fields: &Map<String, Value>) -> bool {
    let mut known = ["image_url", "file_id", "file_name"].iter();
    known.any(|name| fields.get(*name).is_some_and(Value::is_string))
}

fn text<'a>(body: &'a Map<String, Value>, name: &str) -> Result<Option<&'a str>, Refusal> {
    match body.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => {
            let message = format!("Invalid type for '{name}': expected a string.");
            Err(Refusal::invalid(name, Some("invalid_type"), message))
        }
    }
}

fn wrong(param: &str, message: &str) -> Refusal {
    Refusal::invalid(param, Some("invalid_value"), message.to_owned())
}
