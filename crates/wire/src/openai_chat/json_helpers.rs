//! Small readings that chat's files share.

use serde_json::{Map, Number, Value};

use crate::canonical::ToolName;

pub(super) fn word(map: &Map<String, Value>, name: &str) -> Option<String> {
    map.get(name).and_then(Value::as_str).map(str::to_owned)
}

pub(super) fn number(map: &Map<String, Value>, name: &str) -> Option<Number> {
    match map.get(name) {
        Some(Value::Number(number)) => Some(number.clone()),
        Some(_) | None => None,
    }
}

pub(super) fn list<'a>(map: &'a Map<String, Value>, name: &str) -> &'a [Value] {
    let known = map.get(name).and_then(Value::as_array);
    known.map_or(&[], Vec::as_slice)
}

pub(super) fn tool_name(inner: &Value) -> ToolName {
    let name = inner.get("name").and_then(Value::as_str);
    ToolName::plain(name.unwrap_or_default())
}

/// Bytes as an address.
pub(super) fn data_uri(mime: &str, data: &str) -> String {
    format!("data:{mime};base64,{data}")
}
