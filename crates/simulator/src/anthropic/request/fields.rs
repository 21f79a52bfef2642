//! Names and types of fields, refused in the words of the vendor's validator.

use std::sync::LazyLock;

use serde_json::Value;

use crate::anthropic::Platform;
use crate::anthropic::refusal::Refusal;
use crate::field_check::{self, Dialect, Kind, Range, Schema};
use crate::refusal::shortened;
use crate::request::Object;

pub(super) use crate::field_check::join;

use super::{Context, Purpose};

struct Anthropic;

static SCHEMA: LazyLock<Schema> =
    LazyLock::new(|| Schema::read(include_str!("../../../vendors/anthropic.toml")));

/// Fields that a beta flag opens, and how the flag begins.
const BETA: &[(&str, &str)] = &[
    ("context_management", "context-management"),
    ("context_management", "compact"),
    ("mcp_servers", "mcp-client"),
    ("output_format", "structured-outputs"),
    ("fallbacks", "fallback"),
];

/// Refuses names that a body does not have, and fields of another type.
pub(super) fn check_names(body: &Object, context: &Context) -> Result<(), Refusal> {
    let is_answer = context.purpose == Purpose::Answer;
    for name in body.keys() {
        let name = name.as_str();
        let stands_by_itself = match name {
            // Google's count has no model in its path.
            "model" => context.platform == Platform::Anthropic || !is_answer,
            "stream" => is_answer && context.platform != Platform::Bedrock,
            "anthropic_version" | "anthropic_beta" => context.platform != Platform::Anthropic,
            _ => false,
        };
        let is_beta = BETA.iter().any(|(field, flag)| {
            *field == name && context.betas.iter().any(|beta| beta.starts_with(flag))
        });
        let is_listed = SCHEMA.has("shared", name) || (is_answer && SCHEMA.has("answer", name));
        if !(stands_by_itself || is_beta || is_listed) {
            return Err(extra("", name));
        }
    }
    let tables = ["shared", "answer", "beta"].map(str::to_owned);
    field_check::check_each(&Anthropic, &tables, body, "")
}

/// Checks an object against its table.
pub(super) fn check(table: &str, object: &Object, path: &str) -> Result<(), Refusal> {
    field_check::check(&Anthropic, table, object, path)
}

/// A text that was checked already.
pub(super) fn checked_text<'a>(object: &'a Object, name: &str) -> &'a str {
    object.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Refuses names that an inner object does not have.
pub(super) fn only(object: &Object, path: &str, names: &[&str]) -> Result<(), Refusal> {
    match object.keys().find(|name| !names.contains(&name.as_str())) {
        Some(name) => Err(extra(path, name)),
        None => Ok(()),
    }
}

/// A field that is there and not `null`.
pub(super) fn optional<'a>(object: &'a Object, name: &str) -> Option<&'a Value> {
    object.get(name).filter(|value| !value.is_null())
}

pub(super) fn needed<'a>(object: &'a Object, path: &str, name: &str) -> Result<&'a Value, Refusal> {
    object
        .get(name)
        .ok_or_else(|| Refusal::at(&join(path, name), "Field required"))
}

pub(super) fn text<'a>(object: &'a Object, path: &str, name: &str) -> Result<&'a str, Refusal> {
    as_text(needed(object, path, name)?, &join(path, name))
}

pub(super) fn as_text<'a>(value: &'a Value, path: &str) -> Result<&'a str, Refusal> {
    value
        .as_str()
        .ok_or_else(|| Refusal::at(path, "Input should be a valid string"))
}

pub(super) fn as_object<'a>(value: &'a Value, path: &str) -> Result<&'a Object, Refusal> {
    value
        .as_object()
        .ok_or_else(|| Refusal::at(path, "Input should be a valid dictionary"))
}

pub(super) fn as_list<'a>(value: &'a Value, path: &str) -> Result<&'a [Value], Refusal> {
    value
        .as_array()
        .map(Vec::as_slice)
        .ok_or_else(|| Refusal::at(path, "Input should be a valid list"))
}

