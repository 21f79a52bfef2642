//! Errors of upstreams: what the caller may be told of them.

use serde::Deserialize;
use serde_json::Value;

/// Text of an upstream that is passed on at most.
const MAX_MESSAGE_CHARACTERS: usize = 500;
const MAX_CODE_CHARACTERS: usize = 64;

/// What an upstream said when it refused or failed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UpstreamError {
    /// Its code, or its type where it gave none.
    pub code: Option<String>,
    /// The field it blames.
    pub param: Option<String>,
    /// Its words, cut to a bound. Secrets are still to be taken out.
    pub message: String,
}

#[derive(Deserialize)]
struct Body {
    #[serde(default)]
    error: Option<Value>,
    #[serde(default)]
    message: Option<Value>,
}

/// Reads an error body of any of the shapes seen in the field.
#[must_use]
pub fn read_error(body: &[u8]) -> UpstreamError {
    let Ok(body) = serde_json::from_slice::<Body>(body) else {
        return UpstreamError::default();
    };
    let Some(error) = body.error else {
        return UpstreamError {
            message: words(body.message.as_ref(), MAX_MESSAGE_CHARACTERS),
            ..UpstreamError::default()
        };
    };
    if error.is_string() {
        return UpstreamError {
            message: words(Some(&error), MAX_MESSAGE_CHARACTERS),
            ..UpstreamError::default()
        };
    }
    let word = |name: &str| {
        let text = words(error.get(name), MAX_CODE_CHARACTERS);
        (!text.is_empty()).then_some(text)
    };
    UpstreamError {
        code: word("code").or_else(|| word("type")),
        param: word("param"),
        message: words(error.get("message"), MAX_MESSAGE_CHARACTERS),
    }
}

/// A text or a number, cut; nothing else.
fn words(value: Option<&Value>, most: usize) -> String {
    match value {
        Some(Value::String(text)) => text.chars().take(most).collect(),
        Some(Value::Number(number)) => number.to_string(),
        Some(Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_)) | None => {
            String::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_of_an_error_gives_its_words() {
        let read = |text: &str| read_error(text.as_bytes());
        let whole = read(r#"{"error":{"message":"bad","type":"t","param":"p","code":"c"}}"#);
        assert_eq!(whole.code.as_deref(), Some("c"));
        assert_eq!(whole.param.as_deref(), Some("p"));
        assert_eq!(whole.message, "bad");
        let null_code = read(r#"{"error":{"message":"bad","type":"t","code":null}}"#);
        assert_eq!(null_code.code.as_deref(), Some("t"));
        assert_eq!(
            read(r#"{"error":{"code":2013}}"#).code.as_deref(),
            Some("2013")
        );
        assert_eq!(read(r#"{"error":"plain"}"#).message, "plain");
        assert_eq!(read(r#"{"message":"other"}"#).message, "other");
        assert_eq!(read("<html>"), UpstreamError::default());
        let long = format!(r#"{{"error":{{"message":"{}"}}}}"#, "x".repeat(9_000));
        assert_eq!(read(&long).message.len(), MAX_MESSAGE_CHARACTERS);
    }
}
