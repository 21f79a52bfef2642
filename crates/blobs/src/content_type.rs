//! The content type of an object, as its writer declared it, and its file extension.

use std::fmt;

/// Longest accepted content type; the longest registered ones have about 80 characters.
pub const MAX_CONTENT_TYPE_CHARACTERS: usize = 127;

/// File extensions of the types that models produce and accept. All others get [`OTHER_ENDING`]: only the content
/// type matters, the extension helps people who browse the store.
const ENDINGS: [(&str, &str); 18] = [
    ("video/mp4", "mp4"),
    ("video/webm", "webm"),
    ("video/quicktime", "mov"),
    ("image/png", "png"),
    ("image/jpeg", "jpg"),
    ("image/webp", "webp"),
    ("image/gif", "gif"),
    ("image/avif", "avif"),
    ("audio/mpeg", "mp3"),
    ("audio/wav", "wav"),
    ("audio/x-wav", "wav"),
    ("audio/ogg", "ogg"),
    ("audio/opus", "opus"),
    ("audio/flac", "flac"),
    ("audio/aac", "aac"),
    ("audio/mp4", "m4a"),
    ("audio/webm", "weba"),
    ("application/pdf", "pdf"),
];
const OTHER_ENDING: &str = "bin";

/// A content type that is valid in a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentType(String);

/// Why a text is not a content type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ContentTypeError {
    /// Not of the form `type/subtype`, perhaps with parameters.
    #[error("a content type has the form type/subtype, such as video/mp4")]
    Shape,
    /// Longer than [`MAX_CONTENT_TYPE_CHARACTERS`].
    #[error("a content type has at most {MAX_CONTENT_TYPE_CHARACTERS} characters")]
    TooLong,
}

// === impl ContentType ===

impl ContentType {
    /// Parses a content type. Parameters are kept verbatim.
    pub fn parse(text: &str) -> Result<Self, ContentTypeError> {
        let text = text.trim();
        if text.len() > MAX_CONTENT_TYPE_CHARACTERS {
            return Err(ContentTypeError::TooLong);
        }
        let printable = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        let (kind, subkind) = essence(text)
            .split_once('/')
            .ok_or(ContentTypeError::Shape)?;
        if !printable || !is_token(kind) || !is_token(subkind) {
            return Err(ContentTypeError::Shape);
        }
        Ok(Self(text.to_owned()))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The file extension of this type.
    #[must_use]
    pub fn ending(&self) -> &'static str {
        let essence = essence(&self.0);
        ENDINGS
            .iter()
            .find(|(kind, _)| essence.eq_ignore_ascii_case(kind))
            .map_or(OTHER_ENDING, |(_, ending)| ending)
    }
}

impl fmt::Display for ContentType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Type and subtype, without parameters.
fn essence(text: &str) -> &str {
    text.split(';').next().unwrap_or_default().trim_end()
}

/// Whether a text is a token as RFC 9110 has it.
fn is_token(text: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(legal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_type_is_type_and_subtype_with_parameters() {
        for (text, ending) in [
            ("video/mp4", "mp4"),
            (" Video/MP4 ", "mp4"),
            ("image/jpeg", "jpg"),
            ("audio/ogg; codecs=opus", "ogg"),
            ("application/octet-stream", "bin"),
            ("text/html", "bin"),
        ] {
            let read = ContentType::parse(text).unwrap();
            assert_eq!(read.ending(), ending, "{text}");
            assert_eq!(read.as_str(), text.trim());
        }
    }

    #[test]
    fn what_could_not_stand_in_a_header_is_no_content_type() {
        for wrong in [
            "",
            "video",
            "video/",
            "/mp4",
            "video/mp4/x",
            "video /mp4",
            "video/mp4\r\nX: y",
            "video/mp4; a=\u{e9}",
            ";video/mp4",
        ] {
            assert_eq!(
                ContentType::parse(wrong),
                Err(ContentTypeError::Shape),
                "{wrong:?}"
            );
        }
        let longest = format!("a/{}", "b".repeat(MAX_CONTENT_TYPE_CHARACTERS - 2));
        assert!(ContentType::parse(&longest).is_ok());
        assert_eq!(
            ContentType::parse(&format!("{longest}b")),
            Err(ContentTypeError::TooLong)
        );
    }
}
