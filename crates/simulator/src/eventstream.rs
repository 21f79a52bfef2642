//! AWS's binary framing of streams: a prelude with lengths and its checksum, headers, a payload,
//! and a checksum over all of it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

/// The type of a header whose value is a text.
const TEXT_HEADER: u8 = 7;
/// Prelude with its checksum, and the checksum at the end.
const PRELUDE_BYTES: usize = 12;
const CHECKSUM_BYTES: usize = 4;

/// An event of the model, wrapped as the service wraps it.
pub(crate) fn chunk(event: &[u8]) -> Vec<u8> {
    let payload = json!({ "bytes": STANDARD.encode(event) }).to_string();
    message(
        &[
            (":event-type", "chunk"),
            (":content-type", "application/json"),
            (":message-type", "event"),
        ],
        payload.as_bytes(),
    )
}

/// The model failed inside its stream.
pub(crate) fn stream_error() -> Vec<u8> {
    let message = "The system encountered an unexpected error during processing. Try your request \
                   again.";
    let payload = json!({
        "message": message,
        "originalMessage": message,
        "originalStatusCode": 500,
    });
    exception("modelStreamErrorException", &payload.to_string())
}

/// A limit that was seen only after the good status was sent.
pub(crate) fn throttled() -> Vec<u8> {
    let payload = json!({ "message": "Too many requests, please wait before trying again." });
    exception("throttlingException", &payload.to_string())
}

fn exception(name: &str, payload: &str) -> Vec<u8> {
    message(
        &[
            (":exception-type", name),
            (":content-type", "application/json"),
            (":message-type", "exception"),
        ],
        payload.as_bytes(),
    )
}

fn message(headers: &[(&str, &str)], payload: &[u8]) -> Vec<u8> {
    let mut head = Vec::new();
    for (name, value) in headers {
        // Names and values are our own and short, so their lengths fit.
        head.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
        head.extend_from_slice(name.as_bytes());
        head.push(TEXT_HEADER);
        head.extend_from_slice(&u16::try_from(value.len()).unwrap_or(u16::MAX).to_be_bytes());
        head.extend_from_slice(value.as_bytes());
    }
    let total = PRELUDE_BYTES
        .saturating_add(head.len())
        .saturating_add(payload.len())
        .saturating_add(CHECKSUM_BYTES);
    let mut bytes = Vec::with_capacity(total);
    // Payloads are bounded far below 32 bits where they are made.
    for length in [total, head.len()] {
        bytes.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes());
    }
    bytes.extend_from_slice(&crc32fast::hash(&bytes).to_be_bytes());
    bytes.extend_from_slice(&head);
    bytes.extend_from_slice(payload);
    bytes.extend_from_slice(&crc32fast::hash(&bytes).to_be_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_headers_and_checksums_stand_where_they_belong() {
        let bytes = message(&[("a", "bc")], b"payload");
        let head = [1, b'a', 7, 0, 2, b'b', b'c'];
        let total = u8::try_from(12 + head.len() + 7 + 4).unwrap();
        assert_eq!(bytes.len(), usize::from(total));
        assert_eq!(bytes[..8], [0, 0, 0, total, 0, 0, 0, 7]);
        assert_eq!(bytes[8..12], crc32fast::hash(&bytes[..8]).to_be_bytes());
        assert_eq!(bytes[12..19], head);
        assert_eq!(&bytes[19..26], b"payload");
        assert_eq!(bytes[26..], crc32fast::hash(&bytes[..26]).to_be_bytes());
    }

    /// The message of AWS's own test suite without headers and payload.
    #[test]
    fn an_empty_message_is_that_of_the_published_vectors() {
        assert_eq!(
            message(&[], b""),
            [
                0, 0, 0, 0x10, 0, 0, 0, 0, 0x05, 0xc2, 0x48, 0xeb, 0x7d, 0x98, 0xc8, 0xff
            ]
        );
    }
}
