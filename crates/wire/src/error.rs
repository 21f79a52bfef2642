//! An API error: the facts that every format's error is written from.

use serde_json::{Map, Value};

/// An error, independent of the format.
#[derive(Debug, Clone, PartialEq)]
pub struct ErrorBody {
    /// The status that it has, or would have had before the response began.
    pub status: u16,
    /// Code of the error table.
    pub code: String,
    /// One of the eight families of the error table.
    pub family: &'static str,
    /// For the person that has to act.
    pub message: String,
    pub param: Option<String>,
    pub request_id: String,
    /// Whether the same request may succeed later.
    pub retryable: bool,
    /// Where the code is explained.
    pub doc_url: String,
    /// Seconds after which it is worth another try.
    pub retry_after: Option<u64>,
    /// Further keys of the error.
    pub extras: Map<String, Value>,
}
