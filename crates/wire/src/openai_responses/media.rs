//! Images, audio and files, written as parts.

use serde_json::{Map, Value, json};

use crate::canonical::{Media, MediaKind, Notes, Source, titled};

/// Media as a part; none, with a note, where the format has no way to send it.
pub(super) fn write_media(media: &Media, own: bool, notes: &mut Notes) -> Option<Value> {
    let part = match media.kind {
        MediaKind::Image => image(media),
        MediaKind::File => file(media),
        MediaKind::Audio => audio(media, own),
        MediaKind::Video => None,
    };
    let Some(Value::Object(mut part)) = part else {
        let (field, why) = match media.kind {
            MediaKind::Video => ("video", "the upstream takes no video"),
            MediaKind::Audio => ("audio", "the upstream takes sound as base64 of wav or mp3"),
            MediaKind::Image => (
                "image",
                "the upstream takes pictures as base64 or by address",
            ),
            MediaKind::File => ("file", "the upstream takes files as base64 or by address"),
        };
        notes.refused(field, why);
        return None;
    };
    if matches!(media.source, Source::Text(_)) {
        notes.approximated("document", "a document of words is sent as text");
    }
    if own {
        part.extend(media.extras.iter().cloned());
    } else {
        for (key, _) in &media.extras {
            notes.dropped(key.clone(), "the upstream's format has no word for it");
        }
    }
    Some(Value::Object(part))
}

/// An address that carries the bytes, or names where they are.
fn address(source: &Source) -> Option<String> {
    match source {
        Source::Inline { mime, data } if mime.is_empty() => Some(data.clone()),
        Source::Inline { mime, data } => Some(format!("data:{mime};base64,{data}")),
        Source::Link { url, .. } => Some(url.clone()),
        Source::Text(_) => None,
    }
}

fn image(media: &Media) -> Option<Value> {
    let mut part = Map::new();
    part.insert("type".to_owned(), json!("input_image"));
    part.insert("image_url".to_owned(), json!(address(&media.source)?));
    if let Some(detail) = &media.detail {
        part.insert("detail".to_owned(), json!(detail));
    }
    Some(Value::Object(part))
}

fn file(media: &Media) -> Option<Value> {
    let mut part = Map::new();
    let at = |source: &Source| match source {
        Source::Inline { .. } => Some("file_data"),
        Source::Link { .. } => Some("file_url"),
        Source::Text(_) => None,
    };
    let Some(key) = at(&media.source) else {
        return Some(words(media));
    };
    part.insert("type".to_owned(), json!("input_file"));
    part.insert(key.to_owned(), json!(address(&media.source)?));
    let unnamed = || (key == "file_data").then(|| default_name(&media.source));
    if let Some(name) = media.name.clone().or_else(unnamed) {
        part.insert("filename".to_owned(), json!(name));
    }
    Some(Value::Object(part))
}

/// A document of plain text is sent as text.
fn words(media: &Media) -> Value {
    let text = match &media.source {
        Source::Text(text) => text.as_str(),
        Source::Inline { .. } | Source::Link { .. } => "",
    };
    let text = titled(media.name.as_deref(), text);
    json!({ "type": "input_text", "text": text })
}

/// Files must have a name, by which the upstream recognises their kind.
fn default_name(source: &Source) -> String {
    let mime = match source {
        Source::Inline { mime, .. } => mime.as_str(),
        Source::Link { .. } | Source::Text(_) => "",
    };
    let stream_end = match mime {
        "application/pdf" | "" => "pdf",
        "text/plain" => "txt",
        other => other.rsplit(['/', '.', '-', '+']).next().unwrap_or("bin"),
    };
    format!("file.{stream_end}")
}

fn audio(media: &Media, own: bool) -> Option<Value> {
    let Source::Inline { mime, data } = &media.source else {
        return None;
    };
    let format = match mime.as_str() {
        "audio/mpeg" | "audio/mp3" => "mp3",
        "audio/wav" | "audio/x-wav" | "audio/wave" => "wav",
        other if own => other.strip_prefix("audio/")?,
        _ => return None,
    };
    Some(json!({
        "type": "input_audio",
        "input_audio": { "data": data, "format": format },
    }))
}
