//! What video vendors are asked and what they answer, as values: nothing here opens a socket. A
//! vendor's protocol is one file and one line in the list.
//!
//! Words of vendors that nobody knows mean that the work goes on; only words that are known end it.

mod ark;
mod dashscope;
mod kling;
mod minimax;
mod openai;

use serde_json::{Map, Value};

use crate::plan::Sent;

/// A vendor's protocol.
#[derive(Debug)]
pub struct Protocol {
    /// The word for it in provider files, such as `dashscope_video`.
    pub format: &'static str,
    /// How a job is submitted.
    pub submit: fn(&Sent, &Naming<'_>) -> Call,
    /// What the answer to that says.
    pub read_submit: fn(&Sent, &Said<'_>) -> Submitted,
    /// How a job is asked for.
    pub poll: fn(&Handle) -> Call,
    /// What the answer to that says.
    pub read_poll: fn(&Handle, &Said<'_>) -> Polled,
    /// What the answer to [`Polled::FileAt`] says; never asked where that is never said.
    pub read_file: fn(&Said<'_>) -> Polled,
    /// How a job is stopped; none where it cannot be.
    pub cancel: Option<fn(&Handle) -> Call>,
    /// What the answer to that says.
    pub read_cancel: fn(&Handle, &Said<'_>) -> Cancelled,
    /// How a job is found by our own name for it; none where the vendor keeps none.
    pub lookup: Option<fn(&Sent, &str) -> Call>,
    /// What the answer to that says.
    pub read_lookup: fn(&Said<'_>) -> Found,
    /// How media that we hold are handed over.
    pub media: MediaForm,
}

/// How media that we hold are handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MediaForm {
    /// `data:image/png;base64,…`
    DataUri,
    /// Base64 and nothing before it.
    BareBase64,
    /// Only addresses are taken: our own signed link.
    Link,
}

/// Names that are known only when a job is sent.
#[derive(Debug, Clone, Copy)]
pub struct Naming<'a> {
    /// The upstream's name of the model.
    pub model: &'a str,
    /// Our name of the job, for vendors that keep it.
    pub reference: &'a str,
}

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

/// An answer as it came.
#[derive(Debug, Clone, Copy)]
pub struct Said<'a> {
    /// The status.
    pub status: u16,
    /// Seconds of `retry-after`.
    pub retry_after: Option<u64>,
    /// The body.
    pub body: &'a [u8],
}

/// What a vendor is asked about a job by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handle {
    /// The vendor's name of the job.
    pub id: String,
    /// The door it was submitted through.
    pub door: String,
}

/// What became of a submission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Submitted {
    /// It was taken, under this name.
    Accepted {
        /// The vendor's name of the job.
        id: String,
    },
    /// It was surely not taken: the request is at fault.
    Refused(Complaint),
    /// It was surely not taken: there is no room now. It may be sent again, also elsewhere.
    Full {
        /// When to come back.
        retry_after: Option<u64>,
    },
    /// It was surely not taken: the credential is at fault, or its account has no money.
    Credential(Complaint),
    /// Nobody knows. It must never be sent again.
    Unknown(Complaint),
}

/// What became of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Polled {
    /// It waits or runs.
    Running {
        /// It has not begun.
        queued: bool,
        /// From 0 to 99, where the vendor tells.
        progress: Option<u8>,
    },
    /// It is done, and where its file is must be asked for.
    FileAt(Call),
    /// It is done.
    Done {
        /// Its file.
        file: File,
        /// What the vendor counted.
        counted: Counted,
    },
    /// It failed.
    Failed(Complaint),
    /// No verdict: an error of the question, or a word that nobody knows. Ask again.
    Unclear {
        /// For the log.
        why: String,
        /// When to come back.
        retry_after: Option<u64>,
    },
}

/// Where a finished file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum File {
    /// At an address that anybody may ask, for a while.
    Link(String),
    /// Behind the vendor's own door, with the credential.
    Behind(Call),
}

/// What a vendor counted; what it does not tell is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counted {
    /// Seconds that were made, rounded up.
    pub output_seconds: Option<u64>,
    /// Seconds of clips that went in, rounded up.
    pub input_seconds: Option<u64>,
    /// Pictures that went in.
    pub images: Option<u64>,
}

/// What became of a cancellation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cancelled {
    /// It is stopped and will not be billed.
    Confirmed,
    /// It goes on.
    GoesOn,
    /// Nobody knows.
    Unknown,
}

/// What became of a search by our own name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// It is there, under this name.
    There {
        /// The vendor's name of the job.
        id: String,
    },
    /// It is surely not there.
    NotThere,
    /// Nobody knows.
    Unknown,
}

/// A vendor's words about what is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complaint {
    /// The HTTP status that the caller is shown, where it is theirs to mend.
    pub status: u16,
    /// The vendor's code.
    pub code: String,
    /// The vendor's text.
    pub message: String,
}

/// All protocols. A new one is a line.
pub const ALL: [&Protocol; 5] = [
    &ark::PROTOCOL,
    &dashscope::PROTOCOL,
    &kling::PROTOCOL,
    &minimax::PROTOCOL,
    &openai::PROTOCOL,
];

/// The protocol of a word.
#[must_use]
pub fn protocol_of(format: &str) -> Option<&'static Protocol> {
    ALL.into_iter().find(|protocol| protocol.format == format)
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

    /// No verdict.
    #[must_use]
    pub fn unclear(&self, why: &str) -> Polled {
        Polled::Unclear {
            why: format!("status {}: {why}", self.status),
            retry_after: self.retry_after,
        }
    }
}

// === impl Complaint ===

impl Complaint {
    /// A vendor's words.
    pub fn new(status: u16, code: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            status,
            code: code.into(),
            message: message.into(),
        }
    }
}

/// A text of an answer by its path; numbers are read as texts.
#[must_use]
pub fn text_at(value: &Value, pointer: &str) -> Option<String> {
    match value.pointer(pointer)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// A length of an answer in whole seconds, rounded up: a number or a text, whole or not.
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
