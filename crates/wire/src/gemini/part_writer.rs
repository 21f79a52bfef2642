//! Parts as they are written, in requests, answers and streams alike.

use serde_json::{Map, Value, json};

use super::{FORMAT, is_made};
use crate::Format;
use crate::canonical::{Media, MediaKind, Source, ToolCall, object_of_arguments, titled};

/// Endings of addresses, and the types they stand for.
const TYPES: [(&str, &str); 16] = [
    (".png", "image/png"),
    (".jpg", "image/jpeg"),
    (".jpeg", "image/jpeg"),
    (".webp", "image/webp"),
    (".gif", "image/gif"),
    (".heic", "image/heic"),
    (".pdf", "application/pdf"),
    (".txt", "text/plain"),
    (".csv", "text/csv"),
    (".html", "text/html"),
    (".mp3", "audio/mpeg"),
    (".wav", "audio/wav"),
    (".ogg", "audio/ogg"),
    (".flac", "audio/flac"),
    (".mp4", "video/mp4"),
    (".webm", "video/webm"),
];

pub(super) fn text(words: &str) -> Value {
    json!({ "text": words })
}

pub(super) fn thought(words: &str) -> Value {
    json!({ "text": words, "thought": true })
}

/// The same with a signature.
pub(super) fn signed(mut part: Value, signature: Option<String>) -> Value {
    if let (Some(signature), Some(map)) = (signature, part.as_object_mut()) {
        map.insert("thoughtSignature".to_owned(), Value::String(signature));
    }
    part
}

/// A call under a name; the flag says that its arguments were no object.
pub(super) fn call(call: &ToolCall, name: &str) -> (Value, bool) {
    let (args, odd) = object_of_arguments(call);
    let mut inside = Map::new();
    if !is_made(&call.id) && !call.id.is_empty() {
        inside.insert("id".to_owned(), Value::String(call.id.clone()));
    }
    inside.insert("name".to_owned(), Value::String(name.to_owned()));
    inside.insert("args".to_owned(), Value::Object(args));
    (json!({ "functionCall": inside }), odd)
}

/// An image, audio or file; what only Google says beside it goes along where it came from there.
pub(super) fn media(media: &Media, from: Format) -> Value {
    let mut inside = Map::new();
    let mut part = Map::new();
    let key = match &media.source {
        Source::Text(words) => return text(&titled(media.name.as_deref(), words)),
        Source::Inline { mime, data } => {
            inside.insert("mimeType".to_owned(), Value::String(mime.clone()));
            inside.insert("data".to_owned(), Value::String(data.clone()));
            "inlineData"
        }
        Source::Link { url, mime } => {
            let guessed = || (from != FORMAT).then(|| guessed_type(url, media.kind).to_owned());
            if let Some(mime) = mime.clone().or_else(guessed) {
                inside.insert("mimeType".to_owned(), Value::String(mime));
            }
            inside.insert("fileUri".to_owned(), Value::String(url.clone()));
            "fileData"
        }
    };
    if from == FORMAT {
        let name = media.name.clone();
        inside.extend(name.map(|name| ("displayName".to_owned(), Value::String(name))));
        for (key, value) in &media.extras {
            let beside = matches!(key.as_str(), "videoMetadata" | "mediaResolution");
            let place = if beside { &mut part } else { &mut inside };
            place.insert(key.clone(), value.clone());
        }
    }
    part.insert(key.to_owned(), Value::Object(inside));
    Value::Object(part)
}

/// The type of what is at an address: by its ending, else what its kind mostly is.
fn guessed_type(url: &str, kind: MediaKind) -> &'static str {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let path = path.to_ascii_lowercase();
    let known = TYPES
        .iter()
        .find(|(stream_end, _)| path.ends_with(stream_end));
    match (known, kind) {
        (Some((_, mime)), _) => mime,
        (None, MediaKind::Image) => "image/jpeg",
        (None, MediaKind::Audio) => "audio/mpeg",
        (None, MediaKind::Video) => "video/mp4",
        (None, MediaKind::File) => "application/pdf",
    }
}

/// A citation as Google cites it; none if it has no address.
pub(super) fn citation(from: Format, raw: &Value) -> Option<Value> {
    if from == FORMAT {
        return Some(raw.clone());
    }
    let inside = raw.get("url_citation").unwrap_or(raw);
    let member = |key: &str| inside.get(key).filter(|value| !value.is_null());
    let mut cited = Map::new();
    cited.insert("uri".to_owned(), member("url")?.clone());
    for (theirs, ours) in [
        ("title", "title"),
        ("start_index", "startIndex"),
        ("end_index", "endIndex"),
    ] {
        if let Some(value) = member(theirs) {
            cited.insert(ours.to_owned(), value.clone());
        }
    }
    Some(Value::Object(cited))
}
