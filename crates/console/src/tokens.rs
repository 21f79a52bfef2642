//! Tokens that open something: 256 random bits as text. Who holds one is known by its SHA-256 alone.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use trunkline_keyring::{RandomError, RandomSource};
use trunkline_store::people::TokenHash;
use trunkline_types::Secret;

const TOKEN_BYTES: usize = 32;
/// 256 bits in base64 without padding.
const TOKEN_CHARACTERS: usize = 43;

/// A token, and what is kept of it.
pub struct Token {
    /// For the one who may use it.
    pub text: Secret,
    pub hash: TokenHash,
}

// === impl Token ===

impl Token {
    pub fn fresh(random: &dyn RandomSource) -> Result<Self, RandomError> {
        let mut bytes = [0; TOKEN_BYTES];
        random.fill(&mut bytes)?;
        let text = URL_SAFE_NO_PAD.encode(bytes);
        let hash = sha256(text.as_bytes());
        Ok(Self {
            text: Secret::new(text),
            hash,
        })
    }
}

/// The hash of a text that may be a token; none if it cannot be one.
pub(crate) fn hash_of(text: &str) -> Option<TokenHash> {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    let one = text.len() == TOKEN_CHARACTERS && text.bytes().all(legal);
    one.then(|| sha256(text.as_bytes()))
}

pub(crate) fn sha256(bytes: &[u8]) -> TokenHash {
    Sha256::digest(bytes).into()
}

#[cfg(test)]
mod tests {
    use trunkline_keyring::SystemRandom;

    use super::*;

    #[test]
    fn a_token_is_found_by_its_hash_and_no_two_are_the_same() {
        let one = Token::fresh(&SystemRandom).unwrap();
        let other = Token::fresh(&SystemRandom).unwrap();
        assert_eq!(hash_of(one.text.reveal()), Some(one.hash));
        assert_ne!(one.hash, other.hash);
        for wrong in ["", "short", &"=".repeat(43), &"a".repeat(44)] {
            assert_eq!(hash_of(wrong), None, "{wrong}");
        }
    }
}
