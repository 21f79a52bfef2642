//! Media in messages: images, audio and files, each with a bound of its own tokens, and references to things stored elsewhere, which are refused.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::borrowed_str::borrowed_str;
use crate::serde_helpers::{Content, TextLength, text_length};
use crate::{Media, RequestError};

/// Tokens of one image at most, on the models we know.
const IMAGE_TOKENS: u64 = 2_000;
/// Bytes of encoded audio for one token, at least.
const AUDIO_BYTES_PER_TOKEN: u64 = 48;
/// Bytes of an encoded file for one token, at least; pages are also seen as images.
const FILE_BYTES_PER_TOKEN: u64 = 4;
const MAX_MESSAGES: usize = 100_000;

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default, deserialize_with = "borrowed_str")]
    role: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    content: Option<Content<Part<'a>>>,
    #[serde(default)]
    tool_calls: Option<IgnoredAny>,
    #[serde(default)]
    function_call: Option<IgnoredAny>,
    #[serde(default)]
    refusal: Option<IgnoredAny>,
}

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
            Some(Content::Text(bytes)) => media.add_text(*bytes),
            Some(Content::Other) => {
                return Err(RequestError::invalid(
                    &format!("messages[{place}].content"),
                    "`content` must be a text or a list of parts",
                ));
            }
            None => {}
        }
    }
    Ok(media)
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
            self.add_text(bytes);
        }
        if let Some(image) = &part.image_url {
            let (Image::Address { url } | Image::Bare(url)) = image;
            self.add_media(text_length(url), IMAGE_TOKENS);
        }
        if let Some(sound) = &part.input_audio {
            let bytes = text_length(&sound.data);
            self.add_media(bytes, bytes.div_ceil(AUDIO_BYTES_PER_TOKEN));
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
            let bytes = text_length(data);
            let tokens = bytes.div_ceil(FILE_BYTES_PER_TOKEN);
            self.add_media(bytes, tokens.saturating_add(IMAGE_TOKENS));
        }
        Ok(())
    }
}
