//! `session.update`: what may be changed, and to what.

use serde_json::{Value, json};

use super::audio_format::AudioFormat;
use super::event_error::EventError;
use super::session_config::SessionConfig;
use crate::realtime_log::RealtimeWork;
use crate::refusal::shortened;
use crate::request::Object;

const MAX_OUTPUT_TOKENS: u64 = 4_096;
const MAX_IDLE_MILLIS: u64 = 30_000;
/// The fields of a session, of a conversation and of a transcription.
const FIELDS: [&str; 15] = [
    "type",
    "model",
    "output_modalities",
    "instructions",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "reasoning",
    "max_output_tokens",
    "truncation",
    "tracing",
    "prompt",
    "include",
    "audio",
    "temperature",
];
const TRANSCRIPTION_FIELDS: [&str; 3] = ["type", "include", "audio"];
/// Fields of OpenAI's beta, which other vendors still take, and where they stand now.
const FLAT_FIELDS: [(&str, &str, &str); 6] = [
    ("voice", "output", "voice"),
    ("input_audio_format", "input", "format"),
    ("output_audio_format", "output", "format"),
    ("turn_detection", "input", "turn_detection"),
    ("input_audio_transcription", "input", "transcription"),
    ("input_audio_noise_reduction", "input", "noise_reduction"),
];
/// Fields of their own that other vendors take and that change nothing here.
const VENDOR_FIELDS: [&str; 4] = ["beta_fields", "resumption", "smooth_output", "id"];

// === impl SessionConfig ===

impl SessionConfig {
    /// Takes over what a client sends; on an error nothing is changed.
    pub(super) fn update(
        &mut self,
        patch: &Object,
        min_idle_millis: u64,
    ) -> Result<(), EventError> {
        let patch = if self.vendor.needs_session_type() {
            patch.clone()
        } else {
            unflattened(patch)
        };
        let mut changed = self.fields.clone();
        for (name, value) in &patch {
            self.check(name, value)?;
            if name == "audio" {
                merge_audio(&mut changed, value)?;
            } else if name != "model" {
                changed.insert(name.clone(), value.clone());
            }
        }
        let updated = Self {
            fields: changed,
            ..self.clone()
        };
        updated.check_audio(min_idle_millis)?;
        self.fields = updated.fields;
        Ok(())
    }

    fn check(&self, name: &str, value: &Value) -> Result<(), EventError> {
        let is_transcription = self.work == RealtimeWork::Transcription;
        let known: &[&str] = if is_transcription {
            &TRANSCRIPTION_FIELDS
        } else {
            &FIELDS
        };
        if !known.contains(&name) {
            let message = format!("Unknown parameter: 'session.{}'.", shortened(name));
            return Err(EventError::new("unknown_parameter", message).about("session"));
        }
        match name {
            "type" if value.as_str() != Some(self.text("type")) => {
                let message = "Passing a session of another type is not allowed.";
                Err(EventError::new("invalid_value", message).about("session.type"))
            }
            "model" if self.is_other_model(value) => {
                let message = "The model of a session cannot be changed.";
                Err(EventError::new("cannot_update_model", message).about("session.model"))
            }
            "instructions" if !value.is_string() => {
                Err(EventError::invalid_value("session.instructions", "a text"))
            }
            "tools" if !value.is_array() => {
                Err(EventError::invalid_value("session.tools", "a list"))
            }
            "output_modalities" => check_modalities(value),
            "max_output_tokens" => check_max_output(value, "session.max_output_tokens"),
            "truncation" if !is_truncation(value) => {
                let takes = "auto, disabled or a retention ratio";
                Err(EventError::invalid_value("session.truncation", takes))
            }
            _ => Ok(()),
        }
    }

    fn is_other_model(&self, value: &Value) -> bool {
        let own_model = self.text("model");
        let Some(model) = value.as_str() else {
            return true;
        };
        // Azure shows the dated model, and the client names the deployment.
        !own_model.is_empty() && !own_model.starts_with(model) && self.vendor.needs_session_type()
    }

