//! What is sent and what comes of it, as JSON beside which a case can write what it expects.

use serde_json::{Map, Value, json};
use trunkline_catalog::RequestError;
use trunkline_generation::images::{GeneratedImages, Image, ImageSource};
use trunkline_generation::speech::AudioChunk;
use trunkline_generation::transcription::{NextStep, Transcript};
use trunkline_generation::vendor_http::{UrlPath, VendorError};
use trunkline_generation::{Content, Encoded, Part, VendorFailure, VendorRequest};

use crate::records::telling;

pub(crate) fn encoded(outcome: &Result<Encoded, RequestError>) -> Value {
    match outcome {
        Ok(encoded) => {
            let mut view = request(&encoded.request);
            let notes = telling(&encoded.notes);
            if notes != json!([]) {
                view["notes"] = notes;
            }
            view
        }
        Err(refusal) => {
            assert!(!refusal.fix.is_empty(), "{refusal:?} has no fix");
            json!({ "refused": [refusal.code, refusal.param] })
        }
    }
}

pub(crate) fn request(request: &VendorRequest) -> Value {
    let call = request;
    let at = match &call.path {
        UrlPath::Base(path) => format!("base {path}"),
        UrlPath::Host(path) => format!("host {path}"),
    };
    let mut view = json!({ "to": format!("{:?} {at}", call.method) });
    if !call.headers.is_empty() {
        let headers = call.headers.iter();
        let headers: Map<_, _> = headers
            .map(|(name, value)| ((*name).to_owned(), json!(value)))
            .collect();
        view["headers"] = Value::Object(headers);
    }
    if let Some(body) = &call.body {
        view["body"] = serde_json::from_slice(body).unwrap();
    }
    if let Some(parts) = &request.form {
        assert_eq!(call.body, None, "either JSON or a form");
        view["parts"] = parts.iter().map(part).collect();
    }
    view
}

fn part(part: &Part) -> Value {
    match &part.content {
        Content::Text(text) => json!([part.name, text]),
        Content::File {
            name,
            content_type,
            bytes,
        } => json!([part.name, name, content_type, bytes.len()]),
        Content::Upload { name, content_type } => json!([part.name, name, content_type, "upload"]),
    }
}

pub(crate) fn made(outcome: &Result<GeneratedImages, VendorFailure>) -> Value {
    match outcome {
        Ok(made) => {
            let pictures: Value = made.pictures.iter().map(picture).collect();
            let mut view = json!({ "made": pictures, "failed": made.failed });
            if let Some(why) = &made.why {
                view["why"] = json!(why);
            }
            view
        }
        Err(failure) => self::failure(failure),
    }
}

fn picture(image: &Image) -> Value {
    let at = match &image.at {
        ImageSource::Link(link) => json!(link),
        ImageSource::Held(bytes) => json!(String::from_utf8_lossy(bytes)),
    };
    match &image.revised_prompt {
        Some(prompt) => json!([at, prompt]),
        None => at,
    }
}

pub(crate) fn spoken(outcome: &Result<AudioChunk, VendorFailure>) -> Value {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match outcome {
        Ok(AudioChunk::Audio(bytes)) => json!({ "audio": text(bytes) }),
        Ok(AudioChunk::Last(bytes)) => json!({ "last": text(bytes) }),
        Ok(AudioChunk::Link(link)) => json!({ "link": link }),
        Ok(AudioChunk::Nothing) => json!("nothing"),
        Ok(AudioChunk::Done) => json!("done"),
        Err(failure) => self::failure(failure),
    }
}

pub(crate) fn turn(outcome: &Result<NextStep, VendorFailure>) -> Value {
    match outcome {
        Ok(NextStep::Done(transcript)) => json!({ "done": self::transcript(transcript) }),
        Ok(NextStep::Poll(request)) => json!({ "ask": self::request(request)["to"] }),
        Ok(NextStep::Fetch(link)) => json!({ "fetch": link }),
        Err(failure) => self::failure(failure),
    }
}

fn transcript(transcript: &Transcript) -> Value {
    let mut view = json!({ "text": transcript.text });
    if let Some(language) = &transcript.language {
        view["language"] = json!(language);
    }
    if !transcript.segments.is_empty() {
        let segments = transcript.segments.iter();
        let segments = segments.map(|one| json!([one.start_ms, one.end_ms, one.text]));
        view["segments"] = segments.collect();
    }
    if let Some((content_type, bytes)) = &transcript.own {
        let text = String::from_utf8_lossy(bytes);
        let body: Value = serde_json::from_str(&text).unwrap_or_else(|_| json!(text));
        view["own"] = json!([content_type, body]);
    }
    view
}

pub(crate) fn failure(failure: &VendorFailure) -> Value {
    let words = |error: &VendorError| {
        assert!(!error.message.is_empty() && error.status >= 400);
        json!([error.status, error.code])
    };
    match failure {
        VendorFailure::Refused(error) => json!({ "refused": words(error) }),
        VendorFailure::Limited { retry_after } => json!({ "limited": retry_after }),
        VendorFailure::Credential(error) => json!({ "credential": words(error) }),
        VendorFailure::Busy(error) => json!({ "busy": words(error) }),
        VendorFailure::Failed(error) => json!({ "failed": words(error) }),
    }
}
