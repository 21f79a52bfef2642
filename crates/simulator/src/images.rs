//! Makers of pictures that answer in one call: what all of them share. A vendor's file reads a request
//! and says in its words what came of it; the way between is `making`, the same for all.
//!
//! Pictures are real files of the asked size, made by `png` and `jpeg`.

mod ark;
mod dashscope;
mod form;
mod gallery;
mod jpeg;
mod links;
mod making;
mod minimax;
mod openai;
mod order;
mod picture;
mod png;
mod sources;
mod wishes;

use serde_json::{Map, Value};

use crate::server::Read;
use crate::video::Taken;
use wishes::Wishes;

pub(crate) use gallery::Gallery;
pub use gallery::ImageCall;
pub use wishes::ImageFault;

/// The longest text that a record keeps.
const MAX_KEPT_TEXT: usize = 2_048;

/// Asks each vendor whether a request is its own.
pub(crate) async fn serve(read: Read) -> Taken {
    let path = read.parts.uri.path();
    // Files are asked for without a key, whoever made them.
    if links::owns(path) {
        return Taken::Yes(Ok(links::serve(read)));
    }
    if openai::owns(path) {
        return Taken::Yes(openai::serve(read).await);
    }
    if minimax::owns(path) {
        return Taken::Yes(minimax::serve(read).await);
    }
    if ark::owns(path) {
        return Taken::Yes(ark::serve(read).await);
    }
    if dashscope::owns(&read) {
        return Taken::Yes(dashscope::serve(read).await);
    }
    Taken::No(read)
}

/// The body as an object.
fn object(read: &Read) -> Option<Map<String, Value>> {
    match serde_json::from_slice(&read.body) {
        Ok(Value::Object(body)) => Some(body),
        Ok(_) | Err(_) => None,
    }
}

/// Writes down which model was asked, and the name of the call, whatever comes of it.
fn note(read: &Read, body: &Map<String, Value>, prompt: Option<&str>) {
    let model = body.get("model").and_then(Value::as_str);
    let wishes = prompt.and_then(|prompt| Wishes::read(prompt).ok());
    read.watch.entry().note(|served| {
        model.unwrap_or_default().clone_into(&mut served.model);
        served.marker = wishes.and_then(|wishes| wishes.marker);
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
