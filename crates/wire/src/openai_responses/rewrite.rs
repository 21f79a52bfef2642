//! A response that passes through in its own format: the caller's names instead of the upstream's, and
//! signatures that say where they belong. Every other byte stays as it was.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::FORMAT;
use crate::canonical::Signature;
use crate::{Edit, Frame, Object, Rewrite, event_frame, patch, scan};

/// Items whose `encrypted_content` is a signature.
const SIGNED_ITEMS: &[&str] = &["reasoning", "compaction", "compaction_summary"];
const SIGNATURE: &str = "encrypted_content";

/// A whole response with the caller's names; none if it needs no change.
pub(crate) fn rewrite_response(body: &[u8], rewrite: &Rewrite) -> Option<Bytes> {
    rewrite_response_object(body, rewrite).map(Bytes::from)
}

/// A frame with the caller's names.
pub(crate) fn rewrite_frame(frame: &Frame, rewrite: &Rewrite) -> Bytes {
    let data = frame.data.as_deref();
    let Some(data) = data.and_then(|data| rewrite_data(frame, data, rewrite)) else {
        return frame.raw.clone();
    };
    let mut out = Vec::with_capacity(data.len().saturating_add(64));
    event_frame(frame.event.as_deref(), &data, &mut out);
    Bytes::from(out)
}

/// The data of a frame with the caller's names; none if it needs no change.
pub(super) fn rewrite_data(frame: &Frame, data: &[u8], rewrite: &Rewrite) -> Option<Vec<u8>> {
    // Most frames are pieces of words, which have nothing to rewrite.
    if frame
        .event
        .as_deref()
        .is_some_and(|event| event.ends_with(".delta"))
    {
        return None;
    }
    let object = scan(data).ok()?;
    let mut edits = Vec::new();
    if let Some(response) = object.value("response") {
        let changed = rewrite_response_object(response, rewrite);
        edits.extend(changed.map(|changed| Edit::Set("response", changed)));
    }
    if let (Some(item), Some(channel)) = (object.value("item"), &rewrite.channel) {
        let changed = mark_item(item, channel);
        edits.extend(changed.map(|changed| Edit::Set("item", changed)));
    }
    (!edits.is_empty()).then(|| patch(&object, &edits))
}

fn rewrite_response_object(bytes: &[u8], rewrite: &Rewrite) -> Option<Vec<u8>> {
    let object = scan(bytes).ok()?;
    let mut edits = Vec::new();
    for (field, name) in [
        ("id", &rewrite.id),
        ("model", &rewrite.model),
        ("previous_response_id", &rewrite.previous),
    ] {
        let value = name.as_ref().and_then(|name| renamed(&object, field, name));
        edits.extend(value.map(|value| Edit::Set(field, value)));
    }
    if let (Some(output), Some(channel)) = (object.value("output"), &rewrite.channel) {
        let tagged = mark_list(output, channel);
        edits.extend(tagged.map(|tagged| Edit::Set("output", tagged)));
    }
    (!edits.is_empty()).then(|| patch(&object, &edits))
}

/// The new value of a field that is there and says something else.
fn renamed(object: &Object<'_>, field: &str, name: &str) -> Option<Vec<u8>> {
    let old = object.value(field).filter(|old| *old != b"null")?;
    let new = serde_json::to_vec(name).ok()?;
    (old != new).then_some(new)
}

/// A list of items with their signatures marked; none if there is no signature in it.
fn mark_list(bytes: &[u8], channel: &str) -> Option<Vec<u8>> {
    change_items(bytes, |item| mark_item(item, channel).map(Some))
}

fn mark_item(bytes: &[u8], channel: &str) -> Option<Vec<u8>> {
    let (object, signature) = signed(bytes)?;
    let tagged = Signature {
        channel: Some(channel.to_owned()),
        ..Signature::of(FORMAT, signature)
    };
    let tagged = serde_json::to_vec(&tagged.tagged()).ok()?;
    Some(patch(&object, &[Edit::Set(SIGNATURE, tagged)]))
}

/// A list of items whose signatures are bare again for an upstream. Thoughts of another upstream are left
/// out; how many. None if there is nothing to change.
pub(super) fn bare_list(bytes: &[u8], channel: Option<&str>) -> Option<(Vec<u8>, usize)> {
    let mut left_out = 0_usize;
    let list = change_items(bytes, |item| {
        let (object, text) = signed(item)?;
        let (signature, _) = super::reasoning::read(&text);
        if !signature.belongs_to(FORMAT, channel) {
            left_out = left_out.saturating_add(1);
            return Some(None);
        }
        if signature.data == text {
            return None;
        }
        let bare = serde_json::to_vec(&signature.data).ok()?;
        Some(Some(patch(&object, &[Edit::Set(SIGNATURE, bare)])))
    })?;
    Some((list, left_out))
}

/// The same for a value.
pub(super) fn mark_value(item: &mut Value, channel: Option<&str>) {
    let Some(channel) = channel else {
        return;
    };
    let bytes = item.to_string();
    let tagged = mark_item(bytes.as_bytes(), channel);
    if let Some(tagged) = tagged.and_then(|bytes| serde_json::from_slice(&bytes).ok()) {
        *item = tagged;
    }
}

/// An item that bears a signature, and the signature.
fn signed(bytes: &[u8]) -> Option<(Object<'_>, String)> {
    #[derive(Deserialize)]
    struct Kind<'a> {
        #[serde(borrow, rename = "type")]
        kind: std::borrow::Cow<'a, str>,
    }
    let kind: Kind<'_> = serde_json::from_slice(bytes).ok()?;
    if !SIGNED_ITEMS.contains(&kind.kind.as_ref()) {
        return None;
    }
    let object = scan(bytes).ok()?;
    let signature: String = serde_json::from_slice(object.value(SIGNATURE)?).ok()?;
    (!signature.is_empty()).then_some((object, signature))
}

/// A list with some items changed, or left out; none if none is.
fn change_items(
    bytes: &[u8],
    mut change: impl FnMut(&[u8]) -> Option<Option<Vec<u8>>>,
) -> Option<Vec<u8>> {
    let items: Vec<&RawValue> = serde_json::from_slice(bytes).ok()?;
    let mut changed = false;
    let mut list = vec![b'['];
    for item in items {
        let item = item.get().as_bytes();
        let new = match change(item) {
            Some(new) => {
                changed = true;
                new
            }
            None => Some(item.to_vec()),
        };
        if let Some(new) = new {
            if list.len() > 1 {
                list.push(b',');
            }
            list.extend_from_slice(&new);
        }
    }
    list.push(b']');
    changed.then_some(list)
}
