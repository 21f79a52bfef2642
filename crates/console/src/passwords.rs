//! Passwords: rules and hashing. argon2id with 19 MiB, as OWASP recommends, on blocking threads with
//! bounded concurrency, so that unauthenticated callers cannot exhaust memory.

use std::sync::Arc;
use std::time::Duration;

use argon2::{Algorithm, Argon2, Params, PasswordHash, PasswordHasher, PasswordVerifier, Version};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use trunkline_keyring::RandomSource;
use trunkline_types::Secret;

use crate::error::ApiError;

/// Fewest characters.
pub(crate) const MIN_CHARACTERS: usize = 10;
/// Most characters.
pub(crate) const MAX_CHARACTERS: usize = 200;
/// Memory of one hash, in KiB; times; lanes.
const MEMORY_KIB: u32 = 19 * 1_024;
const TIMES: u32 = 2;
const LANES: u32 = 1;
const SALT_BYTES: usize = 16;
/// Hashes at a time: 76 MiB at most.
const AT_ONCE: usize = 4;
/// Who waits longer is told to come back.
const WAIT: Duration = Duration::from_secs(5);
/// The most common passwords that are long enough.
const COMMON: &str = include_str!("passwords.txt");
/// Dummy hash for unknown addresses, so that a check takes as long as for a known one.
const NOBODYS: &str = "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$\
                       AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// Makes and checks hashes. Clones share the limit.
#[derive(Clone)]
pub(crate) struct Passwords {
    slots: Arc<Semaphore>,
    random: Arc<dyn RandomSource>,
}

/// A password that may be taken, beside the address of its person.
pub(crate) fn check(field: &'static str, password: &Secret, email: &str) -> Result<(), ApiError> {
    let text = password.reveal();
    let characters = text.chars().count();
    if !(MIN_CHARACTERS..=MAX_CHARACTERS).contains(&characters) {
        let text = format!("must have {MIN_CHARACTERS} to {MAX_CHARACTERS} characters");
        return Err(ApiError::invalid_param(field, text));
    }
    let plain = text.to_lowercase();
    let name = email.split('@').next().unwrap_or(email);
    if plain == email || plain == name {
        return Err(ApiError::invalid_param(
            field,
            "must not be your email address",
        ));
    }
    if COMMON.lines().any(|common| common == plain) {
        let text = "is too common; choose another password";
        return Err(ApiError::invalid_param(field, text));
    }
    Ok(())
}

// === impl Passwords ===

impl Passwords {
    pub(crate) fn new(random: Arc<dyn RandomSource>) -> Self {
        Self {
            slots: Arc::new(Semaphore::new(AT_ONCE)),
            random,
        }
    }

    /// The text to keep of a password that has passed [`check`].
    pub(crate) async fn hash(&self, password: &Secret) -> Result<Secret, ApiError> {
        let mut salt = [0; SALT_BYTES];
        self.random.fill(&mut salt)?;
        let (permit, password) = (self.permit().await?, password.clone());
        let hashed = tokio::task::spawn_blocking(move || {
            let hashed = hasher()?.hash_password_with_salt(password.reveal().as_bytes(), &salt);
            drop(permit);
            Some(Secret::new(hashed.ok()?.to_string()))
        });
        let hashed = hashed.await.ok().flatten();
        hashed.ok_or_else(broken)
    }

    /// Whether it is the password of this hash. With no hash it never is, and takes as long.
    pub(crate) async fn is_right(
        &self,
        password: &Secret,
        hash: Option<&Secret>,
    ) -> Result<bool, ApiError> {
        let (permit, password) = (self.permit().await?, password.clone());
        let is_somebodys = hash.is_some();
        let hash = hash.cloned();
        let checked = tokio::task::spawn_blocking(move || {
            // Longer ones were never taken; their beginning costs the same.
            let text = hash.as_ref().map_or(NOBODYS, Secret::reveal);
            let hash = PasswordHash::new(text).ok()?;
            let right = hasher()?.verify_password(password.reveal().as_bytes(), &hash);
            drop(permit);
            Some(right.is_ok())
        });
        let right = checked.await.ok().flatten().ok_or_else(broken)?;
        Ok(right && is_somebodys)
    }

    async fn permit(&self) -> Result<OwnedSemaphorePermit, ApiError> {
        let permit = tokio::time::timeout(WAIT, Arc::clone(&self.slots).acquire_owned()).await;
        match permit {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) | Err(_) => Err(ApiError::unavailable()),
        }
    }
}

fn hasher() -> Option<Argon2<'static>> {
    let params = Params::new(MEMORY_KIB, TIMES, LANES, None).ok()?;
    Some(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

fn broken() -> ApiError {
    tracing::error!("password hashing failed");
    ApiError::unavailable()
}

#[cfg(test)]
mod tests {
    use trunkline_keyring::SystemRandom;

    use super::*;

    fn secret(text: &str) -> Secret {
        Secret::new(text.to_owned())
    }

    #[test]
    fn a_password_is_long_enough_and_not_what_is_tried_first() {
        let taken = |text: &str| check("password", &secret(text), "ada.lovelace@example.com");
        let problem = |text: &str| taken(text).unwrap_err().message;
        assert!(taken(&"ü".repeat(10)).is_ok());
        assert!(taken(&"x".repeat(200)).is_ok());
        assert!(problem("nine-char").contains("10 to 200"));
        assert!(problem(&"x".repeat(201)).contains("10 to 200"));
        assert!(problem("Ada.Lovelace@example.com").contains("address"));
        assert!(problem("ada.lovelace").contains("address"));
        assert!(problem("Password123").contains("too common"));
        assert!(problem("1234567890").contains("too common"));
    }

    #[test]
    fn the_list_holds_a_hundred_that_the_length_does_not_refuse() {
        let lines: std::collections::BTreeSet<&str> = COMMON.lines().collect();
        assert_eq!(lines.len(), 100);
        for line in lines {
            assert!(line.chars().count() >= MIN_CHARACTERS, "{line}");
            assert_eq!(line, line.to_lowercase());
        }
    }

    #[tokio::test]
    async fn the_right_password_is_right_and_nobodys_never() {
        let passwords = Passwords::new(Arc::new(SystemRandom));
        let hash = passwords.hash(&secret("correct horse")).await.unwrap();
        assert!(hash.reveal().starts_with("$argon2id$v=19$m=19456,t=2,p=1$"));
        let right = async |text: &str, hash| passwords.is_right(&secret(text), hash).await.unwrap();
        assert!(right("correct horse", Some(&hash)).await);
        assert!(!right("correct horsf", Some(&hash)).await);
        assert!(!right("correct horse", None).await);
        let second = passwords.hash(&secret("correct horse")).await.unwrap();
        assert_ne!(hash.reveal(), second.reveal(), "each has a salt of its own");
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_over_the_limit_is_asked_to_retry_later() {
        let passwords = Passwords::new(Arc::new(SystemRandom));
        let most = u32::try_from(AT_ONCE).unwrap();
        let _all = Arc::clone(&passwords.slots).acquire_many_owned(most).await;
        let refused = passwords.hash(&secret("correct horse")).await.unwrap_err();
        assert_eq!(refused.kind, crate::error::ConsoleErrorCode::Unavailable);
    }
}
