//! One event of a client: what kind it is, what of it may be sent, and what it adds to the conversation's input.

use serde_json::Value;
use serde_json::value::RawValue;

use super::fields::strip;
use crate::{FieldList, scan_text};

/// Most names of fields that are reported of one event.
const MAX_DROPPED: usize = 32;
/// Bytes of three characters of base64, and of four.
const BASE64_BYTES: u64 = 3;
const BASE64_CHARACTERS: u64 = 4;

/// An event without what may not be sent.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientEvent {
    pub kind: ClientEventKind,
    /// Null for audio, which is sent as it came.
    pub event: Value,
    /// Paths of what was taken out.
    pub dropped: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientEventKind {
    SessionUpdate,
    /// Audio of so many bytes.
    Audio(u64),
    Commit,
    ItemCreate,
    ResponseCreate,
    /// Changes nothing that is charged.
    Other,
}

/// What an event adds to the input of the next response, at most.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AddedInput {
    /// Bytes of JSON; no text has more tokens than bytes.
    pub text_bytes: u64,
    pub audio_bytes: u64,
    pub images: u64,
}

/// Why an event is not sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClientEventError {
    #[error("the event is no JSON object with a `type`, or has a field twice")]
    Unreadable,
    #[error("events of the type {0:?} are not supported")]
    Unknown(String),
}

// === impl ClientEvent ===

impl ClientEvent {
    /// Reads an event, and takes out what is not listed.
    pub fn read(text: &str) -> Result<Self, ClientEventError> {
        // Nearly all events are frames of sound, of which nothing but the length counts: our scan passes over a text
        // many bytes at a time, and no byte of it is copied.
        let head = scan_text(text).map_err(|_| ClientEventError::Unreadable)?;
        let written = head.value("type").unwrap_or_default();
        let word: String =
            serde_json::from_slice(written).map_err(|_| ClientEventError::Unreadable)?;
        let list = FieldList::of_realtime();
        if !list.root().takes_kind(&word) {
            return Err(ClientEventError::Unknown(word.chars().take(64).collect()));
        }
        let kind = match word.as_str() {
            "input_audio_buffer.append" => {
                let audio = head.value("audio").filter(|audio| *audio != b"null");
                let characters = audio.map_or(Ok(0), characters_of)?;
                return Ok(Self {
                    kind: ClientEventKind::Audio(decoded(characters)),
                    event: Value::Null,
                    dropped: Vec::new(),
                });
            }
            "session.update" => ClientEventKind::SessionUpdate,
            "input_audio_buffer.commit" => ClientEventKind::Commit,
            "conversation.item.create" => ClientEventKind::ItemCreate,
            "response.create" => ClientEventKind::ResponseCreate,
            _ => ClientEventKind::Other,
        };
        let mut event: Value =
            serde_json::from_str(text).map_err(|_| ClientEventError::Unreadable)?;
        let mut dropped = strip(list, &mut event);
        dropped.truncate(MAX_DROPPED);
        Ok(Self {
            kind,
            event,
            dropped,
        })
    }

    /// What it adds to the input of the next response, at most.
    #[must_use]
    pub fn adds(&self) -> AddedInput {
        match self.kind {
            ClientEventKind::Audio(audio_bytes) => AddedInput {
                audio_bytes,
                ..AddedInput::default()
            },
            ClientEventKind::SessionUpdate
            | ClientEventKind::ItemCreate
            | ClientEventKind::ResponseCreate => {
                let mut added = AddedInput::default();
                added.add("", &self.event);
                added
            }
            ClientEventKind::Commit | ClientEventKind::Other => AddedInput::default(),
        }
    }
}

// === impl AddedInput ===

