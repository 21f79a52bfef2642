//! The request that a run of a workflow is: its inputs, checked, and put into the fields that the runtime binding
//! maps them to.
//!
//! `request_field_map` has one entry for each input that is sent: the input's id, and the field. A field is a path
//! such as `prompt`, `metadata.duration` or `messages[0].content`; `{"field": "seconds", "as": "string"}` sends a
//! value as text. An entry whose key is no input is a field of its own with a fixed value: `{"value": …}`.

use serde_json::{Map, Value};

use super::record::{Input, InputType, RuntimeBinding};
use super::{NotRunnable, Workflow, may_run};
use crate::RequestError;

/// Longest list that a path of the map can fill.
const MAX_INDEX: usize = 63;
/// Most parts of a path.
const MAX_PARTS: usize = 16;
/// The field that `model_ids` alone decide.
const MODEL: &str = "model";

/// Why a run has no request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The workflow may not be run.
    #[error(transparent)]
    NotRunnable(#[from] NotRunnable),
    /// Its binding is verified and cannot be followed.
    #[error("its runtime binding cannot be followed: {0}")]
    Binding(String),
    /// What the caller sent is wrong.
    #[error(transparent)]
    Input(#[from] RequestError),
}

/// A step of a path into a request.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Key(String),
    Index(usize),
}

/// The body of the operation's request.
pub fn request_body(
    workflow: &Workflow,
    model: Option<&str>,
    inputs: &Map<String, Value>,
) -> Result<Value, RunError> {
    may_run(workflow)?;
    let record = workflow.record();
    let binding = &record.runtime_binding;
    let mut body = Value::Object(Map::new());
    for (key, mapping) in &binding.request_field_map {
        if record.inputs.iter().any(|input| input.id == *key) {
            continue;
        }
        let Some(value) = mapping.get("value") else {
            let text = format!(
                "{key:?} in request_field_map is neither an input nor a field with a value"
            );
            return Err(RunError::Binding(text));
        };
        put(&mut body, key, value.clone())?;
    }
    for name in inputs.keys() {
        if !record.inputs.iter().any(|input| input.id == *name) {
            let known: Vec<&str> = record
                .inputs
                .iter()
                .map(|input| input.id.as_str())
                .collect();
            let text = format!("this workflow has no input {name:?}");
            let fix = format!("its inputs are {}", known.join(", "));
            return Err(RequestError::invalid(param(name), text)
                .with_fix(fix)
                .into());
        }
    }
    for input in &record.inputs {
        if let Some(value) = value_of(input, inputs.get(&input.id))? {
            let (field, value) = field_of(binding, input, value)?;
            put(&mut body, &field, value)?;
        }
    }
    put(&mut body, MODEL, Value::String(model_of(binding, model)?))?;
    Ok(body)
}

/// The model that runs it: the caller's choice of those it is bound to, or the first of them.
fn model_of(binding: &RuntimeBinding, choice: Option<&str>) -> Result<String, RunError> {
    let Some(choice) = choice else {
        let first = binding.model_ids.first().cloned();
        return first.ok_or_else(|| RunError::Binding("model_ids is empty".to_owned()));
    };
    if binding.model_ids.iter().any(|model| model == choice) {
        return Ok(choice.to_owned());
    }
    let text = format!("this workflow does not run on {choice:?}");
    let fix = format!("it runs on {}", binding.model_ids.join(", "));
    Err(RequestError::invalid(MODEL, text).with_fix(fix).into())
}

