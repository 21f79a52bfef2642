//! OpenAI's audio: `POST /v1/audio/speech`, `/v1/audio/transcriptions`, `/v1/audio/translations`. Fields
//! and events are the SDK's; wordings and counts are [unverified].

mod hearing;
mod speech;
mod written;

use http::{Method, Response};

use super::meeting::Trouble;
use super::upload::Upload;
use crate::headers::last_four;
use crate::played::{Cut, Played};
use crate::refusal::Refusal;
use crate::script::Script;
use crate::server::Read;

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

/// Everything but uploads.
pub(super) async fn serve(read: Read) -> Result<Response<Played>, Cut> {
    if let Some(refusal) = stranger(&read) {
        return Ok(read.refuse(&refusal));
    }
    let path = read.parts.uri.path();
    if path == SPEECH && read.parts.method == Method::POST {
        return speech::serve(read).await;
    }
    let refusal = Refusal::wrong_method(read.parts.method.as_str(), path);
    Ok(read.refuse(&refusal))
}

/// A file that was read already.
pub(super) async fn hear(read: Read, upload: Upload) -> Result<Response<Played>, Cut> {
    if let Some(refusal) = stranger(&read) {
        return Ok(read.refuse(&refusal));
    }
    let is_translation = read.parts.uri.path() == TRANSLATIONS;
    hearing::serve(read, upload, is_translation).await
}

fn stranger(read: &Read) -> Option<Refusal> {
    if read.key.is_empty() {
        return Some(Refusal::no_key());
    }
    let is_known = read.house.accepts(&read.key);
    (!is_known).then(|| Refusal::wrong_key(&last_four(&read.key)))
}

/// What comes instead of an answer, in the vendor's words.
fn trouble(trouble: Trouble, model: &str) -> Script {
    match trouble {
        Trouble::RateLimited { retry_after_secs } => {
            Script::refusal(&Refusal::rate_limited(model, retry_after_secs))
        }
        Trouble::Status(status) => Script::refusal(&Refusal::with_status(status, model)),
        Trouble::Inside200 { code: None } => Script::json(200, None, Refusal::after_ok().body()),
        Trouble::Inside200 { code: Some(code) } => {
            Script::json(200, None, Refusal::base_resp(code))
        }
    }
}
