//! The tools of a request for a response, and which of them the client wants called.

use serde_json::Value;

use crate::refusal::{Refusal, shortened};
use crate::request::Object;
use crate::request::fields::{self, checked_text, missing, wrong_type, wrong_value};

/// A tool that may be called.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tool {
    /// The name; for a hosted tool its type.
    pub(crate) name: String,
    /// The namespace it stands in.
    pub(crate) namespace: Option<String>,
    pub(crate) kind: ToolKind,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ToolKind {
    /// A function with the schema of its arguments.
    Function(Option<Value>),
    /// A tool that takes a text; its grammar is checked for its form and not obeyed.
    Custom,
    /// A search that the vendor does itself.
    WebSearch,
    /// A command for the client's own shell.
    LocalShell,
    /// Another tool of the vendor: accepted and never called.
    Hosted,
}

/// What the client says about calling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// The prompt decides, among these if there is a list.
    Free(Option<Vec<String>>),
    /// No call.
    None,
    /// A call, among these if there is a list.
    Required(Option<Vec<String>>),
    /// A call of this tool.
    Named(String),
}

const MAX_TOOLS: usize = 128;
const TYPES: &[&str] = &[
    "function",
    "custom",
    "namespace",
    "web_search",
    "web_search_2025_08_26",
    "web_search_preview",
    "web_search_preview_2025_03_11",
    "file_search",
    "computer",
    "computer_use_preview",
    "mcp",
    "code_interpreter",
    "programmatic_tool_calling",
    "image_generation",
    "local_shell",
    "shell",
    "tool_search",
    "apply_patch",
];
// === impl Tool ===

impl Tool {
    /// Reads a tool that was checked.
    fn read(tool: &Object, namespace: Option<&str>) -> Self {
        let word = checked_text(tool, "type");
        let kind = match word {
            "function" => {
                let schema = tool.get("parameters").filter(|schema| !schema.is_null());
                ToolKind::Function(schema.cloned())
            }
            "custom" => ToolKind::Custom,
            "local_shell" => ToolKind::LocalShell,
            search if search.starts_with("web_search") => ToolKind::WebSearch,
            _ => ToolKind::Hosted,
        };
        let name = match kind {
            ToolKind::Function(_) | ToolKind::Custom => checked_text(tool, "name"),
            ToolKind::WebSearch | ToolKind::LocalShell | ToolKind::Hosted => word,
        };
        Self {
            name: name.to_owned(),
            namespace: namespace.map(str::to_owned),
            kind,
        }
    }
}

pub(crate) fn read_tools(body: &Object) -> Result<Vec<Tool>, Refusal> {
    let Some(Value::Array(list)) = body.get("tools") else {
        return Ok(Vec::new());
    };
    let mut tools = Vec::new();
    for tool in list.iter().filter_map(Value::as_object) {
        if let Some(Value::Array(inner)) = tool.get("tools")
            && checked_text(tool, "type") == "namespace"
        {
            let space = checked_text(tool, "name");
            let inner = inner.iter().filter_map(Value::as_object);
            tools.extend(inner.map(|tool| Tool::read(tool, Some(space))));
        } else {
            tools.push(Tool::read(tool, None));
        }
    }
    if tools.len() > MAX_TOOLS {
        let message = format!("Invalid 'tools': expected at most {MAX_TOOLS} tools.");
        let code = Some("array_above_max_length");
        return Err(Refusal::invalid("tools", code, message));
    }
    Ok(tools)
}

pub(crate) fn read_choice(body: &Object, tools: &[Tool]) -> Result<Choice, Refusal> {
    match body.get("tool_choice") {
        None => Ok(Choice::Free(None)),
        Some(Value::String(word)) => match word.as_str() {
            "none" => Ok(Choice::None),
            "required" if tools.is_empty() => Err(Refusal::invalid(
                "tool_choice",
                None,
                "Tool choice 'required' must be specified with 'tools' parameter.".to_owned(),
            )),
            "required" => Ok(Choice::Required(None)),
            _ => Ok(Choice::Free(None)),
        },
        Some(Value::Object(choice)) => read_choice_object(choice, tools),
        Some(_) => Ok(Choice::Free(None)),
    }
}

fn read_choice_object(choice: &Object, tools: &[Tool]) -> Result<Choice, Refusal> {
    match fields::text(choice, "tool_choice", "type")? {
        "function" | "custom" => {
            fields::only(choice, "tool_choice", &["type", "name"])?;
            named(fields::text(choice, "tool_choice", "name")?, tools)
        }
        "allowed_tools" => {
            fields::only(choice, "tool_choice", &["type", "mode", "tools"])?;
            let Some(Value::Array(list)) = choice.get("tools") else {
                return Err(missing("tool_choice.tools"));
            };
            let mut names = Vec::new();
            for (index, value) in list.iter().enumerate() {
                let path = format!("tool_choice.tools[{index}]");
                let tool = as_object(value, &path)?;
                let kind = fields::text(tool, &path, "type")?;
                let name = tool.get("name").and_then(Value::as_str).unwrap_or(kind);
                named(name, tools)?;
                names.push(name.to_owned());
            }
            match fields::text(choice, "tool_choice", "mode")? {
                "auto" => Ok(Choice::Free(Some(names))),
                "required" => Ok(Choice::Required(Some(names))),
                other => {
                    let words = &["auto", "required"];
                    Err(wrong_value("tool_choice.mode", other, words))
                }
            }
        }
        hosted if TYPES.contains(&hosted) && hosted != "namespace" => named(hosted, tools),
        other => Err(wrong_value("tool_choice.type", other, TYPES)),
    }
}

/// The tools as the answer repeats them: a function says whether it is strict.
pub(crate) fn repeated(body: &Object) -> Value {
    let Some(Value::Array(list)) = body.get("tools") else {
        return Value::Array(Vec::new());
    };
    let mut list = list.clone();
    for tool in list.iter_mut().filter_map(Value::as_object_mut) {
        if tool.get("type").and_then(Value::as_str) == Some("function") {
            tool.entry("strict").or_insert(Value::Bool(true));
        }
    }
    Value::Array(list)
}

fn named(name: &str, tools: &[Tool]) -> Result<Choice, Refusal> {
    if tools.iter().any(|tool| tool.name == name) {
        return Ok(Choice::Named(name.to_owned()));
    }
    let message = format!(
        "Tool choice '{}' not found in 'tools' parameter.",
        shortened(name)
    );
    Err(Refusal::invalid("tool_choice", None, message))
}

fn as_object<'a>(value: &'a Value, path: &str) -> Result<&'a Object, Refusal> {
    value
        .as_object()
        .ok_or_else(|| wrong_type(path, "an object", value))
}
