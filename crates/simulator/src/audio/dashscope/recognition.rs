//! A short file is written down at once, natively or in OpenAI's dialect. The file is an address, which
//! the vendor fetches, or a data URI.

mod render;

use serde_json::{Value, json};

use super::{Dialect, VENDOR, is_enabled, refuse, request_id, unreachable, upstream_error};
use crate::audio::answer;
use crate::audio::audio_sniff::{AudioInfo, Container};
use crate::audio::fake_transcript::Words;
use crate::audio::fetch::fetch;
use crate::audio_state::{AudioCall, AudioWork};
use crate::clock;
use crate::dashscope_error::DashScopeError;
use crate::directives::Directives;
use crate::fault::Fault;
use crate::fault_stage::{self, RuleScope};
use crate::models;
use crate::recorded_request::RecordedRequest;
use crate::scripted_body::VendorResult;
use render::Renderer;

struct RecognitionRequest {
    model: String,
    address: String,
    language: Option<String>,
    stream: bool,
    directives: Directives,
}

const MAX_BYTES: u64 = 10 * 1024 * 1024;
const MAX_MILLIS: u64 = 300_000;
/// Tokens of a second of sound, as the vendor counts them.
const TOKENS_PER_SECOND: u64 = 25;

/// Whether a body asks for recognition.
pub(super) fn is_asked(body: &Value, dialect: Dialect) -> bool {
    let model = body.get("model").and_then(Value::as_str);
    let is_named = model.is_some_and(|model| model.contains("-asr"));
    match dialect {
        Dialect::Native => is_named || address(body, dialect).is_some(),
        // Other models hear too, as chats do: they are not ours.
        Dialect::Compatible => is_named,
    }
}

pub(super) async fn serve(
    mut recorded: RecordedRequest,
    body: &Value,
    dialect: Dialect,
) -> VendorResult {
    let is_stream = match dialect {
        Dialect::Native => is_enabled(&recorded, "x-dashscope-sse"),
        Dialect::Compatible => body.get("stream") == Some(&Value::Bool(true)),
    };
    let model = body.get("model").and_then(Value::as_str);
    answer::note(&recorded, model.unwrap_or_default(), is_stream);
    let request = match RecognitionRequest::read(body, dialect, is_stream) {
        Ok(request) => request,
        Err(refused) => return Ok(refuse(recorded, dialect, &refused)),
    };
    let audio = match fetch_audio(&request.address).await {
        Ok(audio) => audio,
        Err(refused) => return Ok(refuse(recorded, dialect, &refused)),
    };
    let fault = fault_stage::select(
        &recorded,
        &request.directives,
        &request.model,
        RuleScope::Audio,
    );
    if let Some(error) = fault_stage::before_answer(&mut recorded, fault, is_stream).await? {
        let script = upstream_error(&recorded, error, dialect);
        return Ok(recorded.play_error(script));
    }
    let words = Words::for_audio(&audio.sha256, request.language.as_deref());
    let call = AudioCall::new(&recorded, VENDOR, AudioWork::Transcription, &request.model)
        .with_audio(&audio, &words)
        .marked(request.directives.marker.as_ref());
    recorded.state.audio.calls.add(call);
    let prompt_tokens = audio.seconds().saturating_mul(TOKENS_PER_SECOND);
    recorded.note(|record| record.prompt_tokens = prompt_tokens);
    let renderer = Renderer {
        dialect,
        id: format!("chatcmpl-{}", request_id(&recorded)),
        request_id: request_id(&recorded),
        created: clock::seconds(recorded.received_at_micros),
        usage: usage(&audio, &words, dialect, fault),
        model: request.model.clone(),
        words,
    };
    let script = if request.stream {
        let pace = answer::pace(&recorded, &request.directives);
        renderer.streamed(fault).paced(true, pace, fault)
    } else {
        let worth = renderer.words.count();
        answer::whole(renderer.whole().to_string(), worth, fault)
    };
    Ok(recorded.play(script, None))
}

