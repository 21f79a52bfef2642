//! Access tokens of Vertex AI: how one is made, and how one is known again. A token says itself when it
//! ends, under a mark only this simulator makes, so that none has to be kept.

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::tokens::hex;

/// How Vertex AI lets clients in.
#[derive(Clone, Debug)]
pub struct VertexSettings {
    /// Who may get access tokens. None means that every bearer token is taken that `keys` allow.
    pub accounts: Vec<ServiceAccount>,
    /// How long an access token lives. Zero gives tokens that have ended already.
    pub token_life_secs: u32,
}

/// A service account as the vendor knows it: the private half stays with the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceAccount {
    /// Its address, which is the issuer of its assertions.
    pub email: String,
    /// Its RSA key, `-----BEGIN PUBLIC KEY-----`. Text that is no key refuses every assertion.
    pub public_key_pem: String,
}

/// The side that gives tokens out.
#[derive(Debug)]
pub(crate) struct Tokens {
    pub(crate) settings: VertexSettings,
    /// Differs from run to run, as the vendor's secrets do.
    seal: [u8; 32],
}

/// What a token is to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    Good,
    Expired,
    Never,
}

#[derive(Serialize)]
pub(crate) struct Granted {
    access_token: String,
    expires_in: u32,
    token_type: &'static str,
}

/// Where a service account trades its assertion for an access token.
pub(crate) const TOKEN_PATH: &str = "/token";
/// What every access token begins with.
const START: &str = "ya29.sim-";
const DEFAULT_LIFE_SECS: u32 = 3600;
const MICROS_PER_SEC: u64 = 1_000_000;

// === impl VertexSettings ===

impl Default for VertexSettings {
    fn default() -> Self {
        Self {
            accounts: Vec::new(),
            token_life_secs: DEFAULT_LIFE_SECS,
        }
    }
}

// === impl Tokens ===

impl Tokens {
    pub(crate) fn new(settings: VertexSettings, started_micros: u64) -> Self {
        let text = format!("access tokens {started_micros}");
        Self {
            settings,
            seal: Sha256::digest(text).into(),
        }
    }

    pub(crate) fn has_accounts(&self) -> bool {
        !self.settings.accounts.is_empty()
    }

    pub(crate) fn look_up(&self, token: &str, now_micros: u64) -> Known {
        let Some(inside) = token.strip_prefix(START) else {
            return Known::Never;
        };
        let ends = inside
            .split('-')
            .next()
            .and_then(|digits| digits.parse().ok());
        let number = inside
            .split('-')
            .nth(1)
            .and_then(|digits| digits.parse().ok());
        match (ends, number) {
            (Some(ends), Some(number)) if self.token(ends, number) == token => {
                if now_micros < ends {
                    Known::Good
                } else {
                    Known::Expired
                }
            }
            _ => Known::Never,
        }
    }

    fn token(&self, ends_micros: u64, number: u64) -> String {
        let mut hasher = Sha256::new();
        hasher.update(self.seal);
        hasher.update(ends_micros.to_be_bytes());
        hasher.update(number.to_be_bytes());
        let mark = hex(&hasher.finalize());
        format!("{START}{ends_micros}-{number}-{mark}")
    }

    pub(crate) fn grant(&self, now_micros: u64, number: u64) -> Granted {
        let expires_in = self.settings.token_life_secs;
        let life = u64::from(expires_in).saturating_mul(MICROS_PER_SEC);
        Granted {
            access_token: self.token(now_micros.saturating_add(life), number),
            expires_in,
            token_type: "Bearer",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_good_until_its_end_and_only_where_it_was_made() {
        let tokens = Tokens::new(VertexSettings::default(), 1);
        let token = tokens.grant(1000, 7).access_token;
        let end = 1000 + 3600 * MICROS_PER_SEC;
        assert_eq!(tokens.look_up(&token, end - 1), Known::Good);
        assert_eq!(tokens.look_up(&token, end), Known::Expired);
        let other = Tokens::new(VertexSettings::default(), 2);
        assert_eq!(other.look_up(&token, end - 1), Known::Never);
        let longer = token.replace(&end.to_string(), &(end + 1).to_string());
        assert_eq!(tokens.look_up(&longer, end - 1), Known::Never);
        assert_eq!(tokens.look_up("ya29.sim-1-2-x", 0), Known::Never);
    }
}
