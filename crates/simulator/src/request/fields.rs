//! The parameters of a completion: which exist, of what type they are, and within which bounds.
//!
//! The list and which of them may be `null` follow the vendor's own SDK; the codes and wordings
//! of the refusals are [unverified].

use serde_json::{Map, Value};

use crate::refusal::{Refusal, shown};

/// A JSON object of a request.
pub(crate) type Object = Map<String, Value>;

/// What a parameter must be.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Boolean,
    Integer(i64, i64),
    Decimal(i32, i32),
    Text,
    OneOf(&'static [&'static str]),
    Object,
    Array,
    TextOrObject,
    TextOrArray,
}

/// A parameter by itself.
pub(crate) struct Field {
    pub(crate) name: &'static str,
    kind: Kind,
    may_be_null: bool,
}

/// Far above any model, far below where 64 bits would end.
pub(crate) const MAX_TOKENS: i64 = 1_000_000_000;
/// The vendor's own bound for `n`.
const MAX_CHOICES: i64 = 128;

const FIELDS: &[Field] = &[
    nullable("audio", Kind::Object),
    nullable("frequency_penalty", Kind::Decimal(-2, 2)),
    strict("function_call", Kind::TextOrObject),
    strict("functions", Kind::Array),
    nullable("logit_bias", Kind::Object),
    nullable("logprobs", Kind::Boolean),
    nullable("max_completion_tokens", Kind::Integer(1, MAX_TOKENS)),
    nullable("max_tokens", Kind::Integer(1, MAX_TOKENS)),
    strict("messages", Kind::Array),
    nullable("metadata", Kind::Object),
    nullable("modalities", Kind::Array),
    strict("model", Kind::Text),
    nullable("moderation", Kind::Object),
    nullable("n", Kind::Integer(1, MAX_CHOICES)),
    strict("parallel_tool_calls", Kind::Boolean),
    nullable("prediction", Kind::Object),
    nullable("presence_penalty", Kind::Decimal(-2, 2)),
    nullable("prompt_cache_key", Kind::Text),
    strict("prompt_cache_options", Kind::Object),
    nullable("prompt_cache_retention", Kind::OneOf(&["in_memory", "24h"])),
    nullable(
        "reasoning_effort",
        Kind::OneOf(&["none", "minimal", "low", "medium", "high", "xhigh", "max"]),
    ),
    strict("response_format", Kind::Object),
    nullable("safety_identifier", Kind::Text),
    nullable("seed", Kind::Integer(i64::MIN, i64::MAX)),
    nullable(
        "service_tier",
        Kind::OneOf(&["auto", "default", "flex", "scale", "priority", "fast"]),
    ),
    nullable("stop", Kind::TextOrArray),
    nullable("store", Kind::Boolean),
    nullable("stream", Kind::Boolean),
    nullable("stream_options", Kind::Object),
    nullable("temperature", Kind::Decimal(0, 2)),
    strict("tool_choice", Kind::TextOrObject),
    strict("tools", Kind::Array),
    nullable("top_logprobs", Kind::Integer(0, 20)),
    nullable("top_p", Kind::Decimal(0, 1)),
    strict("user", Kind::Text),
    nullable("verbosity", Kind::OneOf(&["low", "medium", "high"])),
    strict("web_search_options", Kind::Object),
];

/// Checks every parameter by itself: known, of its type, within its bounds.
pub(crate) fn check(body: &Object) -> Result<(), Refusal> {
    let unknown: Vec<&str> = body
        .keys()
        .filter(|name| !FIELDS.iter().any(|field| field.name == *name))
        .map(|name| shown(name))
        .collect();
    match unknown.as_slice() {
        [] => {}
        [one] => {
            let message = format!("Unrecognized request argument supplied: {one}");
            return Err(Refusal::unnamed(&message));
        }
        [..] => {
            let names = unknown.join(", ");
            let message = format!("Unrecognized request arguments supplied: {}", shown(&names));
            return Err(Refusal::unnamed(&message));
        }
    }
    check_each(body, FIELDS)
}

/// Checks those parameters of a list that are there.
pub(crate) fn check_each(body: &Object, fields: &[Field]) -> Result<(), Refusal> {
    for field in fields {
        match body.get(field.name) {
            None => {}
            Some(Value::Null) if field.may_be_null => {}
            Some(value) => check_kind(field.name, field.kind, value)?,
        }
    }
    Ok(())
}

