//! One block of a message: which kinds there are, what they hold, what they weigh.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::anthropic::refusal::Refusal;
use crate::anthropic::signature;
use crate::request::Object;
use crate::tokens::PromptSize;

use super::Ttl;
use super::fields::{self, join};
use super::prompt::{json_size, text_size};

/// Kinds that are checked here, with their fields.
const CHECKED: &[(&str, &[&str])] = &[
    ("text", &["type", "text", "cache_control", "citations"]),
    (
        "image",
        &["type", "source", "cache_control", "transformations"],
    ),
    (
        "document",
        &[
            "type",
            "source",
            "cache_control",
            "citations",
            "context",
            "title",
        ],
    ),
    (
        "search_result",
        &[
            "type",
            "source",
            "title",
            "content",
            "citations",
            "cache_control",
        ],
    ),
    ("thinking", &["type", "thinking", "signature"]),
    ("redacted_thinking", &["type", "data"]),
    (
        "tool_use",
        &[
            "type",
            "id",
            "name",
            "input",
            "cache_control",
            "caller",
            "toolset_name",
        ],
    ),
    (
        "tool_result",
        &[
            "type",
            "tool_use_id",
            "content",
            "is_error",
            "cache_control",
            "toolset_name",
        ],
    ),
];
/// Kinds of the vendor's own tools, taken as they are.
const TAKEN: &[&str] = &[
    "server_tool_use",
    "web_search_tool_result",
    "web_fetch_tool_result",
    "code_execution_tool_result",
    "bash_code_execution_tool_result",
    "text_editor_code_execution_tool_result",
    "tool_search_tool_result",
    "tool_reference",
    "container_upload",
    "mcp_tool_use",
    "mcp_tool_result",
    "compaction",
];
const IMAGE_KINDS: &[&str] = &["image/jpeg", "image/png", "image/gif", "image/webp"];
/// What may stand in the result of a tool.
const IN_RESULT: &[&str] = &[
    "text",
    "image",
    "search_result",
    "document",
    "tool_reference",
];

/// A block that was checked.
pub(super) struct Block<'a> {
    pub(super) kind: &'a str,
    pub(super) object: &'a Object,
    pub(super) size: PromptSize,
    pub(super) mark: Option<Ttl>,
}

/// Checks a block. `place` is where it stands, as `messages.0.content.1`.
pub(super) fn read<'a>(value: &'a Value, place: &str) -> Result<Block<'a>, Refusal> {
    let object = fields::as_object(value, place)?;
    let tags: Vec<&str> = CHECKED
        .iter()
        .map(|(kind, _)| *kind)
        .chain(TAKEN.iter().copied())
        .collect();
    let kind = fields::tag(object, place, &tags)?;
    let path = join(place, kind);
    if let Some((_, names)) = CHECKED.iter().find(|(name, _)| *name == kind) {
        fields::only(object, &path, names)?;
    }
    let size = match kind {
        "text" => text(object, &path)?,
        "image" => image(object, &path)?,
        "document" => document(object, &path)?,
        "search_result" => inner(object, &path)?,
        "thinking" => thought(object, &path, place)?,
        "redacted_thinking" => redacted(object, &path, place)?,
        "tool_use" => {
            fields::text(object, &path, "id")?;
            let name = fields::text(object, &path, "name")?;
            let input = fields::needed(object, &path, "input")?;
            fields::as_object(input, &join(&path, "input"))?;
            sum(text_size(name), json_size(input))
        }
        "tool_result" => {
            fields::text(object, &path, "tool_use_id")?;
            fields::boolean(object, &path, "is_error")?;
            inner(object, &path)?
        }
        _ => json_size(value),
    };
    Ok(Block {
        kind,
        object,
        size,
        mark: optional_mark(object, &path)?,
    })
}

/// The mark of a block or tool.
pub(super) fn optional_mark(object: &Object, path: &str) -> Result<Option<Ttl>, Refusal> {
    let path = join(path, "cache_control");
    fields::optional(object, "cache_control")
        .map(|value| mark(value, &path))
        .transpose()
}

pub(super) fn mark(value: &Value, path: &str) -> Result<Ttl, Refusal> {
    let object = fields::as_object(value, path)?;
    fields::tag(object, path, &["ephemeral"])?;
    let path = join(path, "ephemeral");
    fields::only(object, &path, &["type", "ttl", "scope"])?;
    match object.get("ttl") {
        None => Ok(Ttl::FiveMinutes),
        Some(ttl) => match fields::word(ttl, &join(&path, "ttl"), &["5m", "1h"])? {
            "1h" => Ok(Ttl::Hour),
            _ => Ok(Ttl::FiveMinutes),
        },
    }
}

