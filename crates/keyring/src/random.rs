//! Where random bytes come from: the operating system, or a test.

/// Gives random bytes.
///
/// Root keys and nonces are made of them: outside tests only [`SystemRandom`] will do. A source
/// that repeats itself makes the keyring repeat nonces, and a repeated nonce opens what was sealed.
pub trait RandomSource: Send + Sync {
    /// Fills all of `bytes`, or fails.
    fn fill(&self, bytes: &mut [u8]) -> Result<(), RandomError>;
}

/// The operating system's random bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemRandom;

/// No random bytes were to be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no random bytes: {reason}")]
pub struct RandomError {
    pub reason: String,
}

// === impl SystemRandom ===

impl RandomSource for SystemRandom {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), RandomError> {
        getrandom::fill(bytes).map_err(|error| RandomError {
            reason: error.to_string(),
        })
    }
}
