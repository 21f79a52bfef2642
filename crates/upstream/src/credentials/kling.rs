//! Kling's older key pair: each call carries a JWT signed with the secret key (HS256). Built by hand, since it is
//! three parts joined by dots.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use trunkline_types::{Secret, Timestamp};

/// How long a token counts, as the vendor's documentation has it.
const LIFE_SECONDS: i64 = 1_800;
/// How much earlier the token becomes valid, for a vendor whose clock is behind ours.
const EARLIER_SECONDS: i64 = 5;
/// Tokens that are still redacted from messages: at most one is made per second, and no call to this vendor takes
/// longer than two minutes.
const MAX_KEPT: usize = 128;

/// An access key and its secret key.
pub(super) struct KeyPair {
    whole: Secret,
    access_key: Secret,
    secret_key: Secret,
    /// The last tokens with the second each was made in, newest last.
    made: Mutex<VecDeque<(i64, Secret)>>,
}

#[derive(Serialize)]
struct Head {
    alg: &'static str,
    typ: &'static str,
}

#[derive(Serialize)]
struct Claims<'a> {
    iss: &'a str,
    exp: i64,
    nbf: i64,
}

// === impl KeyPair ===

impl KeyPair {
    /// `ACCESS:SECRET`. Anything else is none: it is an API key.
    pub(super) fn read(secret: &Secret) -> Option<Self> {
        let (access_key, secret_key) = secret.reveal().trim().split_once(':')?;
        let plain = |byte: u8| byte.is_ascii_graphic() && byte != b':';
        let is_key = |text: &str| !text.is_empty() && text.bytes().all(plain);
        (is_key(access_key) && is_key(secret_key)).then(|| Self {
            whole: secret.clone(),
            access_key: Secret::new(access_key.to_owned()),
            secret_key: Secret::new(secret_key.to_owned()),
            made: Mutex::default(),
        })
    }

    /// A token for a call that is made now.
    pub(super) fn token(&self, now: Timestamp) -> Secret {
        let second = now.seconds();
        let mut made = self.made();
        if let Some((_, token)) = made.iter().find(|(at, _)| *at == second) {
            return token.clone();
        }
        let token = Secret::new(self.signed(second));
        if made.len() >= MAX_KEPT {
            made.pop_front();
        }
        made.push_back((second, token.clone()));
        token
    }

    pub(super) fn secrets(&self) -> Vec<Secret> {
        let mut all = vec![
            self.whole.clone(),
            self.access_key.clone(),
            self.secret_key.clone(),
        ];
        all.extend(self.made().iter().map(|(_, token)| token.clone()));
        all
    }

    fn made(&self) -> MutexGuard<'_, VecDeque<(i64, Secret)>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn signed(&self, second: i64) -> String {
        let head = Head {
            alg: "HS256",
            typ: "JWT",
        };
        let claims = Claims {
            iss: self.access_key.reveal(),
            exp: second.saturating_add(LIFE_SECONDS),
            nbf: second.saturating_sub(EARLIER_SECONDS),
        };
        let text = format!("{}.{}", part(&head), part(&claims));
        let key = hmac::Key::new(hmac::HMAC_SHA256, self.secret_key.reveal().as_bytes());
        let signature = hmac::sign(&key, text.as_bytes());
        format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

/// A part of a token. These structures always become JSON; were one not, the vendor would refuse it.
fn part(value: &impl Serialize) -> String {
    URL_SAFE_NO_PAD.encode(serde_json::to_vec(value).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made with another implementation (Python's `hmac`) from the same keys and timestamp.
    const KNOWN: &str = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.\
         eyJpc3MiOiJjYW5hcnktYWNjZXNzIiwiZXhwIjoxNzY3MzUwNDcyLCJuYmYiOjE3NjczNDg2Njd9.\
         dvVImxLP78eE9fwFMUUVXGtT9LPzX6if-ac04QgHBbc";

    fn pair(text: &str) -> Option<KeyPair> {
        KeyPair::read(&Secret::new(text.to_owned()))
    }

    #[test]
    fn a_token_is_the_one_that_another_implementation_makes() {
        let keys = pair("canary-access:canary-secret\n").unwrap();
        let token = keys.token(Timestamp::from_micros(1_767_348_672_900_000));
        assert_eq!(token.reveal(), KNOWN);
    }

    #[test]
    fn only_two_keys_with_one_colon_between_are_a_pair() {
        for text in ["sk-1", ":b", "a:", "a:b:c", "a b:c", "", "a:b\nc"] {
            assert!(pair(text).is_none(), "{text:?}");
        }
        assert!(pair("a:b").is_some());
    }

    #[test]
    fn every_token_that_may_still_be_in_use_is_a_secret_and_no_more_are() {
        let keys = pair("a:b").unwrap();
        for second in 0..300 {
            let at = Timestamp::from_micros(second * 1_000_000);
            assert_eq!(keys.token(at).reveal(), keys.token(at).reveal());
        }
        let last = keys.token(Timestamp::from_micros(299_000_000));
        let secrets = keys.secrets();
        assert_eq!(secrets.len(), 3 + MAX_KEPT);
        assert!(secrets.iter().any(|known| known.reveal() == last.reveal()));
    }
}
