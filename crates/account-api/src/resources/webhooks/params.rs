//! What a customer says of a webhook. Pure.

use std::time::Duration;

use serde_json::{Map, Value};
use trunkline_edge::error::{ApiError, ErrorCode};
use trunkline_types::Topic;
use trunkline_wire::scan;

/// Characters of a description.
const MAX_DESCRIPTION: usize = 200;
/// Longest time that an old secret may sign beside a new one: a week.
const MAX_OVERLAP_SECONDS: u64 = 604_800;

/// Fields of a webhook that were given; the inner none is a `null`, which takes them away.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct WebhookParams {
    pub(super) url: Option<String>,
    pub(super) topics: Option<Option<Vec<String>>>,
    pub(super) description: Option<Option<String>>,
}

impl WebhookParams {
    pub(super) fn read(body: &[u8]) -> Result<Self, ApiError> {
        let mut params = Self::default();
        for (name, value) in object(body)? {
            match name.as_str() {
                "url" => params.url = Some(text("url", value)?),
                "topics" if value.is_null() => params.topics = Some(None),
                "topics" => params.topics = Some(Some(topics(value)?)),
                "description" if value.is_null() => params.description = Some(None),
                "description" => params.description = Some(description(value)?),
                other => return Err(unknown(other, "url, topics, description")),
            }
        }
        Ok(params)
    }
}

/// How long the old secret is to sign; none if nothing was said.
pub(super) fn overlap_of(body: &[u8]) -> Result<Option<Duration>, ApiError> {
    let mut overlap = None;
    for (name, value) in object_or_nothing(body)? {
        if name != "overlap_seconds" {
            return Err(unknown(&name, "overlap_seconds"));
        }
        let seconds = value
            .as_u64()
            .filter(|seconds| *seconds <= MAX_OVERLAP_SECONDS);
        let seconds = seconds.ok_or_else(|| {
            let text =
                format!("`overlap_seconds` must be a whole number from 0 to {MAX_OVERLAP_SECONDS}");
            invalid("overlap_seconds", text)
        })?;
        overlap = Some(Duration::from_secs(seconds));
    }
    Ok(overlap)
}

/// A body that says nothing.
pub(super) fn nothing(body: &[u8]) -> Result<(), ApiError> {
    match object_or_nothing(body)?.keys().next() {
        Some(name) => Err(unknown(name, "no fields")),
        None => Ok(()),
    }
}

fn object_or_nothing(body: &[u8]) -> Result<Map<String, Value>, ApiError> {
    if body.is_empty() {
        return Ok(Map::new());
    }
    object(body)
}

fn object(body: &[u8]) -> Result<Map<String, Value>, ApiError> {
    // Duplicate keys are refused here as everywhere.
    scan(body).map_err(|error| invalid("body", error.to_string()))?;
    serde_json::from_slice(body)
        .map_err(|_| invalid("body", "the body must be a JSON object".to_owned()))
}

fn text(name: &str, value: Value) -> Result<String, ApiError> {
    match value {
        Value::String(text) => Ok(text),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            Err(invalid(name, format!("`{name}` must be a string")))
        }
    }
}

/// An empty one is none.
fn description(value: Value) -> Result<Option<String>, ApiError> {
    let text = text("description", value)?;
    if text.chars().count() > MAX_DESCRIPTION {
        let why = format!("`description` may have {MAX_DESCRIPTION} characters");
        return Err(invalid("description", why));
    }
    if text.chars().any(char::is_control) {
        let why = "`description` must be one line without control characters".to_owned();
        return Err(invalid("description", why));
    }
    Ok((!text.is_empty()).then_some(text))
}

/// Topics of the list, each once.
fn topics(value: Value) -> Result<Vec<String>, ApiError> {
    let wrong = || {
        let why = "`topics` must be a non-empty list; omit it or send null for all topics";
        invalid("topics", why.to_owned())
    };
    let Value::Array(list) = value else {
        return Err(wrong());
    };
    if list.is_empty() || list.len() > Topic::ALL.len() {
        return Err(wrong());
    }
    let mut topics = Vec::new();
    for value in list {
        let name = text("topics", value)?;
        let topic: Topic = name
            .parse()
            .map_err(|error: trunkline_types::UnknownName| invalid("topics", error.to_string()))?;
        if !topic.is_stored() {
            let why = format!("{topic} is only sent as a live event; see GET /v1/events");
            return Err(invalid("topics", why));
        }
        if !topics.contains(&name) {
            topics.push(name);
        }
    }
    Ok(topics)
}

fn unknown(name: &str, known: &str) -> ApiError {
    let short: String = name.chars().take(64).collect();
    let text = format!("unknown field {short:?}; fields: {known}");
    ApiError::new(ErrorCode::Invalid("unknown_parameter"), text).at(&short)
}

fn invalid(param: &str, text: String) -> ApiError {
    ApiError::new(ErrorCode::Invalid("invalid_request"), text).at(param)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(body: &str) -> String {
        WebhookParams::read(body.as_bytes())
            .unwrap_err()
            .kind
            .code()
            .to_owned()
    }

    #[test]
    fn what_is_left_out_stays_and_null_takes_away() {
        let params = WebhookParams::read(br#"{"topics": null, "description": ""}"#).unwrap();
        assert_eq!(params.url, None);
        assert_eq!(params.topics, Some(None));
        assert_eq!(params.description, Some(None));
        assert_eq!(
            WebhookParams::read(b"{}").unwrap(),
            WebhookParams::default()
        );
    }

    #[test]
    fn topics_are_words_of_the_list_that_are_kept() {
        let body = br#"{"topics": ["task.completed", "task.failed", "task.completed"]}"#;
        let params = WebhookParams::read(body).unwrap();
        let expected = ["task.completed", "task.failed"].map(str::to_owned);
        assert_eq!(params.topics, Some(Some(expected.to_vec())));
        for body in [
            r#"{"topics": []}"#,
            r#"{"topics": "task.failed"}"#,
            r#"{"topics": ["task.cancelled"]}"#,
            r#"{"topics": ["task.progress"]}"#,
            r#"{"topics": [1]}"#,
            r#"{"url": 1}"#,
            r#"{"description": "a\nb"}"#,
            r#"{"url": "a", "url": "b"}"#,
            "[]",
            "",
            "nothing",
        ] {
            assert_eq!(code(body), "invalid_request", "{body}");
        }
        let long = format!(r#"{{"description": "{}"}}"#, "ü".repeat(MAX_DESCRIPTION));
        assert!(WebhookParams::read(long.as_bytes()).is_ok());
        let longer = long.replace("\"}", "ü\"}");
        assert_eq!(code(&longer), "invalid_request");
        assert_eq!(code(r#"{"uri": "a"}"#), "unknown_parameter");
    }

    #[test]
    fn an_overlap_has_its_edge_where_it_is_said() {
        assert_eq!(overlap_of(b"").unwrap(), None);
        let week = overlap_of(br#"{"overlap_seconds": 604800}"#).unwrap();
        assert_eq!(week, Some(Duration::from_secs(604_800)));
        let none = overlap_of(br#"{"overlap_seconds": 0}"#).unwrap();
        assert_eq!(none, Some(Duration::ZERO));
        for body in [
            r#"{"overlap_seconds": 604801}"#,
            r#"{"overlap_seconds": -1}"#,
            r#"{"overlap": 1}"#,
        ] {
            assert!(overlap_of(body.as_bytes()).is_err(), "{body}");
        }
        assert!(nothing(b"").is_ok() && nothing(b"{}").is_ok());
        assert!(nothing(br#"{"a": 1}"#).is_err());
    }
}
