//! What a session is set to: the object that `session.updated` shows, and what it means.

use serde_json::{Value, json};

use super::audio_format::AudioFormat;
use super::vendor::Vendor;
use crate::realtime_log::RealtimeWork;
use crate::request::Object;
use crate::tone::Speed;

#[derive(Clone, Debug)]
pub(super) struct SessionConfig {
    pub(super) vendor: Vendor,
    pub(super) work: RealtimeWork,
    pub(super) fields: Object,
}

/// How turns are found in the audio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct VoiceDetection {
    pub(super) silence_millis: u64,
    pub(super) prefix_millis: u64,
    /// A sample that is as loud is speech.
    pub(super) amplitude: u16,
    pub(super) creates_response: bool,
    pub(super) interrupts_response: bool,
    pub(super) idle_millis: Option<u64>,
}

/// What becomes of a conversation that is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Truncation {
    Disabled,
    /// Down to so many millionths of the limit.
    Retain {
        millionths: u64,
        /// A limit below that of the model.
        max_tokens: Option<u64>,
    },
}

/// The transcriber of the client's audio.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Transcriber {
    pub(super) model: String,
    pub(super) prompt: String,
}

const MILLION: u64 = 1_000_000;
const DEFAULT_SILENCE_MILLIS: u64 = 500;
const DEFAULT_PREFIX_MILLIS: u64 = 300;
/// How loud speech is at a threshold of 1.
const FULL_AMPLITUDE: u64 = 200;
const DEFAULT_AMPLITUDE: u16 = 100;
/// How long semantic detection waits for more, by eagerness. [unverified] The vendor names 8, 4 and 2 s as
/// the longest times.
const LOW_MILLIS: u64 = 2_000;
const MEDIUM_MILLIS: u64 = 1_000;
const HIGH_MILLIS: u64 = 500;
const DEFAULT_INSTRUCTIONS: &str = "You are a helpful assistant.";

// === impl SessionConfig ===

impl SessionConfig {
    pub(super) fn new(vendor: Vendor, work: RealtimeWork, model: &str) -> Self {
        let format = json!({"type": "audio/pcm", "rate": 24000});
        let input = json!({
            "format": format,
            "transcription": null,
            "noise_reduction": null,
            "turn_detection": {
                "type": "server_vad",
                "threshold": 0.5,
                "prefix_padding_ms": DEFAULT_PREFIX_MILLIS,
                "silence_duration_ms": DEFAULT_SILENCE_MILLIS,
                "idle_timeout_ms": null,
                "create_response": vendor.creates_responses(),
                "interrupt_response": true,
            },
        });
        let fields = if work == RealtimeWork::Transcription {
            json!({"type": "transcription", "include": null, "audio": {"input": input}})
        } else {
            json!({
                "type": "realtime",
                "model": vendor.shown_model(model),
                "output_modalities": ["audio"],
                "instructions": DEFAULT_INSTRUCTIONS,
                "tools": [],
                "tool_choice": "auto",
                "max_output_tokens": "inf",
                "truncation": "auto",
                "tracing": null,
                "prompt": null,
                "include": null,
                "audio": {
                    "input": input,
                    "output": {"format": format, "voice": "marin", "speed": 1.0},
                },
            })
        };
        let fields = match fields {
            Value::Object(fields) => fields,
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => Object::new(),
        };
        Self {
            vendor,
            work,
            fields,
        }
    }

    /// The session object of events.
    pub(super) fn view(&self, id: &str, expires_at: u64) -> Value {
        let mut view = self.fields.clone();
        let object = if self.work == RealtimeWork::Transcription {
            "realtime.transcription_session"
        } else {
            "realtime.session"
        };
        view.insert("id".to_owned(), json!(id));
        view.insert("object".to_owned(), json!(object));
        view.insert("expires_at".to_owned(), json!(expires_at));
        Value::Object(view)
    }

