//! Validation errors of requests, before any money moves.

use std::fmt;

/// What is wrong with a request: a code of the error table, the field, and a sentence with the way
/// out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestError {
    /// Code of the error table.
    pub code: &'static str,
    pub param: Option<String>,
    /// What is wrong and what would be right.
    pub message: String,
}

impl RequestError {
    /// A field that is not as it must be.
    #[must_use]
    pub fn invalid(param: &str, message: impl Into<String>) -> Self {
        Self {
            code: "invalid_request",
            param: Some(param.to_owned()),
            message: message.into(),
        }
    }

    /// A field that names something stored at an upstream.
    #[must_use]
    pub fn reference(param: &str, way_out: &str) -> Self {
        Self {
            code: "reference_not_supported",
            param: Some(param.to_owned()),
            message: format!("`{param}` references something stored at an upstream; {way_out}"),
        }
    }
}

impl fmt::Display for RequestError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}
