//! A file is written down: what is asked, what is refused, and the answer in one of five shapes.

use serde_json::{Value, json};

use super::VENDOR;
use super::formats::{self, Shape};
use crate::audio::answer;
use crate::audio::audio_sniff::{AudioInfo, Container};
use crate::audio::fake_transcript::Words;
use crate::audio::upload::Upload;
use crate::audio_state::{AudioCall, AudioWork};
use crate::directives::Directives;
use crate::fault::Fault;
use crate::fault_stage::{self, GARBAGE, Injected, RuleScope};
use crate::models;
use crate::recorded_request::RecordedRequest;
use crate::refusal::Refusal;
use crate::request::fields::{missing, wrong_value};
use crate::script::{Piece, Script};
use crate::scripted_body::VendorResult;
use crate::tokens::PromptSize;

pub(super) struct TranscriptionRequest {
    model: String,
    pub(super) audio: AudioInfo,
    pub(super) words: Words,
    pub(super) shape: Shape,
    pub(super) is_translation: bool,
    /// Times of words, of sentences.
    pub(super) has_words: bool,
    pub(super) has_segments: bool,
    stream: bool,
    prompt_tokens: u64,
    directives: Directives,
}

/// How a model tells what it used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Billing {
    Seconds,
    Tokens,
}

/// One event of a stream.
enum Event {
    Delta(String),
    Done(Value),
    Error,
    Garbage,
}

const WHISPER: &str = "whisper-1";
const NEWER_MODELS: [&str; 4] = [
    "gpt-4o-transcribe",
    "gpt-4o-mini-transcribe",
    "gpt-4o-mini-transcribe-2025-12-15",
    "gpt-transcribe",
];
/// What a relay's model has in its name if it tells tokens and not seconds.
const TOKEN_MARK: &str = "transcribe";
const ENDINGS: [&str; 9] = [
    "flac", "mp3", "mp4", "mpeg", "mpga", "m4a", "ogg", "wav", "webm",
];
const GRANULARITIES: [&str; 2] = ["word", "segment"];
const AUDIO_TOKENS_PER_SECOND: u64 = 10;
const SHORTEST_MILLIS: u64 = 100;

pub(super) async fn serve(
    mut recorded: RecordedRequest,
    upload: Upload,
    is_translation: bool,
) -> VendorResult {
    let is_stream = upload.field("stream") == Some("true");
    answer::note(
        &recorded,
        upload.field("model").unwrap_or_default(),
        is_stream,
    );
    let request = match TranscriptionRequest::read(&upload, is_translation) {
        Ok(request) => request,
        Err(refusal) => return Ok(recorded.refuse(&refusal)),
    };
    let fault = fault_stage::select(
        &recorded,
        &request.directives,
        &request.model,
        RuleScope::Audio,
    );
    if let Some(error) = fault_stage::before_answer(&mut recorded, fault, request.stream).await? {
        let script = Script::upstream_error(error, &request.model);
        return Ok(recorded.play_error(script));
    }
    let work = if is_translation {
        AudioWork::Translation
    } else {
        AudioWork::Transcription
    };
    let call = AudioCall::new(&recorded, VENDOR, work, &request.model)
        .with_audio(&request.audio, &request.words)
        .marked(request.directives.marker.as_ref());
    recorded.state.audio.calls.add(call);
    let prompt_tokens = request.input_tokens();
    recorded.note(|record| record.prompt_tokens = prompt_tokens);
    if request.stream {
        let pace = answer::pace(&recorded, &request.directives);
        return Ok(recorded.play(request.events(fault, pace), None));
    }
    let text = formats::document(&request, request.usage(fault));
    let script = answer::whole(text, request.words.count(), fault);
    Ok(answer::typed(
        recorded,
        script,
        request.shape.content_type(),
    ))
}

// === impl TranscriptionRequest ===

