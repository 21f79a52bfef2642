//! Ed25519 (RFC 8032). A key is named by itself: 32 bytes, as 64 digits.

use std::fmt;

use aws_lc_rs::signature::{ED25519, UnparsedPublicKey};

use crate::hash::{read_hex, write_hex};

const KEY_BYTES: usize = 32;
const SIGNATURE_BYTES: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublicKey([u8; KEY_BYTES]);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signature([u8; SIGNATURE_BYTES]);

/// Has the private key.
pub trait Signer: Send + Sync {
    fn public_key(&self) -> PublicKey;
    /// None if the library fails.
    fn sign(&self, message: &[u8]) -> Option<Signature>;
}

// === impl PublicKey ===

impl PublicKey {
    #[must_use]
    pub const fn new(bytes: [u8; KEY_BYTES]) -> Self {
        Self(bytes)
    }

    #[must_use]
    pub const fn bytes(&self) -> &[u8; KEY_BYTES] {
        &self.0
    }

    /// 64 digits, lower case only.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<Self> {
        read_hex(text).map(Self)
    }

    /// One of 32 bytes.
    #[must_use]
    pub fn from_slice(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    #[must_use]
    pub fn has_signed(&self, message: &[u8], signature: &Signature) -> bool {
        let key = UnparsedPublicKey::new(&ED25519, &self.0);
        key.verify(message, &signature.0).is_ok()
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(&self.0, formatter)
    }
}

// === impl Signature ===

impl Signature {
    #[must_use]
    pub const fn new(bytes: [u8; SIGNATURE_BYTES]) -> Self {
        Self(bytes)
    }

    #[must_use]
    pub const fn bytes(&self) -> &[u8; SIGNATURE_BYTES] {
        &self.0
    }

    /// 128 digits, lower case only.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<Self> {
        read_hex(text).map(Self)
    }

    /// One of 64 bytes.
    #[must_use]
    pub fn from_slice(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(&self.0, formatter)
    }
}
