//! A JSON document that fits a schema: enough of JSON Schema for what structured output allows.
//!
//! Understood: `type` (also as a list), `properties`, `required`, `items`, `minItems`, `minimum`,
//! `maximum`, `minLength`, `enum`, `const`, `anyOf`, `oneOf`, `allOf` (the first entry), and `$ref`
//! into the same document. Patterns, formats and conditions are not.

use serde_json::{Map, Value, json};

/// Deeper than any schema a person writes; a schema that refers to itself ends here.
const MAX_DEPTH: u32 = 24;
/// Most values of one document, so that nested arrays cannot multiply without end.
const MAX_VALUES: u32 = 10_000;
/// Longest text made to satisfy `minLength`.
const MAX_TEXT: u64 = 4096;

/// The document, printed as a model prints it: with white space, so that it has several tokens.
pub(crate) fn document(schema: &Value) -> String {
    let mut left = MAX_VALUES;
    let value = fit(schema, schema, MAX_DEPTH, &mut left);
    // A value always has a JSON form.
    serde_json::to_string_pretty(&value).unwrap_or_default()
}

fn fit(schema: &Value, root: &Value, depth: u32, left: &mut u32) -> Value {
    *left = left.saturating_sub(1);
    let Some(inner) = depth.checked_sub(1) else {
        return Value::Null;
    };
    if *left == 0 {
        return Value::Null;
    }
    if let Some(pointer) = schema.get("$ref").and_then(Value::as_str) {
        let target = pointer
            .strip_prefix('#')
            .and_then(|pointer| root.pointer(pointer));
        return target.map_or(Value::Null, |target| fit(target, root, inner, left));
    }
    if let Some(value) = schema.get("const") {
        return value.clone();
    }
    if let Some(value) = first(schema, "enum") {
        return value.clone();
    }
    for name in ["anyOf", "oneOf", "allOf"] {
        if let Some(choice) = first(schema, name) {
            return fit(choice, root, inner, left);
        }
    }
    match kind(schema) {
        Some("object") => object(schema, root, inner, left),
        Some("array") => array(schema, root, inner, left),
        Some("integer" | "number") => number(schema),
        Some("boolean") => json!(true),
        Some("null") => Value::Null,
        Some("string") => text(schema),
        // A schema without a type accepts anything; one that lists properties means an object.
        Some(_) | None if schema.get("properties").is_some() => object(schema, root, inner, left),
        Some(_) | None => json!("sim"),
    }
}

fn kind(schema: &Value) -> Option<&str> {
    match schema.get("type")? {
        Value::String(kind) => Some(kind),
        Value::Array(kinds) => kinds.first().and_then(Value::as_str),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

fn first<'a>(schema: &'a Value, name: &str) -> Option<&'a Value> {
    schema.get(name)?.as_array()?.first()
}

/// All properties, the optional ones too: a client that reads them gets something to read. A
/// required name without a schema of its own accepts anything.
fn object(schema: &Value, root: &Value, depth: u32, left: &mut u32) -> Value {
    let mut made = Map::new();
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        for (name, property) in properties {
            if *left == 0 || (depth == 0 && !is_required(schema, name)) {
                continue;
            }
            made.insert(name.clone(), fit(property, root, depth, left));
        }
    }
    if let Some(required) = schema.get("required").and_then(Value::as_array) {
        for name in required.iter().filter_map(Value::as_str) {
            made.entry(name).or_insert_with(|| json!("sim"));
        }
    }
    Value::Object(made)
}

fn is_required(schema: &Value, name: &str) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.is_some_and(|list| list.iter().any(|entry| entry.as_str() == Some(name)))
}

fn array(schema: &Value, root: &Value, depth: u32, left: &mut u32) -> Value {
    let least = schema.get("minItems").and_then(Value::as_u64).unwrap_or(0);
    let any = Value::Null;
    let item = schema.get("items").unwrap_or(&any);
    // Near the bottom an empty list ends a schema that holds lists of itself.
    let length = if depth > MAX_DEPTH / 2 {
        least.max(1)
    } else {
        least
    };
    let mut items = Vec::new();
    for _ in 0..length {
        if *left == 0 {
            break;
        }
        items.push(fit(item, root, depth, left));
    }
    Value::Array(items)
}

fn number(schema: &Value) -> Value {
    let bound = |name: &str| schema.get(name).and_then(Value::as_i64);
    let least = bound("minimum").or(bound("exclusiveMinimum").map(|low| low.saturating_add(1)));
    let most = bound("maximum").or(bound("exclusiveMaximum").map(|high| high.saturating_sub(1)));
    let usual = 7;
    let at_least = least.map_or(usual, |least| usual.max(least));
    json!(most.map_or(at_least, |most| at_least.min(most)))
}

fn text(schema: &Value) -> Value {
    let least = schema.get("minLength").and_then(Value::as_u64).unwrap_or(0);
    let length = usize::try_from(least.min(MAX_TEXT)).unwrap_or_default();
    json!(format!("{:x<length$}", "sim"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(schema: &Value) -> Value {
        serde_json::from_str(&document(schema)).unwrap()
    }

    #[test]
    fn the_common_subset_is_filled_in() {
        let schema = json!({
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "age": {"type": "integer", "minimum": 10},
                "share": {"type": "number", "maximum": 1},
                "open": {"type": "boolean"},
                "unit": {"enum": ["c", "f"]},
                "tags": {"type": "array", "items": {"$ref": "#/$defs/tag"}, "minItems": 2},
                "note": {"anyOf": [{"type": "null"}, {"type": "string"}]}
            },
            "required": ["name", "extra"],
            "$defs": {"tag": {"type": "string", "minLength": 5}}
        });
        assert_eq!(
            made(&schema),
            json!({
                "name": "sim", "age": 10, "share": 1, "open": true, "unit": "c",
                "tags": ["simxx", "simxx"], "note": null, "extra": "sim"
            })
        );
    }

    #[test]
    fn a_schema_that_holds_itself_comes_to_an_end() {
        let schema = json!({
            "type": "object",
            "properties": {"children": {"type": "array", "items": {"$ref": "#"}}},
            "required": ["children"]
        });
        let text = document(&schema);
        assert!(text.ends_with('}') && !text.contains("null"), "{text}");
    }

    #[test]
    fn arrays_in_arrays_do_not_multiply_without_end() {
        let inner = json!({"type": "array", "minItems": 1000, "items": {"type": "integer"}});
        let schema = json!({"type": "array", "minItems": 1000, "items": inner});
        assert!(document(&schema).len() < 1_000_000);
    }
}
