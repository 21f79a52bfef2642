//! A request, read into the canonical form.

use serde_json::{Map, Value};

use super::item_metadata::Labels;
use super::items_in::Turns;
use super::tools_in::{read_choice, read_tools};
use super::{FORMAT, cost};
use crate::canonical::{
    Block, Conversation, OutputShape, Reasoning, Role, Sampling, ToolChoice, Turn, UnknownField,
};
use crate::json_value::{take_array, take_bool, take_number, take_string};
use crate::{Request, RequestError};

pub(super) const SIGNED: &str = "reasoning.encrypted_content";
/// Fields without which the response is another one.
const MATTERING: &[&str] = &[
    "conversation",
    "previous_response_id",
    "prompt",
    "tool_choice",
];

pub(crate) fn request_to_canonical(request: &Request) -> Result<Conversation, RequestError> {
    let mut body = request.tree()?;
    body.retain(|_, value| !value.is_null());
    // Said in the facts, which were checked.
    for field in ["model", "stream", cost::MAX_OUTPUT_TOKENS] {
        body.remove(field);
    }
    let (turns, labels) = read_input(&mut body)?;
    let instructions = take_string(&mut body, "instructions");
    let tools = take_array(&mut body, "tools").map(read_tools);
    let tool_choice = take_choice(&mut body);
    let (output, verbosity) = read_text(&mut body);
    let reasoning = read_reasoning(&mut body);
    let sampling = Sampling {
        temperature: take_number(&mut body, "temperature"),
        top_p: take_number(&mut body, "top_p"),
        ..Sampling::default()
    };
    Ok(Conversation {
        instructions: instructions.map(Block::text).into_iter().collect(),
        turns,
        tools: tools.unwrap_or_default(),
        tool_choice,
        parallel_tools: take_bool(&mut body, "parallel_tool_calls"),
        output,
        reasoning,
        sampling,
        user: take_string(&mut body, "user"),
        cache_key: take_string(&mut body, "prompt_cache_key"),
        verbosity,
        service_tier: take_string(&mut body, "service_tier"),
        metadata: body.remove("metadata"),
        extras: extras(body, labels),
        ..Conversation::new(FORMAT, &request.facts)
    })
}

fn read_input(body: &mut Map<String, Value>) -> Result<(Vec<Turn>, Labels), RequestError> {
    if let Some(text) = take_string(body, "input") {
        let turn = Turn::of(Role::User, vec![Block::text(text)]);
        return Ok((vec![turn], Labels::default()));
    }
    let items = match body.remove("input") {
        Some(Value::Array(items)) => items,
        None => Vec::new(),
        Some(
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_),
        ) => {
            let what = "`input` must be a text or a list of items";
            return Err(RequestError::invalid("input", what));
        }
    };
    let mut turns = Turns::default();
    items.into_iter().for_each(|item| turns.item(item));
    Ok(turns.done())
}

/// What the canonical form has no field for stays behind as a field of this format.
fn take_choice(body: &mut Map<String, Value>) -> Option<ToolChoice> {
    match read_choice(body.remove("tool_choice")?) {
        Ok(choice) => Some(choice),
        Err(raw) => {
            body.insert("tool_choice".to_owned(), raw);
            None
        }
    }
}

fn read_text(body: &mut Map<String, Value>) -> (OutputShape, Option<String>) {
    let Some(Value::Object(text)) = body.get_mut("text") else {
        return (OutputShape::Text, None);
    };
    let verbosity = take_string(text, "verbosity");
    let shape = text.get_mut("format").and_then(Value::as_object_mut);
    let shape = shape.map_or(OutputShape::Text, read_shape);
    (shape, verbosity)
}

fn read_shape(format: &mut Map<String, Value>) -> OutputShape {
    match format.get("type").and_then(Value::as_str) {
        Some("text") => {
            format.remove("type");
            OutputShape::Text
        }
        Some("json_object") => {
            format.remove("type");
            OutputShape::Json
        }
        Some("json_schema") if format.contains_key("schema") => {
            format.remove("type");
            OutputShape::Schema {
                name: take_string(format, "name"),
                description: take_string(format, "description"),
                schema: format.remove("schema").unwrap_or_default(),
                strict: take_bool(format, "strict"),
            }
        }
        Some(_) | None => OutputShape::Text,
    }
}

fn read_reasoning(body: &mut Map<String, Value>) -> Reasoning {
    let mut reasoning = Reasoning::default();
    if let Some(Value::Object(reasoning_object)) = body.get_mut("reasoning") {
        match take_string(reasoning_object, "effort") {
            Some(word) if word == "none" => reasoning.off = true,
            effort => reasoning.effort = effort,
        }
        let older = take_string(reasoning_object, "generate_summary");
        reasoning.summary = take_string(reasoning_object, "summary").or(older);
        reasoning.visible = reasoning.summary.as_ref().map(|_| true);
    }
    if let Some(Value::Array(include)) = body.get_mut("include") {
        let before = include.len();
        include.retain(|word| word.as_str() != Some(SIGNED));
        reasoning.encrypted = include.len() < before;
    }
    reasoning
}

/// What is left of the body, each by its dotted path.
fn extras(body: Map<String, Value>, labels: Labels) -> Vec<UnknownField> {
    let mut extras = Vec::new();
    for (field, value) in body {
        split(field, value, &mut extras);
    }
    extras.extend(labels.extras());
    extras
}

/// One field, or each that is inside it where the rest of it was read.
fn split(field: String, value: Value, extras: &mut Vec<UnknownField>) {
    let opens = ["text", "text.format", "reasoning"].contains(&field.as_str());
    let none_left = field == "include" && value.as_array().is_some_and(Vec::is_empty);
    if value.is_null() || none_left {
        return;
    }
    if opens && let Value::Object(inside) = value {
        for (key, value) in inside {
            split(format!("{field}.{key}"), value, extras);
        }
        return;
    }
    extras.push(UnknownField {
        matters: MATTERING.contains(&field.as_str()),
        field,
        value,
    });
}
