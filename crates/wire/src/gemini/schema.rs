//! Google's subset of OpenAPI schemas, read as JSON Schema. Nothing is written in it: Google takes JSON
//! Schema under names of its own.

use serde_json::{Map, Value, json};

use crate::camel_case::camel;

/// Numbers that Google may write as texts, since they have 64 bits.
const COUNTS: [&str; 6] = [
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "minProperties",
    "maxProperties",
];

/// JSON Schema that means the same. The depth was bounded where the body was read.
pub(super) fn json_schema(schema: Value) -> Value {
    let Value::Object(map) = schema else {
        return schema;
    };
    let mut read = Map::new();
    let mut nullable = false;
    for (key, value) in map {
        let key = if key.starts_with('$') {
            key
        } else {
            camel(&key)
        };
        match key.as_str() {
            "type" => {
                let value = lower(value);
                if value != "type_unspecified" {
                    read.insert(key, value);
                }
            }
            "nullable" => nullable = value == Value::Bool(true),
            "items" | "additionalProperties" => {
                read.insert(key, json_schema(value));
            }
            "anyOf" | "oneOf" | "allOf" | "prefixItems" => {
                read.insert(key, each(value));
            }
            "properties" | "$defs" | "defs" => {
                let name = if key == "defs" {
                    "$defs".to_owned()
                } else {
                    key
                };
                read.insert(name, every_member(value));
            }
            "ref" => {
                read.insert("$ref".to_owned(), value);
            }
            word if COUNTS.contains(&word) => {
                read.insert(key, number(value));
            }
            _ => {
                read.insert(key, value);
            }
        }
    }
    if nullable {
        make_nullable(&mut read);
    }
    Value::Object(read)
}

fn lower(kind: Value) -> Value {
    match kind {
        Value::String(word) => Value::String(word.to_ascii_lowercase()),
        Value::Array(list) => list.into_iter().map(lower).collect(),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) => other,
    }
}

fn number(value: Value) -> Value {
    let read = value.as_str().and_then(|text| text.parse::<u64>().ok());
    read.map_or(value, Value::from)
}

fn each(list: Value) -> Value {
    match list {
        Value::Array(list) => list.into_iter().map(json_schema).collect(),
        other @ (Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Object(_)) => other,
    }
}

fn every_member(map: Value) -> Value {
    match map {
        Value::Object(map) => {
            let members = map
                .into_iter()
                .map(|(key, value)| (key, json_schema(value)));
            Value::Object(members.collect())
        }
        other @ (Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)) => other,
    }
}

/// Null is one more type, and one more value where they are listed.
fn make_nullable(schema: &mut Map<String, Value>) {
    match schema.get_mut("type") {
        Some(Value::Array(kinds)) if !kinds.contains(&json!("null")) => kinds.push(json!("null")),
        Some(kind @ Value::String(_)) => *kind = json!([kind.clone(), "null"]),
        Some(_) | None => {}
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    if let Some(Value::Array(choices)) = schema.get_mut("anyOf") {
        let null = json!({ "type": "null" });
        if !choices.contains(&null) {
            choices.push(null);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn upper_case_types_become_json_schema_on_every_level() {
        let google = json!({
            "type": "OBJECT",
            "properties": {
                "type": { "type": "STRING", "nullable": true, "enum": ["A", "B"] },
                "items": { "type": "ARRAY", "min_items": "1", "items": { "anyOf": [{ "type": "NUMBER" }], "nullable": true } },
            },
            "required": ["type"],
            "propertyOrdering": ["type", "items"],
            "defs": { "x": { "ref": "#/$defs/y", "type": "TYPE_UNSPECIFIED" } },
        });
        let read = json_schema(google);
        assert_eq!(
            read,
            json!({
                "type": "object",
                "properties": {
                    "type": { "type": ["string", "null"], "enum": ["A", "B", null] },
                    "items": { "type": "array", "minItems": 1, "items": { "anyOf": [{ "type": "number" }, { "type": "null" }] } },
                },
                "required": ["type"],
                "propertyOrdering": ["type", "items"],
                "$defs": { "x": { "$ref": "#/$defs/y" } },
            })
        );
        assert_eq!(
            json_schema(read.clone()),
            read,
            "JSON Schema stays as it is"
        );
    }
}
