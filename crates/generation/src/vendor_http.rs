//! Requests to vendors and their responses, as values: the protocols build and read them, nothing here opens a
//! socket.

use bytes::Bytes;
use serde_json::{Map, Value};
use trunkline_catalog::FieldNote;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VendorRequest {
    pub method: Method,
    pub path: UrlPath,
    /// Headers beside the credential and the content type.
    pub headers: Vec<(&'static str, String)>,
    /// A JSON body.
    pub body: Option<Vec<u8>>,
    /// The parts of a multipart form, sent instead of JSON.
    pub form: Option<Vec<Part>>,
}

/// A caller's request in a vendor's format, and what that format cannot express.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Encoded {
    pub request: VendorRequest,
    /// Fields that are not sent, or sent changed.
    pub notes: Vec<FieldNote>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    Get,
    Post,
    Delete,
}

/// The path of a request, with its query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UrlPath {
    /// Appended to the channel's base address.
    Base(String),
    /// At the root of the base address's host.
    Host(String),
}

/// A part of a multipart form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    pub name: String,
    pub content: Content,
}

/// The content of a form part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    Text(String),
    File {
        name: String,
        content_type: String,
        bytes: Bytes,
    },
    /// The caller's upload, which this crate does not hold.
    Upload {
        name: String,
        content_type: String,
    },
}

#[derive(Debug, Clone, Copy)]
pub struct VendorResponse<'a> {
    pub status: u16,
    /// Seconds of `retry-after`.
    pub retry_after: Option<u64>,
    pub body: &'a [u8],
}

/// An error that a vendor reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VendorError {
    /// The HTTP status for the caller, where the request is at fault.
    pub status: u16,
    pub code: String,
    pub message: String,
    /// The invalid field, if the vendor names it and uses the caller's field names.
    pub param: Option<String>,
}

// === impl VendorRequest ===

impl VendorRequest {
    /// A request without a body.
    fn bare(method: Method, path: impl Into<String>) -> Self {
        Self {
            method,
            path: UrlPath::Base(path.into()),
            headers: Vec::new(),
            body: None,
            form: None,
        }
    }

    #[must_use]
    pub fn get(path: impl Into<String>) -> Self {
        Self::bare(Method::Get, path)
    }

    #[must_use]
    pub fn delete(path: impl Into<String>) -> Self {
        Self::bare(Method::Delete, path)
    }

    /// A POST without a body.
    #[must_use]
    pub fn post_empty(path: impl Into<String>) -> Self {
        Self::bare(Method::Post, path)
    }

    /// A POST of JSON.
    #[must_use]
    pub fn post(path: impl Into<String>, body: &Map<String, Value>) -> Self {
        Self {
            body: Some(serde_json::to_vec(body).unwrap_or_default()),
            ..Self::bare(Method::Post, path)
        }
    }

    /// A POST of a multipart form.
    #[must_use]
    pub fn post_form(path: impl Into<String>, parts: Vec<Part>) -> Self {
        Self {
            form: Some(parts),
            ..Self::bare(Method::Post, path)
        }
    }

    /// The same with a header.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// The same path at the root of the host.
    #[must_use]
    pub fn at_host(mut self) -> Self {
        self.path = match self.path {
            UrlPath::Base(path) | UrlPath::Host(path) => UrlPath::Host(path),
        };
        self
    }
}

// === impl Part ===

impl Part {
    pub fn text(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            content: Content::Text(text.into()),
        }
    }
}

// === impl VendorResponse ===

impl VendorResponse<'_> {
    /// The body as JSON; null where it is not JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(self.body).unwrap_or(Value::Null)
    }

    /// Whether the status is 2xx.
    #[must_use]
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

// === impl VendorError ===

impl VendorError {
    /// An error of a vendor.
    pub fn new(status: u16, code: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            status,
            code: code.into(),
            message: message.into(),
            param: None,
        }
    }

    /// The same with the field that it names.
    #[must_use]
    pub fn about(self, param: Option<String>) -> Self {
        Self { param, ..self }
    }
}

/// A field of a request as form parts: the members of a list one by one, under the same name.
pub(crate) fn parts_of(name: &str, value: &Value) -> Vec<Part> {
    let text = |value: &Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    match value {
        Value::Null => Vec::new(),
        Value::Array(members) => {
            let members = members.iter();
            members.map(|one| Part::text(name, text(one))).collect()
        }
        Value::String(_) | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            vec![Part::text(name, text(value))]
        }
    }
}

/// A text of a response by its JSON pointer; numbers are read as texts.
#[must_use]
pub fn text_at(value: &Value, pointer: &str) -> Option<String> {
    match value.pointer(pointer)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The same; none where the text is empty.
#[must_use]
pub fn filled_at(value: &Value, pointer: &str) -> Option<String> {
    text_at(value, pointer).filter(|text| !text.is_empty())
}

/// A duration of a response in whole seconds, rounded up: a number or a text, integer or not.
#[must_use]
pub fn seconds_at(value: &Value, pointer: &str) -> Option<u64> {
    let text = text_at(value, pointer)?;
    let (whole, rest) = text.split_once('.').unwrap_or((&text, ""));
    let whole: u64 = whole.parse().ok()?;
    let is_more = rest.bytes().any(|digit| digit != b'0');
    let is_number = rest.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| whole.saturating_add(u64::from(is_more)))
}

/// A text as one path segment: everything that could end it is percent-encoded.
#[must_use]
pub fn path_part(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_~".contains(&byte);
    let mut part = String::new();
    for byte in text.bytes() {
        if plain(byte) {
            part.push(char::from(byte));
        } else {
            part.push_str(&format!("%{byte:02X}"));
        }
    }
    part
}
