//! `DashScope`'s speech (Qwen), at `/services/aigc/multimodal-generation/generation` with the header that makes
//! it a stream: events with base64 of bare samples, 24,000 a second, 16 bits, mono.
//!
//! So there is pcm as it comes, and WAV with a header of our own, whose sizes
//! are unknown. The last event has the address of the whole, which is not needed, and no samples. The vendor knows
//! no speed. `instructions` goes in `input`, where some of its models read it; records of the others drop
//! it. `language_type` and `optimize_instructions` go there too, every other field in `parameters`.

use bytes::Bytes;
use serde_json::{Map, Value};
use trunkline_catalog::{FieldNote, RequestError};
use trunkline_probe::{DEFAULT_PCM_RATE, SpeechFormat};

use super::{event, format_of, unmade};
use crate::encoding::from_base64;
use crate::encoding::put;
use crate::error_mapping::{self, garbage};
use crate::field_policy::not_sent;
use crate::speech::{AudioChunk, Protocol, SpeechRequest, StreamMode};
use crate::vendor_failure::VendorFailure;
use crate::vendor_http::{Encoded, VendorRequest, filled_at};

pub(super) const PROTOCOL: Protocol = Protocol {
    format: "dashscope_speech",
    encode,
    stream_mode,
    prefix,
    read_error: error_mapping::dashscope,
};

const PATH: &str = "/services/aigc/multimodal-generation/generation";
/// Fields that belong beside the text.
const BESIDE_TEXT: [&str; 2] = ["language_type", "optimize_instructions"];

fn encode(request: &SpeechRequest, model: &str) -> Result<Encoded, RequestError> {
    let format = format_of(request);
    check_format(format)?;
    let mut notes: Vec<FieldNote> = Vec::new();
    if request.speed.is_some() {
        notes.push(not_sent("speed"));
    }
    let mut input = Map::new();
    let mut parameters = Map::new();
    for (name, value) in request.extras.iter().filter(|(name, _)| *name != "voice") {
        let place = if BESIDE_TEXT.contains(&name.as_str()) {
            &mut input
        } else {
            &mut parameters
        };
        put(place, name, value.clone());
    }
    put(&mut input, "text", request.input.as_str());
    put(&mut input, "voice", request.voice.as_str());
    if let Some(instructions) = &request.instructions {
        put(&mut input, "instructions", instructions.as_str());
    }
    let mut body = Map::new();
    put(&mut body, "model", model);
    put(&mut body, "input", input);
    if !parameters.is_empty() {
        put(&mut body, "parameters", parameters);
    }
    let call = VendorRequest::post(PATH, &body).with("X-DashScope-SSE", "enable");
    Ok(Encoded {
        request: call,
        notes,
    })
}

fn check_format(format: SpeechFormat) -> Result<(), RequestError> {
    match format {
        SpeechFormat::Wav
        | SpeechFormat::Pcm {
            rate: DEFAULT_PCM_RATE,
        } => Ok(()),
        SpeechFormat::Pcm { .. }
        | SpeechFormat::Mp3
        | SpeechFormat::Opus
        | SpeechFormat::Aac
        | SpeechFormat::Flac => Err(unmade(format, "wav or pcm")),
    }
}

fn stream_mode(_ask: &SpeechRequest) -> StreamMode {
    StreamMode::Events(read_event)
}

/// The header of a WAV file of unknown length.
fn prefix(request: &SpeechRequest) -> Bytes {
    const BYTES_OF_SAMPLE: u16 = 2;
    const FORMAT_BYTES: u32 = 16;
    const PLAIN_SAMPLES: u16 = 1;
    const MONO: u16 = 1;
    let SpeechFormat::Wav = format_of(request) else {
        return Bytes::new();
    };
    let rate = DEFAULT_PCM_RATE;
    let bytes_of_second = rate.saturating_mul(u32::from(BYTES_OF_SAMPLE));
    let unknown = u32::MAX.to_le_bytes();
    let head = [
        b"RIFF".as_slice(),
        &unknown,
        b"WAVEfmt ",
        &FORMAT_BYTES.to_le_bytes(),
        &PLAIN_SAMPLES.to_le_bytes(),
        &MONO.to_le_bytes(),
        &rate.to_le_bytes(),
        &bytes_of_second.to_le_bytes(),
        &BYTES_OF_SAMPLE.to_le_bytes(),
        &BYTES_OF_SAMPLE.saturating_mul(8).to_le_bytes(),
        b"data",
        &unknown,
    ];
    Bytes::from(head.concat())
}

fn read_event(data: &[u8]) -> Result<AudioChunk, VendorFailure> {
    let response = event(data);
    let body = response.json();
    if filled_at(&body, "/code").is_some() {
        return Err(error_mapping::dashscope(&response));
    }
    let Some(output) = body.get("output").filter(|output| output.is_object()) else {
        return Err(garbage(&response, "an event without output"));
    };
    let is_last =
        matches!(output.get("finish_reason"), Some(Value::String(word)) if word == "stop");
    let audio = filled_at(output, "/audio/data");
    let bytes = match audio {
        None if is_last => return Ok(AudioChunk::Done),
        None => return Ok(AudioChunk::Nothing),
        Some(text) => from_base64(&text),
    };
    match bytes {
        Some(bytes) if is_last => Ok(AudioChunk::Last(bytes)),
        Some(bytes) => Ok(AudioChunk::Audio(bytes)),
        None => Err(garbage(&response, "audio that is no base64")),
    }
}
