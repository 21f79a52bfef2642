//! The vendors. A new one is a file and a line.

mod dashscope;
mod dashscope_file;
mod openai;
mod zhipu;

use trunkline_catalog::RequestError;
use trunkline_probe::Container;

use super::plan::words_of;
use super::{Protocol, TranscriptionRequest, Upload};
use crate::vendor_http::{Content, Part};

pub const ALL: [&Protocol; 5] = [
    &dashscope::PROTOCOL,
    &dashscope_file::LIST,
    &dashscope_file::SINGLE,
    &openai::PROTOCOL,
    &zhipu::PROTOCOL,
];

/// The protocol of a provider file's format and a record's `recognition`.
#[must_use]
pub fn protocol_of(format: &str, recognition: &str) -> Option<&'static Protocol> {
    ALL.into_iter()
        .find(|protocol| protocol.format == format && protocol.recognition == recognition)
}

/// Fields of OpenAI's that no other vendor has.
const FOREIGN: [&str; 6] = [
    "temperature",
    "timestamp_granularities",
    "timestamp_granularities[]",
    "include",
    "include[]",
    "chunking_strategy",
];

/// Refuses a translation, for a vendor that only transcribes.
fn untranslated() -> RequestError {
    let text = "the vendor of this model writes down what is said and does not translate it";
    let refusal = RequestError::new("translation_unsupported", "model", text);
    refusal.with_fix("use /v1/audio/transcriptions, or a model that translates")
}

/// A protocol that is handed a link and got none.
fn unlinked() -> RequestError {
    let text = "the recording cannot be handed to this model's vendor";
    RequestError::new("upload_link_missing", "file", text)
}

/// The recording as a part of a form. Vendors go by the ending of its name: one that does not fit what the
/// file is gets another name.
fn file_part(upload: &Upload) -> Part {
    let words = words_of(upload.measurement.container);
    let ending = upload.name.rsplit_once('.').map(|(_, ending)| ending);
    let fits = |ending: &str| words.iter().any(|word| ending.eq_ignore_ascii_case(word));
    let usual = words.first().copied().unwrap_or("bin");
    let name = if ending.is_some_and(fits) {
        upload.name.clone()
    } else {
        format!("audio.{usual}")
    };
    let response = upload.content_type.as_str();
    let content_type = if response.starts_with("audio/") || response.starts_with("video/") {
        response.to_owned()
    } else {
        type_of(upload.measurement.container).to_owned()
    };
    Part {
        name: "file".to_owned(),
        content: Content::Upload { name, content_type },
    }
}

const fn type_of(container: Container) -> &'static str {
    match container {
        Container::Wav => "audio/wav",
        Container::Mp3 => "audio/mpeg",
        Container::Flac => "audio/flac",
        Container::Ogg => "audio/ogg",
        Container::Mp4 => "audio/mp4",
        Container::WebM => "audio/webm",
        Container::Adts => "audio/aac",
    }
}

/// Whether the caller wants English.
fn check_endpoint(request: &TranscriptionRequest) -> Result<(), RequestError> {
    match request.endpoint {
        super::TranscriptionEndpoint::Transcriptions => Ok(()),
        super::TranscriptionEndpoint::Translations => Err(untranslated()),
    }
}
