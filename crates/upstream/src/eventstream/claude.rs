//! Converts Bedrock's event stream to the server-sent events of Anthropic's own API, so that readers need to know
//! one format only.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::Deserialize;
use serde_json::json;

use super::{EventStream, EventStreamError, Message};

/// Longest exception message that is passed on, in characters.
const MAX_WORDS: usize = 2_000;
/// Longest name of an event.
const MAX_NAME: usize = 64;

/// Reads frames and writes events. An error is returned after the events before it.
#[derive(Debug, Default)]
pub(crate) struct Translation {
    frames: EventStream,
    failed: Option<EventStreamError>,
}

/// The payload of a chunk. It has padding beside that, of a random length.
#[derive(Deserialize)]
struct Chunk<'a> {
    bytes: &'a str,
}

#[derive(Deserialize)]
struct Event {
    #[serde(rename = "type")]
    kind: Option<String>,
}

#[derive(Deserialize)]
struct Exception {
    #[serde(alias = "Message")]
    message: Option<String>,
}

// === impl Translation ===

impl Translation {
    /// Reads bytes of frames and returns the events that they complete, maybe none.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<Bytes, EventStreamError> {
        if let Some(failed) = self.failed {
            return Err(failed);
        }
        self.frames.push(bytes);
        let mut written = Vec::new();
        loop {
            let read = match self.frames.next_message() {
                Ok(None) => break,
                Ok(Some(message)) => write(&message, &mut written),
                Err(error) => Err(error),
            };
            if let Err(error) = read {
                self.failed = Some(error);
                if written.is_empty() {
                    return Err(error);
                }
                break;
            }
        }
        Ok(Bytes::from(written))
    }

    /// A deferred error, or an end in the middle of a frame.
    pub(crate) fn end(&self) -> Result<(), EventStreamError> {
        self.failed.map_or_else(|| self.frames.end(), Err)
    }

    pub(crate) const fn has_failed(&self) -> bool {
        self.failed.is_some()
    }
}

fn write(message: &Message, to: &mut Vec<u8>) -> Result<(), EventStreamError> {
    match message.header(":message-type") {
        Some("event") if message.header(":event-type") == Some("chunk") => chunk(message, to),
        // An event type that this version does not know.
        Some("event") => Ok(()),
        Some("exception") => {
            let text: Option<Exception> = serde_json::from_slice(&message.payload).ok();
            let text = text.and_then(|text| text.message).unwrap_or_default();
            let kind = message.header(":exception-type").unwrap_or_default();
            error(kind, &text, to);
            Ok(())
        }
        Some("error") => {
            let kind = message.header(":error-code").unwrap_or_default();
            let text = message.header(":error-message").unwrap_or_default();
            error(kind, text, to);
            Ok(())
        }
        Some(_) | None => Err(EventStreamError::Shape),
    }
}

fn chunk(message: &Message, to: &mut Vec<u8>) -> Result<(), EventStreamError> {
    let shape = EventStreamError::Shape;
    let outer: Chunk<'_> = serde_json::from_slice(&message.payload).map_err(|_| shape)?;
    let mut inner = STANDARD.decode(outer.bytes).map_err(|_| shape)?;
    let event: Event = serde_json::from_slice(&inner).map_err(|_| shape)?;
    // Between two tokens of JSON a line end is as good as a space; inside a text there is none.
    for byte in &mut inner {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
    let name = event.kind.filter(|name| name.len() <= MAX_NAME);
    if let Some(name) = name.filter(|name| name.bytes().all(plain)) {
        to.extend_from_slice(format!("event: {name}\n").as_bytes());
    }
    to.extend_from_slice(b"data: ");
    to.extend_from_slice(&inner);
    to.extend_from_slice(b"\n\n");
    Ok(())
}

fn error(kind: &str, text: &str, to: &mut Vec<u8>) {
    let words: String = match text {
        "" => format!("the upstream failed: {kind}"),
        text => text.to_owned(),
    };
    let words: String = words.chars().take(MAX_WORDS).collect();
    let data = json!({ "type": "error", "error": { "type": error_type(kind), "message": words } });
    to.extend_from_slice(format!("event: error\ndata: {data}\n\n").as_bytes());
}

/// Anthropic's error type for a Bedrock exception. Names are compared case-insensitively: the stream starts them
/// with a lower-case letter, HTTP headers with an upper-case one.
fn error_type(kind: &str) -> &'static str {
    match kind.to_ascii_lowercase().as_str() {
        "throttlingexception" | "servicequotaexceededexception" => "rate_limit_error",
        "validationexception" => "invalid_request_error",
        "modeltimeoutexception" => "timeout_error",
        "serviceunavailableexception" | "modelnotreadyexception" => "overloaded_error",
        "accessdeniedexception" => "permission_error",
        "resourcenotfoundexception" => "not_found_error",
        // internalServerException, modelStreamErrorException, modelErrorException, and new ones.
        _ => "api_error",
    }
}
