//! The metadata of an object: length, hash, content type.
//!
//! On S3, an object that was put in one request has them as attributes. A multipart upload cannot: attributes are
//! set when it starts, and the hash is known when it ends. A directory cannot either: `LocalFileSystem` rejects
//! attributes. Both have a small sidecar, `<name>.metadata`, written *before* the object appears under its name. So
//! a visible object always has its metadata, and metadata without an object is an orphan of an incomplete put.

use object_store::{Attribute, Attributes};
use serde::{Deserialize, Serialize};

use crate::path::{hex, read_hex};
use crate::seal::{SALT_BYTES, content_bytes};
use crate::{ContentType, MediaError};

/// Largest sidecar that is read; a real one has less than 300 bytes.
pub(crate) const MAX_METADATA_BYTES: u64 = 4_096;
/// The ending of a sidecar. No object can have it: endings of objects have no second dot.
pub(crate) const METADATA_ENDING: &str = ".metadata";

const SHA256_BYTES: usize = 32;
const SHA256_ATTRIBUTE: Attribute = Attribute::Metadata(std::borrow::Cow::Borrowed("sha256"));
/// The hash of a sealed object has another name: who does not know of sealing must not serve what is stored.
const SEALED_SHA256_ATTRIBUTE: Attribute =
    Attribute::Metadata(std::borrow::Cow::Borrowed("sealed-sha256"));
const SALT_ATTRIBUTE: Attribute = Attribute::Metadata(std::borrow::Cow::Borrowed("salt"));

/// The metadata of a stored object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metadata {
    pub bytes: u64,
    /// SHA-256 of its content.
    pub sha256: [u8; SHA256_BYTES],
    /// The content type that its writer declared.
    pub content_type: ContentType,
}

/// The same with how it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) metadata: Metadata,
    /// None for an object that is not sealed.
    pub(crate) salt: Option<[u8; SALT_BYTES]>,
}

/// The sidecar's JSON.
#[derive(Serialize, Deserialize)]
struct Written {
    bytes: u64,
    sha256: String,
    content_type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    salt: Option<String>,
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
}

// === impl Stored ===

impl Stored {
    /// The attributes of an object that goes to S3 in one request.
    pub(crate) fn attributes(&self) -> Attributes {
        let metadata = &self.metadata;
        let mut attributes = content_type_alone(&metadata.content_type);
        let sha256 = metadata.sha256_hex().into();
        match &self.salt {
            None => attributes.insert(SHA256_ATTRIBUTE, sha256),
            Some(salt) => {
                attributes.insert(SALT_ATTRIBUTE, hex(salt).into());
                attributes.insert(SEALED_SHA256_ATTRIBUTE, sha256)
            }
        };
        attributes
    }

    /// Parses the attributes of an object of so many stored bytes. None without a hash: then there is a sidecar.
    pub(crate) fn from_attributes(
        stored: u64,
        attributes: &Attributes,
    ) -> Result<Option<Self>, MediaError> {
        let content_type = attributes.get(&Attribute::ContentType);
        let content_type = || content_type.ok_or(MediaError::Damaged);
        if let Some(sha256) = attributes.get(&SEALED_SHA256_ATTRIBUTE) {
            let salt = attributes.get(&SALT_ATTRIBUTE);
            let salt = salt.and_then(|salt| read_hex(salt));
            return Ok(Some(Self {
                metadata: read(length(stored, true)?, sha256, content_type()?)?,
                salt: Some(salt.ok_or(MediaError::Damaged)?),
            }));
        }
        let Some(sha256) = attributes.get(&SHA256_ATTRIBUTE) else {
            return Ok(None);
        };
        Ok(Some(Self {
            metadata: read(stored, sha256, content_type()?)?,
            salt: None,
        }))
    }

    pub(crate) fn to_sidecar(&self) -> Result<Vec<u8>, MediaError> {
        let metadata = &self.metadata;
        let written = Written {
            bytes: metadata.bytes,
            sha256: metadata.sha256_hex(),
            content_type: metadata.content_type.as_str().to_owned(),
            salt: self.salt.map(|salt| hex(&salt)),
        };
        serde_json::to_vec(&written).map_err(|_| MediaError::Damaged)
    }

    /// Parses a sidecar; the object must have its length.
    pub(crate) fn from_sidecar(stored: u64, sidecar: &[u8]) -> Result<Self, MediaError> {
        let written: Written = serde_json::from_slice(sidecar).map_err(|_| MediaError::Damaged)?;
        let bytes = length(stored, written.salt.is_some())?;
        if written.bytes != bytes {
            return Err(MediaError::Damaged);
        }
        let salt = match &written.salt {
            None => None,
            Some(salt) => Some(read_hex(salt).ok_or(MediaError::Damaged)?),
        };
        Ok(Self {
            metadata: read(bytes, &written.sha256, &written.content_type)?,
            salt,
        })
    }
}

/// The length of the content of an object of so many stored bytes.
fn length(stored: u64, is_sealed: bool) -> Result<u64, MediaError> {
    match is_sealed {
        true => content_bytes(stored).ok_or(MediaError::Damaged),
        false => Ok(stored),
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

    fn sample() -> Stored {
        let metadata = Metadata {
            bytes: 5,
            sha256: [0x0f; SHA256_BYTES],
            content_type: ContentType::parse("audio/ogg; codecs=opus").unwrap(),
        };
        Stored {
            metadata,
            salt: None,
        }
    }

    #[test]
    fn facts_come_back_from_attributes_and_from_a_sidecar() {
        let plain = sample();
        let sealed = Stored {
            salt: Some([7; SALT_BYTES]),
            ..sample()
        };
        for (object, stored) in [(plain, 5), (sealed, 5 + 16)] {
            let read = Stored::from_attributes(stored, &object.attributes()).unwrap();
            assert_eq!(read, Some(object.clone()));
            let sidecar = object.to_sidecar().unwrap();
            assert_eq!(Stored::from_sidecar(stored, &sidecar).unwrap(), object);
        }
        let etag = sample().metadata.etag();
        assert_eq!(etag, format!("\"{}\"", "0f".repeat(32)));
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
            let parsed = Stored::from_sidecar(bytes, &text);
            assert!(matches!(parsed, Err(MediaError::Damaged)), "{parsed:?}");
        }
        let no_hash = content_type_alone(&sample().metadata.content_type);
        assert!(matches!(Stored::from_attributes(5, &no_hash), Ok(None)));
    }
}
