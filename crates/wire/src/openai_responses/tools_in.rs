//! Tools and whether they must be used, read into the canonical form.

use serde_json::{Map, Value};

use crate::canonical::{Tool, ToolChoice, ToolKind, ToolName};
use crate::json_value::{take_array, take_string};

/// Before a key of a group, on the first of its tools: a group has no place of its own in the canonical form.
pub(super) const GROUP_KEY: &str = "namespace.";

/// Reads tools; those of a group stand beside the others, with its name before theirs.
pub(super) fn read_tools(list: Vec<Value>) -> Vec<Tool> {
    let mut tools = Vec::with_capacity(list.len());
    for raw in list {
        let is_group = kind_of(&raw) == "namespace";
        let inside = raw.get("tools").and_then(Value::as_array);
        let named = raw.get("name").is_some_and(Value::is_string);
        if is_group && named && inside.is_some_and(|inside| !inside.is_empty()) {
            tools.extend(read_group(raw));
        } else {
            tools.push(read_tool(raw, None));
        }
    }
    tools
}

/// Reads whether tools must be used; what the canonical form has no field for comes back as it was.
pub(super) fn read_choice(raw: Value) -> Result<ToolChoice, Value> {
    let known = match raw.as_str() {
        Some("auto") => Some(ToolChoice::Auto),
        Some("none") => Some(ToolChoice::None),
        Some("required") => Some(ToolChoice::Any),
        Some(_) => None,
        None => match kind_of(&raw) {
            "function" | "custom" => name_of(&raw).map(ToolChoice::Named),
            "allowed_tools" => read_allowed(&raw),
            _ => None,
        },
    };
    known.ok_or(raw)
}

fn kind_of(raw: &Value) -> &str {
    raw.get("type").and_then(Value::as_str).unwrap_or_default()
}

fn name_of(raw: &Value) -> Option<ToolName> {
    let text = |key: &str| raw.get(key).and_then(Value::as_str).map(ToOwned::to_owned);
    Some(ToolName {
        namespace: text("namespace"),
        name: text("name")?,
    })
}

fn read_allowed(raw: &Value) -> Option<ToolChoice> {
    let must = match raw.get("mode").and_then(Value::as_str) {
        Some("required") => true,
        Some("auto") | None => false,
        Some(_) => return None,
    };
    let one = |tool: &Value| match kind_of(tool) {
        "function" | "custom" => name_of(tool),
        // One that the vendor runs is called by its kind, if nothing else is said of it.
        kind => (tool.as_object()?.len() == 1).then(|| ToolName::plain(kind)),
    };
    let tools: Option<Vec<ToolName>> = raw.get("tools")?.as_array()?.iter().map(one).collect();
    Some(ToolChoice::Among(tools?, must))
}

fn read_group(raw: Value) -> Vec<Tool> {
    let Value::Object(mut map) = raw else {
        return Vec::new();
    };
    let group = take_string(&mut map, "name").unwrap_or_default();
    let inside = take_array(&mut map, "tools").unwrap_or_default();
    map.remove("type");
    let inside = inside.into_iter().map(|raw| read_tool(raw, Some(&group)));
    let mut tools: Vec<Tool> = inside.collect();
    if let Some(first) = tools.first_mut() {
        let about = map.into_iter();
        let about = about.map(|(key, value)| (format!("{GROUP_KEY}{key}"), value));
        first.extras.extend(about);
    }
    tools
}

fn read_tool(raw: Value, group: Option<&str>) -> Tool {
    let group = group.map(ToOwned::to_owned);
    let named = raw.get("name").is_some_and(Value::is_string);
    let kind = kind_of(&raw).to_owned();
    let Value::Object(mut map) = raw else {
        return native(group, String::new(), raw);
    };
    if !named || !["function", "custom"].contains(&kind.as_str()) {
        return native(group, kind, Value::Object(map));
    }
    map.remove("type");
    let name = take_string(&mut map, "name").unwrap_or_default();
    let description = take_string(&mut map, "description");
    let kind = if kind == "custom" {
        ToolKind::Custom {
            format: map.remove("format"),
        }
    } else {
        read_function(&mut map)
    };
    Tool {
        name: ToolName {
            namespace: group,
            name,
        },
        description,
        kind,
        cache: None,
        extras: map.into_iter().collect(),
    }
}

fn read_function(map: &mut Map<String, Value>) -> ToolKind {
    let parameters = map.get("parameters").and_then(Value::as_object);
    let schema = if parameters.is_some_and(|schema| !schema.is_empty()) {
        map.remove("parameters").unwrap_or_default()
    } else {
        Value::Object(Map::new())
    };
    let strict = map.get("strict").and_then(Value::as_bool);
    if strict.is_some() {
        map.remove("strict");
    }
    ToolKind::Function { schema, strict }
}

fn native(namespace: Option<String>, name: String, raw: Value) -> Tool {
    Tool {
        name: ToolName { namespace, name },
        description: None,
        kind: ToolKind::Native(raw),
        cache: None,
        extras: Vec::new(),
    }
}