impl AddedInput {
    fn add(&mut self, key: &str, value: &Value) {
        let length = |text: &str| u64::try_from(text.len()).unwrap_or(u64::MAX);
        self.text_bytes = self.text_bytes.saturating_add(length(key));
        match value {
            Value::String(text) if key == "audio" => {
                self.audio_bytes = self.audio_bytes.saturating_add(decoded_bytes(text));
            }
            Value::String(_) if key == "image_url" => self.images = self.images.saturating_add(1),
            Value::String(text) => self.text_bytes = self.text_bytes.saturating_add(length(text)),
            Value::Array(items) => items.iter().for_each(|item| self.add("", item)),
            Value::Object(members) => members.iter().for_each(|(key, value)| self.add(key, value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {
                self.text_bytes = self.text_bytes.saturating_add(8);
            }
        }
    }
}

/// How long a text is as it is written.
pub(super) fn characters_of(value: &[u8]) -> Result<usize, ClientEventError> {
    let inside = value
        .strip_prefix(b"\"")
        .and_then(|rest| rest.strip_suffix(b"\""));
    inside.map(<[u8]>::len).ok_or(ClientEventError::Unreadable)
}

/// The inside of a text as it is written; none if it is something else.
pub(super) fn quoted(value: &RawValue) -> Option<&str> {
    value.get().strip_prefix('"')?.strip_suffix('"')
}

/// Bytes that a text of base64 stands for, at most.
pub(super) fn decoded_bytes(text: &str) -> u64 {
    decoded(text.len())
}

/// Bytes that so many characters of base64 stand for, at most.
pub(super) fn decoded(characters: usize) -> u64 {
    let characters = u64::try_from(characters).unwrap_or(u64::MAX);
    characters
        .div_ceil(BASE64_CHARACTERS)
        .saturating_mul(BASE64_BYTES)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_reaches_the_vendors_account_is_taken_out_and_named() {
        let event = json!({
            "type": "session.update",
            "session": {
                "type": "realtime", "tracing": "auto", "prompt": { "id": "pmpt_1" }, "instructions": "Be brief.",
                "tools": [
                    { "type": "mcp", "server_label": "x", "server_url": "https://example.com" },
                    { "type": "function", "name": "f", "parameters": { "type": "object", "properties": {} } },
                ],
                "audio": { "input": { "turn_detection": null, "voice_print": 1 }, "output": { "voice": { "id": "v" } } },
            },
        });
        let read = ClientEvent::read(&event.to_string()).unwrap();
        assert_eq!(read.kind, ClientEventKind::SessionUpdate);
        let mut dropped = read.dropped.clone();
        dropped.sort();
        assert_eq!(
            dropped,
            [
                "session.audio.input.voice_print",
                "session.audio.output.voice",
                "session.prompt",
                "session.tools[0]",
                "session.tracing",
            ]
        );
        let session = &read.event["session"];
        assert_eq!(session["tools"].as_array().unwrap().len(), 1);
        assert_eq!(session["audio"]["input"], json!({ "turn_detection": null }));
        assert_eq!(session["instructions"], "Be brief.");
    }

    #[test]
    fn audio_is_counted_and_an_unknown_event_is_refused() {
        let event = json!({ "type": "input_audio_buffer.append", "audio": "AAAAAAAA" });
        let read = ClientEvent::read(&event.to_string()).unwrap();
        assert_eq!(read.kind, ClientEventKind::Audio(6));
        assert_eq!(read.adds().audio_bytes, 6);
        let unknown = ClientEvent::read(r#"{"type":"input_image_buffer.append"}"#);
        assert_eq!(
            unknown,
            Err(ClientEventError::Unknown(
                "input_image_buffer.append".to_owned()
            ))
        );
        let none = r#"{"type":"input_audio_buffer.append","audio":null}"#;
        assert_eq!(
            ClientEvent::read(none).unwrap().kind,
            ClientEventKind::Audio(0)
        );
        let number = r#"{"type":"input_audio_buffer.append","audio":1}"#;
        let twice = r#"{"type":"session.update","session":{"voice":"a","voice":"b"}}"#;
        for bad in ["", "[]", "{}", r#"{"type":"a","type":"b"}"#, number, twice] {
            assert_eq!(ClientEvent::read(bad), Err(ClientEventError::Unreadable));
        }
    }

    #[test]
    fn an_item_adds_its_text_its_audio_and_its_images() {
        let event = json!({
            "type": "conversation.item.create",
            "item": { "type": "message", "role": "user", "content": [
                { "type": "input_text", "text": "x".repeat(1_000) },
                { "type": "input_audio", "audio": "A".repeat(400) },
                { "type": "input_image", "image_url": "data:image/png;base64,AAAA" },
            ] },
        });
        let added = ClientEvent::read(&event.to_string()).unwrap().adds();
        assert!((1_000..1_200).contains(&added.text_bytes), "{added:?}");
        assert_eq!((added.audio_bytes, added.images), (300, 1));
    }
}
