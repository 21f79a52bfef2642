//! OpenAI's transcription and translation, and everybody's who copies them: a form at `/audio/transcriptions`
//! or `/audio/translations`, and one answer in the form that was asked for.
//!
//! The caller's `response_format` goes on, so the answer is in the caller's form already and its bytes are
//! handed on. Of an object `usage` becomes ours: it is what is billed. A list goes as one part for each
//! member. An answer that is not what was asked for is none.

use crate::vendor_http::{Call, Said, text_at};
use bytes::Bytes;
use serde_json::{Map, Value};
use trunkline_catalog::Refusal;

use super::file_part;
use crate::complaints::{self, garbage, is_success};
use crate::errand::{Errand, Part, Written, parts_of};
use crate::transcription::shown::usage;
use crate::transcription::{Answer, Ask, Door, Handing, Protocol, Stage, Transcript, Turn};
use crate::trouble::Trouble;

/// The protocol.
pub(super) const PROTOCOL: Protocol = Protocol {
    format: "openai_transcription",
    way: "",
    handing: Handing::Form,
    begin,
    read,
};

const JSON: &str = "application/json";
const PLAIN: &str = "text/plain; charset=utf-8";

fn begin(ask: &Ask, model: &str, _link: Option<&str>) -> Result<Written, Refusal> {
    let path = match ask.door {
        Door::Transcriptions => "/audio/transcriptions",
        Door::Translations => "/audio/translations",
    };
    let mut parts = vec![
        Part::text("model", model),
        Part::text("response_format", ask.answer.word()),
    ];
    for (name, text) in [("language", &ask.language), ("prompt", &ask.prompt)] {
        parts.extend(text.iter().map(|text| Part::text(name, text)));
    }
    for (name, value) in &ask.extras {
        parts.extend(parts_of(name, value));
    }
    // Last, so that a reader knows what it is for before it comes.
    parts.push(file_part(&ask.upload));
    let mut call = Call::post(path, &Map::new());
    call.body = None;
    Ok(Written {
        errand: Errand::form(call, parts),
        notes: Vec::new(),
    })
}

fn read(ask: &Ask, _stage: Stage, said: &Said<'_>) -> Result<Turn, Trouble> {
    if !is_success(said) {
        return Err(complaints::openai(said));
    }
    let transcript = match ask.answer {
        Answer::Json | Answer::VerboseJson => object(ask, said)?,
        Answer::Text | Answer::Srt | Answer::Vtt => plain(ask, said)?,
    };
    Ok(Turn::Done(transcript))
}

fn object(ask: &Ask, said: &Said<'_>) -> Result<Transcript, Trouble> {
    let body = said.json();
    let text = body.get("text").and_then(Value::as_str).map(str::to_owned);
    let (Some(text), Value::Object(mut map)) = (text, body.clone()) else {
        return Err(garbage(said, "an answer without a text"));
    };
    map.insert("usage".to_owned(), usage(ask));
    let own = Value::Object(map).to_string();
    Ok(Transcript {
        text,
        language: text_at(&body, "/language"),
        segments: Vec::new(),
        own: Some((JSON, Bytes::from(own))),
    })
}

fn plain(ask: &Ask, said: &Said<'_>) -> Result<Transcript, Trouble> {
    let Ok(text) = std::str::from_utf8(said.body) else {
        return Err(garbage(said, "an answer that is no text"));
    };
    let start = text.trim_start_matches('\u{feff}').trim_start();
    let fits = match ask.answer {
        Answer::Vtt => start.starts_with("WEBVTT"),
        // Silence has no lines at all.
        Answer::Srt => start.is_empty() || start.contains("-->"),
        // A page of some middlebox is no transcript.
        Answer::Text | Answer::Json | Answer::VerboseJson => !start.starts_with("<!"),
    };
    if !fits {
        return Err(garbage(
            said,
            "an answer in another form than was asked for",
        ));
    }
    Ok(Transcript {
        text: text.trim_end().to_owned(),
        language: None,
        segments: Vec::new(),
        own: Some((PLAIN, Bytes::copy_from_slice(said.body))),
    })
}
