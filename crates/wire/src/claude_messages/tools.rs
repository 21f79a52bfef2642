//! Tools and whether they must be used, in both directions.

use serde_json::{Map, Value, json};

use super::blocks_in::take_cache;
use crate::Format;
use crate::canonical::{
    Conversation, NameRule, Notes, Tool, ToolChoice, ToolKind, ToolName, TranslationState,
    custom_schema, described,
};
use crate::json_value::{get_str, take_bool, take_string};

/// What every model and cloud takes as a tool's name.
pub(super) const RULE: NameRule = NameRule {
    max: 64,
    also: "",
    begins_alphabetic: false,
    native: false,
};
/// The same for names that a caller of this format chose for it.
pub(super) const OWN_RULE: NameRule = NameRule { max: 128, ..RULE };

pub(super) fn tool_in(mut map: Map<String, Value>) -> Tool {
    let cache = take_cache(&mut map);
    let kind = get_str(&map, "type").unwrap_or("custom");
    if kind != "custom" {
        let name = get_str(&map, "name").unwrap_or(kind);
        return Tool {
            name: ToolName::plain(name),
            description: None,
            kind: ToolKind::Native(Value::Object(map)),
            cache,
            extras: Vec::new(),
        };
    }
    map.remove("type");
    let name = take_string(&mut map, "name").unwrap_or_default();
    let description = take_string(&mut map, "description");
    let schema = map.remove("input_schema").unwrap_or_else(|| json!({}));
    let strict = take_bool(&mut map, "strict");
    Tool {
        name: ToolName::plain(name),
        description,
        kind: ToolKind::Function { schema, strict },
        cache,
        extras: map.into_iter().collect(),
    }
}

/// Reads whether tools must be used, and whether several at once. None if it is no word of the format.
pub(super) fn choice_in(map: &Map<String, Value>) -> Option<(ToolChoice, Option<bool>)> {
    let choice = match get_str(map, "type")? {
        "auto" => ToolChoice::Auto,
        "any" => ToolChoice::Any,
        "none" => ToolChoice::None,
        "tool" => ToolChoice::Named(ToolName::plain(get_str(map, "name")?)),
        _ => return None,
    };
    let disabled = map
        .get("disable_parallel_tool_use")
        .and_then(Value::as_bool);
    Some((choice, disabled.map(|disabled| !disabled)))
}

pub(super) fn tools_out(
    conversation: &Conversation,
    state: &TranslationState,
    notes: &mut Notes,
) -> Vec<Value> {
    let allowed = allowed(conversation.tool_choice.as_ref());
    let may_be_used =
        |tool: &&Tool| allowed.is_none_or(|names: &Vec<ToolName>| names.contains(&tool.name));
    let tools = conversation.tools.iter().filter(may_be_used);
    tools
        .filter_map(|tool| tool_out(tool, conversation.from, state, notes))
        .map(Value::Object)
        .collect()
}

fn tool_out(
    tool: &Tool,
    from: Format,
    state: &TranslationState,
    notes: &mut Notes,
) -> Option<Map<String, Value>> {
    let is_own = from == super::OWN;
    let mut map = match &tool.kind {
        ToolKind::Function { schema, strict } => function_out(schema, *strict, from, notes),
        ToolKind::Custom { format } => {
            let why = "a tool of plain words is sent as a function with one text";
            notes.approximated("tools", why);
            if format.is_some() {
                let why = "a grammar cannot be sent; the tool's description tells it";
                notes.approximated("tools.format", why);
            }
            let mut map = Map::new();
            map.insert("input_schema".to_owned(), custom_schema());
            let words = described(tool.description.as_deref(), format.as_ref());
            map.extend(words.map(|words| ("description".to_owned(), json!(words))));
            map
        }
        ToolKind::Native(raw) => return native_out(raw, tool, is_own, notes),
    };
    map.insert("name".to_owned(), json!(state.sent(&tool.name)));
    if let Some(description) = &tool.description {
        map.entry("description")
            .or_insert_with(|| json!(description));
    }
    if is_own {
        map.extend(tool.extras.iter().cloned());
    } else {
        for (key, _) in &tool.extras {
            notes.dropped(format!("tools.{key}"), "the format has no word for it");
        }
    }
    mark(&mut map, tool);
    Some(map)
}

