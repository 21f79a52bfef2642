//! Validation errors of requests, before anything is sent or charged.

/// A validation error: HTTP 400, and nothing was charged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RequestError {
    pub code: &'static str,
    /// The field, dotted inside objects.
    pub param: String,
    pub message: String,
    /// What to do about it; empty where the message says so.
    pub fix: String,
}

/// The code of a refusal that has none of its own.
const INVALID: &str = "invalid_request";

// === impl RequestError ===

impl RequestError {
    /// A refusal with a code of its own.
    pub fn new(code: &'static str, param: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            code,
            param: param.into(),
            message: message.into(),
            fix: String::new(),
        }
    }

    /// A field with a value that it cannot have.
    pub fn invalid(param: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(INVALID, param, message)
    }

    /// Something whose price cannot be known before the work is done.
    pub fn unpriceable(param: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new("unpriceable", param, message)
    }

    /// A field that must be there.
    #[must_use]
    pub fn missing(param: &str) -> Self {
        Self::invalid(param, format!("`{param}` is required"))
    }

    /// What to do about it.
    #[must_use]
    pub fn with_fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = fix.into();
        self
    }
}
