//! `DashScope`'s recognition of whole files, as a task: it is submitted with our link and polled until it
//! ends, and its transcript is at a URL.
//!
//! Two ways, by which models differ: a list of links in `file_urls` (Paraformer, Fun-ASR; way `file`) and one
//! in `file_url` (Qwen's file transcription; way `file_url`). Responses of both forms are read. Unknown
//! states mean that the task is running, `UNKNOWN` among them. Sentences have times in milliseconds, so
//! subtitles can be made. A recording without speech is an empty transcript. That the vendor could not
//! fetch the file is not the caller's fault: the link is ours.

use serde_json::{Map, Value, json};
use trunkline_catalog::{FieldNote, RequestError};

use super::{FOREIGN, check_endpoint, unlinked};
use crate::encoding::is_link;
use crate::encoding::put;
use crate::error_mapping::{self, error_at, garbage};
use crate::field_policy::{carried, not_sent};
use crate::transcription::{
    NextStep, Protocol, Segment, Stage, Transcript, TranscriptionRequest, UploadMode,
};
use crate::vendor_failure::VendorFailure;
use crate::vendor_http::{
    Encoded, VendorError, VendorRequest, VendorResponse, filled_at, path_part, text_at,
};

/// The protocol with a list of links.
pub(super) const LIST: Protocol = Protocol {
    format: "dashscope_transcription",
    recognition: "file",
    upload_mode: UploadMode::Link,
    encode: encode_list,
    decode,
};

/// The protocol with one link.
pub(super) const SINGLE: Protocol = Protocol {
    format: "dashscope_transcription",
    recognition: "file_url",
    upload_mode: UploadMode::Link,
    encode: encode_single,
    decode,
};

const PATH: &str = "/services/audio/asr/transcription";
/// Sentences that are looked at; an hour of speech has about a thousand.
const MAX_SEGMENTS: usize = 100_000;

fn encode_list(
    request: &TranscriptionRequest,
    model: &str,
    link: Option<&str>,
) -> Result<Encoded, RequestError> {
    let link = link.ok_or_else(unlinked)?;
    let hints = request.language.as_ref();
    let hints = hints.map(|language| ("language_hints", json!([language])));
    encode(request, model, json!({ "file_urls": [link] }), hints)
}

fn encode_single(
    request: &TranscriptionRequest,
    model: &str,
    link: Option<&str>,
) -> Result<Encoded, RequestError> {
    let link = link.ok_or_else(unlinked)?;
    let language = request.language.as_ref();
    let language = language.map(|language| ("language", json!(language)));
    encode(request, model, json!({ "file_url": link }), language)
}

fn encode(
    request: &TranscriptionRequest,
    model: &str,
    input: Value,
    language: Option<(&str, Value)>,
) -> Result<Encoded, RequestError> {
    check_endpoint(request)?;
    let mut notes: Vec<FieldNote> = Vec::new();
    if request.prompt.is_some() {
        notes.push(not_sent("prompt"));
    }
    let mut parameters = carried(&request.extras, &FOREIGN, &mut notes);
    if let Some((name, value)) = language {
        put(&mut parameters, name, value);
    }
    let mut body = Map::new();
    put(&mut body, "model", model);
    put(&mut body, "input", input);
    put(&mut body, "parameters", parameters);
    // Without it the upstream refuses: files are never recognised in one call.
    let call = VendorRequest::post(PATH, &body).with("X-DashScope-Async", "enable");
    Ok(Encoded {
        request: call,
        notes,
    })
}

fn decode(
    _ask: &TranscriptionRequest,
    stage: Stage,
    response: &VendorResponse<'_>,
) -> Result<NextStep, VendorFailure> {
    if !response.is_success() {
        return Err(match stage {
            Stage::Begun | Stage::Polled => error_mapping::dashscope(response),
            // The caller cannot correct errors of a file store.
            Stage::Fetched => garbage(response, "the transcript could not be fetched"),
        });
    }
    let body = response.json();
    match stage {
        Stage::Begun | Stage::Polled => state(response, &body),
        Stage::Fetched => transcript(response, &body).map(NextStep::Done),
    }
}

