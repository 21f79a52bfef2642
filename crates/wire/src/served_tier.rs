//! The tier that served a response, as the response itself says.

use crate::{Format, scan};

/// The tier that a whole response or a frame of a stream names; none if it names none.
#[must_use]
pub fn served_tier(format: Format, data: &[u8]) -> Option<String> {
    let object = scan(data).ok()?;
    let word = paths(format).iter().find_map(|path| object.at(path))?;
    let word: String = serde_json::from_slice(word).ok()?;
    Some(word.to_ascii_lowercase())
}

/// Where it stands, in a whole response and in frames.
const fn paths(format: Format) -> &'static [&'static str] {
    match format {
        Format::OpenaiChat => &["service_tier"],
        Format::OpenaiResponses => &["service_tier", "response.service_tier"],
        Format::ClaudeMessages => &["usage.service_tier", "message.usage.service_tier"],
        // [unverified]; what its documents name is a header.
        Format::Gemini => &["usageMetadata.serviceTier"],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tier_is_found_where_each_format_names_it() {
        for (format, data) in [
            (
                Format::OpenaiChat,
                r#"{"choices":[],"service_tier":"priority"}"#,
            ),
            (
                Format::OpenaiResponses,
                r#"{"id":"r","service_tier":"priority"}"#,
            ),
            (
                Format::OpenaiResponses,
                r#"{"type":"response.completed","response":{"service_tier":"priority"}}"#,
            ),
            (
                Format::ClaudeMessages,
                r#"{"usage":{"input_tokens":1,"service_tier":"priority"}}"#,
            ),
            (
                Format::ClaudeMessages,
                r#"{"type":"message_start","message":{"usage":{"service_tier":"priority"}}}"#,
            ),
            (
                Format::Gemini,
                r#"{"usageMetadata":{"serviceTier":"PRIORITY"}}"#,
            ),
        ] {
            let found = served_tier(format, data.as_bytes());
            assert_eq!(found.as_deref(), Some("priority"), "{data}");
        }
        for data in [
            "{}",
            r#"{"service_tier":null}"#,
            r#"{"service_tier":7}"#,
            "[",
        ] {
            assert_eq!(served_tier(Format::OpenaiChat, data.as_bytes()), None);
        }
    }
}
