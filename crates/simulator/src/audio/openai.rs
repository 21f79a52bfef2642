//! OpenAI's audio: `POST /v1/audio/speech`, `/v1/audio/transcriptions`, `/v1/audio/translations`. Fields
//! and events are the SDK's; wordings and counts are [unverified].

mod formats;
mod speech;
mod transcription;

use http::Method;

use super::upload::Upload;
use crate::headers::last_four;
use crate::recorded_request::RecordedRequest;
use crate::refusal::Refusal;
use crate::scripted_body::VendorResult;

const VENDOR: &str = "openai";
const SPEECH: &str = "/v1/audio/speech";
const TRANSCRIPTIONS: &str = "/v1/audio/transcriptions";
const TRANSLATIONS: &str = "/v1/audio/translations";

pub(super) fn owns(path: &str) -> bool {
    path == SPEECH || takes_uploads(path)
}

pub(super) fn takes_uploads(path: &str) -> bool {
    path == TRANSCRIPTIONS || path == TRANSLATIONS
}

pub(super) async fn serve(recorded: RecordedRequest) -> VendorResult {
    if let Some(refusal) = stranger(&recorded) {
        return Ok(recorded.refuse(&refusal));
    }
    let path = recorded.parts.uri.path();
    if path == SPEECH && recorded.parts.method == Method::POST {
        return speech::serve(recorded).await;
    }
    let refusal = Refusal::wrong_method(recorded.parts.method.as_str(), path);
    Ok(recorded.refuse(&refusal))
}

/// A file that was read already.
pub(super) async fn transcribe(recorded: RecordedRequest, upload: Upload) -> VendorResult {
    if let Some(refusal) = stranger(&recorded) {
        return Ok(recorded.refuse(&refusal));
    }
    let is_translation = recorded.parts.uri.path() == TRANSLATIONS;
    transcription::serve(recorded, upload, is_translation).await
}

fn stranger(recorded: &RecordedRequest) -> Option<Refusal> {
    if recorded.key.is_empty() {
        return Some(Refusal::no_key());
    }
    let is_known = recorded.state.accepts(&recorded.key);
    (!is_known).then(|| Refusal::wrong_key(&last_four(&recorded.key)))
}
