//! Errors as Anthropic's clients read them.

use serde_json::{Value, json};

use crate::{ErrorBody, event_frame};

/// An error, with our word for it beside Anthropic's.
#[must_use]
pub(crate) fn error_body(body: &ErrorBody) -> Value {
    let mut error = json!({
        "type": kind(body),
        "message": body.message,
        "code": body.code,
    });
    if let Some(error) = error.as_object_mut() {
        for (key, value) in &body.extras {
            // What the format itself says there is not written over.
            error.entry(key.as_str()).or_insert_with(|| value.clone());
        }
    }
    json!({ "type": "error", "error": error, "request_id": body.request_id })
}

/// The same inside a stream that has begun.
#[must_use]
pub(crate) fn error_frame(body: &ErrorBody) -> Vec<u8> {
    let mut out = Vec::new();
    let body = error_body(body).to_string();
    event_frame(Some("error"), body.as_bytes(), &mut out);
    out
}

/// Anthropic's name: the status decides where it has one of its own, else the family.
fn kind(body: &ErrorBody) -> &'static str {
    match body.status {
        413 => return "request_too_large",
        504 => return "timeout_error",
        503 | 529 => return "overloaded_error",
        _ => {}
    }
    match body.family {
        "authentication_error" => "authentication_error",
        "permission_error" => "permission_error",
        "not_found_error" => "not_found_error",
        "insufficient_quota" => "billing_error",
        "rate_limit_error" => "rate_limit_error",
        "upstream_error" | "server_error" => "api_error",
        _ => "invalid_request_error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::upstream_error::read_error;

    fn sample(status: u16, code: &str, family: &'static str) -> ErrorBody {
        let mut extras = serde_json::Map::new();
        extras.insert("required_usd".to_owned(), json!("0.20"));
        extras.insert("type".to_owned(), json!("never"));
        ErrorBody {
            status,
            code: code.to_owned(),
            family,
            message: "no".to_owned(),
            param: Some("model".to_owned()),
            request_id: "req_1".to_owned(),
            retryable: false,
            doc_url: "https://example.com".to_owned(),
            retry_after: None,
            extras,
        }
    }

    // covers: D-3-03, D-7-ERR-04
    #[test]
    fn an_error_has_anthropics_shape_and_our_word_beside_its_own() {
        let body = error_body(&sample(401, "invalid_api_key", "authentication_error"));
        let expected = json!({
            "type": "error",
            "error": {
                "type": "authentication_error",
                "message": "no",
                "code": "invalid_api_key",
                "required_usd": "0.20",
            },
            "request_id": "req_1",
        });
        assert_eq!(body, expected);
    }

    #[test]
    fn every_family_and_status_has_one_of_anthropics_words() {
        for (status, family, word) in [
            (400, "invalid_request_error", "invalid_request_error"),
            (402, "insufficient_quota", "billing_error"),
            (403, "permission_error", "permission_error"),
            (404, "not_found_error", "not_found_error"),
            (413, "invalid_request_error", "request_too_large"),
            (429, "rate_limit_error", "rate_limit_error"),
            (500, "server_error", "api_error"),
            (502, "upstream_error", "api_error"),
            (503, "server_error", "overloaded_error"),
            (504, "upstream_error", "timeout_error"),
        ] {
            let body = error_body(&sample(status, "c", family));
            assert_eq!(body["error"]["type"], word, "{status} {family}");
        }
    }

    #[test]
    fn an_error_inside_a_stream_is_an_event_of_its_own_that_we_can_read_back() {
        let frame = error_frame(&sample(529, "overloaded", "server_error"));
        let text = String::from_utf8(frame).unwrap();
        let data = text.strip_prefix("event: error\ndata: ").unwrap();
        let data = data.strip_suffix("\n\n").unwrap();
        let read = read_error(data.as_bytes());
        assert_eq!(read.code.as_deref(), Some("overloaded"));
        assert_eq!(read.message, "no");
        let theirs = br#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}"#;
        let read = read_error(theirs);
        assert_eq!(read.code.as_deref(), Some("overloaded_error"));
        assert_eq!(read.message, "Overloaded");
    }
}