async fn fetch_audio(address: &str) -> Result<AudioInfo, DashScopeError> {
    let audio = fetch(address).await.map_err(|_| unreachable())?;
    if audio.container == Container::Unknown {
        let text = "The audio format is illegal and cannot be opened.";
        return Err(DashScopeError::invalid(text));
    }
    if audio.bytes > MAX_BYTES {
        return Err(DashScopeError::invalid(
            "The audio file is larger than 10 MB.",
        ));
    }
    if audio.millis > MAX_MILLIS {
        return Err(DashScopeError::invalid(
            "The audio is longer than 5 minutes.",
        ));
    }
    Ok(audio)
}

// === impl RecognitionRequest ===

impl RecognitionRequest {
    fn read(body: &Value, dialect: Dialect, stream: bool) -> Result<Self, DashScopeError> {
        let model = body.get("model").and_then(Value::as_str);
        let model = model.unwrap_or_default();
        let is_known = model.starts_with("qwen") && model.contains("-asr");
        if !is_known && !models::is_known(model) {
            return Err(DashScopeError::model());
        }
        let address = address(body, dialect);
        let address = address.ok_or_else(|| DashScopeError::invalid("The audio is empty."))?;
        let options = match dialect {
            Dialect::Native => "/parameters/asr_options",
            Dialect::Compatible => "/asr_options",
        };
        let null = Value::Null;
        let options = body.pointer(options).unwrap_or(&null);
        if !options.is_null() && !options.is_object() {
            return Err(DashScopeError::invalid("asr_options must be an object"));
        }
        for name in ["enable_itn", "enable_lid"] {
            if options.get(name).is_some_and(|value| !value.is_boolean()) {
                return Err(DashScopeError::invalid(&format!(
                    "{name} must be a boolean"
                )));
            }
        }
        let language = options.get("language").and_then(Value::as_str);
        let directives = Directives::read(&context(body));
        let directives = directives.map_err(|error| DashScopeError::invalid(&error.0))?;
        Ok(Self {
            model: model.to_owned(),
            address: address.to_owned(),
            language: language.map(str::to_owned),
            stream,
            directives,
        })
    }
}

fn messages(body: &Value) -> &[Value] {
    let messages = body
        .get("messages")
        .or_else(|| body.pointer("/input/messages"));
    let messages = messages.and_then(Value::as_array);
    messages.map(Vec::as_slice).unwrap_or_default()
}

fn parts(message: &Value) -> &[Value] {
    let parts = message.get("content").and_then(Value::as_array);
    parts.map(Vec::as_slice).unwrap_or_default()
}

/// The audio of the last message that has one.
fn address(body: &Value, dialect: Dialect) -> Option<&str> {
    let place = match dialect {
        Dialect::Native => "/audio",
        Dialect::Compatible => "/input_audio/data",
    };
    let mut all = messages(body).iter().flat_map(parts).rev();
    all.find_map(|part| part.pointer(place).and_then(Value::as_str))
}

/// The texts of a request, which are context to the vendor and directives to us.
fn context(body: &Value) -> String {
    let mut texts = String::new();
    for message in messages(body) {
        let plain = message.get("content").and_then(Value::as_str);
        texts.extend(plain);
        for part in parts(message) {
            texts.extend(part.get("text").and_then(Value::as_str));
        }
    }
    texts
}

fn usage(info: &AudioInfo, words: &Words, dialect: Dialect, fault: Option<Fault>) -> Value {
    let audio = info.seconds().saturating_mul(TOKENS_PER_SECOND);
    let reported = |count: u64| fault_stage::reported(fault, count);
    let (Some(input), Some(output), Some(seconds)) = (
        reported(audio),
        reported(words.count()),
        reported(info.seconds()),
    ) else {
        return Value::Null;
    };
    match dialect {
        Dialect::Native => json!({
            "input_tokens_details": { "text_tokens": 0 },
            "output_tokens_details": { "text_tokens": output },
            "seconds": seconds,
        }),
        Dialect::Compatible => json!({
            "prompt_tokens": input,
            "completion_tokens": output,
            "total_tokens": input.saturating_add(output),
            "prompt_tokens_details": { "audio_tokens": input, "text_tokens": 0 },
            "completion_tokens_details": { "text_tokens": output },
            "seconds": seconds,
        }),
    }
}
