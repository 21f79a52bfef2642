//! The keyring: one root key, keys derived from it per purpose, sealing of rows and ids, signing of
//! links, rotation.
//!
//! A keyring document holds one or two live generations of 32 random bytes. Everything new is
//! sealed under the current one; what the previous one sealed still opens. Every token names its
//! generation, so opening tries exactly one key.
//!
//! | What | How | Whose key |
//! |---|---|---|
//! | rows and short texts: [`Keyring::seal`], [`Keyring::seal_text`] | AES-256-GCM, random nonce | one per purpose |
//! | ids: [`Keyring::seal_id`] | AES-256-GCM-SIV, always the same string for the same id | one for ids alone |
//! | links: [`Keyring::sign`] | HMAC-SHA256 | one per purpose |
//! | files: [`FileKey`] | AES-256-GCM by pieces | one per file, from a random key that is sealed as a row |
//! | roots and statements: [`Keyring::statement_seed`] | Ed25519, by the caller | one for them alone; its public half is published |
//!
//! **How much one generation may seal.** Random nonces of 96 bits allow 2^32 row and text tokens
//! for each purpose before a repeated nonce becomes likely enough to matter (NIST SP 800-38D);
//! rotate before. Ids have no nonce to repeat: 2^40 of them stay far from any bound.
//!
//! This crate must not know: the environment (the executable passes values in), the database, what
//! the sealed bytes mean, or what time it is.
#![cfg_attr(
    not(test),
    deny(
        clippy::arithmetic_side_effects,
        clippy::as_conversions,
        clippy::float_arithmetic,
        clippy::string_slice,
        clippy::cast_possible_truncation
    )
)]

mod binding;
mod bounds;
mod document;
mod error;
mod file;
mod file_key;
mod generation;
mod keyring;
mod purpose;
mod random;
mod seal_ids;
mod seal_rows;
mod signatures;
mod source;
mod token;

pub use binding::{Binding, MAX_CONTEXT_BYTES};
pub use bounds::{MAX_DOCUMENT_BYTES, MAX_PREFIX_BYTES};
pub use document::{Document, Rotated};
pub use error::{DocumentError, OpenError, SealError, SourceError};
pub use file::FileSource;
pub use file_key::{FILE_KEY_BYTES, FILE_SALT_BYTES, FileKey, FilePiece};
pub use generation::{Generation, GenerationId, Generations};
pub use keyring::Keyring;
pub use purpose::Purpose;
pub use random::{RandomError, RandomSource, SystemRandom};
pub use seal_rows::MAX_PLAINTEXT_BYTES;
pub use signatures::MAX_SIGNED_BYTES;
pub use source::{RootKeySource, TextSource};
pub use token::MAX_TEXT_PLAINTEXT_BYTES;

#[cfg(test)]
mod tests;
