//! A text is spoken: an address of a WAV file, or events with bare samples in base64 and the address in
//! the last of them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{Dialect, VENDOR, billed_characters, is_enabled, refuse, request_id, upstream_error};
use crate::audio::answer;
use crate::audio::file_store;
use crate::audio_state::{AudioCall, AudioWork};
use crate::clock;
use crate::dashscope_error::DashScopeError;
use crate::directives::Directives;
use crate::encoders::{Format, Shape, Sound};
use crate::fault::{AudioFault, Fault};
use crate::fault_stage::{self, GARBAGE, Injected, RuleScope};
use crate::models;
use crate::recorded_request::RecordedRequest;
use crate::script::{Piece, Script};
use crate::scripted_body::VendorResult;
use crate::tone::{Speed, Spoken};

struct SpeechRequest {
    model: String,
    text: String,
    spoken: Spoken,
    directives: Directives,
}

/// One event of a stream.
enum Event {
    Piece(u64),
    Last,
    Error,
    Garbage,
}

/// The file that an answer names.
struct File {
    id: String,
    url: String,
    expires_at: u64,
}

const VOICES: [&str; 12] = [
    "Cherry", "Ethan", "Chelsie", "Serena", "Jennifer", "Ryan", "Katerina", "Nofish", "Elias",
    "Dylan", "Sunny", "Jada",
];
const LANGUAGES: [&str; 11] = [
    "Auto",
    "Chinese",
    "English",
    "German",
    "Italian",
    "Portuguese",
    "Spanish",
    "Japanese",
    "Korean",
    "French",
    "Russian",
];
const MAX_CHARACTERS: usize = 600;
const RATE: u32 = 24_000;
/// What a stream sends instead of base64 when it is told to fail.
const GARBAGE_BASE64: &str = "!!not base64!!";

/// Whether a body of the multimodal path is a text to be spoken.
pub(super) fn is_asked(body: &Value) -> bool {
    let model = body.get("model").and_then(Value::as_str);
    let is_named = model.is_some_and(|model| model.contains("-tts"));
    is_named || body.pointer("/input/text").is_some()
}

pub(super) async fn serve(mut recorded: RecordedRequest, body: &Value) -> VendorResult {
    let is_stream = is_enabled(&recorded, "x-dashscope-sse");
    let model = body.get("model").and_then(Value::as_str);
    answer::note(&recorded, model.unwrap_or_default(), is_stream);
    let request = match SpeechRequest::read(body) {
        Ok(request) => request,
        Err(refused) => return Ok(refuse(recorded, Dialect::Native, &refused)),
    };
    let fault = fault_stage::select(
        &recorded,
        &request.directives,
        &request.model,
        RuleScope::Audio,
    );
    if let Some(error) = fault_stage::before_answer(&mut recorded, fault, is_stream).await? {
        let script = upstream_error(&recorded, error, Dialect::Native);
        return Ok(recorded.play_error(script));
    }
    let file = request.keep(&recorded, fault);
    let characters = billed_characters(&request.text);
    recorded.note(|record| record.prompt_tokens = characters);
    let usage = match fault_stage::reported(fault, characters) {
        Some(characters) => json!({ "characters": characters }),
        None => Value::Null,
    };
    let script = if is_stream {
        let pace = answer::pace(&recorded, &request.directives);
        let script = request.streamed(&request_id(&recorded), &file, usage, fault);
        script.paced(true, pace, fault)
    } else {
        let reply = last(&request_id(&recorded), &file, &usage);
        answer::whole(reply.to_string(), request.spoken.millis(), fault)
    };
    Ok(recorded.play(script, None))
}

// === impl SpeechRequest ===

impl SpeechRequest {
    fn read(body: &Value) -> Result<Self, DashScopeError> {
        let text = |place: &str| body.pointer(place).and_then(Value::as_str);
        let model = text("/model").unwrap_or_default();
        let is_known = model.starts_with("qwen") && model.contains("-tts");
        if !is_known && !models::is_known(model) {
            return Err(DashScopeError::model());
        }
        let input = text("/input/text").unwrap_or_default();
        let length = input.chars().count();
        if !(1..=MAX_CHARACTERS).contains(&length) {
            let range = format!("[1, {MAX_CHARACTERS}]");
            let message = format!("Range of input length should be {range}");
            return Err(DashScopeError::invalid(&message));
        }
        let voice = text("/input/voice").unwrap_or_default();
        if !VOICES.contains(&voice) {
            return Err(DashScopeError::invalid(&format!(
                "Voice '{}' is not supported.",
                crate::refusal::shortened(voice)
            )));
        }
        let language = body.pointer("/input/language_type");
        let is_spoken =
            |value: &Value| value.as_str().is_some_and(|word| LANGUAGES.contains(&word));
        if !language.is_none_or(is_spoken) {
            return Err(DashScopeError::invalid("language_type is not valid"));
        }
        let directives = Directives::read(input);
        let directives = directives.map_err(|error| DashScopeError::invalid(&error.0))?;
        Ok(Self {
            model: model.to_owned(),
            text: input.to_owned(),
            spoken: Spoken::new(input, Speed::ONE),
            directives,
        })
    }

