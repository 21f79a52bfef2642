//! The functions of a request, which of them may or must be called, and the part of JSON Schema
//! that the vendor's own schema is.

use serde_json::Value;

use crate::refusal::shortened;

use super::errors::GoogleError;
use super::fields::Object;

/// A function that may be called.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Function {
    pub(super) name: String,
    /// JSON Schema of its arguments; none is a function without arguments.
    pub(super) parameters: Option<Value>,
}

/// What the client says about calling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Calling {
    Free,
    /// No call.
    Never,
    /// A call of one of these.
    Must(Vec<String>),
}

/// The vendor's own bound on functions.
const MAX_FUNCTIONS: usize = 512;
const MAX_NAME_BYTES: usize = 64;

pub(super) fn read_tools(body: &Object) -> Result<Vec<Function>, GoogleError> {
    let mut functions: Vec<Function> = Vec::new();
    let Some(Value::Array(tools)) = body.get("tools") else {
        return Ok(functions);
    };
    for (index, tool) in tools.iter().enumerate() {
        let list = tool.get("functionDeclarations").and_then(Value::as_array);
        let others = tool
            .as_object()
            .is_some_and(|tool| tool.keys().any(|name| name != "functionDeclarations"));
        if list.is_none_or(Vec::is_empty) && !others {
            return Err(GoogleError::invalid(format!(
                "* GenerateContentRequest.tools[{index}].tool_type: required one_of 'tool_type' \
                 must have one initialized field\n"
            )));
        }
        for (at, declaration) in list.into_iter().flatten().enumerate() {
            let path = format!("tools[{index}].function_declarations[{at}]");
            let function = read_function(declaration, &path)?;
            if functions.iter().any(|known| known.name == function.name) {
                return Err(GoogleError::invalid(format!(
                    "Duplicate function declaration found: {}",
                    shortened(&function.name)
                )));
            }
            functions.push(function);
        }
    }
    if functions.len() > MAX_FUNCTIONS {
        let problem = format!("at most {MAX_FUNCTIONS} function declarations are allowed.");
        return Err(GoogleError::field("tools", &problem));
    }
    Ok(functions)
}

pub(super) fn read_calling(body: &Object, functions: &[Function]) -> Result<Calling, GoogleError> {
    let config = body
        .get("toolConfig")
        .and_then(|config| config.get("functionCallingConfig"));
    let Some(config) = config else {
        return Ok(Calling::Free);
    };
    let mode = config.get("mode").and_then(Value::as_str).unwrap_or("AUTO");
    let names = config.get("allowedFunctionNames").and_then(Value::as_array);
    let allowed: Vec<String> = names
        .into_iter()
        .flatten()
        .filter_map(|name| name.as_str().map(str::to_owned))
        .collect();
    let path = "tool_config.function_calling_config";
    if functions.is_empty() && mode == "ANY" {
        let message = "Function calling config is set without function_declarations.";
        return Err(GoogleError::invalid(message));
    }
    if !allowed.is_empty() && !["ANY", "VALIDATED"].contains(&mode) {
        return Err(GoogleError::field(
            &format!("{path}.allowed_function_names"),
            "allowed_function_names should only be set when mode is ANY or VALIDATED.",
        ));
    }
    for (index, name) in allowed.iter().enumerate() {
        if !functions.iter().any(|function| function.name == *name) {
            return Err(GoogleError::field(
                &format!("{path}.allowed_function_names[{index}]"),
                &format!(
                    "`{}` is not found in function_declarations.",
                    shortened(name)
                ),
            ));
        }
    }
    Ok(match mode {
        "NONE" => Calling::Never,
        "ANY" if allowed.is_empty() => {
            Calling::Must(functions.iter().map(|one| one.name.clone()).collect())
        }
        "ANY" => Calling::Must(allowed),
        // AUTO, VALIDATED and no word at all: the model is free.
        _ => Calling::Free,
    })
}

/// The vendor's schema as JSON Schema, once it is checked.
pub(super) fn json_schema(schema: &Value, path: &str) -> Result<Value, GoogleError> {
    check_schema(schema, path)?;
    Ok(lowered(schema))
}

fn read_function(declaration: &Value, path: &str) -> Result<Function, GoogleError> {
    let name = declaration.get("name").and_then(Value::as_str);
    let name = name.unwrap_or("");
    if !is_name(name) {
        return Err(GoogleError::field(
            &format!("{path}.name"),
            "Invalid function name. Must start with a letter or an underscore. Must be \
             alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), \
             with a maximum length of 64.",
        ));
    }
    let parameters = match (
        declaration.get("parameters"),
        declaration.get("parametersJsonSchema"),
    ) {
        (None, None) => None,
        (Some(_), Some(_)) => {
            return Err(GoogleError::field(
                &format!("{path}.parameters"),
                "parameters and parameters_json_schema are mutually exclusive.",
            ));
        }
        (Some(schema), None) => {
            let path = format!("{path}.parameters");
            if schema.get("type").and_then(Value::as_str) != Some("OBJECT") {
                let problem = "schema should be of type OBJECT";
                return Err(GoogleError::field(&path, problem));
            }
            Some(json_schema(schema, &path)?)
        }
        (None, Some(schema @ Value::Object(_))) => Some(schema.clone()),
        (None, Some(_)) => {
            return Err(GoogleError::field(
                &format!("{path}.parameters_json_schema"),
                "schema must be a JSON object.",
            ));
        }
    };
    Ok(Function {
        name: name.to_owned(),
        parameters,
    })
}

