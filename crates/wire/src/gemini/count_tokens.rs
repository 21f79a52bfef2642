//! `countTokens`: what is asked, and the response.

use serde_json::{Value, json};

use crate::{RequestError, scan};

const INSIDE: [&str; 2] = ["generateContentRequest", "generate_content_request"];

/// The generateContent body inside a countTokens body: the body itself where it has `contents`.
pub fn count_request(body: &[u8]) -> Result<Vec<u8>, RequestError> {
    let object = scan(body).map_err(|error| RequestError {
        code: "invalid_request",
        param: None,
        message: error.to_string(),
    })?;
    let inside = INSIDE.iter().find_map(|key| object.value(key));
    let inside = inside.filter(|value| *value != b"null");
    match (inside, object.value("contents")) {
        (Some(_), Some(_)) => Err(RequestError::invalid(
            "contents",
            "send either `contents` or `generateContentRequest`, not both",
        )),
        (Some(inside), None) => Ok(inside.to_vec()),
        (None, Some(_)) => Ok(body.to_vec()),
        (None, None) => Err(RequestError::invalid("contents", "`contents` is required")),
    }
}

#[must_use]
pub fn count_answer(tokens: u64) -> Vec<u8> {
    let answer = json!({
        "totalTokens": tokens,
        "promptTokensDetails": [{ "modality": "TEXT", "tokenCount": tokens }],
    });
    answer.to_string().into_bytes()
}

#[must_use]
pub fn read_count(body: &[u8]) -> Option<u64> {
    let answer: Value = serde_json::from_slice(body).ok()?;
    answer.get("totalTokens")?.as_u64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_is_found_in_both_shapes_and_read_back() {
        let plain = br#"{"contents":[{"parts":[{"text":"hi"}]}]}"#;
        assert_eq!(count_request(plain).unwrap(), plain);
        let inside = br#"{"generateContentRequest":{"model":"models/m","contents":[]}}"#;
        assert_eq!(
            count_request(inside).unwrap(),
            br#"{"model":"models/m","contents":[]}"#
        );
        assert_eq!(
            count_request(b"{}").unwrap_err().param.as_deref(),
            Some("contents")
        );
        let both = br#"{"contents":[],"generateContentRequest":{}}"#;
        assert!(count_request(both).is_err());
        assert_eq!(read_count(&count_answer(31)), Some(31));
        assert_eq!(read_count(b"{}"), None);
    }
}
