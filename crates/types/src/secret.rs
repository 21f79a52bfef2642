//! Secrets that cannot be printed by accident and are wiped when dropped.

use std::fmt;

use serde::{Deserialize, Deserializer};
use zeroize::Zeroizing;

/// A secret text: a credential, a key, a password inside an address.
#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

/// Secret bytes: key material.
#[derive(Clone)]
pub struct SecretBytes(Zeroizing<Vec<u8>>);

/// Printed in place of a secret.
const HIDDEN: &str = "[hidden]";

// === impl Secret ===

impl Secret {
    #[must_use]
    pub fn new(text: String) -> Self {
        Self(Zeroizing::new(text))
    }

    /// The text, for the one place that needs it. Every call is a place to review.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(HIDDEN)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(HIDDEN)
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::new)
    }
}

// === impl SecretBytes ===

impl SecretBytes {
    /// Takes the bytes over.
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// The bytes, for the one place that needs them.
    #[must_use]
    pub fn reveal(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for SecretBytes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(HIDDEN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_prints_as_hidden_everywhere() {
        let secret: Secret = serde_json::from_str("\"sk-canary\"").unwrap();
        assert_eq!(
            format!("{secret} {secret:?} {:?}", Some(secret.clone())),
            "[hidden] [hidden] Some([hidden])"
        );
        assert_eq!(secret.reveal(), "sk-canary");
        let bytes = SecretBytes::new(vec![1, 2, 3]);
        assert_eq!(format!("{bytes:?}"), "[hidden]");
        assert_eq!(bytes.reveal(), [1, 2, 3]);
    }
}
