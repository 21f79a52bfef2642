//! One request to a vendor, as a value.

use crate::vendor_http::Call;
use bytes::Bytes;
use serde_json::Value;
use trunkline_catalog::Note;

/// One request to a vendor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Errand {
    /// Where it goes, and its JSON.
    pub call: Call,
    /// The parts of a form that is sent instead of JSON.
    pub form: Option<Vec<Part>>,
}

/// A part of a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The field.
    pub name: String,
    /// What is in it.
    pub content: Content,
}

/// What is in a part of a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// A text.
    Text(String),
    /// A file that is in memory.
    File {
        /// Its name.
        name: String,
        /// Its type.
        content_type: String,
        /// All of it.
        bytes: Bytes,
    },
    /// The file that the caller has uploaded, wherever it lies.
    Upload {
        /// Its name.
        name: String,
        /// Its type.
        content_type: String,
    },
}

/// A request in the words of a vendor, and what could not be said in them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The request.
    pub errand: Errand,
    /// What the vendor is not told, or told otherwise.
    pub notes: Vec<Note>,
}

// === impl Errand ===

impl Errand {
    /// A request with a body of JSON, or none.
    #[must_use]
    pub const fn plain(call: Call) -> Self {
        Self { call, form: None }
    }

    /// A request with a form.
    #[must_use]
    pub const fn form(call: Call, parts: Vec<Part>) -> Self {
        Self {
            call,
            form: Some(parts),
        }
    }
}

// === impl Part ===

impl Part {
    /// A field of text.
    pub fn text(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            content: Content::Text(text.into()),
        }
    }
}

/// A field of a request as parts of a form: the members of a list one by one, under the same name.
pub(crate) fn parts_of(name: &str, value: &Value) -> Vec<Part> {
    match value {
        Value::Null => Vec::new(),
        Value::String(text) => vec![Part::text(name, text)],
        Value::Array(members) => members
            .iter()
            .map(|one| Part::text(name, plain(one)))
            .collect(),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            vec![Part::text(name, value.to_string())]
        }
    }
}

fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}
