//! What is sent and what comes of it, as JSON beside which a case can write what it expects.

use serde_json::{Map, Value, json};
use trunkline_catalog::Refusal;
use trunkline_generation::images::{Image, Made, Where};
use trunkline_generation::speech::Spoken;
use trunkline_generation::transcription::{Transcript, Turn};
use trunkline_generation::vendor_http::{At, Complaint};
use trunkline_generation::{Content, Errand, Part, Trouble, Written};

use crate::records::telling;

pub(crate) fn written(outcome: &Result<Written, Refusal>) -> Value {
    match outcome {
        Ok(written) => {
            let mut told = errand(&written.errand);
            let notes = telling(&written.notes);
            if notes != json!([]) {
                told["notes"] = notes;
            }
            told
        }
        Err(refusal) => {
            assert!(!refusal.fix.is_empty(), "{refusal:?} has no fix");
            json!({ "refused": [refusal.code, refusal.param] })
        }
    }
}

pub(crate) fn errand(errand: &Errand) -> Value {
    let call = &errand.call;
    let at = match &call.at {
        At::Base(path) => format!("base {path}"),
        At::Host(path) => format!("host {path}"),
    };
    let mut told = json!({ "to": format!("{:?} {at}", call.method) });
    if !call.headers.is_empty() {
        let headers = call.headers.iter();
        let headers: Map<_, _> = headers
            .map(|(name, value)| ((*name).to_owned(), json!(value)))
            .collect();
        told["headers"] = Value::Object(headers);
    }
    if let Some(body) = &call.body {
        told["body"] = serde_json::from_slice(body).unwrap();
    }
    if let Some(parts) = &errand.form {
        assert_eq!(call.body, None, "either JSON or a form");
        told["parts"] = parts.iter().map(part).collect();
    }
    told
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

pub(crate) fn made(outcome: &Result<Made, Trouble>) -> Value {
    match outcome {
        Ok(made) => {
            let pictures: Value = made.pictures.iter().map(picture).collect();
            let mut told = json!({ "made": pictures, "failed": made.failed });
            if let Some(why) = &made.why {
                told["why"] = json!(why);
            }
            told
        }
        Err(trouble) => self::trouble(trouble),
    }
}

fn picture(image: &Image) -> Value {
    let at = match &image.at {
        Where::Link(link) => json!(link),
        Where::Held(bytes) => json!(String::from_utf8_lossy(bytes)),
    };
    match &image.revised_prompt {
        Some(prompt) => json!([at, prompt]),
        None => at,
    }
}

pub(crate) fn spoken(outcome: &Result<Spoken, Trouble>) -> Value {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match outcome {
        Ok(Spoken::Audio(bytes)) => json!({ "audio": text(bytes) }),
        Ok(Spoken::Last(bytes)) => json!({ "last": text(bytes) }),
        Ok(Spoken::Link(link)) => json!({ "link": link }),
        Ok(Spoken::Nothing) => json!("nothing"),
        Ok(Spoken::Done) => json!("done"),
        Err(trouble) => self::trouble(trouble),
    }
}

pub(crate) fn turn(outcome: &Result<Turn, Trouble>) -> Value {
    match outcome {
        Ok(Turn::Done(transcript)) => json!({ "done": self::transcript(transcript) }),
        Ok(Turn::Ask(errand)) => json!({ "ask": self::errand(errand)["to"] }),
        Ok(Turn::Fetch(link)) => json!({ "fetch": link }),
        Err(trouble) => self::trouble(trouble),
    }
}

fn transcript(transcript: &Transcript) -> Value {
    let mut told = json!({ "text": transcript.text });
    if let Some(language) = &transcript.language {
        told["language"] = json!(language);
    }
    if !transcript.segments.is_empty() {
        let segments = transcript.segments.iter();
        let segments = segments.map(|one| json!([one.start_ms, one.end_ms, one.text]));
        told["segments"] = segments.collect();
    }
    if let Some((content_type, bytes)) = &transcript.own {
        let text = String::from_utf8_lossy(bytes);
        let body: Value = serde_json::from_str(&text).unwrap_or_else(|_| json!(text));
        told["own"] = json!([content_type, body]);
    }
    told
}

pub(crate) fn trouble(trouble: &Trouble) -> Value {
    let words = |complaint: &Complaint| {
        assert!(!complaint.message.is_empty() && complaint.status >= 400);
        json!([complaint.status, complaint.code])
    };
    match trouble {
        Trouble::Refused(complaint) => json!({ "refused": words(complaint) }),
        Trouble::Limited { retry_after } => json!({ "limited": retry_after }),
        Trouble::Credential(complaint) => json!({ "credential": words(complaint) }),
        Trouble::Busy(complaint) => json!({ "busy": words(complaint) }),
        Trouble::Failed(complaint) => json!({ "failed": words(complaint) }),
    }
}
