//! Sealing of files in pieces, under a key of their own that is itself sealed as a row. So a rotation seals one short
//! row anew, and no file.
//!
//! Each file has a key derived from its salt and its name. The nonce of a piece is its index and whether it is the
//! last: pieces cannot be moved, and a file cannot be cut.

use std::fmt;

use aes_gcm::{AeadInOut, Aes256Gcm, KeyInit};
use hkdf::Hkdf;
use sha2::Sha256;
use trunkline_types::SecretBytes;

use crate::{OpenError, RandomSource, SealError};

/// Bytes of a key of files.
pub const FILE_KEY_BYTES: usize = 32;
/// Random bytes of a file.
pub const FILE_SALT_BYTES: usize = 16;

const NONCE_BYTES: usize = 12;
/// In every derivation: changing it makes all files unreadable.
const INFO: &str = "trunkline/v1/files/aes-256-gcm/";

/// Seals pieces of files.
pub struct FileKey(SecretBytes);

/// A piece of a file.
#[derive(Debug, Clone, Copy)]
pub struct FilePiece<'a> {
    pub name: &'a str,
    pub salt: &'a [u8; FILE_SALT_BYTES],
    pub index: u64,
    pub is_last: bool,
}

// === impl FileKey ===

impl FileKey {
    /// A new key.
    pub fn generate(random: &dyn RandomSource) -> Result<Self, SealError> {
        let mut key = vec![0; FILE_KEY_BYTES];
        random.fill(&mut key)?;
        Ok(Self(SecretBytes::new(key)))
    }

    /// A key that was generated before; none for bytes of another length.
    #[must_use]
    pub fn from_bytes(bytes: SecretBytes) -> Option<Self> {
        (bytes.reveal().len() == FILE_KEY_BYTES).then_some(Self(bytes))
    }

    /// The key, to be sealed as a row.
    #[must_use]
    pub fn reveal(&self) -> &[u8] {
        self.0.reveal()
    }

    /// The sealed piece: as long as the plaintext, and a tag of sixteen bytes.
    pub fn seal(&self, piece: &FilePiece<'_>, plaintext: &[u8]) -> Result<Vec<u8>, SealError> {
        let cipher = self.cipher(piece).ok_or(SealError::Cipher)?;
        let mut sealed = plaintext.to_vec();
        let tag = cipher
            .encrypt_inout_detached(&nonce(piece).into(), b"", sealed.as_mut_slice().into())
            .map_err(|_| SealError::Cipher)?;
        sealed.extend_from_slice(&tag);
        Ok(sealed)
    }

    /// Opens what [`FileKey::seal`] sealed as the same piece of the same file.
    pub fn open(&self, piece: &FilePiece<'_>, sealed: &[u8]) -> Result<Vec<u8>, OpenError> {
        let cipher = self.cipher(piece).ok_or(OpenError::Refused)?;
        let mut opened = sealed.to_vec();
        cipher
            .decrypt_in_place(&nonce(piece).into(), b"", &mut opened)
            .map_err(|_| OpenError::Refused)?;
        Ok(opened)
    }

    /// The cipher of a file.
    fn cipher(&self, piece: &FilePiece<'_>) -> Option<Aes256Gcm> {
        let hkdf = Hkdf::<Sha256>::new(Some(piece.salt.as_slice()), self.0.reveal());
        let mut key = vec![0; FILE_KEY_BYTES];
        let derived = hkdf.expand_multi_info(&[INFO.as_bytes(), piece.name.as_bytes()], &mut key);
        derived.ok()?;
        let key = SecretBytes::new(key);
        Aes256Gcm::new_from_slice(key.reveal()).ok()
    }
}

impl fmt::Debug for FileKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("FileKey").finish_non_exhaustive()
    }
}

/// Each piece of a file has another one; the key is of this file alone.
fn nonce(piece: &FilePiece<'_>) -> [u8; NONCE_BYTES] {
    let [a, b, c, d, e, f, g, h] = piece.index.to_be_bytes();
    [0, 0, 0, u8::from(piece.is_last), a, b, c, d, e, f, g, h]
}