    fn sound(&self, format: Format) -> Sound {
        let shape = Shape {
            rate: RATE,
            channels: 1,
            bitrate: 0,
        };
        Sound::of(self.spoken, format, shape)
    }

    /// Writes the call down and keeps its file.
    fn keep(&self, recorded: &RecordedRequest, fault: Option<Fault>) -> File {
        let sound = self.sound(Format::Wav);
        let call = AudioCall::new(recorded, VENDOR, AudioWork::Speech, &self.model)
            .spoken(&self.text, sound)
            .marked(self.directives.marker.as_ref());
        recorded.state.audio.calls.add(call);
        let id = recorded.id("audio_");
        recorded.state.audio.files.keep_sound(&id, sound, fault);
        let url = file_store::link(&file_store::host(&recorded.parts.headers), &id, "wav");
        let now = clock::seconds(clock::now_micros());
        File {
            id,
            url,
            expires_at: now.saturating_add(file_store::LINK_SECONDS),
        }
    }

    fn streamed(
        &self,
        request_id: &str,
        file: &File,
        usage: Value,
        fault: Option<Fault>,
    ) -> Script {
        let sound = self.sound(Format::Pcm);
        let is_garbled = fault == Some(Fault::Audio(AudioFault::GarbageAudio));
        let mut events: Vec<Event> = (0..sound.pieces()).map(Event::Piece).collect();
        if !matches!(fault, Some(Fault::NoDone | Fault::TruncatedJson)) {
            events.push(Event::Last);
        }
        let injected = Injected {
            error: Event::Error,
            garbage: Event::Garbage,
        };
        let end = last(request_id, file, &usage);
        let (id, expires_at) = (file.id.clone(), file.expires_at);
        let request_id = request_id.to_owned();
        fault_stage::stream(
            events.into_iter(),
            injected,
            fault,
            move |at, event| match event {
                Event::Piece(index) => {
                    let data = if is_garbled {
                        GARBAGE_BASE64.to_owned()
                    } else {
                        STANDARD.encode(sound.piece(index))
                    };
                    let audio = json!({
                        "data": data,
                        "url": "",
                        "id": id,
                        "expires_at": expires_at,
                    });
                    let reply = json!({
                        "output": { "audio": audio, "finish_reason": "null" },
                        "request_id": request_id,
                    });
                    happened(at, "result", 200, &reply).worth(sound.piece_millis(index))
                }
                Event::Last => happened(at, "result", 200, &end),
                Event::Error => {
                    let reply = json!({
                        "code": "InternalError.Algo",
                        "message": "An internal error has occured during execution.",
                        "request_id": request_id,
                    });
                    happened(at, "error", 500, &reply)
                }
                Event::Garbage => Piece::new([b"data:", GARBAGE, b"\n\n"].concat()),
            },
        )
    }
}

/// The answer that names the file.
fn last(request_id: &str, file: &File, usage: &Value) -> Value {
    let audio = json!({
        "data": "",
        "url": file.url,
        "id": file.id,
        "expires_at": file.expires_at,
    });
    let mut reply = json!({
        "output": { "audio": audio, "finish_reason": "stop" },
        "request_id": request_id,
    });
    if let Some(fields) = reply.as_object_mut()
        && !usage.is_null()
    {
        fields.insert("usage".to_owned(), usage.clone());
    }
    reply
}

/// An event as the vendor writes them: a number, a name, the status as a comment.
pub(in crate::audio::dashscope) fn happened(
    at: u64,
    name: &str,
    status: u16,
    reply: &Value,
) -> Piece {
    let number = at.saturating_add(1);
    Piece::new(format!(
        "id:{number}\nevent:{name}\n:HTTP_STATUS/{status}\ndata:{reply}\n\n"
    ))
}