/// The value of an input: what was sent, or its default; none if it is left out.
fn value_of(input: &Input, sent: Option<&Value>) -> Result<Option<Value>, RequestError> {
    let value = match sent {
        Some(value) if !value.is_null() => value,
        Some(_) | None if !input.default.is_null() => &input.default,
        Some(_) | None if input.required => {
            let text = format!("the input {:?} is required", input.id);
            return Err(RequestError::invalid(param(&input.id), text));
        }
        Some(_) | None => return Ok(None),
    };
    let (fits, kind) = match input.kind {
        InputType::Asset => (is_text(value), "a link to a file"),
        InputType::String => (value.is_string(), "text"),
        InputType::Enum => (value.is_string(), "one of its values"),
        InputType::Boolean => (value.is_boolean(), "true or false"),
        InputType::Integer => (value.is_i64() || value.is_u64(), "a whole number"),
    };
    if !fits {
        let text = format!("the input {:?} must be {kind}", input.id);
        return Err(RequestError::invalid(param(&input.id), text));
    }
    if !input.allowed_values.is_empty() && !input.allowed_values.contains(value) {
        let allowed: Vec<String> = input.allowed_values.iter().map(Value::to_string).collect();
        let text = format!("the input {:?} cannot be {value}", input.id);
        let fix = format!("it can be {}", allowed.join(", "));
        return Err(RequestError::invalid(param(&input.id), text).with_fix(fix));
    }
    Ok(Some(value.clone()))
}

fn is_text(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.is_empty())
}

/// The field of an input, and its value as it is sent there.
fn field_of(
    binding: &RuntimeBinding,
    input: &Input,
    value: Value,
) -> Result<(String, Value), RunError> {
    let unimplemented = &binding.known_unimplemented_fields;
    let mapping = binding
        .request_field_map
        .get(&input.id)
        .filter(|_| !unimplemented.contains(&input.id));
    match mapping {
        Some(Value::String(field)) => Ok((field.clone(), value)),
        Some(Value::Object(mapping)) => {
            let field = mapping.get("field").and_then(Value::as_str);
            let text = match mapping.get("as").map(Value::as_str) {
                None => Some(false),
                Some(Some("string")) => Some(true),
                Some(Some(_) | None) => None,
            };
            let (Some(field), Some(as_text)) = (field, text) else {
                return Err(unreadable(&input.id));
            };
            let value = if as_text && !value.is_string() {
                Value::String(value.to_string())
            } else {
                value
            };
            Ok((field.to_owned(), value))
        }
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_)) => {
            Err(unreadable(&input.id))
        }
        None => {
            let text = format!("the input {:?} is not implemented", input.id);
            Err(RequestError::invalid(param(&input.id), text)
                .with_fix("leave it out")
                .into())
        }
    }
}

fn unreadable(input: &str) -> RunError {
    RunError::Binding(format!(
        "request_field_map names no field for the input {input:?}"
    ))
}

/// Puts a value at a path. Nothing is put twice, and `model` is decided elsewhere.
fn put(body: &mut Value, path: &str, value: Value) -> Result<(), RunError> {
    let wrong = || RunError::Binding(format!("{path:?} is no field of a request"));
    let taken = || RunError::Binding(format!("the field {path:?} would be sent twice"));
    let mut place = body;
    for part in parts(path).ok_or_else(wrong)? {
        place = match part {
            Part::Key(key) => {
                if place.is_null() {
                    *place = Value::Object(Map::new());
                }
                let fields = place.as_object_mut().ok_or_else(taken)?;
                fields.entry(key).or_insert(Value::Null)
            }
            Part::Index(index) => {
                if place.is_null() {
                    *place = Value::Array(Vec::new());
                }
                let items = place.as_array_mut().ok_or_else(taken)?;
                if items.len() <= index {
                    items.resize(index.saturating_add(1), Value::Null);
                }
                items.get_mut(index).ok_or_else(wrong)?
            }
        };
    }
    if !place.is_null() {
        return Err(taken());
    }
    *place = value;
    Ok(())
}

/// The parts of a path; none if it is none.
fn parts(path: &str) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    for name in path.split('.') {
        let (key, mut rest) = match name.find('[') {
            Some(at) => name.split_at_checked(at)?,
            None => (name, ""),
        };
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        if key.is_empty() || !key.bytes().all(legal) {
            return None;
        }
        parts.push(Part::Key(key.to_owned()));
        while !rest.is_empty() {
            let (number, behind) = rest.strip_prefix('[')?.split_once(']')?;
            let index: usize = number.parse().ok()?;
            parts.push((index <= MAX_INDEX).then_some(Part::Index(index))?);
            rest = behind;
        }
    }
    (parts.len() <= MAX_PARTS).then_some(parts)
}

fn param(input: &str) -> String {
    let input: String = input.chars().take(100).collect();
    format!("inputs.{input}")
}
