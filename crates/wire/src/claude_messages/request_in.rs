//! A request of this format, read into the canonical form. Both versions are read: the older one with `system` at
//! the top and sampling, the newer one with `system` as a role.

use serde_json::{Map, Value};

use super::OWN;
use super::blocks_in::{Place, Reading, placed};
use super::tools::{choice_in, tool_in};
use crate::canonical::{Conversation, OutputShape, Role, Sampling, Turn, UnknownField};
use crate::json_value::{get_str, take_number, take_string};
use crate::{Request, RequestError};

pub(crate) fn request_to_canonical(request: &Request) -> Result<Conversation, RequestError> {
    let mut body = request.tree()?;
    body.retain(|_, value| !value.is_null());
    let mut conversation = Conversation::new(OWN, &request.facts);
    let mut reading = Reading::of_caller();
    if let Some(system) = body.remove("system") {
        conversation.instructions = reading.content(system, &Place::of("system", &[]))?;
    }
    read_messages(&mut body, &mut conversation, &mut reading)?;
    conversation.extras = reading.extras;
    read_tools(&mut body, &mut conversation)?;
    read_reasoning(&mut body, &mut conversation);
    read_output(&mut body, &mut conversation);
    read_rest(&mut body, &mut conversation);
    conversation
        .extras
        .extend(body.into_iter().map(|(field, value)| extra(field, value)));
    Ok(conversation)
}

/// A field of this format alone. None of them changes what the response means: they are labels, flags of
/// the vendor's, and ways to cache.
fn extra(field: String, value: Value) -> UnknownField {
    UnknownField {
        field,
        value,
        matters: false,
    }
}

fn read_messages(
    body: &mut Map<String, Value>,
    conversation: &mut Conversation,
    reading: &mut Reading,
) -> Result<(), RequestError> {
    let Some(Value::Array(messages)) = body.remove("messages") else {
        let what = "`messages` must be a list";
        return Err(RequestError::invalid("messages", what));
    };
    for message in messages {
        let Value::Object(mut message) = message else {
            let what = "every message must be an object";
            return Err(RequestError::invalid("messages", what));
        };
        let role = match take_string(&mut message, "role").as_deref() {
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            Some("system") => Role::System,
            Some(other) => Role::Other(other.to_owned()),
            None => {
                let what = "every message needs a `role`";
                return Err(RequestError::invalid("messages.role", what));
            }
        };
        let content = message.remove("content").unwrap_or_default();
        // In the newer version, what stands before everything is a message as well.
        if role == Role::System && conversation.turns.is_empty() {
            let place = Place::of("system", &[]).behind(conversation.instructions.len());
            let mut blocks = reading.content(content, &place)?;
            conversation.instructions.append(&mut blocks);
            continue;
        }
        let number = conversation.turns.len();
        let blocks = reading.content(content, &Place::of("messages.content", &[number]))?;
        let place = Place::of("messages", &[number]);
        let rest = message.into_iter().filter(|(_, value)| !value.is_null());
        let rest = rest.map(|(key, value)| placed(&place, &key, value));
        reading.extras.extend(rest);
        conversation.turns.push(Turn::of(role, blocks));
    }
    Ok(())
}

fn read_tools(
    body: &mut Map<String, Value>,
    conversation: &mut Conversation,
) -> Result<(), RequestError> {
    let tools = match body.remove("tools") {
        Some(Value::Array(tools)) => tools,
        Some(_) => return Err(RequestError::invalid("tools", "`tools` must be a list")),
        None => Vec::new(),
    };
    for tool in tools {
        let Value::Object(tool) = tool else {
            let what = "every tool must be an object";
            return Err(RequestError::invalid("tools", what));
        };
        conversation.tools.push(tool_in(tool));
    }
    let choice = body.get("tool_choice").and_then(Value::as_object);
    if let Some((choice, parallel)) = choice.and_then(choice_in) {
        body.remove("tool_choice");
        conversation.tool_choice = Some(choice);
        conversation.parallel_tools = parallel;
    }
    Ok(())
}