pub(super) fn boolean(object: &Object, path: &str, name: &str) -> Result<Option<bool>, Refusal> {
    match object.get(name) {
        None => Ok(None),
        Some(Value::Bool(is_set)) => Ok(Some(*is_set)),
        Some(_) => Err(Refusal::at(
            &join(path, name),
            "Input should be a valid boolean",
        )),
    }
}

/// A whole number that is not below a bound.
pub(super) fn integer(value: &Value, path: &str, least: u64) -> Result<u64, Refusal> {
    if !value.is_i64() && !value.is_u64() {
        return Err(Refusal::at(path, "Input should be a valid integer"));
    }
    match value.as_u64() {
        Some(number) if number >= least => Ok(number),
        Some(_) | None => Err(Refusal::at(
            path,
            &format!("Input should be greater than or equal to {least}"),
        )),
    }
}

/// One of a few words.
pub(super) fn word<'a>(value: &'a Value, path: &str, words: &[&str]) -> Result<&'a str, Refusal> {
    match value.as_str() {
        Some(word) if words.contains(&word) => Ok(word),
        Some(_) | None => Err(Anthropic.wrong_value(path, "", words)),
    }
}

/// An object told apart from others by its `type`.
pub(super) fn tag<'a>(object: &'a Object, path: &str, tags: &[&str]) -> Result<&'a str, Refusal> {
    let tag = text(object, path, "type")?;
    if tags.contains(&tag) {
        return Ok(tag);
    }
    Err(Anthropic.wrong_tag(path, "type", tag, tags))
}

fn extra(path: &str, name: &str) -> Refusal {
    Refusal::at(
        &join(path, shortened(name)),
        "Extra inputs are not permitted",
    )
}

/// `'a', 'b' or 'c'`.
fn listed(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        Some((last, _)) => last.clone(),
        None => String::new(),
    }
}

// === impl Anthropic ===

impl Dialect for Anthropic {
    type Error = Refusal;

    fn schema(&self) -> &'static Schema {
        &SCHEMA
    }

    fn item(&self, path: &str, index: usize) -> String {
        format!("{path}.{index}")
    }

    fn tagged(&self, path: &str, word: &str) -> String {
        join(path, word)
    }

    fn unknown(&self, path: &str) -> Refusal {
        Refusal::at(path, "Extra inputs are not permitted")
    }

    fn missing(&self, path: &str) -> Refusal {
        Refusal::at(path, "Field required")
    }

    fn wrong_type(&self, path: &str, kind: Kind, values: &[&str], _: &Value) -> Refusal {
        if !values.is_empty() {
            return self.wrong_value(path, "", values);
        }
        let expected = match kind {
            Kind::Any | Kind::Text | Kind::Name | Kind::Bytes => "string",
            Kind::Boolean => "boolean",
            Kind::Integer => "integer",
            Kind::Decimal => "number",
            Kind::Object | Kind::Map | Kind::TextOrObject => "dictionary",
            Kind::Array | Kind::TextOrArray => "list",
        };
        Refusal::at(path, &format!("Input should be a valid {expected}"))
    }

    fn wrong_value(&self, path: &str, _: &str, values: &[&str]) -> Refusal {
        Refusal::at(path, &format!("Input should be {}", listed(values)))
    }

    fn wrong_tag(&self, path: &str, name: &str, value: &str, values: &[&str]) -> Refusal {
        let quoted: Vec<String> = values.iter().map(|tag| format!("'{tag}'")).collect();
        let says = format!(
            "Input tag '{}' found using '{name}' does not match any of the expected tags: {}",
            shortened(value),
            quoted.join(", ")
        );
        Refusal::at(path, &says)
    }

    fn wrong_name(&self, path: &str, _: &str) -> Refusal {
        Refusal::at(path, "String should match pattern '^[a-zA-Z0-9_-]{1,128}$'")
    }

    fn out_of_range(&self, path: &str, _: Kind, range: Range, value: &Value) -> Refusal {
        let (side, bound) = if range.is_below(value) {
            ("greater", range.0)
        } else {
            ("less", range.1)
        };
        Refusal::at(
            path,
            &format!("Input should be {side} than or equal to {bound}"),
        )
    }
}
