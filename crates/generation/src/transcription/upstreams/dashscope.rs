//! `DashScope`'s recognition in one call (Qwen): a chat at the root of the host, below `/compatible-mode/v1`,
//! with our link to the recording as `input_audio`.
//!
//! The language goes in `asr_options`, a prompt as the system's words [unverified in this form]. What comes
//! is the text, with the language beside it. There are no times and no translation. A caller's
//! `asr_options` go along.

use crate::vendor_http::{Call, Said, text_at};
use serde_json::{Map, Value, json};
use trunkline_catalog::{Note, Refusal};

use super::{FOREIGN, check_door, put, unlinked};
use crate::complaints::{self, garbage, is_success};
use crate::errand::{Errand, Written};
use crate::policy::carried;
use crate::transcription::shown::timeless;
use crate::transcription::{Ask, Handing, Protocol, Stage, Transcript, Turn};
use crate::trouble::Trouble;

/// The protocol.
pub(super) const PROTOCOL: Protocol = Protocol {
    format: "dashscope_transcription",
    way: "",
    handing: Handing::Link,
    begin,
    read,
};

const PATH: &str = "/compatible-mode/v1/chat/completions";

fn begin(ask: &Ask, model: &str, link: Option<&str>) -> Result<Written, Refusal> {
    check_door(ask)?;
    if ask.answer.has_times() {
        return Err(timeless(ask.answer));
    }
    let link = link.ok_or_else(unlinked)?;
    let mut notes: Vec<Note> = Vec::new();
    let mut body = carried(&ask.extras, &FOREIGN, &mut notes);
    let mut options = match body.remove("asr_options") {
        Some(Value::Object(options)) => options,
        Some(_) | None => Map::new(),
    };
    if let Some(language) = &ask.language {
        put(&mut options, "language", language.as_str());
    }
    if !options.is_empty() {
        put(&mut body, "asr_options", options);
    }
    let hint =
        |text: &String| json!({ "role": "system", "content": [{ "type": "text", "text": text }] });
    let audio = json!({ "type": "input_audio", "input_audio": { "data": link } });
    let recording = json!({ "role": "user", "content": [audio] });
    let messages: Vec<Value> = ask.prompt.iter().map(hint).chain([recording]).collect();
    put(&mut body, "model", model);
    put(&mut body, "messages", messages);
    put(&mut body, "stream", false);
    Ok(Written {
        errand: Errand::plain(Call::post(PATH, &body).at_host()),
        notes,
    })
}

fn read(_ask: &Ask, _stage: Stage, said: &Said<'_>) -> Result<Turn, Trouble> {
    let body = said.json();
    let is_error = body.get("error").is_some_and(Value::is_object);
    if !is_success(said) || is_error {
        return Err(complaints::dashscope(said));
    }
    match content(&body) {
        Some(text) => Ok(Turn::Done(Transcript {
            text,
            language: text_at(&body, "/choices/0/message/annotations/0/language"),
            ..Transcript::default()
        })),
        None => Err(garbage(said, "an answer without a text")),
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
