//! The assertion of a service account: a JWT signed with RS256, checked claim by claim.

use aws_lc_rs::signature::{RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde::Deserialize;

use crate::access_tokens::ServiceAccount;

/// Why no token is given, in the words of the endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct JwtError {
    pub(super) error: &'static str,
    pub(super) description: &'static str,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
}

#[derive(Deserialize)]
struct Claims {
    iss: String,
    aud: String,
    scope: Option<String>,
    exp: i64,
    iat: i64,
}

/// The endpoint under its names at the vendor; clients sign for the first one, wherever they send.
const AUDIENCES: [&str; 3] = [
    "https://oauth2.googleapis.com/token",
    "https://www.googleapis.com/oauth2/v4/token",
    "https://accounts.google.com/o/oauth2/token",
];
const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";
/// Longest life of an assertion.
const MAX_LIFE_SECS: i64 = 3600;
/// How far the two clocks may differ.
const SKEW_SECS: i64 = 300;
const MALFORMED: JwtError = grant("Bad Request");
const UNKNOWN_ISSUER: JwtError = grant("Invalid grant: account not found");
const WRONG_SIGNATURE: JwtError = grant("Invalid JWT Signature.");
const WRONG_AUDIENCE: JwtError = grant("Invalid JWT: Failed audience check.");
const WRONG_TIME: JwtError = grant(
    "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. \
     Check your iat and exp values in the JWT claim.",
);
const WRONG_SCOPE: JwtError = JwtError {
    error: "invalid_scope",
    description: "Invalid OAuth scope or ID token audience provided.",
};

/// Checks an assertion. `here` is this endpoint as the client called it.
pub(super) fn check(
    assertion: &str,
    accounts: &[ServiceAccount],
    here: &str,
    now_secs: u64,
) -> Result<(), JwtError> {
    let (signed, signature) = assertion.rsplit_once('.').ok_or(MALFORMED)?;
    let (header, claims) = signed.split_once('.').ok_or(MALFORMED)?;
    let header: Header = read(header)?;
    let claims: Claims = read(claims)?;
    let issuer = accounts.iter().find(|account| account.email == claims.iss);
    let issuer = issuer.ok_or(UNKNOWN_ISSUER)?;
    // Another algorithm, "none" among them, is no signature at all.
    if header.alg != "RS256" {
        return Err(WRONG_SIGNATURE);
    }
    let signature = decode(signature)?;
    let key = from_pem(&issuer.public_key_pem).ok_or(WRONG_SIGNATURE)?;
    UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key)
        .verify(signed.as_bytes(), &signature)
        .map_err(|_| WRONG_SIGNATURE)?;
    if !AUDIENCES.contains(&claims.aud.as_str()) && claims.aud != here {
        return Err(WRONG_AUDIENCE);
    }
    let now = i64::try_from(now_secs).unwrap_or(i64::MAX);
    let life = claims.exp.saturating_sub(claims.iat);
    let is_timely = claims.iat <= now.saturating_add(SKEW_SECS)
        && claims.exp > now
        && (1..=MAX_LIFE_SECS).contains(&life);
    if !is_timely {
        return Err(WRONG_TIME);
    }
    let scopes = claims.scope.unwrap_or_default();
    if !scopes.split(' ').any(|scope| scope == SCOPE) {
        return Err(WRONG_SCOPE);
    }
    Ok(())
}

const fn grant(description: &'static str) -> JwtError {
    JwtError {
        error: "invalid_grant",
        description,
    }
}

fn read<T: for<'a> Deserialize<'a>>(piece: &str) -> Result<T, JwtError> {
    serde_json::from_slice(&decode(piece)?).map_err(|_| MALFORMED)
}

fn decode(piece: &str) -> Result<Vec<u8>, JwtError> {
    // Google's own library leaves the padding in.
    let bare = piece.trim_end_matches('=');
    URL_SAFE_NO_PAD.decode(bare).map_err(|_| MALFORMED)
}

/// The inside of a PEM block.
fn from_pem(pem: &str) -> Option<Vec<u8>> {
    let (_, rest) = pem.split_once("-----BEGIN PUBLIC KEY-----")?;
    let (inside, _) = rest.split_once("-----END PUBLIC KEY-----")?;
    let digits: String = inside.split_whitespace().collect();
    STANDARD.decode(digits).ok()
}
