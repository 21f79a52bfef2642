//! What stands in messages besides text: images, sound and files, each with a bound of its own,
//! and references to things stored elsewhere, which are refused.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Error, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::borrowed_str::borrowed_str;
use crate::serde_helpers::{TextLength, text_length};
use crate::{Media, RequestError};

/// Tokens of one image at most, on the models we know.
const IMAGE_TOKENS: u64 = 2_000;
/// Bytes of encoded sound for one token, at least.
const AUDIO_BYTES_PER_TOKEN: u64 = 48;
/// Bytes of an encoded file for one token, at least; pages are also seen as images.
const FILE_BYTES_PER_TOKEN: u64 = 4;
const MAX_MESSAGES: usize = 100_000;

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default, deserialize_with = "borrowed_str")]
    role: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    content: Option<Content<'a>>,
    #[serde(default)]
    tool_calls: Option<IgnoredAny>,
    #[serde(default)]
    function_call: Option<IgnoredAny>,
    #[serde(default)]
    refusal: Option<IgnoredAny>,
}

enum Content<'a> {
    Parts(Vec<Part<'a>>),
    /// Its words are counted by the bytes of the whole; here is how many it has.
    Text(u64),
}

/// Takes content as it comes. To try one kind after the other would copy it and write out why it is
/// not the first one, for every message.
struct ContentVisitor;

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(default)]
    text: Option<TextLength>,
    #[serde(borrow, default)]
    image_url: Option<Image<'a>>,
    #[serde(borrow, default)]
    input_audio: Option<Sound<'a>>,
    #[serde(borrow, default)]
    file: Option<File<'a>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Image<'a> {
    Address {
        #[serde(borrow)]
        url: Cow<'a, str>,
    },
    Bare(#[serde(borrow)] Cow<'a, str>),
}

#[derive(Deserialize)]
struct Sound<'a> {
    #[serde(borrow, default)]
    data: Cow<'a, str>,
}

#[derive(Deserialize)]
struct File<'a> {
    #[serde(borrow, default, deserialize_with = "borrowed_str")]
    file_data: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "borrowed_str")]
    file_id: Option<Cow<'a, str>>,
}

/// Looks through the messages.
pub(super) fn read_messages(bytes: &[u8]) -> Result<Media, RequestError> {
    let messages: Vec<Message<'_>> = serde_json::from_slice(bytes).map_err(|error| {
        let what = "`messages` must be a list of objects with `role` and `content`";
        RequestError::invalid("messages", format!("{what}: {error}"))
    })?;
    if messages.is_empty() {
        return Err(RequestError::invalid(
            "messages",
            "`messages` must have at least one message",
        ));
    }
    if messages.len() > MAX_MESSAGES {
        return Err(RequestError::invalid(
            "messages",
            format!("`messages` may have at most {MAX_MESSAGES} messages"),
        ));
    }
    let mut media = Media::default();
    for (place, message) in messages.iter().enumerate() {
        if message.role.is_none() {
            return Err(RequestError::invalid(
                &format!("messages[{place}].role"),
                "every message needs a `role`",
            ));
        }
        if message.content.is_none() && !message.may_be_silent() {
            return Err(RequestError::invalid(
                &format!("messages[{place}].content"),
                "every message needs `content`, except an assistant's with tool calls",
            ));
        }
        match &message.content {
            Some(Content::Parts(parts)) => {
                for (number, part) in parts.iter().enumerate() {
                    media.add(part, &format!("messages[{place}].content[{number}]"))?;
                }
            }
            Some(Content::Text(bytes)) => {
                media.text_bytes = media.text_bytes.saturating_add(*bytes)
            }
            None => {}
        }
    }
    Ok(media)
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor)
    }
}

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Content<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a text or a list of parts")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Content::Text(text_length(text)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Self::Value, A::Error> {
        let mut all = Vec::new();
        while let Some(part) = parts.next_element()? {
            all.push(part);
        }
        Ok(Content::Parts(all))
    }
}

impl Message<'_> {
    /// An assistant that called tools may have said nothing.
    fn may_be_silent(&self) -> bool {
        let acted = [&self.tool_calls, &self.function_call, &self.refusal];
        self.role.as_deref() == Some("assistant") && acted.iter().any(|act| act.is_some())
    }
}

impl Media {
    fn add(&mut self, part: &Part<'_>, place: &str) -> Result<(), RequestError> {
        if let Some(TextLength(bytes)) = part.text {
            self.text_bytes = self.text_bytes.saturating_add(bytes);
        }
        if let Some(image) = &part.image_url {
            let (Image::Address { url } | Image::Bare(url)) = image;
            self.more(url, IMAGE_TOKENS);
        }
        if let Some(sound) = &part.input_audio {
            let bytes = text_length(&sound.data);
            self.more(&sound.data, bytes.div_ceil(AUDIO_BYTES_PER_TOKEN));
        }
        if let Some(file) = &part.file {
            if file.file_id.is_some() {
                let param = format!("{place}.file.file_id");
                return Err(RequestError::reference(
                    &param,
                    "send the file as `file_data`",
                ));
            }
            let data = file.file_data.as_deref().unwrap_or_default();
            let tokens = text_length(data).div_ceil(FILE_BYTES_PER_TOKEN);
            self.more(data, tokens.saturating_add(IMAGE_TOKENS));
        }
        Ok(())
    }

    fn more(&mut self, encoded: &str, tokens: u64) {
        self.bytes = self.bytes.saturating_add(text_length(encoded));
        self.tokens = self.tokens.saturating_add(tokens);
    }
}
