//! Citations: those of other formats come near to a link.

use serde_json::{Map, Value, json};

use crate::Format;

/// A source as chat writes it; none if it names no page.
pub(super) fn annotation(from: Format, raw: &Value) -> Option<Value> {
    if from == Format::OpenaiChat {
        return Some(raw.clone());
    }
    let member = |key: &str| raw.get(key).filter(|value| !value.is_null());
    let mut link = Map::new();
    let url = member("url").or_else(|| member("uri"))?;
    link.insert("url".to_owned(), url.clone());
    for (ours, theirs) in [
        ("title", "title"),
        ("start_index", "startIndex"),
        ("end_index", "endIndex"),
    ] {
        if let Some(value) = member(ours).or_else(|| member(theirs)) {
            link.insert(ours.to_owned(), value.clone());
        }
    }
    Some(json!({ "type": "url_citation", "url_citation": link }))
}
