//! Items of a conversation: what a client or the model said, as events show it and as it is counted.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::audio_format::AudioFormat;
use super::event_error::EventError;
use super::input_audio::user_tokens;
use crate::tokens::{PromptSize, count};

/// Tokens by modality.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tokens {
    pub(super) text: u64,
    pub(super) audio: u64,
    pub(super) image: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) id: String,
    pub(super) view: Value,
    pub(super) tokens: Tokens,
    pub(super) audio_millis: u64,
    /// Whether the model made it.
    pub(super) is_generated: bool,
    /// What a client wrote in it.
    pub(super) text: String,
}

// === impl Tokens ===

impl Tokens {
    pub(super) fn total(self) -> u64 {
        let text_and_audio = self.text.saturating_add(self.audio);
        text_and_audio.saturating_add(self.image)
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            text: self.text.saturating_add(other.text),
            audio: self.audio.saturating_add(other.audio),
            image: self.image.saturating_add(other.image),
        }
    }
}

/// Tokens of a text that stands alone, with what a message costs beside it.
pub(super) fn message_tokens(text_bytes: usize) -> u64 {
    let size = PromptSize {
        text_bytes: count(text_bytes),
        messages: 1,
        images: 0,
    };
    size.tokens()
}

fn image_tokens() -> u64 {
    let size = PromptSize {
        images: 1,
        ..PromptSize::default()
    };
    size.tokens()
}

// === impl Item ===

impl Item {
    /// Reads the item of a client; `id` is for one that brings none.
    pub(super) fn read(value: &Value, id: String, format: AudioFormat) -> Result<Self, EventError> {
        let wrong = |takes: &str| EventError::invalid_value("item", takes);
        let Value::Object(fields) = value else {
            return Err(wrong("an object"));
        };
        let text_of = |name: &str| fields.get(name).and_then(Value::as_str);
        let id = text_of("id").map_or(id, str::to_owned);
        let mut view = fields.clone();
        view.insert("id".to_owned(), json!(id));
        view.insert("object".to_owned(), json!("realtime.item"));
        view.insert("status".to_owned(), json!("completed"));
        let mut item = Self {
            id,
            view: Value::Null,
            tokens: Tokens::default(),
            audio_millis: 0,
            is_generated: false,
            text: String::new(),
        };
        match text_of("type") {
            Some("message") => {
                let role = text_of("role").unwrap_or_default();
                if !["user", "assistant", "system", "tool"].contains(&role) {
                    return Err(wrong("a role of user, assistant or system"));
                }
                item.is_generated = role == "assistant";
                let parts = view.get_mut("content").and_then(Value::as_array_mut);
                for part in parts.into_iter().flatten() {
                    item.take_part(part, format)?;
                }
            }
            Some("function_call") => {
                item.text = text_of("arguments").unwrap_or_default().to_owned();
                item.is_generated = true;
            }
            Some("function_call_output") => {
                if text_of("call_id").is_none() {
                    return Err(EventError::missing("item.call_id"));
                }
                item.text = text_of("output").unwrap_or_default().to_owned();
            }
            Some("force_message" | "mcp_approval_response") => {}
            Some(_) | None => return Err(wrong("message, function_call or function_call_output")),
        }
        item.tokens.text = message_tokens(item.text.len());
        item.view = Value::Object(view);
        Ok(item)
    }

    /// Counts a part and takes its audio out, which events do not show.
    fn take_part(&mut self, part: &mut Value, format: AudioFormat) -> Result<(), EventError> {
        let kind = part.get("type").and_then(Value::as_str).unwrap_or_default();
        match kind {
            "input_text" | "output_text" | "text" => {
                let text = part.get("text").and_then(Value::as_str);
                let missing = || EventError::missing("item.content.text");
                let text = text.ok_or_else(missing)?;
                if !self.text.is_empty() {
                    self.text.push('\n');
                }
                self.text.push_str(text);
            }
            "input_audio" | "output_audio" | "audio" => {
                let audio = part
                    .get("audio")
                    .and_then(Value::as_str)
                    .unwrap_or_default();
                let bytes = decoded(audio)?;
                let millis = format.millis(format.samples(AudioFormat::payload(&bytes)));
                self.audio_millis = self.audio_millis.saturating_add(millis);
                self.tokens.audio = user_tokens(self.audio_millis);
                if let Some(part) = part.as_object_mut() {
                    part.remove("audio");
                }
            }
            "input_image" => {
                self.tokens.image = self.tokens.image.saturating_add(image_tokens());
            }
            _ => {
                let takes = "input_text, input_audio, input_image or output_text";
                return Err(EventError::invalid_value("item.content.type", takes));
            }
        }
        Ok(())
    }

    /// What a client said into the buffer.
    pub(super) fn voice(id: String, millis: u64) -> Self {
        let view = json!({
            "id": id,
            "object": "realtime.item",
            "type": "message",
            "status": "completed",
            "role": "user",
            "content": [{"type": "input_audio", "transcript": null}],
        });
        Self {
            id,
            view,
            tokens: Tokens {
                text: message_tokens(0),
                audio: user_tokens(millis),
                image: 0,
            },
            audio_millis: millis,
            is_generated: false,
            text: String::new(),
        }
    }
}

/// Base64 of an event.
pub(super) fn decoded(text: &str) -> Result<Vec<u8>, EventError> {
    STANDARD.decode(text).map_err(|_| {
        let message = "Invalid 'audio'. Expected base64-encoded audio bytes.";
        EventError::new("invalid_value", message).about("audio")
    })
}
