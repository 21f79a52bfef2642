//! The fields of JSON as paths, such as `choices[].message.content`. A field that is null, empty or zero says nothing
//! that its absence does not say, and is none.

use std::collections::BTreeSet;

use serde_json::{Number, Value};

/// Most paths of one answer.
const MAX_PATHS: usize = 2_000;

pub(crate) fn paths(values: &[Value]) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    for value in values {
        add(&mut paths, "", value);
    }
    paths
}

fn add(paths: &mut BTreeSet<String>, path: &str, value: &Value) {
    if paths.len() >= MAX_PATHS {
        return;
    }
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let dot = if path.is_empty() { "" } else { "." };
                add(paths, &format!("{path}{dot}{name}"), value);
            }
        }
        Value::Array(items) => {
            for item in items {
                add(paths, &format!("{path}[]"), item);
            }
        }
        Value::Null | Value::Bool(false) => {}
        Value::Number(number) if number.as_u64() == Some(0) => {}
        Value::String(text) if text.is_empty() => {}
        Value::Bool(true) | Value::Number(_) | Value::String(_) => {
            paths.insert(path.to_owned());
        }
    }
}

/// The first field of a request that is not the same in another one, of those that a gateway passes on as they are.
/// Objects may have more fields there.
pub(crate) fn missing(sent: &Value, received: &Value, path: &str, missing_paths: &mut Vec<String>) {
    match (sent, received) {
        (Value::Object(sent), Value::Object(received)) => {
            for (name, value) in sent {
                let dot = if path.is_empty() { "" } else { "." };
                let path = format!("{path}{dot}{name}");
                let other = received.get(name).unwrap_or(&Value::Null);
                missing(value, other, &path, missing_paths);
            }
        }
        (Value::Array(sent), Value::Array(received)) if sent.len() == received.len() => {
            for (value, other) in sent.iter().zip(received) {
                missing(value, other, &format!("{path}[]"), missing_paths);
            }
        }
        (Value::Number(sent), Value::Number(received)) => {
            // A gateway that keeps numbers in 32 bits has not lost one.
            let narrow = |number: &Number| number.to_string().parse().map(f32::to_bits);
            if sent != received && narrow(sent) != narrow(received) {
                missing_paths.push(path.to_owned());
            }
        }
        (sent, received) => {
            if sent != received {
                missing_paths.push(path.to_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_field_is_lost_if_it_said_something() {
        let paths =
            paths(&[json!({ "a": [{ "b": 1 }, { "c": null }], "d": "", "e": { "f": true } })]);
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        assert_eq!(paths, ["a[].b", "e.f"]);
        let mut lost = Vec::new();
        let sent = json!({ "a": [{ "b": 1 }], "c": 2 });
        missing(
            &sent,
            &json!({ "a": [{ "b": 1, "x": 0 }], "c": 3 }),
            "",
            &mut lost,
        );
        assert_eq!(lost, ["c"]);
        lost.clear();
        let narrow = json!({ "top_p": 0.899_999_976_158_142_1, "top_k": 6 });
        missing(&json!({ "top_p": 0.9, "top_k": 5 }), &narrow, "", &mut lost);
        assert_eq!(lost, ["top_k"]);
    }
}
