//! What can go wrong. No message here carries key material, plaintext or the text of a document.

use std::io;
use std::path::PathBuf;

use crate::bounds::{MAX_DOCUMENT_BYTES, MAX_PREFIX_BYTES};
use crate::{GenerationId, RandomError};

/// Why a token was not opened or a signature not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// Not the form of a token.
    #[error("not the form of a token")]
    Malformed,
    /// Its generation is not live here: retired, or newer than what this process has loaded.
    #[error("the token's key generation is not live here")]
    UnknownGeneration,
    /// Altered, or of another purpose, account or context. Which of them is not said on purpose.
    #[error("the token was refused")]
    Refused,
}

/// Why nothing was sealed or signed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// More bytes than are taken.
    #[error("{what} is longer than {limit_bytes} bytes")]
    TooLong {
        what: &'static str,
        /// The most that is taken.
        limit_bytes: usize,
    },
    /// The prefix is no prefix.
    #[error("a prefix is at most {MAX_PREFIX_BYTES} lower-case letters, digits, - and _")]
    Prefix,
    /// No nonce could be made.
    #[error(transparent)]
    Random(#[from] RandomError),
    /// The cipher took neither key nor message; cannot happen within the limits above.
    #[error("the cipher refused to seal")]
    Cipher,
}

/// Why a keyring document is not one, or could not be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    /// Nothing there, or only blanks.
    #[error("the keyring is empty: it needs at least one generation")]
    Empty,
    /// Too long to be one.
    #[error("the keyring is longer than {MAX_DOCUMENT_BYTES} bytes")]
    TooLarge,
    /// Not the TOML form. Only the line is told: the parser's own message quotes the text.
    #[error(
        "the keyring is not understood at line {line}: it has `version = 1`, a table [current] and \
         perhaps [previous], each with generation, key and perhaps created_at (unix seconds)"
    )]
    Toml { line: usize },
    /// Not the one-line form.
    #[error(
        "the one-line keyring is not understood: it is v1:<generation>:<key>, then perhaps \
         ,<generation>:<key> for the previous generation"
    )]
    Line,
    /// A form made by a later release.
    #[error("the keyring has version {found}, this release reads version 1")]
    Version { found: u32 },
    /// A key that cannot be one.
    #[error("the key of generation {generation} is not the base64 text of 32 random bytes")]
    Key { generation: GenerationId },
    /// The two generations contradict each other.
    #[error("the previous generation needs a smaller number than the current and another key")]
    Order,
    /// A file of before a rotation.
    #[error(
        "the keyring has generation {found}, and generation {used} is in use: it is a file of before a rotation"
    )]
    Older {
        found: GenerationId,
        used: GenerationId,
    },
    /// The last number is in use.
    #[error("no generation number is left")]
    Exhausted,
    /// No key could be made.
    #[error(transparent)]
    Random(#[from] RandomError),
    /// HKDF refused; cannot happen with the lengths used here.
    #[error("the keys could not be derived")]
    Derivation,
}

/// Why a keyring document could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// It was read, but it is no keyring.
    #[error(transparent)]
    Document(#[from] DocumentError),
    #[error("cannot {doing} keyring file {path:?}: {source}")]
    Io {
        doing: &'static str,
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// Other users of the machine can reach the key.
    #[error(
        "keyring file {path:?} has mode {mode:04o}, so others than its owner can reach the root \
         key; mend with: chmod 600 {path:?}"
    )]
    Exposed {
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// A folder, a pipe or something stranger.
    #[error("keyring file {path:?} is not a regular file")]
    NotAFile { path: PathBuf },
    /// A keyring is never overwritten by a new one: all that it sealed would be lost.
    #[error("keyring file {path:?} exists already; to change keys use: trunkline keyring rotate")]
    Exists { path: PathBuf },
    /// Another process is writing, or was interrupted.
    #[error(
        "{path:?} exists: another change of the keyring is under way or was interrupted; if none \
         is running, remove that file and try again"
    )]
    Busy { path: PathBuf },
    /// A key service did not give the document.
    #[error("the key service gave no keyring: {reason}")]
    KeyService {
        /// In the words of the hook, without secrets.
        reason: String,
    },
}
