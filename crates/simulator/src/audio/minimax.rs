//! `MiniMax`'s speech: `POST /v1/t2a_v2`, whole or as events, and `/v1/get_voice`. Everything is said
//! under status 200, failures in `base_resp`. Written after the vendor's documents and public clients;
//! wordings are [unverified].

mod request;

use http::Method;
use serde_json::{Value, json};

use super::answer;
use super::file_store;
use crate::audio_state::{AudioCall, AudioWork};
use crate::encoders::Sound;
use crate::fault::{AudioFault, Fault};
use crate::fault_stage::{self, GARBAGE, Injected, RuleScope, UpstreamError};
use crate::recorded_request::RecordedRequest;
use crate::script::{Piece, Script};
use crate::scripted_body::{VendorResponse, VendorResult};
use crate::tokens::{count, hex};
use request::{SpeechRequest, VOICES};

const VENDOR: &str = "minimax";
const SPEECH: &str = "/v1/t2a_v2";
const GET_VOICE: &str = "/v1/get_voice";
/// A text that is hexadecimal up to a point: then characters that are not, and an odd number of them.
const GARBAGE_HEX: &str = "fffb90zz-not-hex";

/// One event of a stream.
enum Event {
    Piece(u64),
    Last,
    Error,
    Garbage,
}

/// What the events of a stream have in common.
struct Renderer {
    sound: Sound,
    trace_id: String,
    extra: Value,
    repeats_all: bool,
    is_garbled: bool,
}

pub(super) fn owns(path: &str) -> bool {
    path == SPEECH || path == GET_VOICE
}

pub(super) async fn serve(recorded: RecordedRequest) -> VendorResult {
    if recorded.key.is_empty() {
        let text = "login fail: Please carry the API secret key in the 'Authorization' field";
        return Ok(refuse(recorded, 1004, text));
    }
    if !recorded.state.accepts(&recorded.key) {
        return Ok(refuse(recorded, 2049, "invalid api key"));
    }
    let path = recorded.parts.uri.path();
    match (recorded.parts.method.clone(), path) {
        (Method::POST, SPEECH) => speak(recorded).await,
        (Method::POST | Method::GET, GET_VOICE) => Ok(voices(recorded)),
        (_, _) => {
            let body = json!({ "error": "404 page not found" }).to_string();
            Ok(recorded.play(Script::json(404, None, body), None))
        }
    }
}

async fn speak(mut recorded: RecordedRequest) -> VendorResult {
    let body: Value = serde_json::from_slice(&recorded.body).unwrap_or(Value::Null);
    let model = body.get("model").and_then(Value::as_str);
    let is_stream = body.get("stream") == Some(&Value::Bool(true));
    answer::note(&recorded, model.unwrap_or_default(), is_stream);
    let request = match SpeechRequest::read(&body) {
        Ok(request) => request,
        Err((code, text)) => return Ok(refuse(recorded, code, &text)),
    };
    let fault = fault_stage::select(
        &recorded,
        &request.directives,
        &request.model,
        RuleScope::Audio,
    );
    if let Some(error) = fault_stage::before_answer(&mut recorded, fault, request.stream).await? {
        let script = upstream_error(&recorded, error);
        return Ok(recorded.play_error(script));
    }
    let call = AudioCall::new(&recorded, VENDOR, AudioWork::Speech, &request.model)
        .spoken(&request.text, request.sound)
        .marked(request.directives.marker.as_ref());
    recorded.state.audio.calls.add(call);
    let characters = request.usage_characters();
    recorded.note(|record| record.prompt_tokens = characters);
    let script = if request.stream {
        let pace = answer::pace(&recorded, &request.directives);
        streamed(&recorded, &request, fault).paced(true, pace, fault)
    } else {
        whole(&recorded, &request, fault)
    };
    Ok(recorded.play(script, None))
}

fn whole(recorded: &RecordedRequest, request: &SpeechRequest, fault: Option<Fault>) -> Script {
    let bytes = request.sound.bytes();
    let audio = if is_garbled(fault) {
        GARBAGE_HEX.to_owned()
    } else if request.is_url {
        let id = recorded.id("speech-");
        let files = &recorded.state.audio.files;
        files.keep_sound(&id, request.sound, fault);
        let host = file_store::host(&recorded.parts.headers);
        file_store::link(&host, &id, request.sound.format.name())
    } else {
        hex(&bytes)
    };
    let mut reply = json!({
        "data": { "audio": audio, "status": 2, "ced": "" },
        "trace_id": trace_id(recorded),
        "base_resp": well(),
    });
    if let Some(fields) = reply.as_object_mut()
        && fault != Some(Fault::NoUsage)
    {
        fields.insert(
            "extra_info".to_owned(),
            extra(request, count(bytes.len()), fault),
        );
    }
    answer::whole(reply.to_string(), request.sound.millis, fault)
}

