//! A conversation written as a request of this format.

use serde_json::{Map, Number, Value, json};

use super::OWN;
use super::blocks_out::{Side, Writing, content_of, place_of};
use super::reasoning::{Thoughts, reasoning_out};
use super::tools::{choice_out, rule, tools_out};
use super::turns_out::{is_unsigned, messages_out};
use crate::canonical::{
    Conversation, Notes, OutputShape, Role, Target, TranslationState, Turn, Written,
};
use crate::json_bytes;
use crate::json_value::set_at;

/// Asks for JSON where there is no schema that could ask for it.
const ASK_FOR_JSON: &str = "Answer with one JSON object and nothing else.";
/// The least share of words that may be left to draw from while a model thinks, in hundredths.
const LEAST_TOP_P_WHILE_THINKING: f64 = 0.95;

pub(crate) fn request_from_canonical(conversation: &Conversation, target: &Target<'_>) -> Written {
    let state = TranslationState::new(rule(conversation.from), &conversation.tools);
    let mut writing = Writing::new(conversation, target.channel, &state);
    let mut system = system_out(conversation, &mut writing);
    let mut messages = messages_out(conversation, &mut writing);
    let mut notes = writing.notes;
    if messages.is_empty() {
        begin(&mut messages, &mut system, &mut notes);
    }
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(target.model));
    if let Some(tokens) = target.max_output.or(conversation.max_output) {
        body.insert("max_tokens".to_owned(), json!(tokens));
    }
    let unsigned = is_unsigned(&messages);
    let thoughts = reasoning_out(conversation, target, unsigned, &mut notes);
    sampling_out(conversation, &thoughts, &mut body, &mut notes);
    output_out(conversation, &thoughts, &mut system, &mut body, &mut notes);
    if let Some(thinking) = thoughts.thinking {
        body.insert("thinking".to_owned(), Value::Object(thinking));
    }
    if !system.is_empty() {
        body.insert("system".to_owned(), content_of(system));
    }
    body.insert("messages".to_owned(), Value::Array(messages));
    let tools = tools_out(conversation, &state, &mut notes);
    if !tools.is_empty() {
        body.insert("tools".to_owned(), Value::Array(tools));
    }
    // A choice without anything to choose from is an error.
    if body.contains_key("tools") || conversation.from == OWN {
        let choice = choice_out(conversation, &state, &mut notes);
        body.extend(choice.map(|choice| ("tool_choice".to_owned(), choice)));
    }
    rest_out(conversation, &mut body, &mut notes);
    extras_out(conversation, &mut body, &mut notes);
    Written {
        body: json_bytes(&Value::Object(body)),
        notes,
        state,
    }
}

/// Instructions that another format says as turns before all others.
pub(super) fn system_ahead(conversation: &Conversation) -> &[Turn] {
    let turns = conversation.turns.as_slice();
    let is_ahead = |turn: &Turn| turn.role == Role::System && conversation.from != OWN;
    let first = turns.iter().position(|turn| !is_ahead(turn));
    turns
        .get(..first.unwrap_or(turns.len()))
        .unwrap_or_default()
}

fn system_out(conversation: &Conversation, writing: &mut Writing<'_>) -> Vec<Value> {
    let mut system = Vec::new();
    let ahead = system_ahead(conversation)
        .iter()
        .flat_map(|turn| &turn.blocks);
    for (place, block) in conversation.instructions.iter().chain(ahead).enumerate() {
        system.extend(writing.block(block, Side::System, "system", &[place]));
    }
    system
}

/// A conversation of instructions alone: they are what is said.
fn begin(messages: &mut Vec<Value>, system: &mut Vec<Value>, notes: &mut Notes) {
    let field = "messages";
    if system.is_empty() {
        notes.refused(field, "there is nothing in it that the model could answer");
        return;
    }
    notes.approximated(field, "instructions alone are sent as what the user says");
    let content = content_of(std::mem::take(system));
    messages.push(json!({ "role": "user", "content": content }));
}

fn sampling_out(
    conversation: &Conversation,
    thoughts: &Thoughts,
    body: &mut Map<String, Value>,
    notes: &mut Notes,
) {
    let is_own = conversation.from == OWN;
    let sampling = &conversation.sampling;
    let fixed = thoughts.on && !is_own;
    let at_most_one = |number: &Number| number.as_f64().is_none_or(|number| number <= 1.0);
    match &sampling.temperature {
        Some(_) if fixed => {
            let why = "a model that thinks draws its words in one way";
            notes.dropped("temperature", why);
        }
        Some(number) if is_own || at_most_one(number) => {
            body.insert("temperature".to_owned(), json!(number));
        }
        Some(_) => {
            let why = "it ends at 1";
            notes.approximated("temperature", why);
            body.insert("temperature".to_owned(), json!(1));
        }
        None => {}
    }
    let high = |number: &Number| {
        let number = number.as_f64();
        number.is_some_and(|number| number >= LEAST_TOP_P_WHILE_THINKING)
    };
    match &sampling.top_p {
        Some(number) if is_own => {
            body.insert("top_p".to_owned(), json!(number));
        }
        Some(number) if fixed && !high(number) => {
            let why = "a model that thinks draws its words in one way";
            notes.dropped("top_p", why);
        }
        Some(_) if body.contains_key("temperature") => {
            let why = "newer models take `temperature` or `top_p`, not both";
            notes.dropped("top_p", why);
        }
        Some(number) => {
            body.insert("top_p".to_owned(), json!(number));
        }
        None => {}
    }
    match &sampling.top_k {
        Some(_) if fixed => {
            let why = "a model that thinks draws its words in one way";
            notes.dropped("top_k", why);
        }
        Some(number) => {
            body.insert("top_k".to_owned(), json!(number));
        }
        None => {}
    }
    for (number, field) in [
        (&sampling.seed, "seed"),
        (&sampling.presence_penalty, "presence_penalty"),
        (&sampling.frequency_penalty, "frequency_penalty"),
    ] {
        if number.is_some() {
            notes.dropped(field, "the format has no word for it");
        }
    }
}