fn is_name(name: &str) -> bool {
    let starts = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    let goes_on = |byte: u8| starts(byte) || byte.is_ascii_digit() || b".:-".contains(&byte);
    name.len() <= MAX_NAME_BYTES
        && name.bytes().next().is_some_and(starts)
        && name.bytes().all(goes_on)
}

/// What the vendor checks of its own schema beyond names and types.
fn check_schema(schema: &Value, path: &str) -> Result<(), GoogleError> {
    let kind = schema.get("type").and_then(Value::as_str).unwrap_or("");
    let alternatives = schema.get("anyOf").and_then(Value::as_array);
    let properties = schema.get("properties").and_then(Value::as_object);
    if kind == "OBJECT" && properties.is_none_or(Object::is_empty) && alternatives.is_none() {
        let path = format!("{path}.properties");
        return Err(GoogleError::field(
            &path,
            "should be non-empty for OBJECT type",
        ));
    }
    if kind == "ARRAY" && schema.get("items").is_none() {
        return Err(GoogleError::field(
            &format!("{path}.items"),
            "missing field.",
        ));
    }
    let words = schema.get("enum").and_then(Value::as_array);
    if words.is_some_and(|words| !words.is_empty()) && kind != "STRING" {
        let path = format!("{path}.enum");
        return Err(GoogleError::field(&path, "only allowed for STRING type"));
    }
    let format = schema.get("format").and_then(Value::as_str);
    if kind == "STRING" && format.is_some_and(|format| !["enum", "date-time"].contains(&format)) {
        let problem = "only 'enum' and 'date-time' are supported for STRING type";
        return Err(GoogleError::field(&format!("{path}.format"), problem));
    }
    let required = schema.get("required").and_then(Value::as_array);
    for (index, name) in required.into_iter().flatten().enumerate() {
        let name = name.as_str().unwrap_or("");
        if properties.is_none_or(|known| !known.contains_key(name)) {
            let path = format!("{path}.required[{index}]");
            return Err(GoogleError::field(&path, "property is not defined"));
        }
    }
    for (name, property) in properties.into_iter().flatten() {
        check_schema(property, &format!("{path}.properties[{}]", shortened(name)))?;
    }
    for (index, choice) in alternatives.into_iter().flatten().enumerate() {
        check_schema(choice, &format!("{path}.any_of[{index}]"))?;
    }
    match schema.get("items") {
        Some(items) => check_schema(items, &format!("{path}.items")),
        None => Ok(()),
    }
}

/// Types in small letters and bounds as whole numbers, as `schema` reads them.
fn lowered(schema: &Value) -> Value {
    let Value::Object(object) = schema else {
        return schema.clone();
    };
    let mut lower = Object::new();
    for (name, value) in object {
        let value = match (name.as_str(), value) {
            ("type", Value::String(kind)) => Value::from(kind.to_ascii_lowercase()),
            ("items", inner) => lowered(inner),
            ("anyOf", Value::Array(choices)) => choices.iter().map(lowered).collect(),
            ("properties", Value::Object(properties)) => {
                let each = properties.iter();
                Value::Object(
                    each.map(|(name, one)| (name.clone(), lowered(one)))
                        .collect(),
                )
            }
            _ => value.clone(),
        };
        lower.insert(name.clone(), value);
    }
    Value::Object(lower)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_vendors_schema_becomes_json_schema() {
        let schema = json!({"type": "OBJECT", "required": ["a"], "properties": {
            "a": {"type": "ARRAY", "items": {"anyOf": [{"type": "NULL"}]}}, "type": {"type": "STRING"}}});
        let lower = json_schema(&schema, "p").unwrap();
        assert_eq!(
            lower["properties"]["a"]["items"]["anyOf"][0]["type"],
            "null"
        );
        assert_eq!(
            (&lower["type"], &lower["required"]),
            (&json!("object"), &json!(["a"]))
        );
        assert_eq!(lower["properties"]["type"]["type"], "string");
    }

    #[test]
    fn a_schema_that_the_vendor_refuses_is_refused() {
        for schema in [
            json!({"type": "OBJECT"}),
            json!({"type": "ARRAY"}),
            json!({"type": "INTEGER", "enum": ["1"]}),
            json!({"type": "STRING", "format": "uri"}),
            json!({"type": "OBJECT", "properties": {"a": {"type": "STRING"}}, "required": ["b"]}),
            json!({"type": "OBJECT", "properties": {"a": {"type": "ARRAY"}}}),
        ] {
            assert!(json_schema(&schema, "p").is_err(), "{schema}");
        }
    }

    #[test]
    fn names_of_functions_have_a_form_and_a_length() {
        let long = "a".repeat(65);
        for (name, is_good) in [
            ("f", true),
            ("_a.b:c-1", true),
            (&long[1..], true),
            (long.as_str(), false),
            ("1f", false),
            ("f g", false),
            ("", false),
        ] {
            assert_eq!(is_name(name), is_good, "{name}");
        }
    }
}
