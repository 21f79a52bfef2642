//! Errors inside a stream: as they are written to callers, and as upstreams write them.

use serde_json::{Map, Value, json};

use crate::openai_chat::error_body;
use crate::upstream_error::read_error;
use crate::{ErrorBody, UpstreamError, event_frame};

/// The upstream does not know, or does not know yet, the response that is to be continued.
const NOT_FOUND: &str = "previous_response_not_found";
const PREVIOUS: &str = "previous_response_id";

/// Whether an upstream says, in any of its spellings, that it does not know the response before.
#[must_use]
pub fn previous_not_found(error: &UpstreamError) -> bool {
    let words = error.message.to_ascii_lowercase();
    let lost = words.contains("previous response") && words.contains("not found");
    error.code.as_deref() == Some(NOT_FOUND)
        || lost
        || (error.param.as_deref() == Some(PREVIOUS) && words.contains("not found"))
}

/// Reads what an upstream says about its failure, and gives a lost response its one code.
pub(super) fn read_failure(error: &[u8]) -> UpstreamError {
    let mut read = read_error(error);
    if previous_not_found(&read) {
        read.code = Some(NOT_FOUND.to_owned());
    }
    read
}

/// An error inside a stream that has begun. OpenAI's SDKs raise at the first event and read no
/// further: they want its `error`, others its flat form. Codex passes it over and reads the second.
#[must_use]
pub(crate) fn error_frame(body: &ErrorBody) -> Vec<u8> {
    let nested = error_body(body);
    let error = nested.get("error").cloned().unwrap_or_default();
    let mut flat = Map::new();
    flat.insert("type".to_owned(), json!("error"));
    flat.insert("code".to_owned(), json!(body.code));
    flat.insert("message".to_owned(), json!(body.message));
    flat.insert("param".to_owned(), json!(body.param));
    flat.insert("sequence_number".to_owned(), json!(0));
    flat.insert("error".to_owned(), error.clone());
    let failed = json!({
        "type": "response.failed",
        "sequence_number": 0,
        "response": {
            "id": format!("resp_{}", body.request_id),
            "object": "response",
            "status": "failed",
            "error": error,
            "incomplete_details": null,
            "output": [],
            "usage": null,
        },
    });
    let mut out = Vec::new();
    let flat = Value::Object(flat).to_string();
    event_frame(Some("error"), flat.as_bytes(), &mut out);
    event_frame(
        Some("response.failed"),
        failed.to_string().as_bytes(),
        &mut out,
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_response_is_known_in_every_spelling() {
        let spellings = [
            r#"{"code":"previous_response_not_found","message":"x"}"#,
            r#"{"type":"error","status":400,"error":{"message":"Previous response with id 'resp_x' not found.","type":"invalid_request_error","param":"previous_response_id","code":"previous_response_not_found"}}"#,
            r#"{"type":"error","code":null,"message":"Previous response with id 'resp_x' not found.","param":null}"#,
            r#"{"error":{"message":"Response resp_x not found","param":"previous_response_id","code":null,"type":"invalid_request_error"}}"#,
        ];
        for text in spellings {
            let read = read_failure(text.as_bytes());
            assert_eq!(read.code.as_deref(), Some(NOT_FOUND), "{text}");
        }
        let other = read_failure(br#"{"code":"server_error","message":"model not found"}"#);
        assert_eq!(other.code.as_deref(), Some("server_error"));
    }

    #[test]
    fn an_error_is_told_to_sdks_first_and_to_codex_last() {
        let body = ErrorBody {
            status: 502,
            code: "upstream_error".to_owned(),
            family: "upstream_error",
            message: "no".to_owned(),
            param: None,
            request_id: "r1".to_owned(),
            retryable: true,
            doc_url: String::new(),
            retry_after: None,
            extras: Map::new(),
        };
        let text = String::from_utf8(error_frame(&body)).unwrap();
        let frames: Vec<&str> = text.trim_end().split("\n\n").collect();
        assert_eq!(frames.len(), 2);
        let data = |frame: &str| -> Value {
            serde_json::from_str(frame.split_once("data: ").unwrap().1).unwrap()
        };
        assert!(frames[0].starts_with("event: error\n"));
        let first = data(frames[0]);
        assert_eq!(first["code"], "upstream_error");
        assert_eq!(first["error"]["request_id"], "r1");
        assert!(frames[1].starts_with("event: response.failed\n"));
        let last = data(frames[1]);
        assert_eq!(last["response"]["error"]["code"], "upstream_error");
        assert_eq!(last["response"]["error"]["message"], "no");
    }
}
