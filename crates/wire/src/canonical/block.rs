//! The blocks of a turn, in order.

use serde_json::{Map, Value, json};

use super::reasoning_signature::Signature;
use super::request::ToolName;
use crate::Format;

/// One block, and what hangs on it.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    pub kind: BlockKind,
    /// The prompt up to here is to be cached.
    pub cache: Option<CacheLife>,
    /// An upstream's signature: on thoughts, and with Gemini on anything.
    pub signature: Option<Signature>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum BlockKind {
    Text(Text),
    /// An image, audio or file.
    Media(Media),
    /// The model wants a tool to be used.
    ToolCall(ToolCall),
    ToolResult(ToolResult),
    /// The model's thoughts, as far as they are shown.
    Thinking(Thinking),
    /// Thoughts that only their upstream can read.
    Redacted(Redacted),
    /// The model says why it does not answer.
    Refusal(String),
    /// Something that one format alone has, as it stands there.
    Foreign(Format, Value),
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Text {
    pub text: String,
    /// Where they were taken from, each as the format that reported it writes it.
    pub citations: Vec<(Format, Value)>,
}

/// How long a cached prompt is to live.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheLife {
    FiveMinutes,
    OneHour,
}

/// An image, audio or file.
#[derive(Debug, Clone, PartialEq)]
pub struct Media {
    pub kind: MediaKind,
    /// Where its bytes are.
    pub source: Source,
    /// What the caller calls it.
    pub name: Option<String>,
    /// How closely an image is looked at, in OpenAI's words.
    pub detail: Option<String>,
    /// What only the source format says beside it (Anthropic's `context`, `citations` of documents).
    pub extras: Vec<(String, Value)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MediaKind {
    Image,
    Audio,
    Video,
    File,
}

/// Where the bytes of media are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Here, in base64.
    Inline {
        /// Their type, such as `image/png`.
        mime: String,
        /// The base64.
        data: String,
    },
    /// At an address that the upstream fetches.
    Link {
        url: String,
        /// Their type, where the format says it.
        mime: Option<String>,
    },
    /// Here, as plain text (Anthropic's text documents).
    Text(String),
}

/// The model wants a tool to be used.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolCall {
    /// Names the call; its result repeats it. Never empty: a reader makes one where there is none.
    pub id: String,
    pub tool: ToolName,
    /// The tool takes plain text instead of JSON.
    pub custom: bool,
    /// JSON as the model wrote it, which may be broken; plain text for a custom tool.
    pub arguments: String,
    /// The id of the item around it, which the Responses format has beside the call's own.
    pub item: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult {
    /// The call that it answers.
    pub call: String,
    /// The tool, where the format says it or the call was seen before.
    pub tool: Option<ToolName>,
    /// The call was one of a custom tool.
    pub custom: bool,
    /// What it said: text and media.
    pub content: Vec<Block>,
    pub failed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Thinking {
    /// The id of the item, which the Responses format has.
    pub item: Option<String>,
    /// The parts; most formats have one.
    pub texts: Vec<String>,
    /// They are a summary of the thoughts, not the thoughts.
    pub summary: bool,
}

/// Thoughts that only their upstream can read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Redacted {
    /// The id of the item, which the Responses format has.
    pub item: Option<String>,
}

/// A document of words for formats that have only words: what it is called, then what it says.
#[must_use]
pub fn titled(name: Option<&str>, words: &str) -> String {
    match name {
        Some(name) => format!("{name}:\n{words}"),
        None => words.to_owned(),
    }
}

// === impl CacheLife ===

impl CacheLife {
    /// Anthropic's `cache_control`, which clients also send in chat messages.
    pub(crate) fn of_control(control: &Map<String, Value>) -> Self {
        match control.get("ttl").and_then(Value::as_str) {
            Some("1h") => Self::OneHour,
            Some(_) | None => Self::FiveMinutes,
        }
    }

    pub(crate) fn control(self) -> Value {
        match self {
            Self::FiveMinutes => json!({ "type": "ephemeral" }),
            Self::OneHour => json!({ "type": "ephemeral", "ttl": "1h" }),
        }
    }
}

// === impl Source ===

impl Source {
    /// An address, or the bytes inside a data URL.
    pub(crate) fn of_url(url: String) -> Self {
        let inline = || {
            let (mime, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
            Some(Self::Inline {
                mime: mime.to_owned(),
                data: data.to_owned(),
            })
        };
        inline().unwrap_or(Self::Link { url, mime: None })
    }
}

// === impl Block ===

impl Block {
    /// A block with nothing on it.
    #[must_use]
    pub const fn of(kind: BlockKind) -> Self {
        Self {
            kind,
            cache: None,
            signature: None,
        }
    }

    /// Plain words.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::of(BlockKind::Text(Text {
            text: text.into(),
            citations: Vec::new(),
        }))
    }

    /// The words, if it is nothing else.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match &self.kind {
            BlockKind::Text(text) => Some(&text.text),
            BlockKind::Media(_)
            | BlockKind::ToolCall(_)
            | BlockKind::ToolResult(_)
            | BlockKind::Thinking(_)
            | BlockKind::Redacted(_)
            | BlockKind::Refusal(_)
            | BlockKind::Foreign(..) => None,
        }
    }
}
