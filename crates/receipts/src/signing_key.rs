//! The private key of an installation's statements.

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};

use crate::{PublicKey, Signature, Signer};

/// An Ed25519 key made of its seed of 32 bytes.
pub struct SigningKey {
    pair: Ed25519KeyPair,
    public: PublicKey,
}

// === impl SigningKey ===

impl SigningKey {
    /// None if the seed has another length.
    #[must_use]
    pub fn from_seed(seed: &[u8]) -> Option<Self> {
        let seed: &[u8; 32] = seed.try_into().ok()?;
        let pair = Ed25519KeyPair::from_seed_unchecked(seed).ok()?;
        let public = PublicKey::from_slice(pair.public_key().as_ref())?;
        Some(Self { pair, public })
    }
}

impl Signer for SigningKey {
    fn public_key(&self) -> PublicKey {
        self.public
    }

    fn sign(&self, message: &[u8]) -> Option<Signature> {
        let signature = self.pair.try_sign(message).ok()?;
        Signature::from_slice(signature.as_ref())
    }
}