fn streamed(recorded: &RecordedRequest, request: &SpeechRequest, fault: Option<Fault>) -> Script {
    let sound = request.sound;
    let size = sound.iter().map(|piece| count(piece.len())).sum();
    let renderer = Renderer {
        sound,
        trace_id: trace_id(recorded),
        extra: if fault == Some(Fault::NoUsage) {
            Value::Null
        } else {
            extra(request, size, fault)
        },
        repeats_all: !request.excludes_all,
        is_garbled: is_garbled(fault),
    };
    let mut events: Vec<Event> = (0..sound.pieces()).map(Event::Piece).collect();
    if !matches!(fault, Some(Fault::NoDone | Fault::TruncatedJson)) {
        events.push(Event::Last);
    }
    let injected = Injected {
        error: Event::Error,
        garbage: Event::Garbage,
    };
    fault_stage::stream(events.into_iter(), injected, fault, move |_, event| {
        renderer.render(&event)
    })
}

// === impl Renderer ===

impl Renderer {
    fn render(&self, event: &Event) -> Piece {
        match event {
            Event::Piece(index) => {
                let audio = if self.is_garbled {
                    GARBAGE_HEX.to_owned()
                } else {
                    hex(&self.sound.piece(*index))
                };
                let reply = json!({
                    "data": { "audio": audio, "status": 1, "ced": "" },
                    "trace_id": self.trace_id,
                    "base_resp": well(),
                });
                line(&reply).worth(self.sound.piece_millis(*index))
            }
            Event::Last => {
                let audio = match (self.repeats_all, self.is_garbled) {
                    (false, _) => String::new(),
                    (true, true) => GARBAGE_HEX.to_owned(),
                    (true, false) => hex(&self.sound.bytes()),
                };
                let mut reply = json!({
                    "data": { "audio": audio, "status": 2, "ced": "" },
                    "trace_id": self.trace_id,
                    "base_resp": well(),
                });
                if let Some(fields) = reply.as_object_mut()
                    && !self.extra.is_null()
                {
                    fields.insert("extra_info".to_owned(), self.extra.clone());
                }
                line(&reply)
            }
            Event::Error => line(&json!({
                "data": null,
                "trace_id": self.trace_id,
                "base_resp": failed(1000, "unknown error"),
            })),
            Event::Garbage => Piece::sse(GARBAGE),
        }
    }
}

/// The lengths of what was made. `audio_length` is in milliseconds.
fn extra(request: &SpeechRequest, size: u64, fault: Option<Fault>) -> Value {
    let sound = request.sound;
    let reported = |number: u64| fault_stage::reported(fault, number);
    json!({
        "audio_length": reported(sound.millis),
        "audio_sample_rate": sound.rate,
        "audio_size": size,
        "bitrate": sound.bits_per_second(),
        "audio_format": sound.format.name(),
        "audio_channel": sound.channels,
        "word_count": request.word_count(),
        "usage_characters": reported(request.usage_characters()),
        "invisible_character_ratio": 0,
    })
}

fn voices(recorded: RecordedRequest) -> VendorResponse {
    let voice = |(id, name): &(&str, &str)| json!({ "voice_id": id, "voice_name": name, "description": ["a tone"] });
    let reply = json!({
        "system_voice": VOICES.iter().map(voice).collect::<Vec<_>>(),
        "voice_cloning": [],
        "voice_generation": [],
        "base_resp": well(),
    });
    recorded.play(Script::json(200, None, reply.to_string()), None)
}

fn is_garbled(fault: Option<Fault>) -> bool {
    fault == Some(Fault::Audio(AudioFault::GarbageAudio))
}

/// What comes instead of an answer. The vendor itself says almost everything under 200; a status comes
/// from what stands before it, and carries the same body.
fn upstream_error(recorded: &RecordedRequest, error: UpstreamError) -> Script {
    let (status, retry_after_secs, code, text) = match error {
        UpstreamError::RateLimited { retry_after_secs } => (
            429,
            Some(retry_after_secs),
            1002,
            "rate limit exceeded(RPM)",
        ),
        UpstreamError::Status(status) => (status, None, 1000, "unknown error"),
        UpstreamError::Inside200 { code } => {
            let code = code.unwrap_or(1000);
            let text = match code {
                1001 => "timeout",
                1002 => "rate limit exceeded(RPM)",
                1004 => "login fail",
                1008 => "insufficient balance",
                1026 => "input new_sensitive",
                1039 => "token limit",
                2013 => "invalid params",
                2054 => "voice id not exist",
                _ => "unknown error",
            };
            (200, None, code, text)
        }
    };
    let body = json!({ "trace_id": trace_id(recorded), "base_resp": failed(code, text) });
    Script::json(status, retry_after_secs, body.to_string())
}

fn refuse(recorded: RecordedRequest, code: u32, text: &str) -> VendorResponse {
    let body = json!({ "trace_id": trace_id(&recorded), "base_resp": failed(code, text) });
    recorded.play(Script::json(200, None, body.to_string()), None)
}

fn line(reply: &Value) -> Piece {
    Piece::new(format!("data: {reply}\n\n"))
}

fn trace_id(recorded: &RecordedRequest) -> String {
    recorded.id("0")
}

fn well() -> Value {
    failed(0, "success")
}

fn failed(code: u32, text: &str) -> Value {
    json!({ "status_code": code, "status_msg": text })
}