impl TranscriptionRequest {
    fn read(upload: &Upload, is_translation: bool) -> Result<Self, Refusal> {
        if !upload.is_good {
            return Err(Refusal::unnamed("Could not parse multipart form"));
        }
        let file = upload.file.as_ref().ok_or_else(|| missing("file"))?;
        let model = upload.field("model").ok_or_else(|| missing("model"))?;
        let is_newer = NEWER_MODELS.contains(&model) && !is_translation;
        if model != WHISPER && !is_newer && !models::is_known(model) {
            return Err(Refusal::no_such_model(model));
        }
        let shape = shape(upload, model, is_newer)?;
        check_file(&file.name, &file.audio)?;
        check_temperature(upload)?;
        let granularities = upload.list("timestamp_granularities[]");
        for word in &granularities {
            if !GRANULARITIES.contains(word) {
                let param = "timestamp_granularities";
                return Err(wrong_value(param, word, &GRANULARITIES));
            }
        }
        if !granularities.is_empty() && shape != Shape::VerboseJson {
            let message = "'timestamp_granularities' needs 'response_format' to be 'verbose_json'.";
            let (param, code) = ("timestamp_granularities", Some("invalid_value"));
            return Err(Refusal::invalid(param, code, message.to_owned()));
        }
        let language = language(upload)?;
        let words = if is_translation {
            Words::translated(&file.audio.sha256)
        } else {
            Words::for_audio(&file.audio.sha256, language)
        };
        let prompt = upload.field("prompt").unwrap_or_default();
        let directives = Directives::read(prompt).map_err(|error| Refusal::directive(&error.0))?;
        let size = PromptSize {
            text_bytes: crate::tokens::count(prompt.len()),
            ..PromptSize::default()
        };
        Ok(Self {
            model: model.to_owned(),
            audio: file.audio.clone(),
            words,
            shape,
            is_translation,
            has_words: granularities.contains(&"word"),
            has_segments: granularities.is_empty() || granularities.contains(&"segment"),
            // The oldest model ignores it.
            stream: upload.field("stream") == Some("true") && is_newer,
            prompt_tokens: size.tokens(),
            directives,
        })
    }

    fn billing(&self) -> Billing {
        if self.model != WHISPER && self.model.contains(TOKEN_MARK) {
            Billing::Tokens
        } else {
            Billing::Seconds
        }
    }

    fn audio_tokens(&self) -> u64 {
        self.audio.seconds().saturating_mul(AUDIO_TOKENS_PER_SECOND)
    }

    fn input_tokens(&self) -> u64 {
        self.audio_tokens().saturating_add(self.prompt_tokens)
    }

    /// Usage as it is told; translations tell none.
    fn usage(&self, fault: Option<Fault>) -> Option<Value> {
        if self.is_translation {
            return None;
        }
        let reported = |count: u64| fault_stage::reported(fault, count);
        match self.billing() {
            Billing::Seconds => {
                let seconds = reported(self.audio.seconds())?;
                Some(json!({ "type": "duration", "seconds": seconds }))
            }
            Billing::Tokens => {
                let (input, output) = (
                    reported(self.input_tokens())?,
                    reported(self.words.count())?,
                );
                Some(json!({
                    "type": "tokens",
                    "input_tokens": input,
                    "input_token_details": {
                        "audio_tokens": reported(self.audio_tokens())?,
                        "text_tokens": reported(self.prompt_tokens)?,
                    },
                    "output_tokens": output,
                    "total_tokens": input.saturating_add(output),
                }))
            }
        }
    }

