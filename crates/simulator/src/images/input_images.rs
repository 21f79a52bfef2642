//! Pictures that come with a request: addresses, which are never followed, and bytes, which must be
//! a picture.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use sha2::{Digest, Sha256};

use crate::picture::{jpeg, png};
use crate::tokens::hex;

/// How a picture is named in a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Address,
    /// Its bytes, which are a picture of a kind that vendors take.
    Bytes(Vec<u8>),
    /// Neither an address nor a picture.
    Wrong,
}

/// An address, a `data:` URI, or neither.
pub(super) fn read(text: &str) -> Source {
    if is_address(text) {
        return Source::Address;
    }
    let Some(rest) = text.strip_prefix("data:image/") else {
        return Source::Wrong;
    };
    let Some((_, digits)) = rest.split_once(";base64,") else {
        return Source::Wrong;
    };
    match STANDARD.decode(digits) {
        Ok(bytes) if is_picture(&bytes) => Source::Bytes(bytes),
        Ok(_) | Err(_) => Source::Wrong,
    }
}

/// What tells whether bytes came as they were sent.
pub(super) fn hash(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn is_address(text: &str) -> bool {
    let rest = text.strip_prefix("https://");
    let rest = rest.or_else(|| text.strip_prefix("http://"));
    rest.is_some_and(|rest| !rest.is_empty())
}

/// Whether bytes begin as PNG, JPEG or WEBP do.
pub(super) fn is_picture(bytes: &[u8]) -> bool {
    let is_webp = bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP");
    png::is_png(bytes) || jpeg::is_jpeg(bytes) || is_webp
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::{Format, Picture};

    #[test]
    fn a_source_is_an_address_or_a_picture() {
        assert_eq!(read("https://media.example/a.png"), Source::Address);
        let file = Picture::new(8, 8, Format::Jpeg, "a").bytes();
        let uri = format!("data:image/jpeg;base64,{}", STANDARD.encode(&file));
        assert_eq!(read(&uri), Source::Bytes(file));
        for wrong in [
            "",
            "https://",
            "ftp://media.example/a.png",
            "data:image/png;base64,%%%",
            "data:image/png;base64,aGVsbG8=",
            "data:text/plain;base64,aGVsbG8=",
        ] {
            assert_eq!(read(wrong), Source::Wrong, "{wrong}");
        }
    }
}
