//! OpenAI's transcription and translation, and vendors with the same API: a form at `/audio/transcriptions`
//! or `/audio/translations`, and one response in the requested format.
//!
//! The caller's `response_format` is passed on, so the response is in the caller's format already and its bytes
//! are relayed. Of an object `usage` becomes ours: it is what is billed. A list goes as one part for each
//! member. A response in another format is a failure.

use bytes::Bytes;
use serde_json::Value;
use trunkline_catalog::RequestError;

use super::file_part;
use crate::error_mapping::{self, garbage};
use crate::transcription::render::usage;
use crate::transcription::{
    NextStep, Protocol, Stage, Transcript, TranscriptFormat, TranscriptionEndpoint,
    TranscriptionRequest, UploadMode,
};
use crate::vendor_failure::VendorFailure;
use crate::vendor_http::{Encoded, Part, VendorRequest, VendorResponse, parts_of, text_at};

pub(super) const PROTOCOL: Protocol = Protocol {
    format: "openai_transcription",
    recognition: "",
    upload_mode: UploadMode::Form,
    encode,
    decode,
};

const JSON: &str = "application/json";
const PLAIN: &str = "text/plain; charset=utf-8";

fn encode(
    request: &TranscriptionRequest,
    model: &str,
    _link: Option<&str>,
) -> Result<Encoded, RequestError> {
    let path = match request.endpoint {
        TranscriptionEndpoint::Transcriptions => "/audio/transcriptions",
        TranscriptionEndpoint::Translations => "/audio/translations",
    };
    let mut parts = vec![
        Part::text("model", model),
        Part::text("response_format", request.format.as_str()),
    ];
    for (name, text) in [("language", &request.language), ("prompt", &request.prompt)] {
        parts.extend(text.iter().map(|text| Part::text(name, text)));
    }
    for (name, value) in &request.extras {
        parts.extend(parts_of(name, value));
    }
    // Last, so that a reader knows what it is for before it comes.
    parts.push(file_part(&request.upload));
    Ok(Encoded {
        request: VendorRequest::post_form(path, parts),
        notes: Vec::new(),
    })
}

fn decode(
    request: &TranscriptionRequest,
    _stage: Stage,
    response: &VendorResponse<'_>,
) -> Result<NextStep, VendorFailure> {
    if !response.is_success() {
        return Err(error_mapping::openai(response));
    }
    let transcript = match request.format {
        TranscriptFormat::Json | TranscriptFormat::VerboseJson => object(request, response)?,
        TranscriptFormat::Text | TranscriptFormat::Srt | TranscriptFormat::Vtt => {
            plain(request, response)?
        }
    };
    Ok(NextStep::Done(transcript))
}

fn object(
    request: &TranscriptionRequest,
    response: &VendorResponse<'_>,
) -> Result<Transcript, VendorFailure> {
    let body = response.json();
    let text = body.get("text").and_then(Value::as_str).map(str::to_owned);
    let (Some(text), Value::Object(mut map)) = (text, body.clone()) else {
        return Err(garbage(response, "an answer without a text"));
    };
    map.insert("usage".to_owned(), usage(request));
    let own = Value::Object(map).to_string();
    Ok(Transcript {
        text,
        language: text_at(&body, "/language"),
        segments: Vec::new(),
        own: Some((JSON, Bytes::from(own))),
    })
}

fn plain(
    request: &TranscriptionRequest,
    response: &VendorResponse<'_>,
) -> Result<Transcript, VendorFailure> {
    let Ok(text) = std::str::from_utf8(response.body) else {
        return Err(garbage(response, "an answer that is no text"));
    };
    let start = text.trim_start_matches('\u{feff}').trim_start();
    let fits = match request.format {
        TranscriptFormat::Vtt => start.starts_with("WEBVTT"),
        // Silence has no lines at all.
        TranscriptFormat::Srt => start.is_empty() || start.contains("-->"),
        // A page of some middlebox is no transcript.
        TranscriptFormat::Text | TranscriptFormat::Json | TranscriptFormat::VerboseJson => {
            !start.starts_with("<!")
        }
    };
    if !fits {
        return Err(garbage(
            response,
            "an answer in another form than was asked for",
        ));
    }
    Ok(Transcript {
        text: text.trim_end().to_owned(),
        language: None,
        segments: Vec::new(),
        own: Some((PLAIN, Bytes::copy_from_slice(response.body))),
    })
}