fn text(object: &Object, path: &str) -> Result<PromptSize, Refusal> {
    let text = fields::text(object, path, "text")?;
    if text.is_empty() {
        return Err(Refusal::at(
            "messages",
            "text content blocks must be non-empty",
        ));
    }
    if text.trim().is_empty() && object.contains_key("cache_control") {
        return Err(Refusal::at(
            path,
            "cache_control cannot be set for empty text blocks",
        ));
    }
    Ok(text_size(text))
}

/// An image weighs the same whatever it shows.
fn image(object: &Object, path: &str) -> Result<PromptSize, Refusal> {
    let path = join(path, "source");
    let source = fields::as_object(fields::needed(object, "", "source")?, &path)?;
    match fields::tag(source, &path, &["base64", "url", "file"])? {
        "base64" => encoded(source, &join(&path, "base64"), IMAGE_KINDS)?,
        "url" => address(source, &join(&path, "url"))?,
        _ => {
            fields::text(source, &join(&path, "file"), "file_id")?;
        }
    }
    Ok(one_image())
}

fn document(object: &Object, path: &str) -> Result<PromptSize, Refusal> {
    let path = join(path, "source");
    let source = fields::as_object(fields::needed(object, "", "source")?, &path)?;
    let tags = ["base64", "content", "file", "text", "url"];
    let tag = fields::tag(source, &path, &tags)?;
    let path = join(&path, tag);
    match tag {
        "base64" => encoded(source, &path, &["application/pdf"])?,
        "url" => address(source, &path)?,
        "text" => {
            fields::word(
                fields::needed(source, &path, "media_type")?,
                &join(&path, "media_type"),
                &["text/plain"],
            )?;
            return Ok(text_size(fields::text(source, &path, "data")?));
        }
        "content" => return inner(source, &path),
        _ => {
            fields::text(source, &path, "file_id")?;
        }
    }
    Ok(one_image())
}

/// A text, or a list of blocks, inside a block.
fn inner(object: &Object, path: &str) -> Result<PromptSize, Refusal> {
    let path = join(path, "content");
    match fields::optional(object, "content") {
        None => Ok(PromptSize::default()),
        Some(Value::String(text)) => Ok(text_size(text)),
        Some(value) => {
            let mut size = PromptSize::default();
            for (index, value) in fields::as_list(value, &path)?.iter().enumerate() {
                let place = format!("{path}.{index}");
                let kind = fields::as_object(value, &place)?;
                fields::tag(kind, &place, IN_RESULT)?;
                size = sum(size, read(value, &place)?.size);
            }
            Ok(size)
        }
    }
}

fn thought(object: &Object, path: &str, place: &str) -> Result<PromptSize, Refusal> {
    let text = fields::text(object, path, "thinking")?;
    let signature = fields::text(object, path, "signature")?;
    if !signature::signs(text, signature) {
        return Err(Refusal::at(
            place,
            "Invalid `signature` in `thinking` block",
        ));
    }
    Ok(text_size(text))
}

fn redacted(object: &Object, path: &str, place: &str) -> Result<PromptSize, Refusal> {
    let data = fields::text(object, path, "data")?;
    if !signature::sealed(data) {
        return Err(Refusal::at(
            place,
            "Invalid `data` in `redacted_thinking` block",
        ));
    }
    Ok(text_size(data))
}

fn encoded(source: &Object, path: &str, kinds: &[&str]) -> Result<(), Refusal> {
    fields::only(source, path, &["type", "media_type", "data"])?;
    let kind = fields::needed(source, path, "media_type")?;
    fields::word(kind, &join(path, "media_type"), kinds)?;
    let data = fields::text(source, path, "data")?;
    match STANDARD.decode(data) {
        Ok(bytes) if !bytes.is_empty() => Ok(()),
        Ok(_) | Err(_) => Err(Refusal::at(&join(path, "data"), "Invalid base64 data")),
    }
}

/// What it points at is never looked at.
fn address(source: &Object, path: &str) -> Result<(), Refusal> {
    fields::only(source, path, &["type", "url"])?;
    let url = fields::text(source, path, "url")?;
    if url.starts_with("https://") {
        return Ok(());
    }
    Err(Refusal::at(
        &join(path, "url"),
        "Only HTTPS URLs are supported.",
    ))
}

fn one_image() -> PromptSize {
    PromptSize {
        images: 1,
        ..PromptSize::default()
    }
}

fn sum(one: PromptSize, other: PromptSize) -> PromptSize {
    PromptSize {
        text_bytes: one.text_bytes.saturating_add(other.text_bytes),
        messages: one.messages.saturating_add(other.messages),
        images: one.images.saturating_add(other.images),
    }
}
