//! The metadata of an object: length, hash, content type.
//!
//! On S3, an object that was put in one request has them as attributes. A multipart upload cannot: attributes are
//! set when it starts, and the hash is known when it ends. A directory cannot either: `LocalFileSystem` rejects
//! attributes. Both have a small sidecar, `<name>.metadata`, written *before* the object appears under its name. So
//! a visible object always has its metadata, and metadata without an object is an orphan of an incomplete put.

use object_store::{Attribute, Attributes};
use serde::{Deserialize, Serialize};

use crate::path::{hex, read_hex};
use crate::{ContentType, MediaError};

/// Largest sidecar that is read; a real one has less than 300 bytes.
pub(crate) const MAX_METADATA_BYTES: u64 = 4_096;
/// The ending of a sidecar. No object can have it: endings of objects have no second dot.
pub(crate) const METADATA_ENDING: &str = ".metadata";

const SHA256_BYTES: usize = 32;
const SHA256_ATTRIBUTE: Attribute = Attribute::Metadata(std::borrow::Cow::Borrowed("sha256"));

/// The metadata of a stored object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metadata {
    pub bytes: u64,
    /// SHA-256 of its content.
    pub sha256: [u8; SHA256_BYTES],
    /// The content type that its writer declared.
    pub content_type: ContentType,
}

/// The sidecar's JSON.
#[derive(Serialize, Deserialize)]
struct Written {
    bytes: u64,
    sha256: String,
    content_type: String,
}

// === impl Metadata ===

impl Metadata {
    /// The entity tag: the content's hash, in quotes as headers want it.
    #[must_use]
    pub fn etag(&self) -> String {
        format!("\"{}\"", self.sha256_hex())
    }

    /// The hash as 64 hexadecimal digits.
    #[must_use]
    pub fn sha256_hex(&self) -> String {
        hex(&self.sha256)
    }

    /// The attributes of an object that goes to S3 in one request.
    pub(crate) fn attributes(&self) -> Attributes {
        let mut attributes = content_type_alone(&self.content_type);
        attributes.insert(SHA256_ATTRIBUTE, self.sha256_hex().into());
        attributes
    }

    /// Parses attributes. None without a hash: then there is a sidecar.
    pub(crate) fn from_attributes(
        bytes: u64,
        attributes: &Attributes,
    ) -> Result<Option<Self>, MediaError> {
        let Some(sha256) = attributes.get(&SHA256_ATTRIBUTE) else {
            return Ok(None);
        };
        let content_type = attributes.get(&Attribute::ContentType);
        let content_type = content_type.ok_or(MediaError::Damaged)?;
        read(bytes, sha256, content_type).map(Some)
    }

    pub(crate) fn to_sidecar(&self) -> Result<Vec<u8>, MediaError> {
        let written = Written {
            bytes: self.bytes,
            sha256: self.sha256_hex(),
            content_type: self.content_type.as_str().to_owned(),
        };
        serde_json::to_vec(&written).map_err(|_| MediaError::Damaged)
    }

    /// Parses a sidecar; the object must have its length.
    pub(crate) fn from_sidecar(bytes: u64, sidecar: &[u8]) -> Result<Self, MediaError> {
        let written: Written = serde_json::from_slice(sidecar).map_err(|_| MediaError::Damaged)?;
        if written.bytes != bytes {
            return Err(MediaError::Damaged);
        }
        read(bytes, &written.sha256, &written.content_type)
    }
}

/// The attributes of a multipart upload: what is known when it starts, for people who browse the bucket.
pub(crate) fn content_type_alone(content_type: &ContentType) -> Attributes {
    let mut attributes = Attributes::new();
    attributes.insert(
        Attribute::ContentType,
        content_type.as_str().to_owned().into(),
    );
    attributes
}

fn read(bytes: u64, sha256: &str, content_type: &str) -> Result<Metadata, MediaError> {
    Ok(Metadata {
        bytes,
        sha256: read_hex(sha256).ok_or(MediaError::Damaged)?,
        content_type: ContentType::parse(content_type).map_err(|_| MediaError::Damaged)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Metadata {
        Metadata {
            bytes: 5,
            sha256: [0x0f; SHA256_BYTES],
            content_type: ContentType::parse("audio/ogg; codecs=opus").unwrap(),
        }
    }

    #[test]
    fn facts_come_back_from_attributes_and_from_a_sidecar() {
        let metadata = sample();
        let read = Metadata::from_attributes(5, &metadata.attributes()).unwrap();
        assert_eq!(read, Some(metadata.clone()));
        let sidecar = metadata.to_sidecar().unwrap();
        assert_eq!(Metadata::from_sidecar(5, &sidecar).unwrap(), metadata);
        assert_eq!(metadata.etag(), format!("\"{}\"", "0f".repeat(32)));
    }

    #[test]
    fn facts_that_do_not_fit_are_damage_and_no_guess() {
        let sidecar = sample().to_sidecar().unwrap();
        for (bytes, text) in [
            (6, sidecar.clone()),
            (5, b"{}".to_vec()),
            (5, Vec::new()),
            (
                5,
                String::from_utf8(sidecar)
                    .unwrap()
                    .replace("0f", "0g")
                    .into_bytes(),
            ),
        ] {
            let parsed = Metadata::from_sidecar(bytes, &text);
            assert!(matches!(parsed, Err(MediaError::Damaged)), "{parsed:?}");
        }
        let no_hash = content_type_alone(&sample().content_type);
        assert!(matches!(Metadata::from_attributes(5, &no_hash), Ok(None)));
    }
}
