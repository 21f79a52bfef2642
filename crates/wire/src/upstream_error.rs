//! Errors of upstreams, in any of the shapes that vendors use.

use serde::Deserialize;
use serde_json::{Map, Value};

/// Text of an upstream that is passed on at most.
const MAX_MESSAGE_CHARACTERS: usize = 500;
const MAX_CODE_CHARACTERS: usize = 64;
/// Complaints of one error that are passed on.
const MAX_DETAILS: usize = 8;

/// An error that an upstream returned.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UpstreamError {
    /// Its code, or its type where it gave none.
    pub code: Option<String>,
    /// Its type or its status word, if it has one.
    pub kind: Option<String>,
    pub param: Option<String>,
    /// Its message, truncated. Secrets are still to be removed.
    pub message: String,
}

#[derive(Deserialize)]
struct Body {
    #[serde(default)]
    base_resp: Option<BaseResponse>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

/// How MiniMax reports a failure, whatever the status of the response.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct BaseResponse {
    #[serde(default)]
    status_code: i64,
    #[serde(default)]
    status_msg: Option<Value>,
}

/// MiniMax's name for bad parameters.
const BAD_PARAMETERS: &str = "2013";

impl UpstreamError {
    /// The upstream blames the request, and not itself, although the response's status may say
    /// otherwise.
    #[must_use]
    pub fn blames_the_request(&self) -> bool {
        self.code.as_deref() == Some(BAD_PARAMETERS)
    }
}

impl BaseResponse {
    pub(crate) const fn failed(&self) -> bool {
        self.status_code != 0
    }

    fn error(&self) -> UpstreamError {
        UpstreamError {
            code: Some(self.status_code.to_string()),
            kind: None,
            param: None,
            message: words(self.status_msg.as_ref(), MAX_MESSAGE_CHARACTERS),
        }
    }
}

/// Reads an error body of any of the shapes seen in the field.
#[must_use]
pub fn read_error(body: &[u8]) -> UpstreamError {
    // Google wraps its error in a list of one.
    let body = match serde_json::from_slice(body) {
        Ok(Value::Array(list)) => list.into_iter().next().unwrap_or_default(),
        Ok(value) => value,
        Err(_) => return UpstreamError::default(),
    };
    let Ok(Body { base_resp, rest }) = serde_json::from_value(body) else {
        return UpstreamError::default();
    };
    if let Some(base) = base_resp.filter(BaseResponse::failed) {
        return base.error();
    }
    match rest.get("error") {
        Some(Value::Object(inside)) => in_object(inside),
        // xAI has its words there and its code beside them.
        Some(text @ Value::String(_)) => UpstreamError {
            message: words(Some(text), MAX_MESSAGE_CHARACTERS),
            ..in_object(&rest)
        },
        // Mistral and others have no wrapping at all.
        Some(_) | None => in_object(&rest),
    }
}

/// An error whose words stand in an object, whatever that stands in.
fn in_object(error: &Map<String, Value>) -> UpstreamError {
    let word = |name: &str| {
        let text = words(error.get(name), MAX_CODE_CHARACTERS);
        (!text.is_empty()).then_some(text)
    };
    let message_value = error.get("message").or_else(|| error.get("detail"));
    let detail = message_value
        .and_then(|message_value| message_value.get("detail"))
        .or(message_value);
    let message = match detail.and_then(Value::as_array) {
        Some(list) => validation_details(list),
        None => words(detail, MAX_MESSAGE_CHARACTERS),
    };
    // On its other paths MiniMax puts the code behind its words.
    let code_in_message = message
        .ends_with("(2013)")
        .then(|| BAD_PARAMETERS.to_owned());
    // Google's code is the status in numbers; its words say more.
    let google = google_reason(error).or_else(|| word("status"));
    let google = google.filter(|_| error.get("code").is_some_and(Value::is_number));
    UpstreamError {
        code: google
            .or_else(|| word("code"))
            .or(code_in_message)
            .or_else(|| word("type")),
        kind: word("type").or_else(|| word("status")),
        param: word("param").or_else(|| google_field(error)),
        message,
    }
}

