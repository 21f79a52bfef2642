//! The parts of a message: text, images and files in, text and refusals out.

use serde_json::{Value, json};

use crate::refusal::Refusal;
use crate::request::Object;
use crate::request::fields::{self, missing, wrong_type, wrong_value};

use super::context::Context;

const ROLES: &[&str] = &["assistant", "system", "developer", "user"];
const PARTS_IN: &[&str] = &["input_text", "input_image", "input_file", "input_audio"];
const PARTS_OUT: &[&str] = &["output_text", "refusal"];
const NAMES: &[&str] = &["type", "role", "content", "id", "status", "phase"];

pub(crate) fn add_message(context: &mut Context, item: &Object, path: &str) -> Result<(), Refusal> {
    let role = fields::text(item, path, "role")?;
    if !ROLES.contains(&role) {
        return Err(wrong_value(&format!("{path}.role"), role, ROLES));
    }
    fields::only(item, path, NAMES)?;
    if role == "user" {
        context.answers_tool = false;
        context.last_user_text.clear();
    }
    match item.get("content") {
        Some(Value::String(text)) => {
            add_words(context, role, text);
            Ok(())
        }
        Some(Value::Array(list)) => add_parts(context, list, path, "content", role),
        Some(value) => {
            let expected = "one of a string or array of objects";
            Err(wrong_type(&format!("{path}.content"), expected, value))
        }
        None => Err(missing(&format!("{path}.content"))),
    }
}

/// Adds a list of parts.
pub(crate) fn add_parts(
    context: &mut Context,
    list: &[Value],
    path: &str,
    field: &str,
    role: &str,
) -> Result<(), Refusal> {
    let known = if role == "assistant" {
        PARTS_OUT
    } else {
        PARTS_IN
    };
    for (index, value) in list.iter().enumerate() {
        let path = format!("{path}.{field}[{index}]");
        let Value::Object(part) = value else {
            return Err(wrong_type(&path, "an object", value));
        };
        let kind = fields::text(part, &path, "type")?;
        if !known.contains(&kind) {
            return Err(wrong_value(&path, kind, known));
        }
        match kind {
            "input_text" | "output_text" => {
                let names = [
                    "type",
                    "text",
                    "annotations",
                    "logprobs",
                    "prompt_cache_breakpoint",
                ];
                fields::only(part, &path, &names)?;
                add_words(context, role, fields::text(part, &path, "text")?);
            }
            "refusal" => add_words(context, role, fields::text(part, &path, "refusal")?),
            "input_image" => {
                check_image(part, &path)?;
                context.size.images = context.size.images.saturating_add(1);
            }
            "input_file" => {
                check_file(part, &path)?;
                context.size.images = context.size.images.saturating_add(1);
            }
            // Audio is all that is left.
            _ => {
                fields::object(part, &path, "input_audio")?;
            }
        }
    }
    Ok(())
}

/// Brings a message into the form in which it is listed.
pub(crate) fn complete_message(message: &mut Object) {
    let is_own = message.get("role").and_then(Value::as_str) == Some("assistant");
    if let Some(Value::String(text)) = message.get("content") {
        let parts = if is_own {
            json!([{"type": "output_text", "text": text, "annotations": [], "logprobs": []}])
        } else {
            json!([{"type": "input_text", "text": text}])
        };
        message.insert("content".to_owned(), parts);
    }
    message
        .entry("status")
        .or_insert_with(|| json!("completed"));
}

fn add_words(context: &mut Context, role: &str, text: &str) {
    context.add_text(text);
    if role == "user" {
        context.last_user_text.push_str(text);
    }
}

fn check_image(part: &Object, path: &str) -> Result<(), Refusal> {
    let names = [
        "type",
        "image_url",
        "file_id",
        "detail",
        "prompt_cache_breakpoint",
    ];
    fields::only(part, path, &names)?;
    let details = &["auto", "low", "high", "original"];
    match part.get("detail") {
        None | Some(Value::Null) => {}
        Some(Value::String(word)) if details.contains(&word.as_str()) => {}
        Some(Value::String(word)) => {
            return Err(wrong_value(&format!("{path}.detail"), word, details));
        }
        Some(value) => return Err(wrong_type(&format!("{path}.detail"), "a string", value)),
    }
    let param = format!("{path}.image_url");
    match (part.get("image_url"), part.get("file_id")) {
        (Some(Value::String(url)), _) => {
            let is_address = ["https://", "http://", "data:image/"]
                .iter()
                .any(|start| url.starts_with(start));
            if is_address {
                return Ok(());
            }
            let message = format!(
                "Invalid '{param}'. Expected a valid URL, but got a value with an invalid format."
            );
            Err(Refusal::invalid(&param, Some("invalid_value"), message))
        }
        (Some(Value::Null) | None, Some(Value::String(_))) => Ok(()),
        (Some(Value::Null) | None, _) => Err(missing(&param)),
        // The shape of chat completions is the usual mistake here.
        (Some(value), _) => Err(wrong_type(&param, "an image URL", value)),
    }
}

fn check_file(part: &Object, path: &str) -> Result<(), Refusal> {
    let names = [
        "type",
        "file_data",
        "file_id",
        "file_url",
        "filename",
        "detail",
        "prompt_cache_breakpoint",
    ];
    fields::only(part, path, &names)?;
    let is_there = ["file_data", "file_id", "file_url"]
        .iter()
        .any(|name| part.get(*name).is_some_and(Value::is_string));
    if is_there {
        return Ok(());
    }
    Err(missing(&format!("{path}.file_id")))
}
