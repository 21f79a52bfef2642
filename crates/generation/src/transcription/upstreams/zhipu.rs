//! Zhipu's transcription: a form at `/audio/transcriptions`, and one object with a text.
//!
//! It tells no times, translates nothing and knows no language; a prompt it takes as what was said before.
//! Errors are OpenAI's form with numbers.

use crate::vendor_http::{Call, Said};
use serde_json::{Map, Value};
use trunkline_catalog::{Note, Refusal};

use super::{FOREIGN, check_door, file_part};
use crate::complaints::{self, garbage, is_success};
use crate::errand::{Errand, Part, Written, parts_of};
use crate::policy::{carried, not_sent};
use crate::transcription::shown::timeless;
use crate::transcription::{Ask, Handing, Protocol, Stage, Transcript, Turn};
use crate::trouble::Trouble;

/// The protocol.
pub(super) const PROTOCOL: Protocol = Protocol {
    format: "zhipu_transcription",
    way: "",
    handing: Handing::Form,
    begin,
    read,
};

fn begin(ask: &Ask, model: &str, _link: Option<&str>) -> Result<Written, Refusal> {
    check_door(ask)?;
    if ask.answer.has_times() {
        return Err(timeless(ask.answer));
    }
    let mut notes: Vec<Note> = Vec::new();
    if ask.language.is_some() {
        notes.push(not_sent("language"));
    }
    let extras = carried(&ask.extras, &FOREIGN, &mut notes);
    let mut parts = vec![Part::text("model", model), Part::text("stream", "false")];
    parts.extend(ask.prompt.iter().map(|text| Part::text("prompt", text)));
    for (name, value) in &extras {
        parts.extend(parts_of(name, value));
    }
    parts.push(file_part(&ask.upload));
    let mut call = Call::post("/audio/transcriptions", &Map::new());
    call.body = None;
    Ok(Written {
        errand: Errand::form(call, parts),
        notes,
    })
}

fn read(_ask: &Ask, _stage: Stage, said: &Said<'_>) -> Result<Turn, Trouble> {
    let body = said.json();
    if !is_success(said) || body.get("error").is_some_and(Value::is_object) {
        return Err(complaints::zhipu(said));
    }
    match body.get("text").and_then(Value::as_str) {
        Some(text) => Ok(Turn::Done(Transcript {
            text: text.to_owned(),
            ..Transcript::default()
        })),
        None => Err(garbage(said, "an answer without a text")),
    }
}