    fn events(&self, fault: Option<Fault>, pace: u64) -> Script {
        let pieces = self.words.pieces();
        let mut events: Vec<Event> = pieces.into_iter().map(Event::Delta).collect();
        if !matches!(fault, Some(Fault::NoDone | Fault::TruncatedJson)) {
            let mut done = json!({ "type": "transcript.text.done", "text": self.words.text() });
            if let (Some(fields), Some(usage)) = (done.as_object_mut(), self.usage(fault)) {
                fields.insert("usage".to_owned(), usage);
            }
            events.push(Event::Done(done));
        }
        let injected = Injected {
            error: Event::Error,
            garbage: Event::Garbage,
        };
        let script = fault_stage::stream(
            events.into_iter(),
            injected,
            fault,
            |_, event| match event {
                Event::Delta(text) => {
                    let words = crate::tokens::count(text.split_whitespace().count());
                    let event = json!({ "type": "transcript.text.delta", "delta": text });
                    Piece::new(format!("data: {event}\n\n")).worth(words)
                }
                Event::Done(done) => Piece::new(format!("data: {done}\n\n")),
                Event::Error => Piece::new(format!("data: {}\n\n", Refusal::after_ok().body())),
                Event::Garbage => Piece::sse(GARBAGE),
            },
        );
        script.paced(true, pace, fault)
    }
}

fn shape(upload: &Upload, model: &str, is_newer: bool) -> Result<Shape, Refusal> {
    let word = upload.field("response_format").unwrap_or("json");
    let shape =
        Shape::read(word).ok_or_else(|| wrong_value("response_format", word, &Shape::NAMES))?;
    if is_newer && !matches!(shape, Shape::Json | Shape::Text) {
        let message = format!(
            "response_format '{word}' is not compatible with model '{model}'. Use 'json' or \
             'text' instead."
        );
        let code = Some("unsupported_value");
        return Err(Refusal::invalid("response_format", code, message));
    }
    Ok(shape)
}

fn check_file(name: &str, audio: &AudioInfo) -> Result<(), Refusal> {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    let is_known = ending.is_some_and(|ending| ENDINGS.contains(&ending.to_lowercase().as_str()));
    let wrong = |code, message: String| Err(Refusal::invalid("file", code, message));
    if !is_known {
        let listed: Vec<String> = ENDINGS.iter().map(|word| format!("'{word}'")).collect();
        let listed = listed.join(", ");
        let message = format!("Invalid file format. Supported formats: [{listed}]");
        return wrong(None, message);
    }
    if audio.container == Container::Unknown || audio.container == Container::Aac {
        let message = "Audio file might be corrupted or unsupported".to_owned();
        return wrong(Some("invalid_value"), message);
    }
    if audio.millis < SHORTEST_MILLIS {
        let message = "Audio file is too short. Minimum audio length is 0.1 seconds.".to_owned();
        return wrong(Some("audio_too_short"), message);
    }
    Ok(())
}

fn check_temperature(upload: &Upload) -> Result<(), Refusal> {
    let Some(text) = upload.field("temperature") else {
        return Ok(());
    };
    // Between 0 and 1 a number is a zero with digits behind its point, or a one with zeros.
    let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
    let is_good = match whole {
        "0" => rest.bytes().all(|digit| digit.is_ascii_digit()),
        "1" => rest.bytes().all(|digit| digit == b'0'),
        _ => false,
    };
    if is_good {
        return Ok(());
    }
    let message = "Invalid 'temperature': expected a decimal between 0 and 1.".to_owned();
    let code = Some("decimal_out_of_range");
    Err(Refusal::invalid("temperature", code, message))
}

/// Two characters, or three for languages without a code of two.
fn language(upload: &Upload) -> Result<Option<&str>, Refusal> {
    let Some(language) = upload.field("language") else {
        return Ok(None);
    };
    let is_code =
        (2..=3).contains(&language.len()) && language.bytes().all(|byte| byte.is_ascii_lowercase());
    if is_code {
        return Ok(Some(language));
    }
    let message = format!(
        "Invalid language '{}'. Language parameter must be specified in ISO-639-1 format.",
        crate::refusal::shortened(language)
    );
    let code = Some("invalid_language_format");
    Err(Refusal::invalid("language", code, message))
}
