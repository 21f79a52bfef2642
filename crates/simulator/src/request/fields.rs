//! The parameters of OpenAI's endpoints, checked by `vendors/openai.toml`, and the words in which the
//! vendor refuses one. Codes and wordings are [unverified].

use std::sync::LazyLock;

use serde_json::Value;

use crate::field_check::{self, Dialect, Kind, Range, Schema};
use crate::refusal::{Refusal, shortened};

pub(crate) use crate::field_check::Object;

struct OpenAi;

static SCHEMA: LazyLock<Schema> =
    LazyLock::new(|| Schema::read(include_str!("../../vendors/openai.toml")));

/// Checks a body whose unknown names are refused in the older words, all of them at once.
pub(crate) fn check(table: &str, body: &Object) -> Result<(), Refusal> {
    let unknown: Vec<&str> = body
        .keys()
        .filter(|name| !SCHEMA.has(table, name))
        .map(|name| shortened(name))
        .collect();
    match unknown.as_slice() {
        [] => check_each(table, body),
        [one] => {
            let message = format!("Unrecognized request argument supplied: {one}");
            Err(Refusal::unnamed(&message))
        }
        [..] => {
            let names = unknown.join(", ");
            let message = format!(
                "Unrecognized request arguments supplied: {}",
                shortened(&names)
            );
            Err(Refusal::unnamed(&message))
        }
    }
}

/// Checks a body whose unknown names are refused as every other parameter is.
pub(crate) fn check_strictly(table: &str, body: &Object) -> Result<(), Refusal> {
    field_check::check(&OpenAi, table, body, "")
}

/// Checks those parameters of a table that are there.
pub(crate) fn check_each(table: &str, body: &Object) -> Result<(), Refusal> {
    field_check::check_each(&OpenAi, &[table.to_owned()], body, "")
}

/// Refuses names that an inner object does not have.
pub(crate) fn only(object: &Object, path: &str, names: &[&str]) -> Result<(), Refusal> {
    match object.keys().find(|name| !names.contains(&name.as_str())) {
        Some(name) => Err(OpenAi.unknown(&format!("{path}.{}", shortened(name)))),
        None => Ok(()),
    }
}

/// A required text of an inner object.
pub(crate) fn text<'a>(object: &'a Object, path: &str, name: &str) -> Result<&'a str, Refusal> {
    let param = format!("{path}.{name}");
    match object.get(name) {
        Some(Value::String(text)) => Ok(text),
        Some(value) => Err(wrong_type(&param, "a string", value)),
        None => Err(missing(&param)),
    }
}

/// A required object inside an object.
pub(crate) fn object<'a>(outer: &'a Object, path: &str, name: &str) -> Result<&'a Object, Refusal> {
    let param = format!("{path}.{name}");
    match outer.get(name) {
        Some(Value::Object(inner)) => Ok(inner),
        Some(value) => Err(wrong_type(&param, "an object", value)),
        None => Err(missing(&param)),
    }
}

/// A text that was checked already.
pub(crate) fn checked_text<'a>(object: &'a Object, name: &str) -> &'a str {
    object.get(name).and_then(Value::as_str).unwrap_or_default()
}

pub(crate) fn missing(param: &str) -> Refusal {
    let message = format!("Missing required parameter: '{param}'.");
    Refusal::invalid(param, Some("missing_required_parameter"), message)
}

pub(crate) fn wrong_type(param: &str, expected: &str, value: &Value) -> Refusal {
    let got = match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(number) if number.is_f64() => "a decimal number",
        Value::Number(_) => "an integer",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    let message =
        format!("Invalid type for '{param}': expected {expected}, but got {got} instead.");
    Refusal::invalid(param, Some("invalid_type"), message)
}

pub(crate) fn wrong_value(param: &str, value: &str, words: &[&str]) -> Refusal {
    let listed: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let message = format!(
        "Invalid value: '{}'. Supported values are: {}.",
        shortened(value),
        listed.join(", ")
    );
    Refusal::invalid(param, Some("invalid_value"), message)
}

// === impl OpenAi ===

impl Dialect for OpenAi {
    type Error = Refusal;

    fn schema(&self) -> &'static Schema {
        &SCHEMA
    }

    fn item(&self, path: &str, index: usize) -> String {
        format!("{path}[{index}]")
    }

    fn unknown(&self, path: &str) -> Refusal {
        let message = format!("Unknown parameter: '{path}'.");
        Refusal::invalid(path, Some("unknown_parameter"), message)
    }

    fn missing(&self, path: &str) -> Refusal {
        missing(path)
    }

    fn wrong_type(&self, path: &str, kind: Kind, _: &[&str], value: &Value) -> Refusal {
        let expected = match kind {
            Kind::Any => "anything",
            Kind::Boolean => "a boolean",
            Kind::Integer => "an integer",
            Kind::Decimal => "a decimal",
            Kind::Text | Kind::Name | Kind::Bytes => "a string",
            Kind::Object | Kind::Map => "an object",
            Kind::Array => "an array",
            Kind::TextOrObject => "one of a string or object",
            Kind::TextOrArray => "one of a string or array of strings",
        };
        wrong_type(path, expected, value)
    }

    fn wrong_value(&self, path: &str, value: &str, values: &[&str]) -> Refusal {
        wrong_value(path, value, values)
    }

    fn wrong_name(&self, path: &str, value: &str) -> Refusal {
        let message = format!(
            "Invalid '{path}': '{}' does not match the pattern '^[a-zA-Z0-9_-]{{1,64}}$'.",
            shortened(value)
        );
        Refusal::invalid(path, Some("invalid_value"), message)
    }

    fn out_of_range(&self, path: &str, kind: Kind, range: Range, value: &Value) -> Refusal {
        let is_below = range.is_below(value);
        let (side, sign, bound) = if is_below {
            ("below minimum", ">=", range.0)
        } else {
            ("above maximum", "<=", range.1)
        };
        let (noun, code) = match (kind, is_below) {
            (Kind::Decimal, true) => ("decimal", "decimal_below_min_value"),
            (Kind::Decimal, false) => ("decimal", "decimal_above_max_value"),
            (_, true) => ("integer", "integer_below_min_value"),
            (_, false) => ("integer", "integer_above_max_value"),
        };
        let message = format!(
            "Invalid '{path}': {noun} {side} value. Expected a value {sign} {bound}, but got \
             {value} instead."
        );
        Refusal::invalid(path, Some(code), message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_of_openai_are_read() {
        for (table, name) in [
            ("chat", "messages"),
            ("responses", "input"),
            ("images", "prompt"),
        ] {
            assert!(SCHEMA.has(table, name), "{table}.{name}");
        }
    }
}
