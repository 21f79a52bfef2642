//! Tools and whether they must be used, written.

use serde_json::{Map, Value, json};

use super::FORMAT;
use super::tools_in::GROUP_KEY;
use crate::canonical::{
    Conversation, Notes, Tool, ToolChoice, ToolKind, ToolName, TranslationState,
};

/// What names tools of one conversation.
pub(super) struct Tools<'a> {
    pub(super) conversation: &'a Conversation,
    pub(super) state: &'a TranslationState,
}

impl Tools<'_> {
    fn own(&self) -> bool {
        self.conversation.from == FORMAT
    }

    /// All tools; those of one group that stand together are written as it.
    pub(super) fn write(&self, notes: &mut Notes) -> Vec<Value> {
        let mut written: Vec<Value> = Vec::new();
        let mut open: Option<&str> = None;
        for tool in &self.conversation.tools {
            let Some(one) = self.tool(tool, notes) else {
                continue;
            };
            let group = tool.name.namespace.as_deref();
            // A group says something of itself on the first of its tools.
            let begins = tool
                .extras
                .iter()
                .any(|(key, _)| key.starts_with(GROUP_KEY));
            let joins = group.is_some() && group == open && !begins;
            let last = written.last_mut().filter(|_| joins);
            match last.and_then(|last| last.get_mut("tools")?.as_array_mut()) {
                Some(inside) => inside.push(one),
                None => written.push(match group {
                    Some(group) => in_group(group, tool, one),
                    None => one,
                }),
            }
            open = group;
        }
        written
    }

    fn tool(&self, tool: &Tool, notes: &mut Notes) -> Option<Value> {
        let mut map = Map::new();
        match &tool.kind {
            ToolKind::Native(raw) if self.own() => return Some(raw.clone()),
            ToolKind::Native(_) => {
                let field = format!("tools.{}", tool.name.name);
                notes.dropped(field, "another vendor runs this tool");
                return None;
            }
            ToolKind::Function { schema, strict } => self.function(schema, *strict, &mut map),
            ToolKind::Custom { format } => {
                map.insert("type".to_owned(), json!("custom"));
                if let Some(format) = format {
                    map.insert("format".to_owned(), format.clone());
                }
            }
        }
        map.insert("name".to_owned(), json!(self.name(&tool.name)));
        if let Some(description) = &tool.description {
            map.insert("description".to_owned(), json!(description));
        }
        if tool.cache.is_some() {
            let why = "the upstream caches the beginnings of prompts by itself";
            notes.approximated("cache_control", why);
        }
        for (key, value) in &tool.extras {
            if key.starts_with(GROUP_KEY) {
                continue;
            }
            if self.own() {
                map.insert(key.clone(), value.clone());
            } else {
                notes.dropped(
                    format!("tools.{key}"),
                    "the upstream's format has no word for it",
                );
            }
        }
        Some(Value::Object(map))
    }

    fn function(&self, schema: &Value, strict: Option<bool>, map: &mut Map<String, Value>) {
        map.insert("type".to_owned(), json!("function"));
        let none = schema.as_object().is_some_and(Map::is_empty);
        if self.own() {
            if !none {
                map.insert("parameters".to_owned(), schema.clone());
            }
            if let Some(strict) = strict {
                map.insert("strict".to_owned(), json!(strict));
            }
            return;
        }
        let schema = if none {
            json!({ "type": "object", "properties": {} })
        } else {
            schema.clone()
        };
        map.insert("parameters".to_owned(), schema);
        // This format is strict unless it is reported otherwise, and no other one is.
        map.insert("strict".to_owned(), json!(strict.unwrap_or(false)));
    }

    fn name(&self, tool: &ToolName) -> String {
        if self.own() {
            return tool.name.clone();
        }
        self.state.sent(tool)
    }

    /// Whether tools must be used.
    pub(super) fn choice(&self, choice: &ToolChoice) -> Value {
        match choice {
            ToolChoice::Auto => json!("auto"),
            ToolChoice::None => json!("none"),
            ToolChoice::Any => json!("required"),
            ToolChoice::Named(tool) => self.named(tool),
            ToolChoice::Among(tools, must) => {
                let mode = if *must { "required" } else { "auto" };
                let sent = tools
                    .iter()
                    .filter(|name| self.own() || !self.is_native(name));
                let tools: Vec<Value> = sent.map(|tool| self.named(tool)).collect();
                json!({ "type": "allowed_tools", "mode": mode, "tools": tools })
            }
        }
    }

    fn is_native(&self, name: &ToolName) -> bool {
        let mut tools = self.conversation.tools.iter();
        let known = tools.find(|tool| tool.name == *name);
        known.is_some_and(|tool| matches!(tool.kind, ToolKind::Native(_)))
    }

    /// Whether a tool must be used that is not sent.
    pub(super) fn wants_what_is_left_out(&self, choice: &ToolChoice, some_are_sent: bool) -> bool {
        let native = |name: &ToolName| self.is_native(name);
        match choice {
            ToolChoice::Auto | ToolChoice::None | ToolChoice::Among(_, false) => false,
            ToolChoice::Any => !some_are_sent,
            ToolChoice::Named(name) => native(name) || !some_are_sent,
            ToolChoice::Among(names, true) => names.iter().all(native) || !some_are_sent,
        }
    }

    fn named(&self, name: &ToolName) -> Value {
        let mut tools = self.conversation.tools.iter();
        let kind = tools.find(|tool| tool.name == *name).map(|tool| &tool.kind);
        let kind = match kind {
            Some(ToolKind::Custom { .. }) => "custom",
            Some(ToolKind::Native(_)) => return json!({ "type": name.name }),
            Some(ToolKind::Function { .. }) | None => "function",
        };
        let mut map = Map::new();
        map.insert("type".to_owned(), json!(kind));
        map.insert("name".to_owned(), json!(self.name(name)));
        if let Some(group) = &name.namespace {
            map.insert("namespace".to_owned(), json!(group));
        }
        Value::Object(map)
    }
}

fn in_group(group: &str, first: &Tool, written: Value) -> Value {
    let mut map = Map::new();
    map.insert("type".to_owned(), json!("namespace"));
    map.insert("name".to_owned(), json!(group));
    map.insert("tools".to_owned(), json!([written]));
    for (key, value) in &first.extras {
        if let Some(key) = key.strip_prefix(GROUP_KEY) {
            map.insert(key.to_owned(), value.clone());
        }
    }
    Value::Object(map)
}
