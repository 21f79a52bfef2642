//! A text is spoken: bytes in pieces, or events with the bytes in base64.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::VENDOR;
use crate::audio::answer;
use crate::audio_state::{AudioCall, AudioWork};
use crate::chat;
use crate::directives::Directives;
use crate::encoders::{Format, Shape, Sound};
use crate::fault::Fault;
use crate::fault_stage::{self, GARBAGE, Injected, RuleScope};
use crate::models;
use crate::recorded_request::RecordedRequest;
use crate::refusal::Refusal;
use crate::request::Object;
use crate::request::fields::{missing, wrong_type, wrong_value};
use crate::script::{Piece, Script};
use crate::scripted_body::VendorResult;
use crate::tokens::PromptSize;
use crate::tone::{Speed, Spoken};

struct SpeechRequest {
    model: String,
    text: String,
    sound: Sound,
    is_events: bool,
    directives: Directives,
}

/// One event of a stream.
enum Event {
    Delta(u64),
    Done,
    Error,
    Garbage,
}

const FIELDS: [&str; 7] = [
    "model",
    "input",
    "voice",
    "instructions",
    "response_format",
    "speed",
    "stream_format",
];
const VOICES: [&str; 13] = [
    "alloy", "ash", "ballad", "coral", "echo", "fable", "onyx", "nova", "sage", "shimmer", "verse",
    "marin", "cedar",
];
/// Voices that came with the newer models and that the older ones do not have.
const NEWER_VOICES: [&str; 4] = ["ballad", "verse", "marin", "cedar"];
const OLDER_MODELS: [&str; 2] = ["tts-1", "tts-1-hd"];
const NEWER_MODEL: &str = "gpt-4o-mini-tts";
const FORMATS: [&str; 6] = ["mp3", "opus", "aac", "flac", "wav", "pcm"];
const MAX_CHARACTERS: usize = 4_096;
const SLOWEST: Speed = Speed::hundredths(25);
const FASTEST: Speed = Speed::hundredths(400);
/// Rate, channels and bitrate of what this vendor sends.
const SHAPE: Shape = Shape {
    rate: 24_000,
    channels: 1,
    bitrate: 128_000,
};
/// Milliseconds of one token that is told.
const MILLIS_PER_TOKEN: u64 = 50;

pub(super) async fn serve(mut recorded: RecordedRequest) -> VendorResult {
    let body = match chat::parse(&recorded) {
        Ok(body) => body,
        Err(refusal) => return Ok(recorded.refuse(&refusal)),
    };
    let named = body.get("model").and_then(Value::as_str);
    let is_events = body.get("stream_format").and_then(Value::as_str) == Some("sse");
    answer::note(&recorded, named.unwrap_or_default(), is_events);
    let request = match SpeechRequest::read(&body) {
        Ok(request) => request,
        Err(refusal) => return Ok(recorded.refuse(&refusal)),
    };
    let fault = fault_stage::select(
        &recorded,
        &request.directives,
        &request.model,
        RuleScope::Audio,
    );
    if let Some(error) = fault_stage::before_answer(&mut recorded, fault, true).await? {
        let script = Script::upstream_error(error, &request.model);
        return Ok(recorded.play_error(script));
    }
    let call = AudioCall::new(&recorded, VENDOR, AudioWork::Speech, &request.model)
        .spoken(&request.text, request.sound)
        .marked(request.directives.marker.as_ref());
    recorded.state.audio.calls.add(call);
    let prompt_tokens = request.prompt_tokens();
    recorded.note(|record| record.prompt_tokens = prompt_tokens);
    let pace = answer::pace(&recorded, &request.directives);
    if request.is_events {
        return Ok(recorded.play(request.events(fault, pace), None));
    }
    let kind = request.sound.format.content_type();
    let script = answer::bare(request.sound, fault, pace);
    Ok(answer::typed(recorded, script, kind))
}

// === impl SpeechRequest ===

impl SpeechRequest {
    fn read(body: &Object) -> Result<Self, Refusal> {
        if let Some(name) = body.keys().find(|name| !FIELDS.contains(&name.as_str())) {
            let name = crate::refusal::shortened(name);
            let message = format!("Unrecognized request argument supplied: {name}");
            return Err(Refusal::unnamed(&message));
        }
        let model = text(body, "model")?.ok_or_else(|| missing("model"))?;
        let is_older = OLDER_MODELS.contains(&model);
        let is_relay = models::is_known(model);
        if !is_older && !is_relay && !model.starts_with(NEWER_MODEL) {
            return Err(Refusal::no_such_model(model));
        }
        let input = text(body, "input")?.ok_or_else(|| missing("input"))?;
        check_length(input)?;
        check_voice(body, is_older, is_relay)?;
        text(body, "instructions")?;
        let format = text(body, "response_format")?.unwrap_or("mp3");
        let format =
            Format::read(format).ok_or_else(|| wrong_value("response_format", format, &FORMATS))?;
        let is_events = match text(body, "stream_format")?.unwrap_or("audio") {
            "audio" => false,
            "sse" if !is_older => true,
            "sse" => {
                let message = format!("'stream_format' of 'sse' is not supported with '{model}'.");
                let code = Some("unsupported_value");
                return Err(Refusal::invalid("stream_format", code, message));
            }
            other => return Err(wrong_value("stream_format", other, &["sse", "audio"])),
        };
        let directives = Directives::read(input).map_err(|error| Refusal::directive(&error.0))?;
        let spoken = Spoken::new(input, speed(body)?);
        Ok(Self {
            model: model.to_owned(),
            text: input.to_owned(),
            sound: Sound::of(spoken, format, SHAPE),
            is_events,
            directives,
        })
    }

