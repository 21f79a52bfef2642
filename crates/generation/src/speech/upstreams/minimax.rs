//! `MiniMax`'s speech, at `/t2a_v2`: mp3, pcm and flac as events while they are made, wav whole.
//!
//! Audio is hexadecimal digits in JSON. The last event (`status` 2) would repeat everything: it is asked not
//! to (`exclude_aggregated_audio`), and what it carries is never taken, since a relay may not heed that. Bare
//! samples are asked for at the rate that is measured by. Errors come under status 200 with a number in
//! `base_resp`, before the first event or in one. The vendor takes no instructions.
//!
//! A caller's `voice_setting` and `audio_setting` go along, but voice, speed, format and the rate of bare
//! samples are ours.

use crate::vendor_http::{Call, Said, text_at};
use serde_json::{Map, Value, json};
use trunkline_catalog::{Note, Refusal};
use trunkline_probe::SpeechFormat;

use super::{event, format_of, no_opening, put, unmade};
use crate::coding::{from_hex, is_link};
use crate::complaints::{self, garbage, is_success, minimax_number};
use crate::errand::{Errand, Written};
use crate::policy::not_sent;
use crate::speech::{Ask, Manner, Protocol, Spoken};
use crate::trouble::Trouble;

/// The protocol.
pub(super) const PROTOCOL: Protocol = Protocol {
    format: "minimax_speech",
    write,
    manner,
    opening: no_opening,
    read_error,
};

/// The `status` of the event that ends it.
const ENDED: &str = "2";

fn write(ask: &Ask, model: &str) -> Result<Written, Refusal> {
    let format = format_of(ask);
    let is_streamed = match format {
        SpeechFormat::Mp3 | SpeechFormat::Flac | SpeechFormat::Pcm { .. } => true,
        SpeechFormat::Wav => false,
        SpeechFormat::Opus | SpeechFormat::Aac => {
            return Err(unmade(format, "mp3, flac, wav or pcm"));
        }
    };
    let mut notes: Vec<Note> = Vec::new();
    if ask.instructions.is_some() {
        notes.push(not_sent("instructions"));
    }
    let mut body = ask.extras.clone();
    body.remove("voice");
    let mut voice = settings(&mut body, "voice_setting");
    put(&mut voice, "voice_id", ask.voice.as_str());
    if let Some(speed) = &ask.speed {
        put(&mut voice, "speed", speed.clone());
    }
    let mut audio = settings(&mut body, "audio_setting");
    put(&mut audio, "format", format.word());
    if let SpeechFormat::Pcm { rate } = format {
        put(&mut audio, "sample_rate", rate);
        put(&mut audio, "channel", 1);
    }
    put(&mut body, "model", model);
    put(&mut body, "text", ask.input.as_str());
    put(&mut body, "voice_setting", voice);
    put(&mut body, "audio_setting", audio);
    put(&mut body, "output_format", "hex");
    put(&mut body, "stream", is_streamed);
    if is_streamed {
        put(
            &mut body,
            "stream_options",
            json!({ "exclude_aggregated_audio": true }),
        );
    } else {
        body.remove("stream_options");
    }
    Ok(Written {
        errand: Errand::plain(Call::post("/t2a_v2", &body)),
        notes,
    })
}

/// An object of settings that the caller may have begun.
fn settings(body: &mut Map<String, Value>, name: &str) -> Map<String, Value> {
    match body.remove(name) {
        Some(Value::Object(settings)) => settings,
        Some(
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_),
        )
        | None => Map::new(),
    }
}

fn manner(ask: &Ask) -> Manner {
    match format_of(ask) {
        SpeechFormat::Wav => Manner::Whole(read_whole),
        SpeechFormat::Mp3
        | SpeechFormat::Opus
        | SpeechFormat::Aac
        | SpeechFormat::Flac
        | SpeechFormat::Pcm { .. } => Manner::Events(read_event),
    }
}

fn read_event(data: &[u8]) -> Result<Spoken, Trouble> {
    let said = event(data);
    let body = said.json();
    if minimax_number(&body).is_some() {
        return Err(complaints::minimax(&said));
    }
    if !body.is_object() {
        return Err(garbage(&said, "an event that is no JSON"));
    }
    if text_at(&body, "/data/status").as_deref() == Some(ENDED) {
        return Ok(Spoken::Done);
    }
    match text_at(&body, "/data/audio").filter(|text| !text.is_empty()) {
        None => Ok(Spoken::Nothing),
        Some(text) => match from_hex(&text) {
            Some(bytes) => Ok(Spoken::Audio(bytes)),
            None => Err(garbage(&said, "audio that is no hexadecimal digits")),
        },
    }
}

fn read_whole(said: &Said<'_>) -> Result<Spoken, Trouble> {
    let body = said.json();
    if !is_success(said) || minimax_number(&body).is_some() {
        return Err(complaints::minimax(said));
    }
    let audio = text_at(&body, "/data/audio").unwrap_or_default();
    if is_link(&audio) {
        return Ok(Spoken::Link(audio));
    }
    match from_hex(&audio) {
        Some(bytes) => Ok(Spoken::Last(bytes)),
        None => Err(garbage(said, "an answer without audio")),
    }
}

fn read_error(said: &Said<'_>) -> Trouble {
    complaints::minimax(said)
}
