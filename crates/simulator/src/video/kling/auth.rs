//! Who calls: an API key, or the token that a pair of keys signed (HS256), checked claim by claim.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::Deserialize;
use sha2::Sha256;

use super::error::KlingError;

/// The default pair of keys. A key of the settings that is written `ACCESS:SECRET` is a
/// pair too.
const PAIR: &str = "AKKLINGSIMULATOR:simulator-secret-key";

/// A credential that is good.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Credential {
    ApiKey,
    Token { access_key: String },
}

#[derive(Deserialize)]
struct Head {
    alg: String,
}

#[derive(Deserialize)]
struct Claims {
    iss: String,
    exp: u64,
    nbf: Option<u64>,
}

// === impl Credential ===

impl Credential {
    /// Reads what came as a bearer.
    pub(super) fn read(bearer: &str, keys: &[String], now_micros: u64) -> Result<Self, KlingError> {
        if bearer.is_empty() {
            return Err(KlingError::of(1001));
        }
        if let Some((signed, signature)) = bearer.rsplit_once('.')
            && let Some((head, claims)) = signed.split_once('.')
        {
            let now = now_micros / 1_000_000;
            return token(head, claims, signed, signature, keys, now);
        }
        // A pair is never shown itself.
        let is_known = keys.iter().any(|key| key == bearer && !key.contains(':'));
        if keys.is_empty() || is_known {
            Ok(Self::ApiKey)
        } else {
            Err(KlingError::of(1002))
        }
    }
}

fn token(
    head: &str,
    claims: &str,
    signed: &str,
    signature: &str,
    keys: &[String],
    now: u64,
) -> Result<Credential, KlingError> {
    let invalid = || KlingError::of(1002);
    let head: Head = part(head).ok_or_else(invalid)?;
    let claims: Claims = part(claims).ok_or_else(invalid)?;
    // Another algorithm, "none" among them, is no signature at all.
    if head.alg != "HS256" {
        return Err(invalid());
    }
    let secret = secret_of(&claims.iss, keys).ok_or_else(invalid)?;
    let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| invalid())?;
    let mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).map_err(|_| invalid())?;
    let mac = mac.chain_update(signed.as_bytes());
    mac.verify_slice(&signature).map_err(|_| invalid())?;
    if claims.nbf.is_some_and(|nbf| nbf > now) {
        return Err(KlingError::of(1003));
    }
    if claims.exp <= now {
        return Err(KlingError::of(1004));
    }
    Ok(Credential::Token {
        access_key: claims.iss,
    })
}

fn secret_of<'a>(access_key: &str, keys: &'a [String]) -> Option<&'a str> {
    let mut pairs = keys.iter().filter_map(|key| key.split_once(':'));
    let known = pairs.find(|(known, _)| *known == access_key);
    let state = PAIR
        .split_once(':')
        .filter(|(known, _)| keys.is_empty() && *known == access_key);
    known.or(state).map(|(_, secret)| secret)
}

fn part<T: for<'a> Deserialize<'a>>(text: &str) -> Option<T> {
    let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
    serde_json::from_slice(&bytes).ok()
}
