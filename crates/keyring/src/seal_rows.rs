//! Sealing of rows and short texts: AES-256-GCM under a random nonce, so equal plaintexts do not
//! look equal.
//!
//! A token is header (3 bytes), nonce (12), ciphertext, tag (16).

use aes_gcm::{AeadInOut, Aes256Gcm, KeyInit};
use trunkline_types::SecretBytes;

use crate::binding::associated_data;
use crate::{Binding, Keyring, MAX_CONTEXT_BYTES, OpenError, Purpose, SealError, token};

/// Longest plaintext of a row.
pub const MAX_PLAINTEXT_BYTES: usize = 16_000_000;

const NONCE_BYTES: usize = 12;
const TAG_BYTES: usize = 16;
/// What sealing adds to a plaintext.
const OVERHEAD_BYTES: usize = token::HEADER_BYTES + NONCE_BYTES + TAG_BYTES;

/// Where a token of this mode is kept: a row's token sent as a text is refused, and the reverse.
#[derive(Clone, Copy)]
struct Shape<'a> {
    kind: &'static str,
    prefix: &'a str,
}

const ROW: Shape<'static> = Shape {
    kind: "row",
    prefix: "",
};

// === impl Keyring ===

impl Keyring {
    /// Seals bytes for a row of the database. Two seals of one plaintext differ.
    pub fn seal(
        &self,
        purpose: Purpose,
        binding: &Binding<'_>,
        plaintext: &[u8],
    ) -> Result<Vec<u8>, SealError> {
        if plaintext.len() > MAX_PLAINTEXT_BYTES {
            return Err(SealError::TooLong {
                what: "the row to seal",
                limit_bytes: MAX_PLAINTEXT_BYTES,
            });
        }
        self.seal_shape(ROW, purpose, binding, plaintext)
    }

    /// Opens what [`Keyring::seal`] made for the same purpose and binding. A failure is counted: rows come from
    /// our own tables.
    pub fn open(
        &self,
        purpose: Purpose,
        binding: &Binding<'_>,
        token: &[u8],
    ) -> Result<SecretBytes, OpenError> {
        let opened = self.open_shape(ROW, purpose, binding, token);
        if opened.is_err() {
            self.count_unopened(purpose);
        }
        opened
    }

    /// Seals a short value into a text for a cookie, a header or a link. The prefix tells readers
    /// what it is and is sealed with it. Two seals of one plaintext differ.
    pub fn seal_text(
        &self,
        purpose: Purpose,
        binding: &Binding<'_>,
        prefix: &str,
        plaintext: &[u8],
    ) -> Result<String, SealError> {
        token::check_text(prefix, plaintext)?;
        let shape = Shape {
            kind: "text",
            prefix,
        };
        let token = self.seal_shape(shape, purpose, binding, plaintext)?;
        Ok(token::spell(prefix, &token))
    }

    /// Opens what [`Keyring::seal_text`] made for the same purpose, binding and prefix.
    pub fn open_text(
        &self,
        purpose: Purpose,
        binding: &Binding<'_>,
        prefix: &str,
        text: &str,
    ) -> Result<SecretBytes, OpenError> {
        let shape = Shape {
            kind: "text",
            prefix,
        };
        self.open_shape(shape, purpose, binding, &token::read(prefix, text)?)
    }

    fn seal_shape(
        &self,
        shape: Shape<'_>,
        purpose: Purpose,
        binding: &Binding<'_>,
        plaintext: &[u8],
    ) -> Result<Vec<u8>, SealError> {
        binding.check_length()?;
        let keys = self.keys();
        let keys = &keys.current;
        let cipher = Aes256Gcm::new_from_slice(keys.of(purpose).rows.reveal())
            .map_err(|_| SealError::Cipher)?;
        let header = token::header_of(keys.generation.id);
        let bound_to = associated_data(shape.kind, &header, purpose, shape.prefix, binding);
        let mut nonce = [0; NONCE_BYTES];
        self.random.fill(&mut nonce)?;

        // Reserved whole, so that no growing leaves a copy of the plaintext behind.
        let mut sealed = Vec::with_capacity(plaintext.len().saturating_add(OVERHEAD_BYTES));
        sealed.extend_from_slice(&header);
        sealed.extend_from_slice(&nonce);
        sealed.extend_from_slice(plaintext);
        let body = sealed
            .get_mut(token::HEADER_BYTES + NONCE_BYTES..)
            .ok_or(SealError::Cipher)?;
        let tag = cipher
            .encrypt_inout_detached(&nonce.into(), &bound_to, body.into())
            .map_err(|_| SealError::Cipher)?;
        sealed.extend_from_slice(&tag);
        Ok(sealed)
    }

    fn open_shape(
        &self,
        shape: Shape<'_>,
        purpose: Purpose,
        binding: &Binding<'_>,
        token: &[u8],
    ) -> Result<SecretBytes, OpenError> {
        let longest = MAX_PLAINTEXT_BYTES.saturating_add(OVERHEAD_BYTES);
        if token.len() < OVERHEAD_BYTES || token.len() > longest {
            return Err(OpenError::Malformed);
        }
        let (generation, header, body) = token::split(token)?;
        let keys = self.keys();
        let keys = keys.keys_of(generation)?;
        // Nothing was ever sealed under a longer context.
        if binding.context.len() > MAX_CONTEXT_BYTES {
            return Err(OpenError::Refused);
        }
        let (nonce, sealed) = body
            .split_first_chunk::<NONCE_BYTES>()
            .ok_or(OpenError::Malformed)?;
        let cipher = Aes256Gcm::new_from_slice(keys.of(purpose).rows.reveal())
            .map_err(|_| OpenError::Refused)?;
        let bound_to = associated_data(shape.kind, header, purpose, shape.prefix, binding);
        let mut opened = sealed.to_vec();
        cipher
            .decrypt_in_place(&(*nonce).into(), &bound_to, &mut opened)
            .map_err(|_| OpenError::Refused)?;
        Ok(SecretBytes::new(opened))
    }
}