    pub(super) fn text(&self, name: &str) -> &str {
        let field = self.fields.get(name).and_then(Value::as_str);
        field.unwrap_or_default()
    }

    pub(super) fn field(&self, name: &str) -> &Value {
        self.fields.get(name).unwrap_or(&Value::Null)
    }

    fn audio(&self, side: &str, name: &str) -> &Value {
        let inside = self.field("audio").get(side);
        let field = inside.and_then(|inside| inside.get(name));
        field.unwrap_or(&Value::Null)
    }

    pub(super) fn input_format(&self) -> AudioFormat {
        let format = AudioFormat::read(self.audio("input", "format"), self.vendor);
        format.unwrap_or(AudioFormat::DEFAULT)
    }

    pub(super) fn output_format(&self) -> AudioFormat {
        let format = AudioFormat::read(self.audio("output", "format"), self.vendor);
        format.unwrap_or(AudioFormat::DEFAULT)
    }

    pub(super) fn speed(&self) -> Speed {
        Speed::read(self.audio("output", "speed")).unwrap_or(Speed::ONE)
    }

    pub(super) fn transcriber(&self) -> Option<Transcriber> {
        let transcription = self.audio("input", "transcription");
        let text = |name: &str| transcription.get(name).and_then(Value::as_str);
        Some(Transcriber {
            model: text("model")?.to_owned(),
            prompt: text("prompt").unwrap_or_default().to_owned(),
        })
    }

    /// How turns are found; none if the client marks them.
    pub(super) fn voice_detection(&self) -> Option<VoiceDetection> {
        let detection = self.audio("input", "turn_detection");
        let number = |name: &str| detection.get(name).and_then(Value::as_u64);
        let flag = |name: &str| detection.get(name).and_then(Value::as_bool);
        let creates = self.vendor.creates_responses();
        let mut voice = VoiceDetection {
            silence_millis: number("silence_duration_ms").unwrap_or(DEFAULT_SILENCE_MILLIS),
            prefix_millis: number("prefix_padding_ms").unwrap_or(DEFAULT_PREFIX_MILLIS),
            amplitude: amplitude(detection.get("threshold")),
            creates_response: flag("create_response").unwrap_or(creates),
            interrupts_response: flag("interrupt_response").unwrap_or(true),
            idle_millis: number("idle_timeout_ms"),
        };
        match detection.get("type")?.as_str()? {
            "server_vad" => Some(voice),
            "semantic_vad" => {
                let eagerness = detection.get("eagerness").and_then(Value::as_str);
                voice.silence_millis = match eagerness {
                    Some("low") => LOW_MILLIS,
                    Some("high") => HIGH_MILLIS,
                    Some(_) | None => MEDIUM_MILLIS,
                };
                Some(voice)
            }
            _ => None,
        }
    }

    pub(super) fn truncation(&self) -> Truncation {
        let truncation = self.field("truncation");
        if truncation.as_str() == Some("disabled") {
            return Truncation::Disabled;
        }
        let ratio = truncation.get("retention_ratio").and_then(Speed::read);
        let limits = truncation.get("token_limits");
        let max_tokens = limits.and_then(|limits| limits.get("post_instructions")?.as_u64());
        Truncation::Retain {
            millionths: ratio.map_or(MILLION, Speed::millionths),
            max_tokens,
        }
    }
}

// === impl Transcriber ===

impl Transcriber {
    /// Whether it is paid by the second.
    pub(super) fn is_by_duration(&self) -> bool {
        self.model.contains("whisper")
    }
}

fn amplitude(threshold: Option<&Value>) -> u16 {
    let Some(threshold) = threshold else {
        return DEFAULT_AMPLITUDE;
    };
    // A threshold of zero is no speed: everything but silence is speech then.
    let millionths = Speed::read(threshold).map_or(0, Speed::millionths);
    let amplitude = millionths.saturating_mul(FULL_AMPLITUDE) / MILLION;
    u16::try_from(amplitude.max(1)).unwrap_or(u16::MAX)
}
