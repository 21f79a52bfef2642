//! Signatures of what stays readable, such as a media link and its `Expires`: HMAC-SHA256.
//!
//! A signature is header (3 bytes) and code (32), as base64url. It proves who wrote the parts, not
//! that they are still valid: comparing `Expires` with the clock is the caller's.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::binding::{append_framed, associated_data};
use crate::keyring::GenerationKeys;
use crate::{Binding, Keyring, MAX_CONTEXT_BYTES, OpenError, Purpose, SealError, token};

/// Most bytes that one signature covers: those of all its parts, and one more for each part.
pub const MAX_SIGNED_BYTES: usize = 65_536;

const KIND: &str = "signature";
const CODE_BYTES: usize = 32;

// === impl Keyring ===

impl Keyring {
    /// Signs parts in their order. Where one part ends is signed too: moving a character from one to
    /// the next is noticed. Equal parts under one generation have equal signatures.
    pub fn sign(
        &self,
        purpose: Purpose,
        binding: &Binding<'_>,
        parts: &[&[u8]],
    ) -> Result<String, SealError> {
        binding.check_length()?;
        if signed_bytes(parts) > MAX_SIGNED_BYTES {
            return Err(SealError::TooLong {
                what: "what is to be signed",
                limit_bytes: MAX_SIGNED_BYTES,
            });
        }
        let keys = self.keys();
        let header = token::header_of(keys.current.generation.id);
        let code = authenticate(&keys.current, &header, purpose, binding, parts)
            .ok_or(SealError::Cipher)?
            .finalize()
            .into_bytes();
        let mut signature = header.to_vec();
        signature.extend_from_slice(&code);
        Ok(token::spell("", &signature))
    }

    /// Whether [`Keyring::sign`] signed these parts for this purpose and binding. Takes the same
    /// time wherever the code differs.
    pub fn verify(
        &self,
        purpose: Purpose,
        binding: &Binding<'_>,
        parts: &[&[u8]],
        signature: &str,
    ) -> Result<(), OpenError> {
        let signature = token::read("", signature)?;
        if signature.len() != token::HEADER_BYTES + CODE_BYTES {
            return Err(OpenError::Malformed);
        }
        let (generation, header, code) = token::split(&signature)?;
        let keys = self.keys();
        let keys = keys.keys_of(generation)?;
        // Nothing longer was ever signed.
        if binding.context.len() > MAX_CONTEXT_BYTES || signed_bytes(parts) > MAX_SIGNED_BYTES {
            return Err(OpenError::Refused);
        }
        authenticate(keys, header, purpose, binding, parts)
            .ok_or(OpenError::Refused)?
            .verify_slice(code)
            .map_err(|_| OpenError::Refused)
    }
}

/// What the parts count against the limit: their bytes, and one for each so that empty ones do too.
fn signed_bytes(parts: &[&[u8]]) -> usize {
    parts.iter().fold(0_usize, |sum, part| {
        sum.saturating_add(part.len()).saturating_add(1)
    })
}

/// None only if the key had a length that HMAC does not take; it takes all.
fn authenticate(
    keys: &GenerationKeys,
    header: &[u8],
    purpose: Purpose,
    binding: &Binding<'_>,
    parts: &[&[u8]],
) -> Option<Hmac<Sha256>> {
    let mut mac = Hmac::<Sha256>::new_from_slice(keys.of(purpose).signatures.reveal()).ok()?;
    let mut signed = associated_data(KIND, header, purpose, "", binding);
    for part in parts {
        append_framed(&mut signed, part);
    }
    mac.update(&signed);
    Some(mac)
}