fn state(response: &VendorResponse<'_>, body: &Value) -> Result<NextStep, VendorFailure> {
    let Some(id) = filled_at(body, "/output/task_id") else {
        return Err(garbage(response, "an answer without a task"));
    };
    if is_silent(body) {
        return Ok(NextStep::Done(Transcript::default()));
    }
    let state = text_at(body, "/output/task_status").unwrap_or_default();
    match state.to_ascii_uppercase().as_str() {
        "SUCCEEDED" => succeeded(response, body),
        "FAILED" => Err(failed(response, body)),
        "CANCELED" | "CANCELLED" => {
            let text = "the upstream cancelled the task";
            Err(VendorFailure::Failed(VendorError::new(
                400, "Canceled", text,
            )))
        }
        // `PENDING`, `RUNNING`, and every unknown state.
        _ => {
            let path = format!("/tasks/{}", path_part(&id));
            Ok(NextStep::Poll(VendorRequest::get(path)))
        }
    }
}

/// Whether the recording has no speech, which some models report with a code of its own.
fn is_silent(body: &Value) -> bool {
    let places = ["/output/results/0/code", "/output/code"];
    let mut codes = places.iter().filter_map(|place| text_at(body, place));
    codes.any(|code| code.ends_with("NO_VALID_FRAGMENT"))
}

fn succeeded(response: &VendorResponse<'_>, body: &Value) -> Result<NextStep, VendorFailure> {
    let places = [
        "/output/results/0/transcription_url",
        "/output/result/transcription_url",
    ];
    let mut links = places.iter().filter_map(|place| text_at(body, place));
    match links.find(|link| is_link(link)) {
        Some(link) => Ok(NextStep::Fetch(link)),
        // The task has ended well, and its one file has not.
        None if body.pointer("/output/results/0/code").is_some() => Err(failed(response, body)),
        None => Err(garbage(response, "a finished task without a transcript")),
    }
}

/// Why there is no transcript: the file's own reason, or the task's.
fn failed(response: &VendorResponse<'_>, body: &Value) -> VendorFailure {
    let inner = body.pointer("/output/results/0/code").is_some();
    let place = if inner {
        "/output/results/0"
    } else {
        "/output"
    };
    let why = error_at(response, body, place);
    let code = why.code.to_ascii_uppercase();
    if code.contains("DOWNLOAD") {
        return VendorFailure::Failed(why);
    }
    let file = ["FILE_", "UNSUPPORTED_FORMAT", "DECODE", "AUDIO_"];
    if file.iter().any(|word| code.contains(word)) {
        return VendorFailure::Refused(why);
    }
    error_mapping::dashscope_by_code(response, why)
}

fn transcript(response: &VendorResponse<'_>, body: &Value) -> Result<Transcript, VendorFailure> {
    let Some(channels) = body.get("transcripts").and_then(Value::as_array) else {
        return Err(garbage(response, "a file without transcripts"));
    };
    let texts = channels.iter().filter_map(|one| text_at(one, "/text"));
    let texts: Vec<String> = texts.filter(|text| !text.is_empty()).collect();
    let sentences = channels
        .iter()
        .filter_map(|one| one.get("sentences")?.as_array());
    let sentences: Vec<&Value> = sentences.flatten().take(MAX_SEGMENTS).collect();
    let mut segments: Vec<Segment> = sentences.iter().filter_map(|one| segment(one)).collect();
    // Channels stand one after the other; subtitles do not.
    segments.sort_by_key(|segment| segment.start_ms);
    let language = sentences.iter().find_map(|one| text_at(one, "/language"));
    Ok(Transcript {
        text: texts.join("\n"),
        language,
        segments,
        own: None,
    })
}

fn segment(sentence: &Value) -> Option<Segment> {
    let millis = |name: &str| sentence.get(name).and_then(Value::as_u64);
    let start_ms = millis("begin_time")?;
    Some(Segment {
        start_ms,
        end_ms: millis("end_time")?.max(start_ms),
        text: text_at(sentence, "/text")?,
    })
}
