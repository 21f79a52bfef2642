//! Google's two spellings of every key, brought to one.

use serde_json::{Map, Value};

use super::cost::KNOWN;
use crate::camel_case::camel;
use crate::{Object, RequestError, scan};

/// The objects whose members records, rules and the cost table name.
const INSIDE: [&str; 3] = [
    "generationConfig",
    "generationConfig.thinkingConfig",
    "toolConfig",
];

/// `top_p` for `topP`.
pub(super) fn snake(key: &str) -> String {
    let mut spelled = String::with_capacity(key.len());
    for character in key.chars() {
        if character.is_ascii_uppercase() {
            spelled.push('_');
        }
        spelled.push(character.to_ascii_lowercase());
    }
    spelled
}

/// Takes a member out, in either spelling; null is as good as absent.
pub(super) fn take(map: &mut Map<String, Value>, key: &str) -> Option<Value> {
    let found = map.remove(key).or_else(|| map.remove(&snake(key)));
    found.filter(|value| !value.is_null())
}

/// Looks at a member, in either spelling.
pub(super) fn look<'a>(map: &'a Map<String, Value>, key: &str) -> Option<&'a Value> {
    let found = map.get(key).or_else(|| map.get(&snake(key)));
    found.filter(|value| !value.is_null())
}

/// A body with the keys that are named elsewhere in one spelling; none if they are. A key in both
/// spellings is a key said twice.
pub(crate) fn in_camel_case(object: &Object<'_>) -> Result<Option<Vec<u8>>, RequestError> {
    respelled(object, "")
}

/// An object with its known keys renamed, and those of the objects named above; every other byte stays.
fn respelled(object: &Object<'_>, path: &str) -> Result<Option<Vec<u8>>, RequestError> {
    let bytes = object.bytes();
    let mut body: Vec<u8> = Vec::new();
    let mut copied = 0_usize;
    for member in object.members() {
        let spelled = camel(&member.key);
        let whole = joined(path, &spelled);
        if !KNOWN.contains(&whole.as_str()) {
            continue;
        }
        if spelled != member.key {
            if object.member(&spelled).is_some() {
                return Err(twice(&whole));
            }
            body.extend_from_slice(bytes.get(copied..member.start).unwrap_or_default());
            body.extend_from_slice(&crate::request_facts::json(&spelled));
            body.push(b':');
            copied = member.value.start;
        }
        if !INSIDE.contains(&whole.as_str()) {
            continue;
        }
        let value = bytes.get(member.value.clone()).unwrap_or_default();
        let inner = scan(value).ok();
        let inner = inner.map(|inner| respelled(&inner, &whole)).transpose()?;
        if let Some(inner) = inner.flatten() {
            body.extend_from_slice(bytes.get(copied..member.value.start).unwrap_or_default());
            body.extend_from_slice(&inner);
            copied = member.value.end;
        }
    }
    if copied == 0 {
        return Ok(None);
    }
    body.extend_from_slice(bytes.get(copied..).unwrap_or_default());
    Ok(Some(body))
}

fn joined(path: &str, key: &str) -> String {
    if path.is_empty() {
        return key.to_owned();
    }
    format!("{path}.{key}")
}

fn twice(key: &str) -> RequestError {
    RequestError::invalid(
        key,
        format!("`{key}` stands there in two spellings; send one"),
    )
}
