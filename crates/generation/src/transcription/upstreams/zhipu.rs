//! Zhipu's transcription: a form at `/audio/transcriptions`, and one object with a text.
//!
//! It reports no times, does not translate and takes no language; a prompt is the preceding text.
//! Errors are OpenAI's form with numbers.

use serde_json::Value;
use trunkline_catalog::{FieldNote, RequestError};

use super::{FOREIGN, check_endpoint, file_part};
use crate::error_mapping::{self, garbage};
use crate::field_policy::{carried, not_sent};
use crate::transcription::render::timeless;
use crate::transcription::{
    NextStep, Protocol, Stage, Transcript, TranscriptionRequest, UploadMode,
};
use crate::vendor_failure::VendorFailure;
use crate::vendor_http::{Encoded, Part, VendorRequest, VendorResponse, parts_of};

pub(super) const PROTOCOL: Protocol = Protocol {
    format: "zhipu_transcription",
    recognition: "",
    upload_mode: UploadMode::Form,
    encode,
    decode,
};

fn encode(
    request: &TranscriptionRequest,
    model: &str,
    _link: Option<&str>,
) -> Result<Encoded, RequestError> {
    check_endpoint(request)?;
    if request.format.has_times() {
        return Err(timeless(request.format));
    }
    let mut notes: Vec<FieldNote> = Vec::new();
    if request.language.is_some() {
        notes.push(not_sent("language"));
    }
    let extras = carried(&request.extras, &FOREIGN, &mut notes);
    let mut parts = vec![Part::text("model", model), Part::text("stream", "false")];
    parts.extend(request.prompt.iter().map(|text| Part::text("prompt", text)));
    for (name, value) in &extras {
        parts.extend(parts_of(name, value));
    }
    parts.push(file_part(&request.upload));
    Ok(Encoded {
        request: VendorRequest::post_form("/audio/transcriptions", parts),
        notes,
    })
}

fn decode(
    _ask: &TranscriptionRequest,
    _stage: Stage,
    response: &VendorResponse<'_>,
) -> Result<NextStep, VendorFailure> {
    let body = response.json();
    if !response.is_success() || body.get("error").is_some_and(Value::is_object) {
        return Err(error_mapping::zhipu(response));
    }
    match body.get("text").and_then(Value::as_str) {
        Some(text) => Ok(NextStep::Done(Transcript {
            text: text.to_owned(),
            ..Transcript::default()
        })),
        None => Err(garbage(response, "an answer without a text")),
    }
}
