//! Tools and whether they must be used, written as Google has them.

use serde_json::{Map, Value, json};

use super::FORMAT;
use crate::canonical::{
    Conversation, Notes, Tool, ToolChoice, ToolKind, ToolName, TranslationState, custom_schema,
    described,
};

/// Writes `tools` and `toolConfig`.
pub(super) fn write_tools(
    conversation: &Conversation,
    state: &TranslationState,
    body: &mut Map<String, Value>,
    notes: &mut Notes,
) {
    let own = conversation.from == FORMAT;
    let mut declared: Vec<Value> = Vec::new();
    let mut tools: Vec<Value> = Vec::new();
    for tool in &conversation.tools {
        if tool.cache.is_some() {
            notes.dropped(
                "cache_control",
                "Google caches repeated beginnings by itself",
            );
        }
        match &tool.kind {
            ToolKind::Function { schema, strict } => {
                if *strict == Some(true) {
                    let why = "Google fits arguments to their schema as well as it can";
                    notes.dropped("tools.strict", why);
                }
                declared.push(declaration(tool, schema.clone(), state, own, notes));
            }
            ToolKind::Custom { format } => {
                let why = "a tool of plain words is sent as a function with one text";
                notes.approximated("tools", why);
                if format.is_some() {
                    let why = "Google has no grammars; the tool's description tells it";
                    notes.approximated("tools.format", why);
                }
                let described = Tool {
                    description: described(tool.description.as_deref(), format.as_ref()),
                    ..tool.clone()
                };
                declared.push(declaration(&described, custom_schema(), state, own, notes));
            }
            ToolKind::Native(raw) if own => tools.push(raw.clone()),
            ToolKind::Native(_) => {
                let field = format!("tools.{}", tool.name.name);
                notes.dropped(
                    field,
                    "only the vendor of the format it came in runs this tool",
                );
            }
        }
    }
    let any = !declared.is_empty();
    if any {
        tools.insert(0, json!({ "functionDeclarations": declared }));
    }
    if !tools.is_empty() {
        body.insert("tools".to_owned(), Value::Array(tools));
    }
    if let Some(choice) = &conversation.tool_choice
        && (any || own)
    {
        let calling = calling(choice, state);
        let config = json!({ "functionCallingConfig": calling });
        body.insert("toolConfig".to_owned(), config);
    }
}

fn declaration(
    tool: &Tool,
    schema: Value,
    state: &TranslationState,
    own: bool,
    notes: &mut Notes,
) -> Value {
    let mut written = Map::new();
    written.insert("name".to_owned(), Value::String(state.sent(&tool.name)));
    if let Some(description) = &tool.description {
        written.insert("description".to_owned(), Value::String(description.clone()));
    }
    // A function without parameters has no schema.
    if schema.as_object().is_none_or(|schema| !schema.is_empty()) {
        written.insert("parametersJsonSchema".to_owned(), schema);
    }
    for (key, value) in &tool.extras {
        if own {
            written.insert(key.clone(), value.clone());
        } else {
            notes.dropped(
                format!("tools.{key}"),
                "only the format it came in has this",
            );
        }
    }
    Value::Object(written)
}

fn calling(choice: &ToolChoice, state: &TranslationState) -> Value {
    let sent =
        |names: &[ToolName]| -> Vec<String> { names.iter().map(|name| state.sent(name)).collect() };
    match choice {
        ToolChoice::Auto => json!({ "mode": "AUTO" }),
        ToolChoice::None => json!({ "mode": "NONE" }),
        ToolChoice::Any => json!({ "mode": "ANY" }),
        ToolChoice::Named(name) => {
            json!({ "mode": "ANY", "allowedFunctionNames": [state.sent(name)] })
        }
        ToolChoice::Among(names, true) => {
            json!({ "mode": "ANY", "allowedFunctionNames": sent(names) })
        }
        // The one mode that takes names and does not force a call.
        ToolChoice::Among(names, false) => {
            json!({ "mode": "VALIDATED", "allowedFunctionNames": sent(names) })
        }
    }
}
