//! Citations: those of other formats come near to a link.

use serde_json::{Value, json};

use super::FORMAT;
use crate::Format;

/// A source as this format writes it; none if it names no page.
pub(super) fn written(from: Format, raw: &Value, text: &str) -> Option<Value> {
    if from == FORMAT {
        return Some(raw.clone());
    }
    // Chat wraps what this format has flat.
    let raw = raw.get("url_citation").unwrap_or(raw);
    let inside = raw.get("web").unwrap_or(raw);
    let word = |key: &str| inside.get(key).and_then(Value::as_str);
    let url = word("url").or_else(|| word("uri"))?;
    let place = |key: &str, otherwise: usize| {
        let index = raw.get(key).and_then(Value::as_u64);
        index.map_or_else(|| json!(otherwise), |index| json!(index))
    };
    Some(json!({
        "type": "url_citation",
        "url": url,
        "title": word("title").unwrap_or_default(),
        "start_index": place("start_index", 0),
        "end_index": place("end_index", text.chars().count()),
    }))
}