fn function_out(
    schema: &Value,
    strict: Option<bool>,
    from: Format,
    notes: &mut Notes,
) -> Map<String, Value> {
    let is_own = from == super::OWN;
    let mut map = Map::new();
    let schema = if is_own {
        schema.clone()
    } else {
        object_schema(schema)
    };
    map.insert("input_schema".to_owned(), schema);
    match strict {
        Some(strict) if is_own => {
            map.insert("strict".to_owned(), json!(strict));
        }
        Some(true) => {
            let why = "arguments are not held to the schema by every model";
            notes.dropped("tools.strict", why);
        }
        Some(false) | None => {}
    }
    map
}

fn native_out(
    raw: &Value,
    tool: &Tool,
    is_own: bool,
    notes: &mut Notes,
) -> Option<Map<String, Value>> {
    if let (true, Value::Object(raw)) = (is_own, raw) {
        let mut map = raw.clone();
        mark(&mut map, tool);
        return Some(map);
    }
    let kind = raw.get("type").and_then(Value::as_str);
    let kind = kind.unwrap_or(&tool.name.name).to_owned();
    let why = format!("`{kind}` is a tool that only its own vendor has");
    notes.dropped("tools", why);
    None
}

/// Writes whether tools must be used.
pub(super) fn choice_out(
    conversation: &Conversation,
    state: &TranslationState,
    notes: &mut Notes,
) -> Option<Value> {
    let parallel = conversation.parallel_tools;
    let mut choice = match conversation.tool_choice.as_ref() {
        Some(ToolChoice::Auto) => json!({ "type": "auto" }),
        Some(ToolChoice::Any) => json!({ "type": "any" }),
        Some(ToolChoice::None) => return Some(json!({ "type": "none" })),
        Some(ToolChoice::Named(tool)) => {
            json!({ "type": "tool", "name": state.sent(tool) })
        }
        Some(ToolChoice::Among(_, must)) => {
            let why = "only the tools that may be used are sent";
            notes.approximated("tool_choice", why);
            json!({ "type": if *must { "any" } else { "auto" } })
        }
        None if parallel == Some(false) => json!({ "type": "auto" }),
        None => return None,
    };
    if let (Some(parallel), Some(choice)) = (parallel, choice.as_object_mut()) {
        let disabled = json!(!parallel);
        choice.insert("disable_parallel_tool_use".to_owned(), disabled);
    }
    Some(choice)
}

/// Whether a tool must be used, which does not go together with thoughts.
pub(super) const fn is_forced(choice: Option<&ToolChoice>) -> bool {
    match choice {
        Some(ToolChoice::Any | ToolChoice::Named(_) | ToolChoice::Among(_, true)) => true,
        Some(ToolChoice::Auto | ToolChoice::None | ToolChoice::Among(_, false)) | None => false,
    }
}

/// The tools that may be used, where only some of them may.
fn allowed(choice: Option<&ToolChoice>) -> Option<&Vec<ToolName>> {
    match choice {
        Some(ToolChoice::Among(names, _)) => Some(names),
        Some(ToolChoice::Auto | ToolChoice::None | ToolChoice::Any | ToolChoice::Named(_))
        | None => None,
    }
}

/// A schema of arguments must say that it is one of an object.
fn object_schema(schema: &Value) -> Value {
    let mut schema = match schema {
        Value::Object(map) => map.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Map::new()
        }
    };
    schema
        .entry("type")
        .or_insert_with(|| Value::String("object".to_owned()));
    Value::Object(schema)
}

fn mark(map: &mut Map<String, Value>, tool: &Tool) {
    if let Some(life) = tool.cache {
        map.entry("cache_control").or_insert_with(|| life.control());
    }
}

/// The rule for names of tools, by where the conversation comes from.
pub(super) fn rule(from: Format) -> NameRule {
    if from == super::OWN { OWN_RULE } else { RULE }
}
