//! Token counting.

use serde::Deserialize;

#[derive(Deserialize)]
struct Count {
    input_tokens: u64,
}

/// The response to `count_tokens`.
#[must_use]
pub fn count_answer(tokens: u64) -> Vec<u8> {
    format!(r#"{{"input_tokens":{tokens}}}"#).into_bytes()
}

/// What an upstream answered to `count_tokens`; none if it did not answer that.
#[must_use]
pub fn read_count(body: &[u8]) -> Option<u64> {
    let count: Count = serde_json::from_slice(body).ok()?;
    Some(count.input_tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_read_as_it_is_written() {
        assert_eq!(count_answer(17), br#"{"input_tokens":17}"#);
        assert_eq!(read_count(&count_answer(u64::MAX)), Some(u64::MAX));
        assert_eq!(
            read_count(br#"{"context_management":{},"input_tokens":3}"#),
            Some(3)
        );
        for odd in ["{}", "[]", r#"{"input_tokens":-1}"#, "<html>"] {
            assert_eq!(read_count(odd.as_bytes()), None, "{odd}");
        }
    }
}
