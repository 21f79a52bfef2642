//! The shape of JSON: every path, with the types found there. Values are included for enum-like fields only, so no
//! text of a vendor is printed, and two responses of the same kind are equal.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// Types by path, such as `choices[].message.content`.
pub(crate) type Shape = BTreeMap<String, BTreeSet<String>>;

/// Fields with enum-like values that clients read.
const WORDS: [&str; 6] = ["object", "type", "role", "finish_reason", "code", "param"];
/// Longest name or value in the output, in characters.
const SHOWN_CHARACTERS: usize = 60;
/// Most paths of one response.
const MAX_PATHS: usize = 2_000;

/// The shape of a text that should be JSON.
pub(crate) fn of_text(text: &[u8]) -> Shape {
    let mut shape = Shape::new();
    match serde_json::from_slice(text) {
        Ok(value) => add(&mut shape, "", "", &value),
        Err(_) => note(&mut shape, "", "not JSON".to_owned()),
    }
    shape
}

fn add(shape: &mut Shape, path: &str, name: &str, value: &Value) {
    match value {
        Value::Object(fields) if fields.is_empty() => note(shape, path, "empty object".to_owned()),
        Value::Object(fields) => {
            for (name, value) in fields {
                let name = cut(name);
                let dot = if path.is_empty() { "" } else { "." };
                add(shape, &format!("{path}{dot}{name}"), &name, value);
            }
        }
        Value::Array(items) if items.is_empty() => note(shape, path, "empty list".to_owned()),
        Value::Array(items) => {
            for item in items {
                add(shape, &format!("{path}[]"), name, item);
            }
        }
        Value::Null => note(shape, path, "null".to_owned()),
        Value::Bool(_) => note(shape, path, "true or false".to_owned()),
        Value::Number(number) if number.is_f64() => note(shape, path, "decimal".to_owned()),
        Value::Number(_) => note(shape, path, "integer".to_owned()),
        Value::String(text) if WORDS.contains(&name) => note(shape, path, word(text)),
        Value::String(_) => note(shape, path, "text".to_owned()),
    }
}

fn note(shape: &mut Shape, path: &str, kind: String) {
    if shape.len() < MAX_PATHS || shape.contains_key(path) {
        shape.entry(path.to_owned()).or_default().insert(kind);
    }
}

/// An enum-like value; anything else is only `text`.
fn word(text: &str) -> String {
    let plain = |character: char| character.is_ascii_alphanumeric() || "_.-[]".contains(character);
    if text.is_empty() || text.len() > SHOWN_CHARACTERS || !text.chars().all(plain) {
        return "text".to_owned();
    }
    format!("{text:?}")
}

fn cut(text: &str) -> String {
    text.chars().take(SHOWN_CHARACTERS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        let line = |(path, kinds): (&String, &BTreeSet<String>)| {
            let kinds: Vec<&str> = kinds.iter().map(String::as_str).collect();
            format!("{path}: {}", kinds.join(" or "))
        };
        of_text(text.as_bytes()).iter().map(line).collect()
    }

    #[test]
    fn values_are_told_by_their_types_and_words_of_closed_lists_by_themselves() {
        let text = r#"{"id":"secret","object":"list","n":1,"x":1.5,"b":true,"none":null,
            "l":[],"o":{},"data":[{"k":"a"},{"k":null}],"code":"two words"}"#;
        let expected = [
            "b: true or false",
            "code: text",
            "data[].k: null or text",
            "id: text",
            "l: empty list",
            "n: integer",
            "none: null",
            "o: empty object",
            "object: \"list\"",
            "x: decimal",
        ];
        assert_eq!(lines(text), expected);
        assert_eq!(lines("<html>"), [": not JSON"]);
    }
}
