//! One block of a message: which kinds there are, what they hold, what they weigh.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::anthropic::refusal::Refusal;
use crate::anthropic::signature;
use crate::request::Object;
use crate::tokens::PromptSize;

use super::Ttl;
use super::fields::{self, checked_text, join};
use super::prompt::{json_size, text_size};

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
    fields::check("block", object, place)?;
    let kind = checked_text(object, "type");
    let path = join(place, kind);
    let size = match kind {
        "text" => text(object, &path)?,
        "image" => image(object, &path)?,
        "document" => document(object, &path)?,
        "search_result" => inner(object, &path)?,
        "thinking" => thought(object, place)?,
        "redacted_thinking" => redacted(object, place)?,
        "tool_use" => {
            let input = object.get("input").map(json_size);
            let name = text_size(checked_text(object, "name"));
            sum(name, input.unwrap_or_default())
        }
        "tool_result" => inner(object, &path)?,
        _ => json_size(value),
    };
    Ok(Block {
        kind,
        object,
        size,
        mark: mark(object),
    })
}

/// The mark of a checked block, tool or body.
pub(super) fn mark(object: &Object) -> Option<Ttl> {
    let mark = fields::optional(object, "cache_control")?;
    match mark.get("ttl").and_then(Value::as_str) {
        Some("1h") => Some(Ttl::Hour),
        Some(_) | None => Some(Ttl::FiveMinutes),
    }
}

fn text(object: &Object, path: &str) -> Result<PromptSize, Refusal> {
    let text = checked_text(object, "text");
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
    source(object, path)?;
    Ok(one_image())
}

fn document(object: &Object, path: &str) -> Result<PromptSize, Refusal> {
    let (source, path) = source(object, path)?;
    match checked_text(source, "type") {
        "text" => Ok(text_size(checked_text(source, "data"))),
        "content" => inner(source, &path),
        _ => Ok(one_image()),
    }
}

/// The source of an image or a document, and its place.
fn source<'a>(object: &'a Object, path: &str) -> Result<(&'a Object, String), Refusal> {
    let path = join(path, "source");
    let source = fields::as_object(fields::needed(object, "", "source")?, &path)?;
    let kind = checked_text(source, "type");
    let path = join(&path, kind);
    match kind {
        "base64" => encoded(source, &path)?,
        "url" => address(source, &path)?,
        _ => {}
    }
    Ok((source, path))
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

fn thought(object: &Object, place: &str) -> Result<PromptSize, Refusal> {
    let text = checked_text(object, "thinking");
    let signature = checked_text(object, "signature");
    if !signature::signs(text, signature) {
        return Err(Refusal::at(
            place,
            "Invalid `signature` in `thinking` block",
        ));
    }
    Ok(text_size(text))
}

fn redacted(object: &Object, place: &str) -> Result<PromptSize, Refusal> {
    let data = checked_text(object, "data");
    if !signature::sealed(data) {
        return Err(Refusal::at(
            place,
            "Invalid `data` in `redacted_thinking` block",
        ));
    }
    Ok(text_size(data))
}

fn encoded(source: &Object, path: &str) -> Result<(), Refusal> {
    let data = checked_text(source, "data");
    match STANDARD.decode(data) {
        Ok(bytes) if !bytes.is_empty() => Ok(()),
        Ok(_) | Err(_) => Err(Refusal::at(&join(path, "data"), "Invalid base64 data")),
    }
}

/// What it points at is never looked at.
fn address(source: &Object, path: &str) -> Result<(), Refusal> {
    let url = checked_text(source, "url");
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
