//! The response object: it repeats what was asked, with the vendor's own defaults.

use serde_json::{Map, Value, json};

use crate::ResponseMeta;
use crate::canonical::{ReportedUsage, Stop};

use super::usage::write_usage;

/// What a response's id begins with.
const PREFIX: &str = "resp_";

/// Fields that repeat the request, and the vendor's defaults where the request has none.
fn defaults() -> Vec<(&'static str, Value)> {
    vec![
        ("instructions", Value::Null),
        ("max_output_tokens", Value::Null),
        ("max_tool_calls", Value::Null),
        ("metadata", json!({})),
        ("parallel_tool_calls", json!(true)),
        ("previous_response_id", Value::Null),
        ("prompt_cache_key", Value::Null),
        ("safety_identifier", Value::Null),
        ("service_tier", json!("default")),
        ("temperature", json!(1.0)),
        ("tool_choice", json!("auto")),
        ("tools", json!([])),
        ("top_logprobs", json!(0)),
        ("top_p", json!(1.0)),
        ("truncation", json!("disabled")),
        ("user", Value::Null),
    ]
}

/// The name of a response.
pub(super) fn response_id(meta: &ResponseMeta) -> String {
    if meta.id.starts_with(PREFIX) {
        return meta.id.clone();
    }
    format!("{PREFIX}{}", meta.id)
}

/// The name of an item of a response.
pub(super) fn item_id(meta: &ResponseMeta, prefix: &str, number: usize) -> String {
    let base = meta.id.strip_prefix(PREFIX).unwrap_or(&meta.id);
    format!("{prefix}_{base}_{number}")
}

/// A response that is under way, without anything in it.
pub(super) fn begun(meta: &ResponseMeta) -> Map<String, Value> {
    let nothing = Map::new();
    let request = meta.request_body.as_ref().unwrap_or(&nothing);
    let field_of = |field: &str| request.get(field).filter(|value| !value.is_null()).cloned();
    let mut response = Map::new();
    for (field, default) in defaults() {
        response.insert(field.to_owned(), field_of(field).unwrap_or(default));
    }
    let reasoning = field_of("reasoning").unwrap_or_default();
    let thinks = |key: &str| reasoning.get(key).cloned().unwrap_or_default();
    response.insert(
        "reasoning".to_owned(),
        json!({ "effort": thinks("effort"), "summary": thinks("summary") }),
    );
    let mut text = field_of("text").unwrap_or_default();
    if !text.is_object() {
        text = json!({});
    }
    if let Some(text) = text.as_object_mut() {
        let plain = || json!({ "type": "text" });
        text.entry("format").or_insert_with(plain);
    }
    response.insert("text".to_owned(), text);
    for (field, value) in [
        ("id", json!(response_id(meta))),
        ("object", json!("response")),
        ("created_at", json!(meta.created)),
        ("status", json!("in_progress")),
        ("background", json!(false)),
        ("error", Value::Null),
        ("incomplete_details", Value::Null),
        ("model", json!(meta.model)),
        ("output", json!([])),
        // What was translated is kept nowhere.
        ("store", json!(false)),
        ("usage", Value::Null),
    ] {
        response.insert(field.to_owned(), value);
    }
    response
}

/// Makes a response one that has ended. Gives the name of the event that says so.
pub(super) fn end(
    response: &mut Map<String, Value>,
    output: Vec<Value>,
    reported: Option<&ReportedUsage>,
    cut: Option<&str>,
) -> &'static str {
    let status = if cut.is_some() {
        "incomplete"
    } else {
        "completed"
    };
    response.insert("status".to_owned(), json!(status));
    let details = cut.map_or(Value::Null, |reason| json!({ "reason": reason }));
    response.insert("incomplete_details".to_owned(), details);
    response.insert("output".to_owned(), Value::Array(output));
    let usage = reported.map_or(Value::Null, write_usage);
    response.insert("usage".to_owned(), usage);
    if cut.is_some() {
        "response.incomplete"
    } else {
        "response.completed"
    }
}

/// Why a response is not complete; none if it is.
pub(super) const fn cut_by(stop: &Stop) -> Option<&'static str> {
    match stop {
        Stop::Length | Stop::ContextFull => Some("max_output_tokens"),
        Stop::Filtered => Some("content_filter"),
        Stop::End
        | Stop::ToolUse
        | Stop::Sequence(_)
        | Stop::Refused
        | Stop::Paused
        | Stop::Other(_) => None,
    }
}

/// The same of a response as it is written. A model that would not answer says so in a part of its own;
/// where an upstream has only a word for it, the response must not look complete.
pub(super) fn cut_of(stop: &Stop, output: &[Value]) -> Option<&'static str> {
    if *stop == Stop::Refused && !output.iter().any(says_no) {
        return cut_by(&Stop::Filtered);
    }
    cut_by(stop)
}

fn says_no(item: &Value) -> bool {
    let parts = item.get("content").and_then(Value::as_array);
    let is_refusal = |part: &Value| part.get("type").is_some_and(|kind| kind == "refusal");
    parts.is_some_and(|parts| parts.iter().any(is_refusal))
}