    fn prompt_tokens(&self) -> u64 {
        let size = PromptSize {
            text_bytes: crate::tokens::count(self.text.len()),
            ..PromptSize::default()
        };
        size.tokens()
    }

    fn events(&self, fault: Option<Fault>, pace: u64) -> Script {
        let sound = self.sound;
        let mut events: Vec<Event> = (0..sound.pieces()).map(Event::Delta).collect();
        if !matches!(fault, Some(Fault::NoDone | Fault::TruncatedJson)) {
            events.push(Event::Done);
        }
        let input = fault_stage::reported(fault, self.prompt_tokens());
        let output = fault_stage::reported(fault, sound.millis.div_ceil(MILLIS_PER_TOKEN));
        let injected = Injected {
            error: Event::Error,
            garbage: Event::Garbage,
        };
        let script =
            fault_stage::stream(
                events.into_iter(),
                injected,
                fault,
                move |_, event| match event {
                    Event::Delta(index) => {
                        let audio = STANDARD.encode(sound.piece(index));
                        line(&json!({ "type": "speech.audio.delta", "audio": audio }))
                            .worth(sound.piece_millis(index))
                    }
                    Event::Done => done(input.zip(output)),
                    Event::Error => Piece::new(format!("data: {}\n\n", Refusal::after_ok().body())),
                    Event::Garbage => Piece::sse(GARBAGE),
                },
            );
        script.paced(true, pace, fault)
    }
}

fn done(usage: Option<(u64, u64)>) -> Piece {
    let Some((input, output)) = usage else {
        return line(&json!({ "type": "speech.audio.done" }));
    };
    let usage = json!({
        "input_tokens": input,
        "output_tokens": output,
        "total_tokens": input.saturating_add(output),
    });
    line(&json!({ "type": "speech.audio.done", "usage": usage })).reporting(input, output)
}

fn line(event: &Value) -> Piece {
    Piece::new(format!("data: {event}\n\n"))
}

fn check_length(input: &str) -> Result<(), Refusal> {
    let length = input.chars().count();
    let (code, message) = match length {
        0 => (
            "string_below_min_length",
            "Invalid 'input': empty string. Expected a string with minimum length 1, but got an \
             empty string instead."
                .to_owned(),
        ),
        1..=MAX_CHARACTERS => return Ok(()),
        _ => (
            "string_above_max_length",
            format!(
                "Invalid 'input': string too long. Expected a string with maximum length \
                 {MAX_CHARACTERS}, but got a string with length {length} instead."
            ),
        ),
    };
    Err(Refusal::invalid("input", Some(code), message))
}

fn check_voice(body: &Object, is_older: bool, is_relay: bool) -> Result<(), Refusal> {
    match body.get("voice") {
        None | Some(Value::Null) => Err(missing("voice")),
        Some(Value::String(voice)) => {
            let is_newer = NEWER_VOICES.contains(&voice.as_str());
            let is_known = VOICES.contains(&voice.as_str()) && !(is_older && is_newer);
            if is_known || is_relay {
                return Ok(());
            }
            let has = |voice: &&str| !(is_older && NEWER_VOICES.contains(voice));
            let listed: Vec<&str> = VOICES.into_iter().filter(has).collect();
            Err(wrong_value("voice", voice, &listed))
        }
        Some(Value::Object(voice)) if voice.get("id").is_some_and(Value::is_string) => Ok(()),
        Some(value) => Err(wrong_type("voice", "a string or object", value)),
    }
}

fn speed(body: &Object) -> Result<Speed, Refusal> {
    let value = match body.get("speed") {
        None | Some(Value::Null) => return Ok(Speed::ONE),
        Some(value @ Value::Number(_)) => value,
        Some(value) => return Err(wrong_type("speed", "a decimal number", value)),
    };
    let speed = Speed::read(value).filter(|speed| (SLOWEST..=FASTEST).contains(speed));
    speed.ok_or_else(|| {
        let message = format!("Invalid 'speed': {value} is not between 0.25 and 4.0.");
        Refusal::invalid("speed", Some("decimal_out_of_range"), message)
    })
}

fn text<'a>(body: &'a Object, name: &str) -> Result<Option<&'a str>, Refusal> {
    match body.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(value) => Err(wrong_type(name, "a string", value)),
    }
}