/// How hard to think: `thinking`, and the effort inside `output_config`.
fn read_reasoning(body: &mut Map<String, Value>, conversation: &mut Conversation) {
    let reasoning = &mut conversation.reasoning;
    if let Some(Value::Object(mut thinking)) = body.remove("thinking") {
        let known = match get_str(&thinking, "type") {
            Some("disabled") => {
                reasoning.off = true;
                true
            }
            Some("adaptive") => {
                reasoning.adaptive = true;
                true
            }
            Some("enabled") => {
                reasoning.budget = thinking.get("budget_tokens").and_then(Value::as_u64);
                reasoning.budget.is_some()
            }
            Some(_) | None => false,
        };
        if known {
            thinking.remove("type");
            thinking.remove("budget_tokens");
            reasoning.summary = take_string(&mut thinking, "display");
            // With a budget, thoughts are shown unless the caller says otherwise.
            let usual = reasoning.budget.map(|_| true);
            let explicit = reasoning.summary.as_ref().map(|word| word != "omitted");
            reasoning.visible = explicit.or(usual);
            leave_over(thinking, "thinking", &mut conversation.extras);
        } else {
            let field = "thinking".to_owned();
            conversation
                .extras
                .push(extra(field, Value::Object(thinking)));
        }
    }
    if let Some(Value::Object(config)) = body.get_mut("output_config") {
        conversation.reasoning.effort = take_string(config, "effort");
    }
}

/// What shape the response has, under its name of today or that of the beta.
fn read_output(body: &mut Map<String, Value>, conversation: &mut Conversation) {
    if let Some(shape) = body.get("output_format").and_then(shape_of) {
        conversation.output = shape;
        body.remove("output_format");
    }
    let Some(Value::Object(mut config)) = body.remove("output_config") else {
        return;
    };
    if let Some(shape) = config.get("format").and_then(shape_of) {
        conversation.output = shape;
        config.remove("format");
    }
    leave_over(config, "output_config", &mut conversation.extras);
}

fn shape_of(format: &Value) -> Option<OutputShape> {
    let format = format.as_object()?;
    let only_schema = format.keys().all(|key| key == "type" || key == "schema");
    let is_schema = get_str(format, "type") == Some("json_schema") && only_schema;
    let schema = format.get("schema").filter(|_| is_schema)?;
    Some(OutputShape::Schema {
        name: None,
        description: None,
        schema: schema.clone(),
        strict: None,
    })
}

fn read_rest(body: &mut Map<String, Value>, conversation: &mut Conversation) {
    for read in ["model", "stream", "max_tokens"] {
        body.remove(read);
    }
    conversation.sampling = Sampling {
        temperature: take_number(body, "temperature"),
        top_p: take_number(body, "top_p"),
        top_k: take_number(body, "top_k"),
        ..Sampling::default()
    };
    if let Some(Value::Array(list)) = body.remove("stop_sequences") {
        let texts = list.into_iter().filter_map(|text| match text {
            Value::String(text) => Some(text),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Array(_)
            | Value::Object(_) => None,
        });
        conversation.stop = texts.collect();
    }
    conversation.service_tier = take_string(body, "service_tier");
    if let Some(Value::Object(mut metadata)) = body.remove("metadata") {
        conversation.user = take_string(&mut metadata, "user_id");
        leave_over(metadata, "metadata", &mut conversation.extras);
    }
}

/// Keys inside a field that have no place in the canonical form.
fn leave_over(map: Map<String, Value>, field: &str, extras: &mut Vec<UnknownField>) {
    let rest = map.into_iter().filter(|(_, value)| !value.is_null());
    extras.extend(rest.map(|(key, value)| extra(format!("{field}.{key}"), value)));
}
