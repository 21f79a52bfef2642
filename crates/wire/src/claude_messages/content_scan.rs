//! What stands in messages and in the system text besides words: images and documents, and references to
//! things stored elsewhere, which are refused. Words are counted and not kept: a body may have many
//! megabytes.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Error, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::borrowed_str::borrowed_str;
use crate::media;
use crate::serde_helpers::{Content, TextLength, text_length};
use crate::{Media, RequestError};

const MAX_MESSAGES: usize = 100_000;

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default, deserialize_with = "borrowed_str")]
    role: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    content: Option<Content<Part<'a>>>,
}

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(rename = "type", borrow, default, deserialize_with = "borrowed_str")]
    kind: Option<Cow<'a, str>>,
    #[serde(default)]
    text: Option<TextLength>,
    #[serde(borrow, default)]
    source: Option<Source<'a>>,
    #[serde(default)]
    file_id: Option<IgnoredAny>,
    /// Blocks inside a block: what a tool said, what a search found.
    #[serde(borrow, default)]
    content: Option<Content<Part<'a>>>,
}

/// Where the bytes are: an object, or with search results an address alone.
enum Source<'a> {
    Object(SourceObject<'a>),
    Address,
}

struct SourceVisitor;

#[derive(Deserialize)]
struct SourceObject<'a> {
    #[serde(rename = "type", borrow, default, deserialize_with = "borrowed_str")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "borrowed_str")]
    media_type: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "borrowed_str")]
    data: Option<Cow<'a, str>>,
    #[serde(default)]
    url: Option<TextLength>,
    #[serde(default)]
    file_id: Option<IgnoredAny>,
    #[serde(borrow, default)]
    content: Option<Content<Part<'a>>>,
}

pub(super) fn read_messages(bytes: &[u8], media: &mut Media) -> Result<(), RequestError> {
    let messages: Vec<Message<'_>> = serde_json::from_slice(bytes).map_err(|error| {
        let what = "`messages` must be a list of objects with `role` and `content`";
        RequestError::invalid("messages", format!("{what}: {error}"))
    })?;
    if messages.is_empty() {
        let what = "`messages` must have at least one message";
        return Err(RequestError::invalid("messages", what));
    }
    if messages.len() > MAX_MESSAGES {
        let what = format!("`messages` may have at most {MAX_MESSAGES} messages");
        return Err(RequestError::invalid("messages", what));
    }
    for (place, message) in messages.iter().enumerate() {
        if message.role.is_none() {
            let field = format!("messages[{place}].role");
            return Err(RequestError::invalid(
                &field,
                "every message needs a `role`",
            ));
        }
        let field = format!("messages[{place}].content");
        let Some(content) = &message.content else {
            return Err(RequestError::invalid(
                &field,
                "every message needs `content`",
            ));
        };
        media.add_claude_content(content, &field)?;
    }
    Ok(())
}

/// Looks through the system text.
pub(super) fn read_system(bytes: &[u8], media: &mut Media) -> Result<(), RequestError> {
    let system: Option<Content<Part<'_>>> = serde_json::from_slice(bytes).map_err(|error| {
        let what = "`system` must be a text or a list of blocks";
        RequestError::invalid("system", format!("{what}: {error}"))
    })?;
    match system {
        Some(content) => media.add_claude_content(&content, "system"),
        None => Ok(()),
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Source<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SourceVisitor)
    }
}

impl<'de> Visitor<'de> for SourceVisitor {
    type Value = Source<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a source")
    }

    fn visit_str<E: Error>(self, _text: &str) -> Result<Self::Value, E> {
        Ok(Source::Address)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        let object = serde::de::value::MapAccessDeserializer::new(map);
        SourceObject::deserialize(object).map(Source::Object)
    }
}

impl Media {
    fn add_claude_content(
        &mut self,
        content: &Content<Part<'_>>,
        place: &str,
    ) -> Result<(), RequestError> {
        match content {
            Content::Text(bytes) => self.add_text(*bytes),
            Content::Parts(parts) => {
                for (number, part) in parts.iter().enumerate() {
                    self.add_claude_part(part, &format!("{place}[{number}]"))?;
                }
            }
            Content::Other => {}
        }
        Ok(())
    }

    fn add_claude_part(&mut self, part: &Part<'_>, place: &str) -> Result<(), RequestError> {
        if part.file_id.is_some() {
            return Err(stored(&format!("{place}.file_id")));
        }
        if let Some(TextLength(bytes)) = part.text {
            self.add_text(bytes);
        }
        if let Some(content) = &part.content {
            self.add_claude_content(content, &format!("{place}.content"))?;
        }
        match &part.source {
            Some(Source::Object(source)) => {
                let is_image = part.kind.as_deref() == Some("image");
                self.add_source(source, is_image, &format!("{place}.source"))
            }
            Some(Source::Address) | None => Ok(()),
        }
    }

    fn add_source(
        &mut self,
        source: &SourceObject<'_>,
        is_image: bool,
        place: &str,
    ) -> Result<(), RequestError> {
        let kind = source.kind.as_deref().unwrap_or_default();
        if source.file_id.is_some() || kind == "file" {
            return Err(stored(&format!("{place}.file_id")));
        }
        if let Some(content) = &source.content {
            self.add_claude_content(content, &format!("{place}.content"))?;
        }
        if let Some(data) = source.data.as_deref() {
            // A document of plain text is read as such.
            if kind == "text" {
                self.add_text(text_length(data));
            } else if is_image {
                self.add_image(media::Source::Inline(data));
            } else {
                let mime = source.media_type.as_deref().unwrap_or_default();
                self.add_file(mime, media::Source::Inline(data), None);
            }
        }
        if let Some(TextLength(bytes)) = source.url {
            let link = media::Source::Link(bytes);
            if is_image {
                self.add_image(link);
            } else {
                self.add_document(link);
            }
        }
        Ok(())
    }
}

fn stored(place: &str) -> RequestError {
    RequestError::reference(place, "send the file itself as a `base64` or `text` source")
}
