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
    #[serde(default)]
    base_resp: Option<BaseResponse>,
}

/// How MiniMax tells of a failure, whatever the status of the answer.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct BaseResponse {
    #[serde(default)]
    status_code: i64,
    #[serde(default)]
    status_msg: Option<Value>,
}

/// MiniMax's word for bad parameters.
const BAD_PARAMETERS: &str = "2013";

impl UpstreamError {
    /// The upstream blames the request, and not itself, although the answer's status may say
    /// otherwise.
    #[must_use]
    pub fn blames_the_request(&self) -> bool {
        self.code.as_deref() == Some(BAD_PARAMETERS)
    }
}

impl BaseResponse {
    pub(super) const fn failed(&self) -> bool {
        self.status_code != 0
    }

    fn error(&self) -> UpstreamError {
        UpstreamError {
            code: Some(self.status_code.to_string()),
            param: None,
            message: words(self.status_msg.as_ref(), MAX_MESSAGE_CHARACTERS),
        }
    }
}

/// Reads an error body of any of the shapes seen in the field.
#[must_use]
pub fn read_error(body: &[u8]) -> UpstreamError {
    let Ok(body) = serde_json::from_slice::<Body>(body) else {
        return UpstreamError::default();
    };
    if let Some(base) = body.base_resp.filter(BaseResponse::failed) {
        return base.error();
    }
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
    let message = words(error.get("message"), MAX_MESSAGE_CHARACTERS);
    // On its other paths MiniMax puts the code behind its words.
    let told = message
        .ends_with("(2013)")
        .then(|| BAD_PARAMETERS.to_owned());
    UpstreamError {
        code: word("code").or(told).or_else(|| word("type")),
        param: word("param"),
        message,
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
        let inside = read(
            r#"{"choices":null,"base_resp":{"status_code":2013,"status_msg":"invalid params"}}"#,
        );
        assert_eq!(inside.message, "invalid params");
        assert!(inside.blames_the_request());
        assert!(
            read(r#"{"error":{"type":"bad_request_error","message":"no (2013)"}}"#)
                .blames_the_request()
        );
        assert!(!whole.blames_the_request());
        assert!(!read(r#"{"message":"x","base_resp":{"status_code":0}}"#).blames_the_request());
        assert_eq!(read(r#"{"error":"plain"}"#).message, "plain");
        assert_eq!(read(r#"{"message":"other"}"#).message, "other");
        assert_eq!(read("<html>"), UpstreamError::default());
        let long = format!(r#"{{"error":{{"message":"{}"}}}}"#, "x".repeat(9_000));
        assert_eq!(read(&long).message.len(), MAX_MESSAGE_CHARACTERS);
    }
}
