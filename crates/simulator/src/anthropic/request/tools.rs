//! The tools of a request, and which of them the client wants called.

use serde_json::Value;

use crate::anthropic::refusal::Refusal;
use crate::refusal::shortened;
use crate::request::Object;
use crate::tokens::PromptSize;

use super::blocks;
use super::fields::{self, checked_text, join};
use super::options::Thinking;
use super::prompt::{Prompt, json_size, text_size};

/// A tool that may be called.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tool {
    pub(crate) name: String,
    /// Schema of its input; a tool that the vendor knows has none here.
    pub(crate) schema: Option<Value>,
}

/// What the client says about calling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    Free,
    /// No call.
    None,
    Any,
    /// A call of this tool.
    Named(String),
}

const MAX_NAME_BYTES: usize = 128;

pub(super) fn read<'a>(body: &'a Object, prompt: &mut Prompt<'a>) -> Result<Vec<Tool>, Refusal> {
    let Some(value) = fields::optional(body, "tools") else {
        return Ok(Vec::new());
    };
    let mut tools: Vec<Tool> = Vec::new();
    for (index, value) in fields::as_list(value, "tools")?.iter().enumerate() {
        let path = format!("tools.{index}");
        let object = fields::as_object(value, &path)?;
        let kind = match fields::optional(object, "type") {
            None => "custom",
            Some(kind) => fields::as_text(kind, &join(&path, "type"))?,
        };
        let path = join(&path, shortened(kind));
        let tool = if kind == "custom" {
            custom(object, &path)?
        } else {
            known(object, kind, &path)?
        };
        if tools.iter().any(|other| other.name == tool.name) {
            return Err(Refusal::at("tools", "Tool names must be unique."));
        }
        let mark = blocks::mark(object);
        prompt.add("tools", value, size(object), mark);
        tools.push(tool);
    }
    Ok(tools)
}

/// What is to be called, and whether more than one at once.
pub(super) fn choice(
    body: &Object,
    tools: &[Tool],
    thinking: Thinking,
) -> Result<(Choice, bool), Refusal> {
    let Some(Value::Object(object)) = body.get("tool_choice") else {
        return Ok((Choice::Free, true));
    };
    let is_single = object.get("disable_parallel_tool_use") == Some(&Value::Bool(true));
    let choice = match checked_text(object, "type") {
        "none" => Choice::None,
        "any" => Choice::Any,
        "tool" => Choice::Named(checked_text(object, "name").to_owned()),
        _ => Choice::Free,
    };
    if tools.is_empty() && choice != Choice::None {
        return Err(Refusal::at(
            "tool_choice",
            "may only be specified while providing tools",
        ));
    }
    if let Choice::Named(name) = &choice
        && !tools.iter().any(|tool| tool.name == *name)
    {
        return Err(Refusal::invalid(format!(
            "Tool '{}' not found in provided tools",
            shortened(name)
        )));
    }
    if thinking != Thinking::Off && matches!(choice, Choice::Any | Choice::Named(_)) {
        return Err(Refusal::invalid(
            "Thinking may not be enabled when tool_choice forces tool use.".to_owned(),
        ));
    }
    Ok((choice, !is_single))
}

fn custom(object: &Object, path: &str) -> Result<Tool, Refusal> {
    fields::check("custom_tool", object, path)?;
    let name = name(object, path)?;
    let value = fields::needed(object, path, "input_schema")?;
    let path = join(path, "input_schema");
    let schema = fields::as_object(value, &path)?;
    match schema.get("type").and_then(Value::as_str) {
        Some("object") => {}
        Some(_) => {
            return Err(Refusal::at(
                &join(&path, "type"),
                "Input should be 'object'",
            ));
        }
        None => return Err(Refusal::at(&join(&path, "type"), "Field required")),
    }
    for name in ["oneOf", "allOf", "anyOf"] {
        if schema.contains_key(name) {
            return Err(Refusal::at(
                &path,
                "input_schema does not support oneOf, allOf, or anyOf at the top level",
            ));
        }
    }
    Ok(Tool {
        name: name.to_owned(),
        schema: Some(value.clone()),
    })
}

/// A tool of the vendor's own: its type ends with a date. Its fields are not looked at.
fn known(object: &Object, kind: &str, path: &str) -> Result<Tool, Refusal> {
    let is_dated = kind.rsplit_once('_').is_some_and(|(before, date)| {
        !before.is_empty() && date.len() == 8 && date.bytes().all(|byte| byte.is_ascii_digit())
    });
    if !is_dated {
        let index = path.trim_end_matches(shortened(kind)).trim_end_matches('.');
        let says = format!(
            "Input tag '{}' found using 'type' does not match any of the expected tags",
            shortened(kind)
        );
        return Err(Refusal::at(index, &says));
    }
    fields::check("known_tool", object, path)?;
    // A toolset has no name of its own.
    let name = match object.get("name") {
        Some(_) => name(object, path)?,
        None => kind,
    };
    Ok(Tool {
        name: name.to_owned(),
        schema: None,
    })
}

fn name<'a>(object: &'a Object, path: &str) -> Result<&'a str, Refusal> {
    let name = fields::text(object, path, "name")?;
    let is_good = !name.is_empty()
        && name.len() <= MAX_NAME_BYTES
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    if is_good {
        return Ok(name);
    }
    Err(Refusal::at(
        &join(path, "name"),
        "String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
    ))
}

fn size(object: &Object) -> PromptSize {
    let of_text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or("");
    let schema = object
        .get("input_schema")
        .map(json_size)
        .unwrap_or_default();
    let mut size = text_size(of_text("name"));
    for more in [text_size(of_text("description")), schema] {
        size.text_bytes = size.text_bytes.saturating_add(more.text_bytes);
    }
    size
}
