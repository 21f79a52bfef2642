//! Media in messages: images, audio, videos and files, and references to things stored elsewhere, which
//! are refused.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::borrowed_str::borrowed_str;
use crate::media::{Source, data_url, frames_of};
use crate::serde_helpers::{Content, TextLength, text_length};
use crate::{Media, RequestError};

const MAX_MESSAGES: usize = 100_000;
/// Parts whose text stands in them.
const WRITTEN: &[&str] = &[
    "text",
    "input_text",
    "output_text",
    "refusal",
    "thinking",
    "redacted_thinking",
    "reasoning",
    "reasoning_text",
    "summary_text",
];

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
    #[serde(rename = "type", borrow, default, deserialize_with = "borrowed_str")]
    kind: Option<Cow<'a, str>>,
    #[serde(default)]
    text: Option<TextLength>,
    #[serde(borrow, default)]
    image_url: Option<Address<'a>>,
    #[serde(borrow, default)]
    input_audio: Option<Sound<'a>>,
    #[serde(borrow, default)]
    file: Option<File<'a>>,
    #[serde(borrow, default)]
    video_url: Option<Address<'a>>,
    /// A video, or its frames one by one.
    #[serde(borrow, default)]
    video: Option<Video<'a>>,
    /// Frames of a video that are looked at in a second.
    #[serde(default)]
    fps: Option<serde_json::Number>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Address<'a> {
    Inside {
        #[serde(borrow)]
        url: Cow<'a, str>,
    },
    Bare(#[serde(borrow)] Cow<'a, str>),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Video<'a> {
    Frames(#[serde(borrow)] Vec<Cow<'a, str>>),
    One(#[serde(borrow)] Cow<'a, str>),
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
                    media.add_chat_part(part, &format!("messages[{place}].content[{number}]"))?;
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
    fn add_chat_part(&mut self, part: &Part<'_>, place: &str) -> Result<(), RequestError> {
        if let Some(TextLength(bytes)) = part.text {
            self.add_text(bytes);
        }
        let before = self.parts.len();
        if let Some(image) = &part.image_url {
            self.add_image(Source::of_url(image.url()));
        }
        if let Some(sound) = &part.input_audio {
            self.add_audio(sound.source());
        }
        if let Some(video) = &part.video_url {
            self.add_video(Source::of_url(video.url()), frames_of(part.fps.as_ref()));
        }
        match &part.video {
            Some(Video::One(url)) => {
                self.add_video(Source::of_url(url), frames_of(part.fps.as_ref()));
            }
            Some(Video::Frames(frames)) => {
                for frame in frames {
                    self.add_image(Source::of_url(frame));
                }
            }
            None => {}
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
            self.add_data(data);
        }
        let kind = part.kind.as_deref().unwrap_or("text");
        if self.parts.len() == before && part.file.is_none() && !WRITTEN.contains(&kind) {
            // A vendor may fetch and read what it names.
            self.add_document(Source::Link(0));
        }
        Ok(())
    }
}

impl Address<'_> {
    fn url(&self) -> &str {
        let (Self::Inside { url } | Self::Bare(url)) = self;
        url
    }
}

impl Sound<'_> {
    /// Base64; at some vendors an address.
    fn source(&self) -> Source<'_> {
        if self.data.starts_with("http://") || self.data.starts_with("https://") {
            return Source::Link(text_length(&self.data));
        }
        match data_url(&self.data) {
            Some((_, encoded)) => Source::Inline(encoded),
            None => Source::Inline(&self.data),
        }
    }
}
