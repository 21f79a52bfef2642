//! What stands in contents and tools besides text, looked at without keeping it: media, and references to
//! things stored elsewhere, which are refused.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::borrowed_str::borrowed_str;
use crate::media::{Source, frames_of};
use crate::serde_helpers::{TextLength, text_length};
use crate::{Media, RequestError};

const MAX_CONTENTS: usize = 100_000;
/// Where Google keeps uploaded files.
const UPLOADS: &str = "generativelanguage.googleapis.com";
const SEND_FILE: &str = "send the file as `inlineData`";

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow, default, deserialize_with = "borrowed_str")]
    role: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    parts: Option<Vec<Part<'a>>>,
}

/// A system instruction: a text, a part list or a content.
enum Instruction<'a> {
    Text(u64),
    Parts(Vec<Part<'a>>),
}

struct InstructionVisitor;

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(default)]
    text: Option<TextLength>,
    #[serde(borrow, default, rename = "inlineData", alias = "inline_data")]
    inline: Option<Inline<'a>>,
    #[serde(borrow, default, rename = "fileData", alias = "file_data")]
    file: Option<Linked<'a>>,
    #[serde(
        borrow,
        default,
        rename = "functionResponse",
        alias = "function_response"
    )]
    result: Option<ResultParts<'a>>,
    #[serde(default, rename = "videoMetadata", alias = "video_metadata")]
    video: Option<Video>,
}

#[derive(Deserialize)]
struct ResultParts<'a> {
    #[serde(borrow, default)]
    parts: Option<Vec<Part<'a>>>,
}

#[derive(Deserialize)]
struct Inline<'a> {
    #[serde(
        borrow,
        default,
        rename = "mimeType",
        alias = "mime_type",
        deserialize_with = "borrowed_str"
    )]
    mime: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "borrowed_str")]
    data: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Linked<'a> {
    #[serde(
        borrow,
        default,
        rename = "mimeType",
        alias = "mime_type",
        deserialize_with = "borrowed_str"
    )]
    mime: Option<Cow<'a, str>>,
    #[serde(
        borrow,
        default,
        rename = "fileUri",
        alias = "file_uri",
        deserialize_with = "borrowed_str"
    )]
    uri: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Video {
    #[serde(default)]
    fps: Option<serde_json::Number>,
}

pub(super) fn read_contents(bytes: &[u8], media: &mut Media) -> Result<(), RequestError> {
    let contents: Vec<Content<'_>> = serde_json::from_slice(bytes).map_err(|error| {
        let what = "`contents` must be a list of objects with `role` and `parts`";
        RequestError::invalid("contents", format!("{what}: {error}"))
    })?;
    if contents.is_empty() || contents.len() > MAX_CONTENTS {
        let what = format!("`contents` must have from 1 to {MAX_CONTENTS} items");
        return Err(RequestError::invalid("contents", what));
    }
    for (place, content) in contents.iter().enumerate() {
        let place = format!("contents[{place}]");
        if content.role.as_deref() == Some("") {
            let what = "`role` must be `user`, `model` or `function`, or not there";
            return Err(RequestError::invalid(&format!("{place}.role"), what));
        }
        let Some(parts) = &content.parts else {
            let what = "every content needs `parts`";
            return Err(RequestError::invalid(&format!("{place}.parts"), what));
        };
        media.add_parts(parts, &format!("{place}.parts"))?;
    }
    Ok(())
}

/// Looks through the system instruction.
pub(super) fn read_instruction(bytes: &[u8], media: &mut Media) -> Result<(), RequestError> {
    let instruction: Instruction<'_> = serde_json::from_slice(bytes).map_err(|error| {
        let what = "`systemInstruction` must be a text or an object with `parts`";
        RequestError::invalid("systemInstruction", format!("{what}: {error}"))
    })?;
    match instruction {
        Instruction::Text(bytes) => {
            media.add_text(bytes);
            Ok(())
        }
        Instruction::Parts(parts) => media.add_parts(&parts, "systemInstruction.parts"),
    }
}

/// Whether an address names something that was uploaded before.
pub(super) fn is_stored(uri: &str) -> bool {
    let uploaded = uri.contains(UPLOADS) && uri.contains("/files/");
    let web = uri.starts_with("https://") || uri.starts_with("http://");
    uploaded || !web
}

impl Media {
    fn add_parts(&mut self, parts: &[Part<'_>], place: &str) -> Result<(), RequestError> {
        for (number, part) in parts.iter().enumerate() {
            self.add_content_part(part, &format!("{place}[{number}]"))?;
        }
        Ok(())
    }

    fn add_content_part(&mut self, part: &Part<'_>, place: &str) -> Result<(), RequestError> {
        if let Some(TextLength(bytes)) = part.text {
            self.add_text(bytes);
        }
        let frames = part
            .video
            .as_ref()
            .and_then(|video| frames_of(video.fps.as_ref()));
        if let Some(inline) = &part.inline {
            let data = inline.data.as_deref().unwrap_or_default();
            let mime = inline.mime.as_deref().unwrap_or_default();
            self.add_file(mime, Source::Inline(data), frames);
        }
        if let Some(file) = &part.file {
            let uri = file.uri.as_deref().unwrap_or_default();
            if is_stored(uri) {
                return Err(RequestError::reference(
                    &format!("{place}.fileData.fileUri"),
                    SEND_FILE,
                ));
            }
            let mime = file.mime.as_deref().unwrap_or_default();
            self.add_file(mime, Source::Link(text_length(uri)), frames);
        }
        let inside = part
            .result
            .as_ref()
            .and_then(|result| result.parts.as_ref());
        match inside {
            Some(parts) => self.add_parts(parts, &format!("{place}.functionResponse.parts")),
            None => Ok(()),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Instruction<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(InstructionVisitor)
    }
}

impl<'de> Visitor<'de> for InstructionVisitor {
    type Value = Instruction<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a text or an object with `parts`")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Instruction::Text(text_length(text)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Self::Value, A::Error> {
        let mut all = Vec::new();
        while let Some(part) = parts.next_element()? {
            all.push(part);
        }
        Ok(Instruction::Parts(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut parts = Vec::new();
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            if key == "parts" {
                parts = map
                    .next_value::<Option<Vec<Part<'de>>>>()?
                    .unwrap_or_default();
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(Instruction::Parts(parts))
    }
}
