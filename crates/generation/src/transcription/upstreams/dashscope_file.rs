//! `DashScope`'s recognition of whole files, as a task: it is submitted with our link, asked for until it has
//! ended, and its transcript lies at an address.
//!
//! Two ways, by which models differ: a list of links in `file_urls` (Paraformer, Fun-ASR; way `file`) and one
//! in `file_url` (Qwen's file transcription; way `file_url`). Answers of both forms are read. States that
//! nobody knows mean that the task goes on, `UNKNOWN` among them. Sentences have times in milliseconds, so
//! subtitles can be made. A recording without speech is a transcript without words. That the vendor could not
//! fetch the file is not the caller's fault: the link is ours.

use crate::vendor_http::{Call, Complaint, Said, path_part, text_at};
use serde_json::{Map, Value, json};
use trunkline_catalog::{Note, Refusal};

use super::{FOREIGN, check_door, put, unlinked};
use crate::coding::is_link;
use crate::complaints::{self, garbage, is_success, told};
use crate::errand::{Errand, Written};
use crate::policy::{carried, not_sent};
use crate::transcription::{Ask, Handing, Protocol, Segment, Stage, Transcript, Turn};
use crate::trouble::Trouble;

/// The protocol with a list of links.
pub(super) const LIST: Protocol = Protocol {
    format: "dashscope_transcription",
    way: "file",
    handing: Handing::Link,
    begin: begin_list,
    read,
};

/// The protocol with one link.
pub(super) const SINGLE: Protocol = Protocol {
    format: "dashscope_transcription",
    way: "file_url",
    handing: Handing::Link,
    begin: begin_single,
    read,
};

const PATH: &str = "/services/audio/asr/transcription";
/// Sentences that are looked at; an hour of speech has about a thousand.
const MAX_SEGMENTS: usize = 100_000;

fn begin_list(ask: &Ask, model: &str, link: Option<&str>) -> Result<Written, Refusal> {
    let link = link.ok_or_else(unlinked)?;
    let hints = ask.language.as_ref();
    let hints = hints.map(|language| ("language_hints", json!([language])));
    begin(ask, model, json!({ "file_urls": [link] }), hints)
}

fn begin_single(ask: &Ask, model: &str, link: Option<&str>) -> Result<Written, Refusal> {
    let link = link.ok_or_else(unlinked)?;
    let language = ask.language.as_ref();
    let language = language.map(|language| ("language", json!(language)));
    begin(ask, model, json!({ "file_url": link }), language)
}

fn begin(
    ask: &Ask,
    model: &str,
    input: Value,
    language: Option<(&str, Value)>,
) -> Result<Written, Refusal> {
    check_door(ask)?;
    let mut notes: Vec<Note> = Vec::new();
    if ask.prompt.is_some() {
        notes.push(not_sent("prompt"));
    }
    let mut parameters = carried(&ask.extras, &FOREIGN, &mut notes);
    if let Some((name, value)) = language {
        put(&mut parameters, name, value);
    }
    let mut body = Map::new();
    put(&mut body, "model", model);
    put(&mut body, "input", input);
    put(&mut body, "parameters", parameters);
    // Without it the upstream refuses: files are never recognised in one call.
    let call = Call::post(PATH, &body).with("X-DashScope-Async", "enable");
    Ok(Written {
        errand: Errand::plain(call),
        notes,
    })
}

fn read(_ask: &Ask, stage: Stage, said: &Said<'_>) -> Result<Turn, Trouble> {
    if !is_success(said) {
        return Err(match stage {
            Stage::Begun | Stage::Polled => complaints::dashscope(said),
            // Errors of a file store say nothing that the caller could mend.
            Stage::Fetched => garbage(said, "the transcript could not be fetched"),
        });
    }
    let body = said.json();
    match stage {
        Stage::Begun | Stage::Polled => state(said, &body),
        Stage::Fetched => transcript(said, &body).map(Turn::Done),
    }
}

fn state(said: &Said<'_>, body: &Value) -> Result<Turn, Trouble> {
    let Some(id) = text_at(body, "/output/task_id").filter(|id| !id.is_empty()) else {
        return Err(garbage(said, "an answer without a task"));
    };
    if is_silent(body) {
        return Ok(Turn::Done(Transcript::default()));
    }
    let state = text_at(body, "/output/task_status").unwrap_or_default();
    match state.to_ascii_uppercase().as_str() {
        "SUCCEEDED" => succeeded(said, body),
        "FAILED" => Err(failed(said, body)),
        "CANCELED" | "CANCELLED" => {
            let text = "the upstream cancelled the task";
            Err(Trouble::Failed(Complaint::new(400, "Canceled", text)))
        }
        // `PENDING`, `RUNNING`, and every word that nobody knows yet.
        _ => {
            let path = format!("/tasks/{}", path_part(&id));
            Ok(Turn::Ask(Errand::plain(Call::get(path))))
        }
    }
}

/// Nobody speaks in the recording, which some models say with a code of its own.
fn is_silent(body: &Value) -> bool {
    let places = ["/output/results/0/code", "/output/code"];
    let mut codes = places.iter().filter_map(|place| text_at(body, place));
    codes.any(|code| code.ends_with("NO_VALID_FRAGMENT"))
}

fn succeeded(said: &Said<'_>, body: &Value) -> Result<Turn, Trouble> {
    let places = [
        "/output/results/0/transcription_url",
        "/output/result/transcription_url",
    ];
    let mut links = places.iter().filter_map(|place| text_at(body, place));
    match links.find(|link| is_link(link)) {
        Some(link) => Ok(Turn::Fetch(link)),
        // The task has ended well, and its one file has not.
        None if body.pointer("/output/results/0/code").is_some() => Err(failed(said, body)),
        None => Err(garbage(said, "a finished task without a transcript")),
    }
}

/// Why there is no transcript: the file's own reason, or the task's.
fn failed(said: &Said<'_>, body: &Value) -> Trouble {
    let inner = body.pointer("/output/results/0/code").is_some();
    let place = if inner {
        "/output/results/0"
    } else {
        "/output"
    };
    let why = told(said, body, place);
    let code = why.code.to_ascii_uppercase();
    if code.contains("DOWNLOAD") {
        return Trouble::Failed(why);
    }
    let file = ["FILE_", "UNSUPPORTED_FORMAT", "DECODE", "AUDIO_"];
    if file.iter().any(|word| code.contains(word)) {
        return Trouble::Refused(why);
    }
    complaints::dashscope_by_code(said, why)
}

fn transcript(said: &Said<'_>, body: &Value) -> Result<Transcript, Trouble> {
    let Some(channels) = body.get("transcripts").and_then(Value::as_array) else {
        return Err(garbage(said, "a file without transcripts"));
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
