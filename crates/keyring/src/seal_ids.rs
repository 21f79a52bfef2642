//! Sealing of ids: AES-256-GCM-SIV under a fixed nonce, so one id has one string without a
//! table to find it again.
//!
//! A fixed nonce is what the SIV mode is made for (RFC 8452): it gives away only which plaintexts
//! under one binding are equal, and that is the property wanted. Carrying a nonce derived from the
//! plaintext would lengthen every id and add nothing. A token is header (3 bytes), ciphertext, tag
//! (16). After a rotation an id gets a new string; the old one opens until its generation retires.

use aes_gcm_siv::{AeadInOut, Aes256GcmSiv, KeyInit, Nonce};
use trunkline_types::SecretBytes;

use crate::binding::associated_data;
use crate::{Binding, Keyring, MAX_CONTEXT_BYTES, OpenError, Purpose, SealError, token};

const KIND: &str = "id";
const TAG_BYTES: usize = 16;

// === impl Keyring ===

impl Keyring {
    /// Seals an id into its one string under the current generation, always for
    /// [`Purpose::SealedIds`]. The prefix (`resp_`) is sealed with it, so a string cannot be passed
    /// off as another kind of id.
    pub fn seal_id(
        &self,
        binding: &Binding<'_>,
        prefix: &str,
        plaintext: &[u8],
    ) -> Result<String, SealError> {
        token::check_text(prefix, plaintext)?;
        binding.check_length()?;
        let keys = self.keys();
        let keys = &keys.current;
        let cipher =
            Aes256GcmSiv::new_from_slice(keys.ids.reveal()).map_err(|_| SealError::Cipher)?;
        let header = token::header_of(keys.generation.id);
        let bound_to = associated_data(KIND, &header, Purpose::SealedIds, prefix, binding);

        let longest = plaintext
            .len()
            .saturating_add(token::HEADER_BYTES + TAG_BYTES);
        let mut sealed = Vec::with_capacity(longest);
        sealed.extend_from_slice(&header);
        sealed.extend_from_slice(plaintext);
        let body = sealed
            .get_mut(token::HEADER_BYTES..)
            .ok_or(SealError::Cipher)?;
        let tag = cipher
            .encrypt_inout_detached(&Nonce::default(), &bound_to, body.into())
            .map_err(|_| SealError::Cipher)?;
        sealed.extend_from_slice(&tag);
        Ok(token::spell(prefix, &sealed))
    }

    /// Opens what [`Keyring::seal_id`] made for the same binding and prefix.
    pub fn open_id(
        &self,
        binding: &Binding<'_>,
        prefix: &str,
        text: &str,
    ) -> Result<SecretBytes, OpenError> {
        let token = token::read(prefix, text)?;
        if token.len() < token::HEADER_BYTES + TAG_BYTES {
            return Err(OpenError::Malformed);
        }
        let (generation, header, sealed) = token::split(&token)?;
        let keys = self.keys();
        let keys = keys.keys_of(generation)?;
        // Nothing was ever sealed under a longer context.
        if binding.context.len() > MAX_CONTEXT_BYTES {
            return Err(OpenError::Refused);
        }
        let cipher =
            Aes256GcmSiv::new_from_slice(keys.ids.reveal()).map_err(|_| OpenError::Refused)?;
        let bound_to = associated_data(KIND, header, Purpose::SealedIds, prefix, binding);
        let mut opened = sealed.to_vec();
        cipher
            .decrypt_in_place(&Nonce::default(), &bound_to, &mut opened)
            .map_err(|_| OpenError::Refused)?;
        Ok(SecretBytes::new(opened))
    }
}