/// Refuses names that an inner object does not have.
pub(crate) fn only(object: &Object, path: &str, names: &[&str]) -> Result<(), Refusal> {
    for name in object.keys() {
        if !names.contains(&name.as_str()) {
            let param = format!("{path}.{}", shown(name));
            let message = format!("Unknown parameter: '{param}'.");
            return Err(Refusal::invalid(&param, Some("unknown_parameter"), message));
        }
    }
    Ok(())
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

pub(crate) fn missing(param: &str) -> Refusal {
    let message = format!("Missing required parameter: '{param}'.");
    Refusal::invalid(param, Some("missing_required_parameter"), message)
}

pub(crate) fn wrong_type(param: &str, wanted: &str, value: &Value) -> Refusal {
    let got = match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(number) if number.is_f64() => "a decimal number",
        Value::Number(_) => "an integer",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    let message = format!("Invalid type for '{param}': expected {wanted}, but got {got} instead.");
    Refusal::invalid(param, Some("invalid_type"), message)
}

pub(crate) fn wrong_value(param: &str, value: &str, words: &[&str]) -> Refusal {
    let listed: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let message = format!(
        "Invalid value: '{}'. Supported values are: {}.",
        shown(value),
        listed.join(", ")
    );
    Refusal::invalid(param, Some("invalid_value"), message)
}

pub(crate) const fn nullable(name: &'static str, kind: Kind) -> Field {
    Field {
        name,
        kind,
        may_be_null: true,
    }
}

pub(crate) const fn strict(name: &'static str, kind: Kind) -> Field {
    Field {
        name,
        kind,
        may_be_null: false,
    }
}

fn check_kind(name: &str, kind: Kind, value: &Value) -> Result<(), Refusal> {
    let (is_right, wanted) = match kind {
        Kind::Boolean => (value.is_boolean(), "a boolean"),
        Kind::Integer(..) => (value.is_i64() || value.is_u64(), "an integer"),
        Kind::Decimal(..) => (value.is_number(), "a decimal"),
        Kind::Text | Kind::OneOf(_) => (value.is_string(), "a string"),
        Kind::Object => (value.is_object(), "an object"),
        Kind::Array => (value.is_array(), "an array"),
        Kind::TextOrObject => (
            value.is_string() || value.is_object(),
            "one of a string or object",
        ),
        Kind::TextOrArray => (
            value.is_string() || value.is_array(),
            "one of a string or array of strings",
        ),
    };
    if !is_right {
        return Err(wrong_type(name, wanted, value));
    }
    match kind {
        // A number beyond 64 signed bits is above every bound.
        Kind::Integer(least, most) => {
            let number = value.as_i64().unwrap_or(i64::MAX);
            bounds(
                name,
                "integer",
                number < least,
                number > most,
                (least, most),
                value,
            )
        }
        Kind::Decimal(least, most) => {
            let number = value.as_f64().unwrap_or(f64::INFINITY);
            let (below, above) = (number < f64::from(least), number > f64::from(most));
            bounds(
                name,
                "decimal",
                below,
                above,
                (least.into(), most.into()),
                value,
            )
        }
        Kind::OneOf(words) => match value.as_str() {
            Some(word) if !words.contains(&word) => Err(wrong_value(name, word, words)),
            Some(_) | None => Ok(()),
        },
        Kind::Boolean
        | Kind::Text
        | Kind::Object
        | Kind::Array
        | Kind::TextOrObject
        | Kind::TextOrArray => Ok(()),
    }
}

fn bounds(
    name: &str,
    noun: &str,
    is_below: bool,
    is_above: bool,
    (least, most): (i64, i64),
    value: &Value,
) -> Result<(), Refusal> {
    let (side, sign, bound) = match (is_below, is_above) {
        (false, false) => return Ok(()),
        (true, _) => ("below minimum", ">=", least),
        (false, true) => ("above maximum", "<=", most),
    };
    let code = match (noun, is_below) {
        ("integer", true) => "integer_below_min_value",
        ("integer", false) => "integer_above_max_value",
        (_, true) => "decimal_below_min_value",
        (_, false) => "decimal_above_max_value",
    };
    let message = format!(
        "Invalid '{name}': {noun} {side} value. Expected a value {sign} {bound}, but got {value} \
         instead."
    );
    Err(Refusal::invalid(name, Some(code), message))
}