/// What shape the response has, and the effort that stands beside it.
fn output_out(
    conversation: &Conversation,
    thoughts: &Thoughts,
    system: &mut Vec<Value>,
    body: &mut Map<String, Value>,
    notes: &mut Notes,
) {
    let mut config = Map::new();
    if let Some(effort) = &thoughts.effort {
        config.insert("effort".to_owned(), json!(effort));
    }
    let field = "response_format";
    match &conversation.output {
        OutputShape::Text => {}
        OutputShape::Json => {
            let why = "there is no JSON without a schema; the instructions ask for it";
            notes.approximated(field, why);
            system.push(json!({ "type": "text", "text": ASK_FOR_JSON }));
        }
        OutputShape::Schema {
            description,
            schema,
            ..
        } => {
            let mut schema = schema.clone();
            if conversation.from != OWN {
                if let (Some(words), Some(schema)) = (description, schema.as_object_mut()) {
                    schema.entry("description").or_insert_with(|| json!(words));
                }
                if close_objects(&mut schema) {
                    let why = "objects of the schema may have no further members";
                    notes.approximated(field, why);
                }
            }
            let format = json!({ "type": "json_schema", "schema": schema });
            config.insert("format".to_owned(), format);
        }
    }
    if !config.is_empty() {
        body.insert("output_config".to_owned(), Value::Object(config));
    }
}

/// Every object of a schema must say that it has no other members. The flag says that one did not.
fn close_objects(schema: &mut Value) -> bool {
    match schema {
        Value::Object(map) => {
            let mut changed = false;
            if map.get("type") == Some(&json!("object"))
                && map.get("additionalProperties") != Some(&Value::Bool(false))
            {
                map.insert("additionalProperties".to_owned(), Value::Bool(false));
                changed = true;
            }
            for inside in map.values_mut() {
                changed |= close_objects(inside);
            }
            changed
        }
        Value::Array(list) => {
            let mut changed = false;
            for inside in list {
                changed |= close_objects(inside);
            }
            changed
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn rest_out(conversation: &Conversation, body: &mut Map<String, Value>, notes: &mut Notes) {
    let is_own = conversation.from == OWN;
    let blank = |text: &&String| is_own || !text.trim().is_empty();
    let stop: Vec<&String> = conversation.stop.iter().filter(blank).collect();
    if stop.len() < conversation.stop.len() {
        notes.dropped("stop", "a text that ends it must not be blank");
    }
    if !stop.is_empty() {
        body.insert("stop_sequences".to_owned(), json!(stop));
    }
    if conversation.stream {
        body.insert("stream".to_owned(), Value::Bool(true));
    }
    if conversation.choices > 1 {
        notes.refused("n", "there is one answer to a request");
    }
    if let Some(user) = &conversation.user {
        body.insert("metadata".to_owned(), json!({ "user_id": user }));
    }
    match conversation.service_tier.as_deref() {
        Some(own @ ("auto" | "standard_only")) => {
            body.insert("service_tier".to_owned(), json!(own));
        }
        Some("default" | "standard") => {
            body.insert("service_tier".to_owned(), json!("standard_only"));
        }
        Some(other) if is_own => {
            body.insert("service_tier".to_owned(), json!(other));
        }
        Some(_) => notes.dropped("service_tier", "the vendor does not sell this tier"),
        None => {}
    }
    if conversation.cache_key.is_some() {
        let why = "what is cached is marked in the conversation itself";
        notes.dropped("prompt_cache_key", why);
    }
    if conversation.verbosity.is_some() {
        notes.dropped("verbosity", "the format has no word for it");
    }
    if conversation.metadata.is_some() {
        notes.dropped("metadata", "the format keeps no notes of the caller's");
    }
}

/// Fields of one format alone: its own are written back, those of another are noted.
fn extras_out(conversation: &Conversation, body: &mut Map<String, Value>, notes: &mut Notes) {
    for extra in &conversation.extras {
        if conversation.from != OWN {
            notes.unknown_field(extra, "the format has no word for it");
        } else if place_of(&extra.field, &extra.value).is_none() {
            set_at(body, &extra.field, extra.value.clone());
        }
    }
}
