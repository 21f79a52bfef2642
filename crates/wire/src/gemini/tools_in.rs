//! Tools and whether they must be used, read into the canonical form.

use serde_json::{Map, Value};

use super::key_case::take;
use super::parts_in::text_of;
use super::schema::json_schema;
use crate::RequestError;
use crate::canonical::{Conversation, Tool, ToolChoice, ToolKind, ToolName, UnknownField};

pub(super) const MODE: &str = "toolConfig.functionCallingConfig.mode";
const CALLING: &str = "functionCallingConfig";

/// Reads the list of tools.
pub(super) fn read_tools(tools: Value) -> Result<Vec<Tool>, RequestError> {
    let Value::Array(groups) = tools else {
        return Err(RequestError::invalid(
            "tools",
            "`tools` must be a list of objects",
        ));
    };
    let mut read = Vec::new();
    for (place, group) in groups.into_iter().enumerate() {
        let Value::Object(mut group) = group else {
            let what = "every tool must be an object";
            return Err(RequestError::invalid(&format!("tools[{place}]"), what));
        };
        let declared = take(&mut group, "functionDeclarations");
        let declared = match declared {
            Some(Value::Array(declared)) => declared,
            None => Vec::new(),
            Some(_) => return Err(bad_declaration(place)),
        };
        for declaration in declared {
            let tool = read_declaration(declaration);
            read.push(tool.ok_or_else(|| bad_declaration(place))?);
        }
        // What the vendor runs is refused before it comes here; the rest is kept as it is.
        for (key, value) in group.into_iter().filter(|(_, value)| !value.is_null()) {
            read.push(native(&key, value));
        }
    }
    Ok(read)
}

fn bad_declaration(place: usize) -> RequestError {
    let param = format!("tools[{place}].functionDeclarations");
    let what = format!("`{param}` must be a list of objects with a `name`");
    RequestError::invalid(&param, what)
}

fn native(key: &str, value: Value) -> Tool {
    let mut whole = Map::new();
    whole.insert(key.to_owned(), value);
    Tool {
        name: ToolName::plain(key),
        description: None,
        kind: ToolKind::Native(Value::Object(whole)),
        cache: None,
        extras: Vec::new(),
    }
}

fn read_declaration(declaration: Value) -> Option<Tool> {
    let Value::Object(mut declaration) = declaration else {
        return None;
    };
    let name = text_of(take(&mut declaration, "name"))?;
    let description = text_of(take(&mut declaration, "description"));
    let openapi = take(&mut declaration, "parameters").map(json_schema);
    let schema = take(&mut declaration, "parametersJsonSchema").or(openapi);
    if let Some(response) = take(&mut declaration, "response") {
        let schema = json_schema(response);
        declaration.insert("responseJsonSchema".to_owned(), schema);
    }
    Some(Tool {
        name: ToolName::plain(name),
        description,
        kind: ToolKind::Function {
            schema: schema.unwrap_or_else(|| Value::Object(Map::new())),
            strict: None,
        },
        cache: None,
        extras: declaration
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .collect(),
    })
}

/// Reads whether tools must be used. What only Google says stays an extra.
pub(super) fn read_tool_config(config: Value, conversation: &mut Conversation) {
    let Value::Object(mut config) = config else {
        return;
    };
    if let Some(Value::Object(mut calling)) = take(&mut config, CALLING) {
        let mode = text_of(take(&mut calling, "mode")).unwrap_or_default();
        let names = match take(&mut calling, "allowedFunctionNames") {
            Some(Value::Array(names)) => names,
            Some(_) | None => Vec::new(),
        };
        let names = names.into_iter().filter_map(|name| text_of(Some(name)));
        let names: Vec<ToolName> = names.map(ToolName::plain).collect();
        conversation.tool_choice = choice(&mode.to_ascii_uppercase(), names);
        if mode.eq_ignore_ascii_case("VALIDATED") {
            conversation
                .extras
                .push(extra(MODE.to_owned(), mode.into()));
        }
        let rest = calling.into_iter();
        let rest = rest.map(|(key, value)| extra(format!("toolConfig.{CALLING}.{key}"), value));
        conversation.extras.extend(rest);
    }
    let rest = config.into_iter().filter(|(_, value)| !value.is_null());
    let rest = rest.map(|(key, value)| extra(format!("toolConfig.{key}"), value));
    conversation.extras.extend(rest);
}

fn choice(mode: &str, mut names: Vec<ToolName>) -> Option<ToolChoice> {
    match (mode, names.len()) {
        ("NONE", _) => Some(ToolChoice::None),
        ("ANY", 0) => Some(ToolChoice::Any),
        ("ANY", 1) => names.pop().map(ToolChoice::Named),
        ("ANY", _) => Some(ToolChoice::Among(names, true)),
        ("AUTO" | "VALIDATED", 0) => Some(ToolChoice::Auto),
        (_, 0) => None,
        _ => Some(ToolChoice::Among(names, false)),
    }
}

fn extra(field: String, value: Value) -> UnknownField {
    UnknownField {
        field,
        value,
        matters: false,
    }
}
