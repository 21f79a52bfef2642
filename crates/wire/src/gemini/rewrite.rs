//! Responses and requests that stay in this format, with the few bytes changed that must be: the model's
//! name, and where signatures belong. Only signatures of parts are touched, never a function's arguments.

use bytes::Bytes;
use memchr::memmem;
use serde_json::value::RawValue;

use super::FORMAT;
use super::usage::priced_usage;
use crate::canonical::{MAX_SIGNATURE_BYTES, Signature};
use crate::{Edit, Frame, Object, Rewrite, StreamEnd, patch, priced, scan};

const SIGNATURES: [&str; 2] = ["thoughtSignature", "thought_signature"];

/// What becomes of a signature; none to leave it.
type Resign<'a> = &'a dyn Fn(&str) -> Option<Signed>;

/// A signature on its way.
enum Signed {
    As(String),
    Removed,
}

/// A whole response with the names that the caller knows; none if it needs none.
pub(crate) fn rewrite_response(body: &[u8], rewrite: &Rewrite) -> Option<Bytes> {
    changed(body, rewrite, None).map(Bytes::from)
}

/// A frame with the names that the caller knows.
pub(crate) fn rewrite_frame(frame: &Frame, rewrite: &Rewrite) -> Bytes {
    let changed = frame
        .data
        .as_ref()
        .and_then(|data| changed(data, rewrite, None));
    changed.map_or_else(|| frame.raw.clone(), |data| Frame::of_data(&data).raw)
}

/// The last frame, with what all cost.
pub(super) fn priced_frame(frame: &Frame, stream_end: &StreamEnd, rewrite: &Rewrite) -> Bytes {
    let data = frame.data.as_ref();
    let changed = data.and_then(|data| changed(data, rewrite, Some(stream_end)));
    changed.map_or_else(|| frame.raw.clone(), |data| Frame::of_data(&data).raw)
}

fn changed(body: &[u8], rewrite: &Rewrite, stream_end: Option<&StreamEnd>) -> Option<Vec<u8>> {
    // Nearly all pieces are words, and are not looked at more closely than this.
    if rewrite.model.is_none() && stream_end.is_none() && !has_signature(body) {
        return None;
    }
    let object = scan(body).ok()?;
    let mut edits: Vec<Edit<'_>> = Vec::new();
    if let Some(model) = &rewrite.model
        && object.member("modelVersion").is_some()
    {
        edits.push(Edit::Set("modelVersion", crate::request_facts::json(model)));
    }
    if let Some(channel) = rewrite.channel.as_ref().filter(|_| has_signature(body)) {
        let resign = |text: &str| Some(Signed::As(tagged(text, channel)));
        let candidates = object.value("candidates").and_then(|list| {
            each(list, &|candidate| {
                in_member(candidate, "content", &|content| in_parts(content, &resign))
            })
        });
        edits.extend(candidates.map(|list| Edit::Set("candidates", list)));
    }
    if let Some(stream_end) = stream_end {
        // One half of usage is not shown as all of it: then it is reported anew.
        let usage = object.value("usageMetadata").filter(|_| {
            let prompt = object.at("usageMetadata.promptTokenCount");
            prompt.is_some()
        });
        let usage = usage.and_then(|usage| priced(usage, &stream_end.cost));
        let usage = usage.unwrap_or_else(|| priced_usage(&stream_end.reported, &stream_end.cost));
        edits.push(Edit::Set("usageMetadata", usage));
    }
    (!edits.is_empty()).then(|| patch(&object, &edits))
}

/// Whether a signature may be in it.
fn has_signature(body: &[u8]) -> bool {
    let mut words = SIGNATURES.iter();
    words.any(|word| memmem::find(body, word.as_bytes()).is_some())
}

/// A request of this format with its signatures restored: those of the channel untagged, those of others removed,
/// but for a call's, which is replaced by Google's placeholder. None if nothing needs to change.
#[must_use]
pub fn restore_signatures(body: &[u8], channel: Option<&str>) -> Option<Vec<u8>> {
    let object = scan(body).ok()?;
    let resign = |text: &str| {
        let signature = Signature::read(text, FORMAT);
        if signature.data == text && signature.channel.is_none() {
            return None;
        }
        let own = signature.belongs_to(FORMAT, channel);
        Some(if own {
            Signed::As(signature.data)
        } else {
            Signed::Removed
        })
    };
    let contents = each(object.value("contents")?, &|content| {
        in_parts(content, &resign)
    })?;
    Some(patch(&object, &[Edit::Set("contents", contents)]))
}

fn tagged(text: &str, channel: &str) -> String {
    let signature = Signature::read(text, FORMAT);
    super::shown_signature(&signature, Some(channel))
}

/// A list with its changed members; none if none changed.
fn each(list: &[u8], change: &dyn Fn(&[u8]) -> Option<Vec<u8>>) -> Option<Vec<u8>> {
    let members: Vec<&RawValue> = serde_json::from_slice(list).ok()?;
    let written: Vec<Option<Vec<u8>>> = members
        .iter()
        .map(|member| change(member.get().as_bytes()))
        .collect();
    written.iter().any(Option::is_some).then(|| {
        let pairs = members.iter().zip(&written);
        let bytes = pairs.map(|(old, new)| new.as_deref().unwrap_or(old.get().as_bytes()));
        let bytes: Vec<&[u8]> = bytes.collect();
        [b"[".as_slice(), &bytes.join(&b','), b"]"].concat()
    })
}

fn in_member(
    object: &[u8],
    key: &str,
    change: &dyn Fn(&[u8]) -> Option<Vec<u8>>,
) -> Option<Vec<u8>> {
    let object = scan(object).ok()?;
    let changed = change(object.value(key)?)?;
    Some(patch(&object, &[Edit::Set(key, changed)]))
}

fn in_parts(content: &[u8], resign: Resign<'_>) -> Option<Vec<u8>> {
    in_member(content, "parts", &|parts| {
        each(parts, &|part| in_part(part, resign))
    })
}

fn in_part(part: &[u8], resign: Resign<'_>) -> Option<Vec<u8>> {
    let part = scan(part).ok()?;
    let key = SIGNATURES
        .into_iter()
        .find(|key| part.member(key).is_some())?;
    let value = part.value(key)?;
    if value.len() > MAX_SIGNATURE_BYTES {
        return None;
    }
    let text: String = serde_json::from_slice(value).ok()?;
    let edit = match resign(&text)? {
        Signed::As(signature) => Edit::Set(key, crate::request_facts::json(&signature)),
        Signed::Removed if is_call(&part) => {
            Edit::Set(key, crate::request_facts::json(super::NO_SIGNATURE))
        }
        Signed::Removed => Edit::Remove(key),
    };
    Some(patch(&part, &[edit]))
}

fn is_call(part: &Object<'_>) -> bool {
    part.member("functionCall").is_some() || part.member("function_call").is_some()
}
