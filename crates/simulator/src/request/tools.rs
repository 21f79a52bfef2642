//! The tools of a request, and which of them the client wants called.

use serde_json::Value;

use crate::refusal::{Refusal, shortened};

use super::fields::{Object, checked_text};

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
    Free,
    /// No call.
    None,
    Required,
    /// A call of this tool.
    Named(String),
}

const MAX_TOOLS: usize = 128;

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
    // A custom tool is accepted and never called.
    let functions = list
        .iter()
        .filter_map(|tool| tool.get("function")?.as_object());
    let tool = |function: &Object| Tool {
        name: checked_text(function, "name").to_owned(),
        parameters: function.get("parameters").cloned(),
    };
    Ok(functions.map(tool).collect())
}

pub(crate) fn read_choice(body: &Object, tools: &[Tool]) -> Result<ToolChoice, Refusal> {
    let Some(choice) = body.get("tool_choice") else {
        return Ok(ToolChoice::Free);
    };
    if !body.contains_key("tools") {
        let message = "'tool_choice' is only allowed when 'tools' are specified.".to_owned();
        return Err(Refusal::invalid("tool_choice", None, message));
    }
    Ok(match choice.as_str() {
        Some("none") => ToolChoice::None,
        Some("required") => ToolChoice::Required,
        Some(_) => ToolChoice::Free,
        None => match choice.pointer("/function/name").and_then(Value::as_str) {
            Some(name) => return named(name, tools),
            None => ToolChoice::Free,
        },
    })
}

fn named(name: &str, tools: &[Tool]) -> Result<ToolChoice, Refusal> {
    if tools.iter().any(|tool| tool.name == name) {
        return Ok(ToolChoice::Named(name.to_owned()));
    }
    let message = format!(
        "Invalid value for 'tool_choice': no tool named '{}' in 'tools'.",
        shortened(name)
    );
    Err(Refusal::invalid("tool_choice", None, message))
}
