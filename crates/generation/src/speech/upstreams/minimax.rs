//! `MiniMax`'s speech, at `/t2a_v2`: mp3, pcm and flac as events while they are made, wav whole.
//!
//! Audio is hexadecimal digits in JSON. The last event (`status` 2) would repeat everything:
//! `exclude_aggregated_audio` prevents that, and its audio is never used, since a relay may ignore the field. Bare
//! samples are requested at the rate that they are measured by. Errors come under status 200 with a number in
//! `base_resp`, before the first event or in one. The vendor takes no instructions.
//!
//! A caller's `voice_setting` and `audio_setting` go along, but voice, speed, format and the rate of bare
//! samples are ours.

use serde_json::{Map, Value, json};
use trunkline_catalog::{FieldNote, RequestError};
use trunkline_probe::SpeechFormat;

use super::{event, format_of, no_prefix, unmade};
use crate::encoding::put;
use crate::encoding::{from_hex, is_link};
use crate::error_mapping::{self, garbage, minimax_number};
use crate::field_policy::not_sent;
use crate::speech::{AudioChunk, Protocol, SpeechRequest, StreamMode};
use crate::vendor_failure::VendorFailure;
use crate::vendor_http::{Encoded, VendorRequest, VendorResponse, filled_at, text_at};

pub(super) const PROTOCOL: Protocol = Protocol {
    format: "minimax_speech",
    encode,
    stream_mode,
    prefix: no_prefix,
    read_error: error_mapping::minimax,
};

/// The `status` of the event that ends it.
const ENDED: &str = "2";

fn encode(request: &SpeechRequest, model: &str) -> Result<Encoded, RequestError> {
    let format = format_of(request);
    let is_streamed = match format {
        SpeechFormat::Mp3 | SpeechFormat::Flac | SpeechFormat::Pcm { .. } => true,
        SpeechFormat::Wav => false,
        SpeechFormat::Opus | SpeechFormat::Aac => {
            return Err(unmade(format, "mp3, flac, wav or pcm"));
        }
    };
    let mut notes: Vec<FieldNote> = Vec::new();
    if request.instructions.is_some() {
        notes.push(not_sent("instructions"));
    }
    let mut body = request.extras.clone();
    body.remove("voice");
    let mut voice = settings(&mut body, "voice_setting");
    put(&mut voice, "voice_id", request.voice.as_str());
    if let Some(speed) = &request.speed {
        put(&mut voice, "speed", speed.clone());
    }
    let mut audio = settings(&mut body, "audio_setting");
    put(&mut audio, "format", format.as_str());
    if let SpeechFormat::Pcm { rate } = format {
        put(&mut audio, "sample_rate", rate);
        put(&mut audio, "channel", 1);
    }
    put(&mut body, "model", model);
    put(&mut body, "text", request.input.as_str());
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
    Ok(Encoded {
        request: VendorRequest::post("/t2a_v2", &body),
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

fn stream_mode(request: &SpeechRequest) -> StreamMode {
    match format_of(request) {
        SpeechFormat::Wav => StreamMode::Whole(read_whole),
        SpeechFormat::Mp3
        | SpeechFormat::Opus
        | SpeechFormat::Aac
        | SpeechFormat::Flac
        | SpeechFormat::Pcm { .. } => StreamMode::Events(read_event),
    }
}

fn read_event(data: &[u8]) -> Result<AudioChunk, VendorFailure> {
    let response = event(data);
    let body = response.json();
    if minimax_number(&body).is_some() {
        return Err(error_mapping::minimax(&response));
    }
    if !body.is_object() {
        return Err(garbage(&response, "an event that is no JSON"));
    }
    if text_at(&body, "/data/status").as_deref() == Some(ENDED) {
        return Ok(AudioChunk::Done);
    }
    match filled_at(&body, "/data/audio") {
        None => Ok(AudioChunk::Nothing),
        Some(text) => match from_hex(&text) {
            Some(bytes) => Ok(AudioChunk::Audio(bytes)),
            None => Err(garbage(&response, "audio that is no hexadecimal digits")),
        },
    }
}

fn read_whole(response: &VendorResponse<'_>) -> Result<AudioChunk, VendorFailure> {
    let body = response.json();
    if !response.is_success() || minimax_number(&body).is_some() {
        return Err(error_mapping::minimax(response));
    }
    let audio = text_at(&body, "/data/audio").unwrap_or_default();
    if is_link(&audio) {
        return Ok(AudioChunk::Link(audio));
    }
    match from_hex(&audio) {
        Some(bytes) => Ok(AudioChunk::Last(bytes)),
        None => Err(garbage(response, "an answer without audio")),
    }
}
