//! How the response is to be made, read into the canonical form.

use serde_json::{Map, Number, Value};

use super::key_case::take;
use super::parts_in::text_of;
use super::request_scan::effort_of_level;
use super::schema::json_schema;
use crate::RequestError;
use crate::canonical::{Conversation, OutputShape, Reasoning, UnknownField};

/// The type of a response in JSON.
pub(super) const JSON: &str = "application/json";
/// Fields without which the response has another shape.
const MATTERS: [&str; 3] = ["responseMimeType", "responseSchema", "responseJsonSchema"];

/// Reads `generationConfig`. What has no place in the canonical form stays an extra.
pub(super) fn read_config(
    config: Value,
    conversation: &mut Conversation,
) -> Result<(), RequestError> {
    let Value::Object(mut config) = config else {
        let what = "`generationConfig` must be an object";
        return Err(RequestError::invalid("generationConfig", what));
    };
    let sampling = &mut conversation.sampling;
    let mut number = |key: &str| number_of(take(&mut config, key));
    sampling.temperature = number("temperature");
    sampling.top_p = number("topP");
    sampling.top_k = number("topK");
    sampling.seed = number("seed");
    sampling.presence_penalty = number("presencePenalty");
    sampling.frequency_penalty = number("frequencyPenalty");
    // These two were read for the price.
    take(&mut config, "maxOutputTokens");
    take(&mut config, "candidateCount");
    if let Some(Value::Array(stop)) = take(&mut config, "stopSequences") {
        let texts = stop.into_iter().filter_map(|text| text_of(Some(text)));
        conversation.stop = texts.collect();
    }
    conversation.output = read_output(&mut config);
    if let Some(Value::Object(thinking)) = take(&mut config, "thinkingConfig") {
        let rest = read_thinking(thinking, &mut conversation.reasoning);
        let rest = rest.into_iter();
        let path = |key: &str| format!("generationConfig.thinkingConfig.{key}");
        conversation
            .extras
            .extend(rest.map(|(key, value)| UnknownField {
                field: path(&key),
                value,
                matters: false,
            }));
    }
    let rest = config.into_iter().filter(|(_, value)| !value.is_null());
    conversation
        .extras
        .extend(rest.map(|(key, value)| UnknownField {
            // Words are what all answer in.
            matters: MATTERS.contains(&key.as_str()) && value != "text/plain",
            field: format!("generationConfig.{key}"),
            value,
        }));
    Ok(())
}

/// What shape the response has. A type that is not JSON stays where it is, with its schema.
fn read_output(config: &mut Map<String, Value>) -> OutputShape {
    let mime = super::key_case::look(config, "responseMimeType");
    let mime = mime.and_then(Value::as_str).map(ToOwned::to_owned);
    if mime.as_deref().is_some_and(|mime| mime != JSON) {
        return OutputShape::Text;
    }
    take(config, "responseMimeType");
    let openapi = take(config, "responseSchema").map(json_schema);
    let inner = take(config, "_responseJsonSchema");
    let schema = take(config, "responseJsonSchema").or(inner).or(openapi);
    match (schema, mime) {
        (Some(schema), _) => OutputShape::Schema {
            name: None,
            description: None,
            schema,
            strict: None,
        },
        (None, Some(_)) => OutputShape::Json,
        (None, None) => OutputShape::Text,
    }
}

fn read_thinking(
    mut thinking: Map<String, Value>,
    reasoning: &mut Reasoning,
) -> Map<String, Value> {
    let visible = take(&mut thinking, "includeThoughts");
    reasoning.visible = visible.as_ref().and_then(Value::as_bool);
    let budget = take(&mut thinking, "thinkingBudget");
    match budget.as_ref().and_then(Value::as_i64) {
        Some(0) => reasoning.off = true,
        Some(tokens) if tokens < 0 => reasoning.adaptive = true,
        Some(tokens) => reasoning.budget = u64::try_from(tokens).ok(),
        None => {}
    }
    let level = text_of(take(&mut thinking, "thinkingLevel"));
    reasoning.effort = level.and_then(|level| effort_of_level(&level));
    thinking
}

fn number_of(value: Option<Value>) -> Option<Number> {
    match value {
        Some(Value::Number(number)) => Some(number),
        Some(
            Value::Null | Value::Bool(_) | Value::String(_) | Value::Array(_) | Value::Object(_),
        )
        | None => None,
    }
}
