//! Tools and whether they must be used, written for chat.

use serde_json::{Map, Value, json};

use super::request_out::Writing;
use crate::Format;
use crate::canonical::{
    Conversation, NameRule, Tool, ToolChoice, ToolKind, ToolName, custom_schema, described,
};

/// What chat takes as a tool's name. Its own callers' names, and their tools of plain text, are sent as
/// they are.
pub(super) fn rule(from: Format) -> NameRule {
    NameRule {
        max: 64,
        also: "",
        begins_alphabetic: false,
        native: from == Format::OpenaiChat,
    }
}

/// The tools that may be used: a choice among some is the same as having no others, and not every
/// upstream of this format has such a choice.
pub(super) fn allowed(conversation: &Conversation) -> Vec<Tool> {
    let tools = conversation.tools.iter();
    match &conversation.tool_choice {
        Some(ToolChoice::Among(names, _)) if conversation.from != Format::OpenaiChat => tools
            .filter(|tool| names.contains(&tool.name))
            .cloned()
            .collect(),
        Some(
            ToolChoice::Auto
            | ToolChoice::None
            | ToolChoice::Any
            | ToolChoice::Named(_)
            | ToolChoice::Among(..),
        )
        | None => tools.cloned().collect(),
    }
}

impl Writing<'_> {
    pub(super) fn tools(&mut self, tools: &[Tool], body: &mut Map<String, Value>) {
        let written: Vec<Value> = tools.iter().filter_map(|tool| self.tool(tool)).collect();
        if written.is_empty() {
            return;
        }
        body.insert("tools".to_owned(), Value::Array(written));
        if let Some(choice) = self.from.tool_choice.as_ref() {
            body.insert("tool_choice".to_owned(), self.choice(choice));
        }
        if let Some(parallel) = self.from.parallel_tools {
            body.insert("parallel_tool_calls".to_owned(), json!(parallel));
        }
    }

    fn tool(&mut self, tool: &Tool) -> Option<Value> {
        if tool.cache.is_some() && !self.same() {
            let why = "chat upstreams decide by themselves what they cache";
            self.notes.dropped("cache_control", why);
        }
        let mut inner = Map::new();
        inner.insert("name".to_owned(), json!(self.state.sent(&tool.name)));
        let mut description = tool.description.clone();
        match &tool.kind {
            ToolKind::Function { schema, strict } => {
                // A function without parameters has no schema.
                if schema.as_object().is_none_or(|schema| !schema.is_empty()) {
                    inner.insert("parameters".to_owned(), schema.clone());
                }
                if let Some(strict) = strict {
                    inner.insert("strict".to_owned(), json!(strict));
                }
            }
            ToolKind::Custom { format } if self.same() => {
                return Some(custom(tool, format.as_ref()));
            }
            ToolKind::Custom { format } => {
                inner.insert("parameters".to_owned(), custom_schema());
                let why = "a tool of plain words is sent as a function with one text";
                self.notes.approximated("tools", why);
                if format.is_some() {
                    let why = "chat upstreams have no grammars; the tool's description tells it";
                    self.notes.approximated("tools.format", why);
                }
                description = described(tool.description.as_deref(), format.as_ref());
            }
            ToolKind::Native(raw) if self.same() => return Some(raw.clone()),
            ToolKind::Native(_) => {
                let why = "a tool that only its own vendor runs is left out";
                self.notes.dropped("tools", why);
                return None;
            }
        }
        if let Some(description) = description {
            inner.insert("description".to_owned(), json!(description));
        }
        let mut tool_json = json!({ "type": "function", "function": inner });
        if self.same()
            && let (Some(life), Some(map)) = (tool.cache, tool_json.as_object_mut())
        {
            map.insert("cache_control".to_owned(), life.control());
        }
        Some(tool_json)
    }

    fn choice(&mut self, choice: &ToolChoice) -> Value {
        let named = |name: &ToolName| {
            let custom = |tool: &Tool| {
                tool.name == *name && matches!(tool.kind, ToolKind::Custom { .. }) && self.same()
            };
            let kind = if self.from.tools.iter().any(custom) {
                "custom"
            } else {
                "function"
            };
            json!({ "type": kind, kind: { "name": self.state.sent(name) } })
        };
        match choice {
            ToolChoice::Auto => json!("auto"),
            ToolChoice::None => json!("none"),
            ToolChoice::Any => json!("required"),
            ToolChoice::Named(name) => named(name),
            ToolChoice::Among(names, must) if self.same() => {
                let mode = if *must { "required" } else { "auto" };
                let tools: Vec<Value> = names.iter().map(named).collect();
                let allowed = json!({ "mode": mode, "tools": tools });
                json!({ "type": "allowed_tools", "allowed_tools": allowed })
            }
            ToolChoice::Among(_, must) => {
                let why = "only the tools that may be used are sent";
                self.notes.approximated("tool_choice", why);
                json!(if *must { "required" } else { "auto" })
            }
        }
    }
}

/// A tool of plain text as chat has it: the grammar stands one level deeper than in the canonical form.
fn custom(tool: &Tool, format: Option<&Value>) -> Value {
    let mut inner = Map::new();
    inner.insert("name".to_owned(), json!(tool.name.name));
    if let Some(description) = &tool.description {
        inner.insert("description".to_owned(), json!(description));
    }
    if let Some(format) = format {
        let grammar = format
            .as_object()
            .filter(|it| it.contains_key("definition"));
        let format = match grammar {
            Some(flat) => {
                let mut grammar = flat.clone();
                let kind = grammar.remove("type");
                json!({ "type": kind, "grammar": grammar })
            }
            None => format.clone(),
        };
        inner.insert("format".to_owned(), format);
    }
    let mut written = json!({ "type": "custom", "custom": inner });
    if let (Some(life), Some(map)) = (tool.cache, written.as_object_mut()) {
        map.insert("cache_control".to_owned(), life.control());
    }
    written
}
