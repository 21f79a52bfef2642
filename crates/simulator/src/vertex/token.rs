//! Access tokens: how a service account gets one, and how one is known again. A token says itself
//! when it ends, under a mark only this simulator makes, so that none has to be kept.

use bytes::Bytes;
use http::Method;
use http::header::HOST;
use percent_encoding::percent_decode_str;
use serde::Serialize;
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::clock;
use crate::refusal::shown;
use crate::server::RecordedRequest;
use crate::tokens::hex;

use super::jwt::{self, Complaint};

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
    settings: VertexSettings,
    /// Differs from run to run, as the vendor's secrets do.
    seal: [u8; 32],
}

/// What a token is to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    Good,
    Expired,
    Never,
}

#[derive(Serialize)]
struct Granted {
    access_token: String,
    expires_in: u32,
    token_type: &'static str,
}

const GRANT_TYPE: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
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

    pub(super) fn has_accounts(&self) -> bool {
        !self.settings.accounts.is_empty()
    }

    pub(super) fn look_up(&self, token: &str, now_micros: u64) -> Known {
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

    fn grant(&self, now_micros: u64, number: u64) -> Granted {
        let expires_in = self.settings.token_life_secs;
        let life = u64::from(expires_in).saturating_mul(MICROS_PER_SEC);
        Granted {
            access_token: self.token(now_micros.saturating_add(life), number),
            expires_in,
            token_type: "Bearer",
        }
    }
}

/// Answers a request for a token: a status and a JSON document.
pub(super) fn answer(recorded: &RecordedRequest, is_too_large: bool) -> (u16, String) {
    if recorded.parts.method != Method::POST || is_too_large {
        return complain("invalid_request", "Only a small POST is accepted here.");
    }
    let form = Form::read(&recorded.body);
    if form.grant_type != GRANT_TYPE {
        let text = format!("Invalid grant_type: {}", shown(&form.grant_type));
        return complain("unsupported_grant_type", &text);
    }
    let tokens = &recorded.state.vertex;
    let now_micros = recorded.received_at_micros;
    let host = recorded.parts.headers.get(HOST);
    let host = host.and_then(|value| value.to_str().ok()).unwrap_or("");
    let here = format!("http://{host}{}", super::TOKEN_PATH);
    let accounts = &tokens.settings.accounts;
    match jwt::check(&form.assertion, accounts, &here, clock::seconds(now_micros)) {
        Ok(()) => {
            let granted = tokens.grant(now_micros, recorded.number);
            // A struct of texts and numbers always has a JSON form.
            (
                200,
                serde_json::to_string_pretty(&granted).unwrap_or_default(),
            )
        }
        Err(Complaint { error, description }) => complain(error, description),
    }
}

fn complain(error: &str, description: &str) -> (u16, String) {
    let body = json!({"error": error, "error_description": description});
    (400, serde_json::to_string_pretty(&body).unwrap_or_default())
}

#[derive(Default)]
struct Form {
    grant_type: String,
    assertion: String,
}

// === impl Form ===

impl Form {
    fn read(body: &Bytes) -> Self {
        let mut form = Self::default();
        let text = String::from_utf8_lossy(body);
        for pair in text.split('&') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = percent_decode_str(value).decode_utf8_lossy().into_owned();
            match name {
                "grant_type" => form.grant_type = value,
                "assertion" => form.assertion = value,
                _ => {}
            }
        }
        form
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