    fn check_audio(&self, min_idle_millis: u64) -> Result<(), EventError> {
        let input = self
            .fields
            .get("audio")
            .and_then(|audio| audio.get("input"));
        let output = self
            .fields
            .get("audio")
            .and_then(|audio| audio.get("output"));
        let is_bad = |side: Option<&Value>| {
            let format = side.and_then(|side| side.get("format"));
            format.is_some_and(|format| AudioFormat::read(format, self.vendor).is_none())
        };
        let takes = "audio/pcm with a rate of 24000, audio/pcmu or audio/pcma";
        if is_bad(input) {
            let param = "session.audio.input.format";
            return Err(EventError::invalid_value(param, takes));
        }
        if is_bad(output) {
            let param = "session.audio.output.format";
            return Err(EventError::invalid_value(param, takes));
        }
        let detection = input.and_then(|input| input.get("turn_detection"));
        let Some(detection) = detection.filter(|detection| !detection.is_null()) else {
            return Ok(());
        };
        let kind = detection.get("type").and_then(Value::as_str);
        if !matches!(kind, Some("server_vad" | "semantic_vad" | "client_vad")) {
            let param = "session.audio.input.turn_detection.type";
            return Err(EventError::invalid_value(
                param,
                "server_vad or semantic_vad",
            ));
        }
        let idle = detection
            .get("idle_timeout_ms")
            .filter(|idle| !idle.is_null());
        let is_in_range = |idle: &Value| {
            let millis = idle.as_u64();
            millis.is_some_and(|millis| (min_idle_millis..=MAX_IDLE_MILLIS).contains(&millis))
        };
        if idle.is_some_and(|idle| !is_in_range(idle)) {
            let param = "session.audio.input.turn_detection.idle_timeout_ms";
            return Err(EventError::invalid_value(param, "5000 to 30000"));
        }
        let transcriber = self.transcriber();
        if transcriber.is_some_and(|transcriber| transcriber.model == "gpt-realtime-whisper") {
            let param = "session.audio.input.turn_detection";
            return Err(EventError::invalid_value(
                param,
                "null for this transcriber",
            ));
        }
        Ok(())
    }
}

pub(super) fn check_modalities(value: &Value) -> Result<(), EventError> {
    let is_one = |expected: &str| *value == json!([expected]);
    if is_one("text") || is_one("audio") || *value == json!(["text", "audio"]) {
        return Ok(());
    }
    let takes = "[\"text\"] or [\"audio\"]";
    Err(EventError::invalid_value(
        "session.output_modalities",
        takes,
    ))
}

pub(super) fn check_max_output(value: &Value, param: &'static str) -> Result<(), EventError> {
    let is_number = value
        .as_u64()
        .is_some_and(|tokens| (1..=MAX_OUTPUT_TOKENS).contains(&tokens));
    if is_number || value.as_str() == Some("inf") {
        return Ok(());
    }
    Err(EventError::invalid_value(param, "1 to 4096 or \"inf\""))
}

fn is_truncation(value: &Value) -> bool {
    let kind = value.get("type").and_then(Value::as_str);
    matches!(value.as_str(), Some("auto" | "disabled")) || kind == Some("retention_ratio")
}

/// Takes over the fields of each side one by one.
fn merge_audio(fields: &mut Object, patch: &Value) -> Result<(), EventError> {
    let wrong = || EventError::invalid_value("session.audio", "an object");
    let patch = patch.as_object().ok_or_else(wrong)?;
    let audio = fields.entry("audio").or_insert_with(|| json!({}));
    let audio = audio.as_object_mut().ok_or_else(wrong)?;
    for (side, values) in patch {
        let values = values.as_object().ok_or_else(wrong)?;
        let inside = audio.entry(side.clone()).or_insert_with(|| json!({}));
        let inside = inside.as_object_mut().ok_or_else(wrong)?;
        for (name, value) in values {
            inside.insert(name.clone(), value.clone());
        }
    }
    Ok(())
}

/// The flat fields of OpenAI's beta in their places of today.
fn unflattened(patch: &Object) -> Object {
    let mut nested = Object::new();
    let mut audio = json!({"input": {}, "output": {}});
    for (name, value) in patch {
        if let Some((_, side, place)) = FLAT_FIELDS.iter().find(|(flat, _, _)| flat == name) {
            if let Some(inside) = audio.get_mut(*side).and_then(Value::as_object_mut) {
                inside.insert((*place).to_owned(), value.clone());
            }
        } else if name == "modalities" {
            nested.insert("output_modalities".to_owned(), value.clone());
        } else if name == "max_response_output_tokens" {
            nested.insert("max_output_tokens".to_owned(), value.clone());
        } else if !VENDOR_FIELDS.contains(&name.as_str()) && name != "audio" {
            nested.insert(name.clone(), value.clone());
        }
    }
    let mut merged = Object::new();
    merged.insert("audio".to_owned(), audio);
    if let Some(nested_audio) = patch.get("audio") {
        // What is no object is left to the check of the whole.
        merge_audio(&mut merged, nested_audio).unwrap_or_default();
    }
    nested.append(&mut merged);
    nested
}
