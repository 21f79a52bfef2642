//! `DashScope`'s recognition in one call (Qwen): a chat at the root of the host, below `/compatible-mode/v1`,
//! with our link to the recording as `input_audio`.
//!
//! The language goes in `asr_options`, a prompt as the system message [unverified in this form]. What comes
//! is the text, with the language beside it. There are no times and no translation. A caller's
//! `asr_options` go along.

use serde_json::{Map, Value, json};
use trunkline_catalog::{FieldNote, RequestError};

use super::{FOREIGN, check_endpoint, unlinked};
use crate::encoding::put;
use crate::error_mapping::{self, garbage};
use crate::field_policy::carried;
use crate::transcription::render::timeless;
use crate::transcription::{
    NextStep, Protocol, Stage, Transcript, TranscriptionRequest, UploadMode,
};
use crate::vendor_failure::VendorFailure;
use crate::vendor_http::{Encoded, VendorRequest, VendorResponse, text_at};

pub(super) const PROTOCOL: Protocol = Protocol {
    format: "dashscope_transcription",
    recognition: "",
    upload_mode: UploadMode::Link,
    encode,
    decode,
};

const PATH: &str = "/compatible-mode/v1/chat/completions";

fn encode(
    request: &TranscriptionRequest,
    model: &str,
    link: Option<&str>,
) -> Result<Encoded, RequestError> {
    check_endpoint(request)?;
    if request.format.has_times() {
        return Err(timeless(request.format));
    }
    let link = link.ok_or_else(unlinked)?;
    let mut notes: Vec<FieldNote> = Vec::new();
    let mut body = carried(&request.extras, &FOREIGN, &mut notes);
    let mut options = match body.remove("asr_options") {
        Some(Value::Object(options)) => options,
        Some(_) | None => Map::new(),
    };
    if let Some(language) = &request.language {
        put(&mut options, "language", language.as_str());
    }
    if !options.is_empty() {
        put(&mut body, "asr_options", options);
    }
    let hint =
        |text: &String| json!({ "role": "system", "content": [{ "type": "text", "text": text }] });
    let audio = json!({ "type": "input_audio", "input_audio": { "data": link } });
    let recording = json!({ "role": "user", "content": [audio] });
    let messages: Vec<Value> = request.prompt.iter().map(hint).chain([recording]).collect();
    put(&mut body, "model", model);
    put(&mut body, "messages", messages);
    put(&mut body, "stream", false);
    Ok(Encoded {
        request: VendorRequest::post(PATH, &body).at_host(),
        notes,
    })
}

fn decode(
    _ask: &TranscriptionRequest,
    _stage: Stage,
    response: &VendorResponse<'_>,
) -> Result<NextStep, VendorFailure> {
    let body = response.json();
    let is_error = body.get("error").is_some_and(Value::is_object);
    if !response.is_success() || is_error {
        return Err(error_mapping::dashscope(response));
    }
    match content(&body) {
        Some(text) => Ok(NextStep::Done(Transcript {
            text,
            language: text_at(&body, "/choices/0/message/annotations/0/language"),
            ..Transcript::default()
        })),
        None => Err(garbage(response, "an answer without a text")),
    }
}

/// A text, or parts with texts; silence is an empty one.
fn content(body: &Value) -> Option<String> {
    match body.pointer("/choices/0/message/content")? {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
            Some(texts.collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}
