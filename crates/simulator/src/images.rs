//! Makers of pictures that answer in one call: what all of them share. A vendor's file reads a request
//! and says in its words what came of it; the way between is `making`, the same for all.
//!
//! Pictures are real files of the asked size, made by `png` and `jpeg`.

mod ark;
mod dashscope;
mod directives;
mod form;
mod generate;
mod input_images;
mod links;
mod minimax;
mod openai;
mod request;

use serde_json::{Map, Value};

use crate::recorded_request::RecordedRequest;
use crate::video::Taken;
use directives::ImageDirectives;

/// The longest text that a record keeps.
const MAX_KEPT_TEXT: usize = 2_048;

/// Asks each vendor whether a request is its own.
pub(crate) async fn serve(recorded: RecordedRequest) -> Taken {
    let path = recorded.parts.uri.path();
    // Files need no key, whichever vendor made them.
    if links::owns(path) {
        return Taken::Yes(Ok(links::serve(recorded)));
    }
    if openai::owns(path) {
        return Taken::Yes(openai::serve(recorded).await);
    }
    if minimax::owns(path) {
        return Taken::Yes(minimax::serve(recorded).await);
    }
    if ark::owns(path) {
        return Taken::Yes(ark::serve(recorded).await);
    }
    if dashscope::owns(&recorded) {
        return Taken::Yes(dashscope::serve(recorded).await);
    }
    Taken::No(recorded)
}

/// Writes down which model was asked, and the name of the call, whatever comes of it.
fn note(recorded: &RecordedRequest, body: &Map<String, Value>, prompt: Option<&str>) {
    let model = body.get("model").and_then(Value::as_str);
    let directives = prompt.and_then(|prompt| ImageDirectives::read(prompt).ok());
    recorded.note(|record| {
        model.unwrap_or_default().clone_into(&mut record.model);
        record.marker = directives.and_then(|directives| directives.marker);
    });
}

/// A value as it is kept in a record: long texts are cut, since a picture may be one.
fn kept(value: &Value) -> Value {
    match value {
        Value::String(text) => {
            let end = text.floor_char_boundary(MAX_KEPT_TEXT);
            Value::from(text.get(..end).unwrap_or_default())
        }
        Value::Array(list) => Value::Array(list.iter().map(kept).collect()),
        Value::Object(fields) => {
            let kept = fields
                .iter()
                .map(|(name, value)| (name.clone(), kept(value)));
            Value::Object(kept.collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// A field that is there and not null.
fn field<'a>(body: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    body.get(name).filter(|value| !value.is_null())
}
