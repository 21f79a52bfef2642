//! `Stripe-Signature: t=TIME,v1=HEX,v1=HEX`: HMAC-SHA256 of `TIME.BODY` with the webhook's secret. While a secret is
//! replaced there are several signatures, and several secrets here.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use trunkline_types::{Secret, Timestamp};

use crate::error::WebhookError;

/// How far the time of a signature may be from ours, in seconds.
const TOLERANCE_SECONDS: u64 = 300;
/// Most signatures that are looked at.
const MAX_SIGNATURES: usize = 16;
const MAC_BYTES: usize = 32;

/// Whether the body was signed with one of the secrets, about now.
pub(super) fn verify(
    header: &str,
    body: &[u8],
    secrets: &[Secret],
    now: Timestamp,
) -> Result<(), WebhookError> {
    let mut time = None;
    let mut signatures = Vec::new();
    for part in header.split(',') {
        match part.trim().split_once('=') {
            Some(("t", digits)) if time.is_none() => time = Some(digits),
            Some(("v1", hex)) if signatures.len() < MAX_SIGNATURES => {
                // One that is not hexadecimal matches nothing.
                signatures.extend(bytes_of(hex));
            }
            Some(_) | None => {}
        }
    }
    let time = time.ok_or(WebhookError::Malformed)?;
    let seconds: i64 = time.parse().map_err(|_| WebhookError::Malformed)?;
    let is_known = secrets.iter().any(|secret| {
        let matches = |signature: &[u8; MAC_BYTES]| is_signed(secret, time, body, signature);
        signatures.iter().any(matches)
    });
    if !is_known {
        return Err(WebhookError::Forged);
    }
    if now.seconds().abs_diff(seconds) > TOLERANCE_SECONDS {
        return Err(WebhookError::Stale);
    }
    Ok(())
}

/// Compares in constant time.
fn is_signed(secret: &Secret, time: &str, body: &[u8], signature: &[u8; MAC_BYTES]) -> bool {
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.reveal().as_bytes()) else {
        return false;
    };
    mac.update(time.as_bytes());
    mac.update(b".");
    mac.update(body);
    mac.verify_slice(signature).is_ok()
}

fn bytes_of(hex: &str) -> Option<[u8; MAC_BYTES]> {
    if !hex.is_ascii() || hex.len() != MAC_BYTES.saturating_mul(2) {
        return None;
    }
    let mut bytes = [0; MAC_BYTES];
    for (byte, pair) in bytes.iter_mut().zip(hex.as_bytes().chunks_exact(2)) {
        let pair = std::str::from_utf8(pair).ok()?;
        *byte = u8::from_str_radix(pair, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signed(secret: &str, time: i64, body: &[u8]) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
        mac.update(format!("{time}.").as_bytes());
        mac.update(body);
        let sum = mac.finalize().into_bytes();
        sum.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn an_event_is_believed_if_one_of_its_signatures_is_by_one_of_our_secrets_and_recent() {
        let secrets = [Secret::new("old".to_owned()), Secret::new("new".to_owned())];
        let body = br#"{"id":"evt_1"}"#;
        let at = 1_800_000_000;
        let now = Timestamp::from_micros(at * 1_000_000);
        let check = |header: &str, body: &[u8]| verify(header, body, &secrets, now);
        let (old, new) = (signed("old", at, body), signed("new", at, body));
        let other = signed("other", at, body);
        for good in [
            format!("t={at},v1={old}"),
            format!("t={at},v1={new},v0=00"),
            format!("t={at}, v1={other}, v1={new}"),
            format!("v1=zz,v1={old},t={at}"),
        ] {
            assert_eq!(check(&good, body), Ok(()), "{good}");
        }
        let forged = Err(WebhookError::Forged);
        assert_eq!(check(&format!("t={at},v1={other}"), body), forged);
        assert_eq!(check(&format!("t={at},v0={old}"), body), forged);
        assert_eq!(check(&format!("t={at},v1={old}"), b"{}"), forged);
        assert_eq!(check(&format!("t={},v1={old}", at + 1), body), forged);
        assert_eq!(check(&format!("t={at},v1={}", &old[..62]), body), forged);
        for bad in [String::new(), format!("v1={old}"), format!("t=x,v1={old}")] {
            assert_eq!(check(&bad, body), Err(WebhookError::Malformed), "{bad}");
        }
        for (seconds, expected) in [
            (at - 300, Ok(())),
            (at + 300, Ok(())),
            (at - 301, Err(WebhookError::Stale)),
            (at + 301, Err(WebhookError::Stale)),
        ] {
            let header = format!("t={seconds},v1={}", signed("new", seconds, body));
            assert_eq!(check(&header, body), expected, "{seconds}");
        }
        assert_eq!(verify(&format!("t={at},v1={old}"), body, &[], now), forged);
    }
}
