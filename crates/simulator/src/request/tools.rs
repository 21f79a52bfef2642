//! The tools of a request, and which of them the client wants called.

use serde_json::Value;

use crate::refusal::{Refusal, shown};

use super::fields::{self, Object, wrong_type, wrong_value};

/// A function that may be called. Custom tools are accepted and never called.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tool {
    pub(crate) name: String,
    /// Schema of its arguments; none is a function without arguments.
    pub(crate) parameters: Option<Value>,
}

/// What the client says about calling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ToolChoice {
    /// The prompt decides.
    Free,
    /// No call.
    None,
    /// A call, whichever.
    Required,
    /// A call of this tool.
    Named(String),
}

/// The vendor's own bound.
const MAX_TOOLS: usize = 128;
/// Longest name of a tool or schema.
const MAX_NAME_BYTES: usize = 64;

pub(crate) fn read_tools(body: &Object) -> Result<Vec<Tool>, Refusal> {
    let Some(Value::Array(list)) = body.get("tools") else {
        return Ok(Vec::new());
    };
    if list.is_empty() || list.len() > MAX_TOOLS {
        let code = if list.is_empty() {
            "empty_array"
        } else {
            "array_above_max_length"
        };
        let message = format!("Invalid 'tools': expected 1 to {MAX_TOOLS} items.");
        return Err(Refusal::invalid("tools", Some(code), message));
    }
    let mut tools = Vec::new();
    for (index, value) in list.iter().enumerate() {
        let path = format!("tools[{index}]");
        let Value::Object(tool) = value else {
            return Err(wrong_type(&path, "an object", value));
        };
        match fields::text(tool, &path, "type")? {
            "function" => {
                fields::only(tool, &path, &["type", "function"])?;
                let function = fields::object(tool, &path, "function")?;
                tools.push(read_function(function, &format!("{path}.function"))?);
            }
            "custom" => {
                fields::only(tool, &path, &["type", "custom"])?;
                let custom = fields::object(tool, &path, "custom")?;
                read_name(custom, &format!("{path}.custom"))?;
            }
            other => {
                let param = format!("{path}.type");
                return Err(wrong_value(&param, other, &["function", "custom"]));
            }
        }
    }
    Ok(tools)
}

pub(crate) fn read_choice(body: &Object, tools: &[Tool]) -> Result<ToolChoice, Refusal> {
    let Some(choice) = body.get("tool_choice") else {
        return Ok(ToolChoice::Free);
    };
    if !body.contains_key("tools") {
        let message = "'tool_choice' is only allowed when 'tools' are specified.".to_owned();
        return Err(Refusal::invalid("tool_choice", None, message));
    }
    match choice {
        Value::String(word) => match word.as_str() {
            "auto" => Ok(ToolChoice::Free),
            "none" => Ok(ToolChoice::None),
            "required" => Ok(ToolChoice::Required),
            other => Err(wrong_value(
                "tool_choice",
                other,
                &["none", "auto", "required"],
            )),
        },
        Value::Object(choice) => match fields::text(choice, "tool_choice", "type")? {
            "function" => {
                let function = fields::object(choice, "tool_choice", "function")?;
                let name = fields::text(function, "tool_choice.function", "name")?;
                named(name, tools)
            }
            "custom" | "allowed_tools" => Ok(ToolChoice::Free),
            other => Err(wrong_value(
                "tool_choice.type",
                other,
                &["function", "custom", "allowed_tools"],
            )),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => Err(wrong_type(
            "tool_choice",
            "one of a string or object",
            choice,
        )),
    }
}

/// A name of letters, digits, `_` and `-`.
pub(crate) fn read_name(object: &Object, path: &str) -> Result<String, Refusal> {
    let name = fields::text(object, path, "name")?;
    let is_good = !name.is_empty()
        && name.len() <= MAX_NAME_BYTES
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    if is_good {
        return Ok(name.to_owned());
    }
    let param = format!("{path}.name");
    let message = format!(
        "Invalid '{param}': '{}' does not match the pattern '^[a-zA-Z0-9_-]{{1,64}}$'.",
        shown(name)
    );
    Err(Refusal::invalid(&param, Some("invalid_value"), message))
}

fn read_function(function: &Object, path: &str) -> Result<Tool, Refusal> {
    fields::only(
        function,
        path,
        &["name", "description", "parameters", "strict"],
    )?;
    let parameters = match function.get("parameters") {
        None => None,
        Some(schema @ Value::Object(_)) => Some(schema.clone()),
        Some(value) => {
            return Err(wrong_type(
                &format!("{path}.parameters"),
                "an object",
                value,
            ));
        }
    };
    Ok(Tool {
        name: read_name(function, path)?,
        parameters,
    })
}

fn named(name: &str, tools: &[Tool]) -> Result<ToolChoice, Refusal> {
    if tools.iter().any(|tool| tool.name == name) {
        return Ok(ToolChoice::Named(name.to_owned()));
    }
    let message = format!(
        "Invalid value for 'tool_choice': no tool named '{}' in 'tools'.",
        shown(name)
    );
    Err(Refusal::invalid("tool_choice", None, message))
}
