//! What the tests share: fixtures, and short ways to read and write.

use bytes::Bytes;
use serde_json::Value;
use trunkline_types::{Money, Units};
use trunkline_wire::canonical::{
    Block, Conversation, Event, OutputShape, Reasoning, ReportedUsage, Role, Sampling, Target,
    Turn, Written,
};
use trunkline_wire::{
    Cost, Format, Frame, FrameKind, Frames, PathParams, Reader, Request, ResponseMeta, StreamEnd,
    Writer, write_request,
};

pub(crate) const OWN: Format = Format::ClaudeMessages;

/// Streams with the whole answers that say the same.
pub(crate) const STREAMS: &[(&str, &str, &str)] = &[
    (
        "caches",
        include_str!("streams/caches.sse"),
        include_str!("answers/caches.json"),
    ),
    (
        "citations",
        include_str!("streams/citations.sse"),
        include_str!("answers/citations.json"),
    ),
    (
        "context_full",
        include_str!("streams/context_full.sse"),
        include_str!("answers/context_full.json"),
    ),
    (
        "length",
        include_str!("streams/length.sse"),
        include_str!("answers/length.json"),
    ),
    (
        "nothing_said",
        include_str!("streams/nothing_said.sse"),
        include_str!("answers/nothing_said.json"),
    ),
    (
        "parallel_tools",
        include_str!("streams/parallel_tools.sse"),
        include_str!("answers/parallel_tools.json"),
    ),
    (
        "redacted_thinking",
        include_str!("streams/redacted_thinking.sse"),
        include_str!("answers/redacted_thinking.json"),
    ),
    (
        "refusal",
        include_str!("streams/refusal.sse"),
        include_str!("answers/refusal.json"),
    ),
    (
        "stop_sequence",
        include_str!("streams/stop_sequence.sse"),
        include_str!("answers/stop_sequence.json"),
    ),
    (
        "text",
        include_str!("streams/text.sse"),
        include_str!("answers/text.json"),
    ),
    (
        "thinking",
        include_str!("streams/thinking.sse"),
        include_str!("answers/thinking.json"),
    ),
    (
        "thinking_omitted",
        include_str!("streams/thinking_omitted.sse"),
        include_str!("answers/thinking_omitted.json"),
    ),
    (
        "tool",
        include_str!("streams/tool.sse"),
        include_str!("answers/tool.json"),
    ),
    (
        "vendors_own_tool",
        include_str!("streams/vendors_own_tool.sse"),
        include_str!("answers/vendors_own_tool.json"),
    ),
];
/// A stream that breaks off with an error.
pub(crate) const BROKEN: &str = include_str!("streams/error_inside.sse");

/// Reads a request.
pub(crate) fn request(body: &str) -> Request {
    let body = Bytes::copy_from_slice(body.as_bytes());
    Request::read(OWN, body, PathParams::default()).unwrap()
}

/// For a model that thinks by budgets.
pub(crate) fn target() -> Target<'static> {
    Target {
        model: "up",
        ..Target::default()
    }
}

/// A conversation as another format would have it.
pub(crate) fn from_chat(turns: Vec<Turn>) -> Conversation {
    Conversation {
        from: Format::OpenaiChat,
        model: "m".to_owned(),
        instructions: Vec::new(),
        turns,
        tools: Vec::new(),
        tool_choice: None,
        parallel_tools: None,
        output: OutputShape::Text,
        reasoning: Reasoning::default(),
        max_output: Some(8_000),
        sampling: Sampling::default(),
        stop: Vec::new(),
        choices: 1,
        stream: false,
        user: None,
        cache_key: None,
        verbosity: None,
        service_tier: None,
        metadata: None,
        extras: Vec::new(),
    }
}

/// A turn of words.
pub(crate) fn turn_of(role: Role, text: &str) -> Turn {
    Turn::of(role, vec![Block::text(text)])
}

/// Writes a conversation, and reads the body.
pub(crate) fn sent(conversation: &Conversation, target: &Target<'_>) -> (Value, Written) {
    let written = write_request(OWN, conversation, target);
    (serde_json::from_slice(&written.body).unwrap(), written)
}

/// The fields of notes with what became of each.
pub(crate) fn noted(written: &Written) -> Vec<(String, &'static str)> {
    let notes = written.notes.all().iter();
    notes
        .map(|note| (note.field.to_string(), note.loss.code()))
        .collect()
}

/// A text alone and a list of one text say the same; so do a mark of five minutes and a bare one.
pub(crate) fn normal(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut map = map.clone();
            for key in ["content", "system"] {
                if let Some(text) = map.get(key).and_then(Value::as_str) {
                    let block = serde_json::json!([{ "type": "text", "text": text }]);
                    map.insert(key.to_owned(), block);
                }
            }
            if map.get("ttl").and_then(Value::as_str) == Some("5m") {
                map.remove("ttl");
            }
            let inner = map.iter().map(|(key, value)| (key.clone(), normal(value)));
            Value::Object(inner.collect())
        }
        Value::Array(list) => Value::Array(list.iter().map(normal).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// Cuts bytes into frames.
pub(crate) fn frames(pieces: &[&[u8]]) -> Vec<Frame> {
    let mut frames = Frames::default();
    let mut found = Vec::new();
    for piece in pieces {
        frames.push(piece);
        while let Some(frame) = frames.take().unwrap() {
            found.push(frame);
        }
    }
    found.extend(frames.rest());
    found
}

/// Reads a stream to its end.
pub(crate) fn read(pieces: &[&[u8]]) -> (Vec<Event>, Vec<FrameKind>, bool) {
    let mut reader = Reader::new(OWN);
    let mut events = Vec::new();
    let mut seen = Vec::new();
    for frame in frames(pieces) {
        seen.push(reader.read(&frame, &mut events));
    }
    let fine = reader.end(&mut events);
    (events, seen, fine)
}

/// How a stream ends.
pub(crate) fn stream_end(reported: ReportedUsage, exhausted: bool) -> StreamEnd {
    StreamEnd {
        reported,
        cost: Cost {
            total: Money::from_nanos(1_234_000),
            tier: "standard".to_owned(),
            units: Units::none(),
            cache_saving: None,
            tools: Vec::new(),
        },
        exhausted,
        wants_usage: true,
    }
}

/// What an answer is shown with.
pub(crate) fn meta(channel: Option<&str>) -> ResponseMeta {
    ResponseMeta {
        model: "public".to_owned(),
        id: "abc".to_owned(),
        channel: channel.map(ToOwned::to_owned),
        ..ResponseMeta::default()
    }
}

/// Writes events as a stream.
pub(crate) fn written(events: &[Event], meta: ResponseMeta, stream_end: &StreamEnd) -> String {
    let mut writer = Writer::new(OWN, meta);
    let mut out = Vec::new();
    for event in events {
        writer.write(event, &mut out);
    }
    writer.finish(stream_end, &mut out);
    String::from_utf8(out).unwrap()
}

/// The data of the frames of a stream.
pub(crate) fn data(stream: &str) -> Vec<Value> {
    let frames = frames(&[stream.as_bytes()]);
    let data = frames.iter().filter_map(|frame| frame.data.as_ref());
    data.map(|data| serde_json::from_slice(data).unwrap())
        .collect()
}
