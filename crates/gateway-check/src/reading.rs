//! What a client reads of an answer, whatever the format: words, thoughts, calls, why it ended, tokens, and whether
//! it can tell that something is missing.

mod chat;
mod gemini;
mod messages;
mod responses;

use serde_json::Value;

use crate::events::{self, Frames};
use crate::exchange::Answer;
use crate::format::Format;

/// An answer as a client reads it.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    pub(crate) text: String,
    pub(crate) thinking: String,
    pub(crate) calls: Vec<ToolCall>,
    /// The format's word.
    pub(crate) finish: Option<String>,
    pub(crate) usage: Option<TokenUsage>,
    /// Its error is one of the format, and this is what it says.
    pub(crate) error: Option<String>,
    /// The format's own mark of a complete answer has come.
    pub(crate) is_ended: bool,
    /// Frames, or a whole body, that are not JSON.
    pub(crate) unreadable: usize,
    /// Frames that had words, thoughts or arguments in them.
    pub(crate) pieces: usize,
    /// The JSON itself: one value, or a stream's in their order.
    pub(crate) values: Vec<Value>,
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct ToolCall {
    pub(crate) name: String,
    pub(crate) arguments: Value,
}

/// Tokens, each counted as the upstream of the simulator counts them: input with what a cache held of it, output
/// with thoughts.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TokenUsage {
    pub(crate) input: u64,
    pub(crate) output: u64,
    pub(crate) cached: u64,
    pub(crate) reasoning: u64,
}

/// A call whose arguments come in pieces.
#[derive(Debug, Default)]
struct GrowingCall {
    /// What the format tells calls apart by.
    index: u64,
    name: String,
    arguments: String,
}

/// Reads an answer. A stream that is answered with a whole body, such as an error, is read as one.
pub(crate) fn read(format: Format, streamed: bool, answer: &Answer) -> Reading {
    let is_stream = answer
        .header("content-type")
        .is_some_and(|kind| kind.starts_with("text/event-stream"));
    let mut reading = if streamed && is_stream {
        of_frames(format, events::frames(&answer.body))
    } else {
        of_body(format, &answer.body)
    };
    // A stream that was asked for and came as one body has not been streamed.
    if streamed && !is_stream && answer.is_success() {
        reading.pieces = reading.pieces.min(1);
    }
    reading
}

fn of_body(format: Format, body: &[u8]) -> Reading {
    let mut reading = Reading::default();
    let Ok(value) = serde_json::from_slice::<Value>(body) else {
        reading.unreadable = 1;
        return reading;
    };
    reading.error = error_of(format, &value);
    if reading.error.is_none() {
        match format {
            Format::Chat => chat::whole(&value, &mut reading),
            Format::Messages => messages::whole(&value, &mut reading),
            Format::Responses => responses::whole(&value, &mut reading),
            Format::Gemini => gemini::frame(&value, &mut reading),
        }
    }
    reading.is_ended = reading.finish.is_some();
    reading.values.push(value);
    reading
}

fn of_frames(format: Format, frames: Frames) -> Reading {
    let mut reading = Reading {
        unreadable: frames.unreadable,
        ..Reading::default()
    };
    let mut calls = Vec::new();
    for value in &frames.values {
        if let Some(error) = error_of(format, value) {
            reading.error = Some(error);
            continue;
        }
        match format {
            Format::Chat => chat::frame(value, &mut reading, &mut calls),
            Format::Messages => messages::frame(value, &mut reading, &mut calls),
            Format::Responses => responses::frame(value, &mut reading, &mut calls),
            Format::Gemini => gemini::frame(value, &mut reading),
        }
    }
    reading
        .calls
        .extend(calls.into_iter().map(GrowingCall::whole));
    match format {
        Format::Chat => reading.is_ended = frames.is_done,
        // Google's streams have no mark of their own; the reason of the end is the last thing to come.
        Format::Gemini => reading.is_ended = reading.finish.is_some(),
        Format::Messages | Format::Responses => {}
    }
    reading.values = frames.values;
    reading
}

/// The message of an error in the format's own shape.
fn error_of(format: Format, value: &Value) -> Option<String> {
    let error = match format {
        Format::Chat => value.get("error")?,
        Format::Messages if text(value, "type") == "error" => value.get("error")?,
        Format::Messages => return None,
        Format::Responses if text(value, "type") == "error" => value.get("error").unwrap_or(value),
        Format::Responses if text(value, "type") == "response.failed" => {
            value.get("response")?.get("error")?
        }
        Format::Responses => value.get("error")?,
        // Errors before a stream come in a list.
        Format::Gemini => value.get(0).unwrap_or(value).get("error")?,
    };
    let message = error.get("message")?.as_str()?;
    (!message.is_empty()).then(|| message.to_owned())
}

fn number(value: &Value, pointer: &str) -> u64 {
    value.pointer(pointer).and_then(Value::as_u64).unwrap_or(0)
}

/// A field that is not there is null.
fn field<'a>(value: &'a Value, name: &str) -> &'a Value {
    value.get(name).unwrap_or(&Value::Null)
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn items<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    value
        .get(name)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

/// Arguments that are JSON in a text; what is not JSON stays a text.
fn arguments(written: &str) -> Value {
    serde_json::from_str(written).unwrap_or_else(|_| Value::String(written.to_owned()))
}

// === impl Reading ===

impl Reading {
    fn say(&mut self, words: &str) {
        self.text.push_str(words);
        self.count(words);
    }

    fn think(&mut self, words: &str) {
        self.thinking.push_str(words);
        self.count(words);
    }

    fn count(&mut self, words: &str) {
        if !words.is_empty() {
            self.pieces = self.pieces.saturating_add(1);
        }
    }
}

// === impl GrowingCall ===

impl GrowingCall {
    /// The call of this number, which may be new.
    fn at(calls: &mut Vec<Self>, index: u64) -> Option<&mut Self> {
        let found = calls.iter().position(|call| call.index == index);
        let place = match found {
            Some(place) => place,
            None => {
                calls.push(Self {
                    index,
                    ..Self::default()
                });
                calls.len().saturating_sub(1)
            }
        };
        calls.get_mut(place)
    }

    fn whole(self) -> ToolCall {
        // A call without arguments comes without a piece of them.
        let written = match self.arguments.as_str() {
            "" => "{}",
            written => written,
        };
        ToolCall {
            arguments: arguments(written),
            name: self.name,
        }
    }
}
