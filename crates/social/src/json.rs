//! Looking into JSON without turning it into anything else: numbers keep every digit, and only what is
//! on the way to a place is read.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// The step of a pointer to the last element of a list.
const LAST: &str = "-1";

/// The members of an object; none if it is not one.
pub(crate) fn members(raw: &str) -> Option<HashMap<String, &RawValue>> {
    serde_json::from_str(raw).ok()
}

/// The elements of a list; none if it is not one.
pub(crate) fn elements(raw: &str) -> Option<Vec<&RawValue>> {
    serde_json::from_str(raw).ok()
}

/// What a pointer such as `/data/items` leads to.
pub(crate) fn at<'a>(raw: &'a str, pointer: &str) -> Option<&'a str> {
    walk(raw, pointer, false)
}

/// The same, but a way that ends early at something empty leads there.
pub(crate) fn towards<'a>(raw: &'a str, pointer: &str) -> Option<&'a str> {
    walk(raw, pointer, true)
}

fn walk<'a>(raw: &'a str, pointer: &str, stops_at_nothing: bool) -> Option<&'a str> {
    let mut here = raw;
    for (place, step) in pointer.split('/').skip(1).enumerate() {
        if stops_at_nothing && place > 0 && is_empty(here) {
            return Some(here);
        }
        let next: Option<&'a RawValue> = match here.trim_start().as_bytes().first() {
            Some(b'{') => members(here)?.remove(step),
            Some(b'[') if step == LAST => elements(here)?.pop(),
            Some(b'[') => elements(here)?.into_iter().nth(step.parse().ok()?),
            Some(_) | None => None,
        };
        here = next?.get();
    }
    Some(here)
}

/// Whether nothing is there: null, an empty list, object or text.
pub(crate) fn is_empty(raw: &str) -> bool {
    let raw = raw.trim();
    let mut bytes = raw.bytes().filter(|byte| !byte.is_ascii_whitespace());
    let begins = (bytes.next(), bytes.next());
    let hollow = matches!(begins, (Some(b'['), Some(b']')) | (Some(b'{'), Some(b'}')));
    hollow || matches!(raw, "" | "null" | "\"\"")
}

/// A text or a number as the text that it is passed back as; none for anything else.
pub(crate) fn as_value(raw: &str) -> Option<String> {
    let raw = raw.trim();
    match raw.as_bytes().first()? {
        b'"' => String::deserialize(&mut serde_json::Deserializer::from_str(raw)).ok(),
        b'-' | b'0'..=b'9' => Some(raw.to_owned()),
        _ => None,
    }
}

/// Whether a flag is set: true, a number but 0, a text but `0`, `false` and the empty one.
pub(crate) fn is_set(raw: &str) -> bool {
    match serde_json::from_str(raw) {
        Ok(Value::Bool(flag)) => flag,
        Ok(Value::Number(number)) => number.as_i64() != Some(0),
        Ok(Value::String(text)) => !matches!(text.as_str(), "" | "0" | "false"),
        Ok(Value::Null | Value::Array(_) | Value::Object(_)) | Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_leads_through_objects_and_lists_and_keeps_every_digit() {
        let raw = r#"{"a": {"b": [1, {"c": 123456789012345678901234567890}]}, "x/y": 1, "é": "q"}"#;
        assert_eq!(at(raw, "/a/b/1/c"), Some("123456789012345678901234567890"));
        assert_eq!(at(raw, "/a/b/0"), Some("1"));
        assert_eq!(at(raw, "/é"), Some("\"q\""));
        assert_eq!(at(raw, "/a/b/2"), None);
        assert_eq!(at(raw, "/a/b/c"), None);
        assert_eq!(at(raw, "/a/b/0/c"), None);
        assert_eq!(at(raw, ""), Some(raw));
        assert_eq!(towards(r#"{"a":[]}"#, "/a/0/b"), Some("[]"));
        assert_eq!(towards(r#"{"a":{"b":1}}"#, "/a/0/b"), None);
        assert_eq!(towards("{}", "/a"), None);
    }

    #[test]
    fn nothing_is_null_or_an_empty_list_object_or_text() {
        for raw in ["null", "[]", "[ ]", "{}", "{\n}", "\"\"", " null "] {
            assert!(is_empty(raw), "{raw}");
        }
        for raw in ["0", "false", "[null]", "{\"a\":1}", "\" \"", "\"a\"", "12"] {
            assert!(!is_empty(raw), "{raw}");
        }
    }

    #[test]
    fn what_is_passed_back_is_the_text_itself_or_the_digits() {
        assert_eq!(as_value(r#""a+b\/=""#).as_deref(), Some("a+b/="));
        assert_eq!(
            as_value("18446744073709551616").as_deref(),
            Some("18446744073709551616")
        );
        assert_eq!(as_value("-1").as_deref(), Some("-1"));
        for raw in ["null", "true", "[]", "{}"] {
            assert_eq!(as_value(raw), None);
        }
    }

    #[test]
    fn flags_come_as_booleans_numbers_and_texts() {
        for raw in ["true", "1", "\"1\"", "\"true\"", "5"] {
            assert!(is_set(raw), "{raw}");
        }
        for raw in ["false", "0", "\"0\"", "\"\"", "\"false\"", "null", "[]"] {
            assert!(!is_set(raw), "{raw}");
        }
    }
}
