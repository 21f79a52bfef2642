//! Names and types of fields, refused in the words of the vendor's validator.

use serde_json::Value;

use crate::anthropic::Platform;
use crate::anthropic::refusal::Refusal;
use crate::refusal::shown;
use crate::request::Object;

use super::{Context, Purpose};

/// Fields of every body.
const SHARED: &[&str] = &[
    "messages",
    "cache_control",
    "output_config",
    "speed",
    "system",
    "thinking",
    "tool_choice",
    "tools",
    "user_profile_id",
    "workspace_id",
];
/// Fields of a body that asks for an answer.
const ANSWER: &[&str] = &[
    "max_tokens",
    "container",
    "diagnostics",
    "inference_geo",
    "metadata",
    "service_tier",
    "stop_sequences",
    "temperature",
    "top_k",
    "top_p",
];
/// Fields that a beta flag opens, and how the flag begins.
const BETA: &[(&str, &str)] = &[
    ("context_management", "context-management"),
    ("context_management", "compact"),
    ("mcp_servers", "mcp-client"),
    ("output_format", "structured-outputs"),
    ("fallbacks", "fallback"),
];

/// Refuses names that a body does not have.
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
        let is_listed = SHARED.contains(&name) || (is_answer && ANSWER.contains(&name));
        if !(stands_by_itself || is_beta || is_listed) {
            return Err(extra("", name));
        }
    }
    Ok(())
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

/// A number between 0 and 1.
pub(super) fn share(body: &Object, name: &str) -> Result<Option<f64>, Refusal> {
    let Some(value) = optional(body, name) else {
        return Ok(None);
    };
    match value.as_f64() {
        None => Err(Refusal::at(name, "Input should be a valid number")),
        Some(number) if number < 0.0 => Err(Refusal::at(
            name,
            "Input should be greater than or equal to 0",
        )),
        Some(number) if number > 1.0 => {
            Err(Refusal::at(name, "Input should be less than or equal to 1"))
        }
        Some(number) => Ok(Some(number)),
    }
}

/// One of a few words.
pub(super) fn word<'a>(value: &'a Value, path: &str, words: &[&str]) -> Result<&'a str, Refusal> {
    match value.as_str() {
        Some(word) if words.contains(&word) => Ok(word),
        Some(_) | None => Err(Refusal::at(
            path,
            &format!("Input should be {}", listed(words)),
        )),
    }
}

/// An object told apart from others by its `type`.
pub(super) fn tag<'a>(object: &'a Object, path: &str, tags: &[&str]) -> Result<&'a str, Refusal> {
    let tag = text(object, path, "type")?;
    if tags.contains(&tag) {
        return Ok(tag);
    }
    let quoted: Vec<String> = tags.iter().map(|tag| format!("'{tag}'")).collect();
    let says = format!(
        "Input tag '{}' found using 'type' does not match any of the expected tags: {}",
        shown(tag),
        quoted.join(", ")
    );
    Err(Refusal::at(path, &says))
}

pub(super) fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        return name.to_owned();
    }
    format!("{path}.{name}")
}

fn extra(path: &str, name: &str) -> Refusal {
    Refusal::at(&join(path, shown(name)), "Extra inputs are not permitted")
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
