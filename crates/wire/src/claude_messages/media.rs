//! Images and documents, in both directions.

use serde_json::{Map, Value, json};

use super::blocks_out::{Side, Writing, object};
use crate::base64::decoded_text;
use crate::canonical::{BlockKind, Media, MediaKind, Notes, Source};
use crate::json_value::{get_str, take_string};

/// Images that the format takes.
const PICTURES: &[&str] = &["image/gif", "image/jpeg", "image/png", "image/webp"];

/// Between the parts of a document that was sent in several.
const BETWEEN_PARTS: &str = "\n\n";

/// Reads an image or a document; none if only this format has such a one.
pub(super) fn media_in(map: &mut Map<String, Value>, kind: MediaKind) -> Option<BlockKind> {
    let Some(Value::Object(raw)) = map.get("source") else {
        return None;
    };
    let (source, is_whole) = source_of(raw)?;
    // What the source says beside that is kept with the block.
    if is_whole {
        map.remove("source");
    }
    let name = take_string(map, "title");
    Some(BlockKind::Media(Media {
        kind,
        source,
        name,
        detail: None,
        extras: Vec::new(),
    }))
}

/// Where the bytes are, and whether that is all the source says.
fn source_of(raw: &Map<String, Value>) -> Option<(Source, bool)> {
    let only = |keys: &[&str]| raw.keys().all(|key| keys.contains(&key.as_str()));
    match get_str(raw, "type")? {
        "base64" => {
            let source = Source::Inline {
                mime: get_str(raw, "media_type")?.to_owned(),
                data: get_str(raw, "data")?.to_owned(),
            };
            Some((source, only(&["type", "media_type", "data"])))
        }
        "url" => {
            let source = Source::Link {
                url: get_str(raw, "url")?.to_owned(),
                mime: None,
            };
            Some((source, only(&["type", "url"])))
        }
        "text" => {
            let source = Source::Text(get_str(raw, "data")?.to_owned());
            let is_plain = get_str(raw, "media_type") == Some("text/plain");
            let is_whole = is_plain && only(&["type", "media_type", "data"]);
            Some((source, is_whole))
        }
        "content" => Some((Source::Text(words_of(raw.get("content")?)?), false)),
        _ => None,
    }
}

/// The words of a document in parts; none if there is anything else in it.
fn words_of(content: &Value) -> Option<String> {
    if let Some(text) = content.as_str() {
        return Some(text.to_owned());
    }
    let parts = content.as_array()?;
    let texts: Option<Vec<&str>> = parts
        .iter()
        .map(|part| part.get("text")?.as_str())
        .collect();
    Some(texts?.join(BETWEEN_PARTS))
}

impl Writing<'_> {
    /// Writes an image or a document.
    pub(super) fn media(&mut self, media: &Media, side: Side) -> Option<Map<String, Value>> {
        if side != Side::User && !self.is_own() {
            let why = "pictures and files can only be sent by the user";
            self.notes.refused(kind_word(media.kind), why);
            return None;
        }
        let kept = media.extras.iter().find(|(key, _)| key == "source");
        let kept = kept.map(|(_, raw)| raw.clone()).filter(|_| self.is_own());
        let source = match kept {
            Some(source) => source,
            None => self.source(media)?,
        };
        let kind = match media.kind {
            MediaKind::Image => "image",
            MediaKind::File | MediaKind::Audio | MediaKind::Video => "document",
        };
        let mut map = object(json!({ "type": kind, "source": source }));
        if let (Some(name), MediaKind::File) = (&media.name, media.kind) {
            map.insert("title".to_owned(), json!(name));
        }
        if media.detail.as_deref().is_some_and(|word| word != "auto") {
            let why = "pictures are always looked at in full";
            self.notes.dropped("image.detail", why);
        }
        for (key, value) in &media.extras {
            if self.is_own() {
                map.insert(key.clone(), value.clone());
            } else {
                let field = format!("{}.{key}", kind_word(media.kind));
                self.notes.dropped(field, "the format has no word for it");
            }
        }
        Some(map)
    }

    fn source(&mut self, media: &Media) -> Option<Value> {
        let refuse = |notes: &mut Notes, why: String| {
            notes.refused(kind_word(media.kind), why);
            None
        };
        match (media.kind, &media.source) {
            (MediaKind::Audio | MediaKind::Video, _) => refuse(
                &mut self.notes,
                "the format has no sound or video".to_owned(),
            ),
            (MediaKind::Image | MediaKind::File, Source::Link { url, .. }) => {
                Some(json!({ "type": "url", "url": url }))
            }
            (MediaKind::Image, Source::Inline { mime, data })
                if self.is_own() || PICTURES.contains(&mime.as_str()) =>
            {
                Some(json!({ "type": "base64", "media_type": mime, "data": data }))
            }
            (MediaKind::Image, Source::Inline { mime, .. }) => {
                let why = format!(
                    "pictures may be png, jpeg, gif or webp, not `{}`",
                    cut(mime)
                );
                refuse(&mut self.notes, why)
            }
            (MediaKind::Image, Source::Text(_)) => {
                refuse(&mut self.notes, "a picture is not made of words".to_owned())
            }
            (MediaKind::File, Source::Text(words)) => Some(text_source(words)),
            (MediaKind::File, Source::Inline { mime, data })
                if self.is_own() || mime == "application/pdf" =>
            {
                Some(json!({ "type": "base64", "media_type": mime, "data": data }))
            }
            (MediaKind::File, Source::Inline { mime, data }) => {
                let is_text = mime.starts_with("text/") || mime == "application/json";
                match decoded_text(data).filter(|_| is_text) {
                    Some(words) => Some(text_source(&words)),
                    None => {
                        let why =
                            format!("documents may be PDF or plain text, not `{}`", cut(mime));
                        refuse(&mut self.notes, why)
                    }
                }
            }
        }
    }
}

fn text_source(words: &str) -> Value {
    json!({ "type": "text", "media_type": "text/plain", "data": words })
}

const fn kind_word(kind: MediaKind) -> &'static str {
    match kind {
        MediaKind::Image => "image",
        MediaKind::Audio => "audio",
        MediaKind::Video => "video",
        MediaKind::File => "file",
    }
}

fn cut(text: &str) -> String {
    text.chars().take(64).collect()
}