/// Google's details, each of its own type.
fn google_details(error: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    let details = error.get("details").and_then(Value::as_array);
    details.into_iter().flatten().take(MAX_DETAILS)
}

fn google_reason(error: &Map<String, Value>) -> Option<String> {
    let mut reasons = google_details(error).filter_map(|detail| detail.get("reason"));
    let reason = words(reasons.next(), MAX_CODE_CHARACTERS);
    (!reason.is_empty()).then_some(reason)
}

fn google_field(error: &Map<String, Value>) -> Option<String> {
    let lists = google_details(error).filter_map(|detail| detail.get("fieldViolations"));
    let mut fields = lists.filter_map(|list| list.get(0)?.get("field"));
    let field = words(fields.next(), MAX_CODE_CHARACTERS);
    (!field.is_empty()).then_some(field)
}

/// A list of what is wrong where, as FastAPI writes it, in one line.
fn validation_details(list: &[Value]) -> String {
    let one = |detail: &Value| {
        let place = detail.get("loc").and_then(Value::as_array);
        let place = place.into_iter().flatten();
        let place: Vec<String> = place
            .map(|step| words(Some(step), MAX_CODE_CHARACTERS))
            .collect();
        let message = words(detail.get("msg"), MAX_MESSAGE_CHARACTERS);
        format!("{}: {message}", place.join("."))
    };
    let all: Vec<String> = list.iter().take(MAX_DETAILS).map(one).collect();
    let all = all.join("; ");
    all.chars().take(MAX_MESSAGE_CHARACTERS).collect()
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
        assert_eq!(whole.kind.as_deref(), Some("t"));
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
        assert_eq!(read("[]"), UpstreamError::default());
        assert_eq!(read("7"), UpstreamError::default());
        let long = format!(r#"{{"error":{{"message":"{}"}}}}"#, "x".repeat(9_000));
        assert_eq!(read(&long).message.len(), MAX_MESSAGE_CHARACTERS);
    }

    #[test]
    fn errors_of_vendors_with_shapes_of_their_own_give_their_words_too() {
        let read = |text: &str| {
            let read = read_error(text.as_bytes());
            (read.code.unwrap_or_default(), read.message)
        };
        let own = |code: &str, message: &str| (code.to_owned(), message.to_owned());
        assert_eq!(
            read(r#"[{"error":{"code":400,"message":"no","status":"INVALID_ARGUMENT"}}]"#),
            own("INVALID_ARGUMENT", "no")
        );
        assert_eq!(
            read(
                r#"{"error":{"code":400,"message":"no","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}"#
            ),
            own("API_KEY_INVALID", "no")
        );
        let blamed = r#"{"error":{"code":400,"message":"no","status":"INVALID_ARGUMENT","details":[{"fieldViolations":[{"field":"contents"}]}]}}"#;
        let blamed = read_error(blamed.as_bytes()).param;
        assert_eq!(blamed.as_deref(), Some("contents"));
        assert_eq!(
            read(r#"{"object":"error","message":"no","type":"t","param":null,"code":"1300"}"#),
            own("1300", "no")
        );
        assert_eq!(read(r#"{"code":"bad","error":"no"}"#), own("bad", "no"));
        assert_eq!(read(r#"{"detail":"Not Found"}"#), own("", "Not Found"));
        let two = r#"[{"loc":["body","n"],"msg":"not this"},{"loc":["body",0],"msg":"nor that"}]"#;
        let expected = "body.n: not this; body.0: nor that";
        assert_eq!(read(&format!(r#"{{"detail":{two}}}"#)), own("", expected));
        assert_eq!(
            read(&format!(r#"{{"message":{{"detail":{two}}},"type":"t"}}"#)),
            own("t", expected)
        );
        let many = format!("[{}]", vec![r#"{"loc":[],"msg":"again"}"#; 999].join(","));
        let (_, message) = read(&format!(r#"{{"detail":{many}}}"#));
        assert_eq!(message.matches("again").count(), MAX_DETAILS);
    }
}
