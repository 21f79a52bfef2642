//! A request to a vendor and its response, as values: nothing here opens a socket. The crates that know a vendor
//! build its requests and parse its responses.

use serde_json::{Map, Value};

/// A call to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The method.
    pub method: Method,
    /// Where.
    pub at: At,
    /// Headers beside the credential and the content type.
    pub headers: Vec<(&'static str, String)>,
    /// The body, JSON; none for a question.
    pub body: Option<Vec<u8>>,
}

/// A method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// GET.
    Get,
    /// POST.
    Post,
    /// DELETE.
    Delete,
}

/// Where a call goes: a path with its query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum At {
    /// Behind the channel's base address.
    Base(String),
    /// At the root of its host, whatever path the base has.
    Host(String),
}

/// A response.
#[derive(Debug, Clone, Copy)]
pub struct Said<'a> {
    /// The status.
    pub status: u16,
    /// Seconds of `retry-after`.
    pub retry_after: Option<u64>,
    /// The body.
    pub body: &'a [u8],
}

/// An error that a vendor reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complaint {
    /// The HTTP status that the caller is shown, where it is theirs to mend.
    pub status: u16,
    /// The vendor's code.
    pub code: String,
    /// The vendor's text.
    pub message: String,
    /// The invalid field, if the vendor names it and uses the caller's field names.
    pub param: Option<String>,
}

// === impl Call ===

impl Call {
    /// A question.
    #[must_use]
    pub fn get(path: impl Into<String>) -> Self {
        Self {
            method: Method::Get,
            at: At::Base(path.into()),
            headers: Vec::new(),
            body: None,
        }
    }

    /// A POST of JSON.
    #[must_use]
    pub fn post(path: impl Into<String>, body: &Map<String, Value>) -> Self {
        Self {
            method: Method::Post,
            at: At::Base(path.into()),
            headers: Vec::new(),
            body: Some(serde_json::to_vec(body).unwrap_or_default()),
        }
    }

    /// A DELETE.
    #[must_use]
    pub fn delete(path: impl Into<String>) -> Self {
        Self {
            method: Method::Delete,
            ..Self::get(path)
        }
    }

    /// With a header.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// At the root of the host.
    #[must_use]
    pub fn at_host(mut self) -> Self {
        self.at = match self.at {
            At::Base(path) | At::Host(path) => At::Host(path),
        };
        self
    }
}

// === impl Said ===

impl Said<'_> {
    /// The body as JSON; null where it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(self.body).unwrap_or(Value::Null)
    }
}

// === impl Complaint ===

impl Complaint {
    /// An error of a vendor.
    pub fn new(status: u16, code: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            status,
            code: code.into(),
            message: message.into(),
            param: None,
        }
    }

    /// The same about a field.
    #[must_use]
    pub fn about(self, param: Option<String>) -> Self {
        Self { param, ..self }
    }
}

/// A text of a response by its path; numbers are read as texts.
#[must_use]
pub fn text_at(value: &Value, pointer: &str) -> Option<String> {
    match value.pointer(pointer)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
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

/// A path part that nothing in it can leave.
#[must_use]
pub fn path_part(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_~".contains(&byte);
    let mut part = String::new();
    for byte in text.bytes() {
        if plain(byte) {
            part.push(char::from(byte));
        } else {
            part.push('%');
            part.push_str(&format!("{byte:02X}"));
        }
    }
    part
}
