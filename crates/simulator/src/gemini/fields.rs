//! Reads a body by the tables of `vendors/gemini.toml`: both spellings of a name are accepted, what has no
//! place is refused with its path, and what comes out has one spelling and no `null`.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::{Number, Value};

use crate::field_check::{self, Field, Kind, join};
use crate::refusal::shortened;

pub(super) use crate::field_check::Object;

use super::errors::{GoogleError, Violation};
use super::schema::{SCHEMA, Service};

struct Reading {
    service: Service,
    violations: Vec<Violation>,
}

/// Most violations that are told.
const MAX_VIOLATIONS: usize = 50;

/// Padding may be left out, as the vendor's parser does.
const LENIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

/// The body with every name in camel case.
pub(super) fn read(table: &str, body: &Object, service: Service) -> Result<Object, GoogleError> {
    let mut reading = Reading {
        service,
        violations: Vec::new(),
    };
    let read = reading.object(table, body, "");
    if reading.violations.is_empty() {
        Ok(read)
    } else {
        Err(GoogleError::violations(&reading.violations))
    }
}

/// Base64 of either alphabet.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    STANDARD
        .decode(text)
        .or_else(|_| URL_SAFE.decode(text))
        .ok()
}

pub(super) fn encode(bytes: &[u8]) -> String {
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

// === impl Reading ===

impl Reading {
    fn object(&mut self, table: &str, object: &Object, path: &str) -> Object {
        let mut read = Object::new();
        let service = self.service.name();
        for (name, value) in object {
            let field = field_check::fields(&SCHEMA, table).find(|(known, field)| {
                (known == name || snake(known) == *name)
                    && field.only.as_deref().is_none_or(|only| only == service)
            });
            let Some((known, field)) = field else {
                let name = shortened(name);
                let place = place(path);
                self.refuse(
                    path,
                    format!(
                        "Invalid JSON payload received. Unknown name \"{name}\"{place}: Cannot \
                         find field."
                    ),
                );
                continue;
            };
            let inner = join(path, &snake(known));
            if let Some(value) = self.value(field, value, &inner) {
                read.insert(known.to_owned(), value);
            }
        }
        read
    }

    fn value(&mut self, field: &Field, value: &Value, path: &str) -> Option<Value> {
        match (field.kind, value) {
            (_, Value::Null) => None,
            (Kind::Array, Value::Array(list)) => {
                let items = list.iter().enumerate();
                let read = items.filter_map(|(index, item)| {
                    self.item(field, item, &format!("{path}[{index}]"))
                });
                Some(Value::Array(read.collect()))
            }
            // A single value stands for a list of one, as the vendor's parser has it.
            (Kind::Array, single) => {
                let item = self.item(field, single, &format!("{path}[0]"))?;
                Some(Value::Array(vec![item]))
            }
            (Kind::Map, Value::Object(object)) => {
                let mut read = Object::new();
                for (index, (name, item)) in object.iter().enumerate() {
                    let inner = format!("{path}[{index}].value");
                    if let Some(item) = self.item(field, item, &inner) {
                        read.insert(name.clone(), item);
                    }
                }
                Some(Value::Object(read))
            }
            (kind, _) => self.scalar(kind, field, value, path),
        }
    }

    /// An item of an array or a map.
    fn item(&mut self, field: &Field, value: &Value, path: &str) -> Option<Value> {
        self.scalar(field.items.unwrap_or(Kind::Object), field, value, path)
    }

    /// `null` is the same as nothing.
    fn scalar(&mut self, kind: Kind, field: &Field, value: &Value, path: &str) -> Option<Value> {
        if value.is_null() {
            return None;
        }
        if !field.values.is_empty() {
            let is_it = |word: &&String| {
                let text = value.as_str();
                text.is_some_and(|text| word.eq_ignore_ascii_case(text))
            };
            return match field.values.iter().find(is_it) {
                Some(word) => Some(Value::from(word.as_str())),
                None => self.wrong(path, "TYPE_ENUM", value),
            };
        }
        match (kind, value) {
            (Kind::Any, _)
            | (Kind::Text, Value::String(_))
            | (Kind::Boolean, Value::Bool(_))
            | (Kind::Decimal, Value::Number(_)) => Some(value.clone()),
            (Kind::Bytes, Value::String(text)) if decode(text).is_some() => Some(value.clone()),
            (Kind::Object, Value::Object(object)) => {
                let table = field.table.as_deref().unwrap_or_default();
                Some(Value::Object(self.object(table, object, path)))
            }
            (Kind::Integer, Value::Number(number)) if whole(number).is_some() => {
                whole(number).map(Value::from)
            }
            // The vendor's JSON takes numbers as texts too.
            (Kind::Integer, Value::String(text)) if text.parse::<i64>().is_ok() => {
                text.parse::<i64>().ok().map(Value::from)
            }
            (Kind::Bytes, _) => self.wrong(path, "TYPE_BYTES", value),
            (Kind::Boolean, _) => self.wrong(path, "TYPE_BOOL", value),
            (Kind::Integer, _) => self.wrong(path, "TYPE_INT32", value),
            (Kind::Decimal, _) => self.wrong(path, "TYPE_FLOAT", value),
            (Kind::Object | Kind::Map | Kind::Array, _) => self.wrong(path, "TYPE_MESSAGE", value),
            (Kind::Text | Kind::Name | Kind::TextOrObject | Kind::TextOrArray, _) => {
                self.wrong(path, "TYPE_STRING", value)
            }
        }
    }

    fn wrong(&mut self, path: &str, expected: &str, value: &Value) -> Option<Value> {
        let text = value.to_string();
        let got = shortened(&text);
        self.refuse(
            path,
            format!("Invalid value at '{path}' ({expected}), {got}"),
        );
        None
    }

    fn refuse(&mut self, path: &str, description: String) {
        if self.violations.len() < MAX_VIOLATIONS {
            self.violations.push(Violation {
                field: path.to_owned(),
                description,
            });
        }
    }
}

/// A whole number, also one that is written with a point.
fn whole(number: &Number) -> Option<i64> {
    number.as_i64().or_else(|| {
        let text = number.to_string();
        text.strip_suffix(".0")?.parse().ok()
    })
}

/// `maxOutputTokens` as `max_output_tokens`.
fn snake(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for character in name.chars() {
        if character.is_ascii_uppercase() {
            text.push('_');
        }
        text.push(character.to_ascii_lowercase());
    }
    text
}

fn place(path: &str) -> String {
    if path.is_empty() {
        String::new()
    } else {
        format!(" at '{path}'")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::gemini::schema::GENERATE;

    fn read_as(body: &Value, service: Service) -> Result<Object, GoogleError> {
        read(GENERATE, body.as_object().unwrap(), service)
    }

    #[test]
    fn both_spellings_become_one_and_null_is_nothing() {
        let body = json!({"generation_config": {"max_output_tokens": "5", "topK": 3, "seed": null},
            "toolConfig": {"function_calling_config": {"mode": "any"}}});
        let read = read_as(&body, Service::Gemini).unwrap();
        assert_eq!(
            Value::Object(read),
            json!({"generationConfig": {"maxOutputTokens": 5, "topK": 3},
                "toolConfig": {"functionCallingConfig": {"mode": "ANY"}}})
        );
    }

    #[test]
    fn every_unknown_name_is_told_with_its_place() {
        let body = json!({"foo": 1, "tools": [{"functionDeclarations": [{"name": "f",
            "parameters": {"type": "object", "properties": {"a": {"const": 1}}}}]}]});
        let error = read_as(&body, Service::Gemini).unwrap_err().line();
        let error: Value = serde_json::from_str(&error).unwrap();
        let details = &error["error"]["details"][0]["fieldViolations"];
        assert_eq!(
            details[1]["description"],
            "Invalid JSON payload received. Unknown name \"const\" at \
             'tools[0].function_declarations[0].parameters.properties[0].value': Cannot find field."
        );
        assert_eq!(
            (&details[0]["field"], details[2].is_null()),
            (&json!(""), true)
        );
    }

    #[test]
    fn a_field_of_the_other_service_is_unknown() {
        let body = json!({"labels": {"a": "b"}});
        assert!(read_as(&body, Service::Vertex).is_ok());
        assert!(read_as(&body, Service::Gemini).is_err());
    }

    #[test]
    fn wrong_types_are_refused() {
        for body in [
            json!({"contents": 1}),
            json!({"generationConfig": {"topK": "x"}}),
            json!({"generationConfig": {"seed": 1.5}}),
            json!({"contents": [{"parts": [{"inlineData": {"data": "***"}}]}]}),
            json!({"safetySettings": [{"category": "HARM_CATEGORY_MATHS"}]}),
        ] {
            assert!(read_as(&body, Service::Gemini).is_err(), "{body}");
        }
    }
}
