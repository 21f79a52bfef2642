//! A response that is passed on in its own format: the public name of its model, and signatures tagged with
//! the channel that made them. Every other byte stays.

use bytes::Bytes;
use memchr::memmem;
use serde_json::value::RawValue;

use super::OWN;
use crate::canonical::Signature;
use crate::request_facts::PathEdit;
use crate::{Frame, Object, Rewrite, event_frame, patch_at, scan};

/// A whole response with the names that the caller knows; none if it needs none.
pub(crate) fn rewrite_response(body: &[u8], rewrite: &Rewrite) -> Option<Bytes> {
    let message = scan(body).ok()?;
    let edits = message_edits(&message, rewrite, "");
    (!edits.is_empty()).then(|| Bytes::from(patch_at(&message, &edits)))
}

/// A frame with the names that the caller knows.
pub(crate) fn rewrite_frame(frame: &Frame, rewrite: &Rewrite) -> Bytes {
    let data = frame.data.as_ref().filter(|data| may_need(data, rewrite));
    let written = data.and_then(|data| {
        let event = scan(data).ok()?;
        let edits = event_edits(&event, rewrite);
        (!edits.is_empty()).then(|| {
            let mut out = Vec::new();
            let data = patch_at(&event, &edits);
            event_frame(frame.event.as_deref(), &data, &mut out);
            Bytes::from(out)
        })
    });
    written.unwrap_or_else(|| frame.raw.clone())
}

/// Nearly all frames are words, and are not looked at more closely than this.
fn may_need(data: &[u8], rewrite: &Rewrite) -> bool {
    let has = |word: &[u8]| memmem::find(data, word).is_some();
    (rewrite.model.is_some() && has(b"message_start"))
        || (rewrite.channel.is_some() && (has(b"signature") || has(b"redacted_thinking")))
}

fn event_edits(event: &Object<'_>, rewrite: &Rewrite) -> Vec<PathEdit> {
    match text_at(event, "type").as_deref() {
        Some("message_start") => {
            let inner = event.value("message").and_then(|value| scan(value).ok());
            inner
                .map(|message| message_edits(&message, rewrite, "message."))
                .unwrap_or_default()
        }
        Some("content_block_start") => {
            let inner = event.value("content_block");
            let inner = inner.and_then(|value| scan(value).ok());
            inner
                .and_then(|block| signature_edit(&block, rewrite, "content_block."))
                .into_iter()
                .collect()
        }
        Some("content_block_delta") => {
            let inner = event.value("delta").and_then(|value| scan(value).ok());
            let is_signature =
                |delta: &Object<'_>| text_at(delta, "type").as_deref() == Some("signature_delta");
            inner
                .filter(is_signature)
                .and_then(|delta| tagged_at(&delta, "signature", rewrite, "delta."))
                .into_iter()
                .collect()
        }
        Some(_) | None => Vec::new(),
    }
}

fn message_edits(message: &Object<'_>, rewrite: &Rewrite, before: &str) -> Vec<PathEdit> {
    let mut edits = Vec::new();
    if let Some(model) = &rewrite.model
        && let Some(upstream_model) = text_at(message, "model")
        && upstream_model != *model
    {
        let name = serde_json::to_vec(model).unwrap_or_default();
        edits.push((format!("{before}model"), Some(name)));
    }
    let content = message
        .value("content")
        .filter(|_| rewrite.channel.is_some());
    if let Some(content) = content.and_then(|content| tagged_blocks(content, rewrite)) {
        edits.push((format!("{before}content"), Some(content)));
    }
    edits
}

/// A list of blocks with its signatures tagged; none if there are none.
fn tagged_blocks(content: &[u8], rewrite: &Rewrite) -> Option<Vec<u8>> {
    let blocks: Vec<&RawValue> = serde_json::from_slice(content).ok()?;
    let mut out = Vec::with_capacity(content.len());
    let mut rest = content;
    let mut changed = false;
    for block in blocks {
        let raw = block.get().as_bytes();
        // What stands between two blocks, and before the first, is no block.
        let between = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b',' | b'[');
        let ahead = rest.iter().take_while(|byte| between(byte)).count();
        let (before, behind) = rest.split_at_checked(ahead)?;
        out.extend_from_slice(before);
        let edit = scan(raw).ok().and_then(|object| {
            let edit = signature_edit(&object, rewrite, "")?;
            Some(patch_at(&object, &[edit]))
        });
        changed |= edit.is_some();
        out.extend_from_slice(edit.as_deref().unwrap_or(raw));
        rest = behind.get(raw.len()..)?;
    }
    out.extend_from_slice(rest);
    changed.then_some(out)
}

/// The signature of a block, which only thoughts have.
fn signature_edit(block: &Object<'_>, rewrite: &Rewrite, before: &str) -> Option<PathEdit> {
    let key = match text_at(block, "type")?.as_str() {
        "thinking" => "signature",
        "redacted_thinking" => "data",
        _ => return None,
    };
    tagged_at(block, key, rewrite, before)
}

fn tagged_at(object: &Object<'_>, key: &str, rewrite: &Rewrite, before: &str) -> Option<PathEdit> {
    let channel = rewrite.channel.clone()?;
    let data = text_at(object, key).filter(|data| !data.is_empty())?;
    let signature = Signature {
        format: OWN,
        channel: Some(channel),
        data,
    };
    let json = serde_json::to_vec(&signature.tagged()).ok()?;
    Some((format!("{before}{key}"), Some(json)))
}

fn text_at(object: &Object<'_>, key: &str) -> Option<String> {
    serde_json::from_slice(object.value(key)?).ok()
}
