//! Bytes inside texts: base64, hexadecimal digits, data URIs.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use bytes::Bytes;
use serde_json::{Map, Value};

/// Vendors and callers leave the padding out at times.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Inline<'a> {
    pub(crate) content_type: &'a str,
    pub(crate) bytes: Bytes,
}

/// The bytes of base64; none where it is none, or empty.
pub(crate) fn from_base64(text: &str) -> Option<Bytes> {
    let bytes = LENIENT.decode(text.trim()).ok()?;
    (!bytes.is_empty()).then(|| Bytes::from(bytes))
}

/// The bytes of hexadecimal digits; none where it is none, or empty.
pub(crate) fn from_hex(text: &str) -> Option<Bytes> {
    let digits = text.trim().as_bytes();
    let is_whole = digits.len().is_multiple_of(2) && !digits.is_empty();
    if !is_whole {
        return None;
    }
    let pair = |pair: &[u8]| {
        let [high, low] = pair else { return None };
        let digit = |byte: u8| {
            char::from(byte)
                .to_digit(16)
                .and_then(|d| u8::try_from(d).ok())
        };
        digit(*high)?.checked_mul(16)?.checked_add(digit(*low)?)
    };
    let bytes: Option<Vec<u8>> = digits.chunks(2).map(pair).collect();
    bytes.map(Bytes::from)
}

/// Whether a text is a data URI, well formed or not.
pub(crate) fn is_data_uri(text: &str) -> bool {
    text.get(..5)
        .is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:"))
}

/// `data:image/png;base64,…`; none where it is not of this form or holds nothing.
pub(crate) fn from_data_uri(text: &str) -> Option<Inline<'_>> {
    let (head, data) = text.get(5..)?.split_once(',')?;
    let mut words = head.split(';');
    let content_type = words.next()?.trim();
    let is_base64 = words.any(|word| word.trim().eq_ignore_ascii_case("base64"));
    let bytes = from_base64(data).filter(|_| is_base64)?;
    Some(Inline {
        content_type,
        bytes,
    })
}

/// Sets a field of a body.
pub(crate) fn put(body: &mut Map<String, Value>, name: &str, value: impl Into<Value>) {
    body.insert(name.to_owned(), value.into());
}

pub(crate) fn data_uri(content_type: &str, bytes: &[u8]) -> String {
    format!("data:{content_type};base64,{}", LENIENT.encode(bytes))
}

/// Whether a text is an http or https URL.
pub(crate) fn is_link(text: &str) -> bool {
    let begins = |scheme: &str| {
        text.get(..scheme.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    text.len() <= MAX_LINK && (begins("https://") || begins("http://"))
}

const MAX_LINK: usize = 8_192;
