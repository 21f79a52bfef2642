//! Errors as OpenAI's clients read them.

use serde_json::{Value, json};

use crate::{ErrorBody, Frame};

/// An error as OpenAI's clients read it. A request that fails is not charged.
#[must_use]
pub(crate) fn error_body(body: &ErrorBody) -> Value {
    let mut error = json!({
        "message": body.message,
        "type": body.family,
        "param": body.param,
        "code": body.code,
        "request_id": body.request_id,
        "charged": false,
        "retryable": body.retryable,
        "doc_url": body.doc_url,
    });
    if let Some(error) = error.as_object_mut() {
        error.extend(body.extras.clone());
    }
    json!({ "error": error })
}

/// The same inside a stream that has begun.
#[must_use]
pub(crate) fn error_frame(body: &ErrorBody) -> Vec<u8> {
    let body = error_body(body).to_string();
    Frame::of_data(body.as_bytes()).raw.to_vec()
}
