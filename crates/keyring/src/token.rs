//! The form of tokens: a format byte, the generation, then what the mode puts there; and the text
//! form, a prefix before base64url without padding.
//!
//! There is exactly one spelling of a token: a decoder that forgives would let an altered text pass.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::bounds::MAX_PREFIX_BYTES;
use crate::{GenerationId, OpenError, SealError};

/// Longest plaintext of a token in text form: as text it still fits a cookie and a header.
pub const MAX_TEXT_PLAINTEXT_BYTES: usize = 2_048;

/// Bytes of a header: format and generation.
pub(crate) const HEADER_BYTES: usize = 3;

const FORMAT: u8 = 1;
/// More characters than any token in text form has; longer ones are not decoded at all.
const MAX_TEXT_CHARACTERS: usize = 4_096;

/// The first bytes of every token of a generation.
pub(crate) fn header_of(generation: GenerationId) -> [u8; HEADER_BYTES] {
    let [high, low] = generation.number().to_be_bytes();
    [FORMAT, high, low]
}

/// Reads the header: the generation, the header's bytes and all that follows.
pub(crate) fn split(token: &[u8]) -> Result<(GenerationId, &[u8; HEADER_BYTES], &[u8]), OpenError> {
    let (header, body) = token
        .split_first_chunk::<HEADER_BYTES>()
        .ok_or(OpenError::Malformed)?;
    let [format, high, low] = *header;
    if format != FORMAT {
        return Err(OpenError::Malformed);
    }
    let number = u16::from_be_bytes([high, low]);
    let generation = GenerationId::new(number).ok_or(OpenError::UnknownGeneration)?;
    Ok((generation, header, body))
}

/// The text form of a token.
pub(crate) fn spell(prefix: &str, token: &[u8]) -> String {
    let mut text = prefix.to_owned();
    URL_SAFE_NO_PAD.encode_string(token, &mut text);
    text
}

/// Reads the text form; the engine refuses padding, blanks and loose last bits.
pub(crate) fn read(prefix: &str, text: &str) -> Result<Vec<u8>, OpenError> {
    if text.len() > MAX_TEXT_CHARACTERS {
        return Err(OpenError::Malformed);
    }
    let encoded = text.strip_prefix(prefix).ok_or(OpenError::Malformed)?;
    URL_SAFE_NO_PAD
        .decode(encoded)
        .map_err(|_| OpenError::Malformed)
}

pub(crate) fn check_text(prefix: &str, plaintext: &[u8]) -> Result<(), SealError> {
    let legal = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_');
    if prefix.len() > MAX_PREFIX_BYTES || !prefix.bytes().all(legal) {
        return Err(SealError::Prefix);
    }
    if plaintext.len() > MAX_TEXT_PLAINTEXT_BYTES {
        return Err(SealError::TooLong {
            what: "the text to seal",
            limit_bytes: MAX_TEXT_PLAINTEXT_BYTES,
        });
    }
    Ok(())
}
