//! Codes of a second factor: RFC 6238 with HMAC-SHA-1, six digits and thirty seconds, which is what every
//! authenticator app understands; and recovery codes. Whether a code was used before is not known here.

use aws_lc_rs::hmac::{HMAC_SHA1_FOR_LEGACY_USE_ONLY, Key, sign};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use trunkline_keyring::{RandomError, RandomSource};
use trunkline_store::people::TokenHash;
use trunkline_types::{SecretBytes, Timestamp};

use crate::tokens::sha256;

/// As RFC 4226 asks for.
pub(crate) const SECRET_BYTES: usize = 20;
/// How many recovery codes a person has.
pub(crate) const RECOVERY_CODES: usize = 10;
const RECOVERY_BYTES: usize = 10;
/// Eighty bits in base 32.
const RECOVERY_CHARACTERS: usize = 16;
const STEP_SECONDS: i64 = 30;
const DIGITS: usize = 6;
const MODULUS: u32 = 1_000_000;
/// Clocks may differ by a step.
const DRIFT: [i64; 3] = [0, -1, 1];
/// RFC 4648.
const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// What a person has typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Typed {
    Code(u32),
    Recovery(TokenHash),
}

/// The address that an authenticator app reads from a QR code.
pub(crate) fn uri(instance: &str, email: &str, secret: &[u8]) -> String {
    let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    format!(
        "otpauth://totp/{issuer}:{email}?secret={secret}&issuer={issuer}&algorithm=SHA1&digits=6&period=30",
        issuer = encoded(instance),
        email = encoded(email),
        secret = base32(secret),
    )
}

/// The step whose code this is; none if it is the code of no step around now.
pub(crate) fn step_of(secret: &SecretBytes, code: u32, now: Timestamp) -> Option<i64> {
    let current = now.seconds().checked_div(STEP_SECONDS)?;
    let steps = DRIFT.map(|drift| current.saturating_add(drift));
    // All are computed, so that the time tells nothing.
    let found = steps.map(|step| (step, code_at(secret.reveal(), step) == Some(code)));
    let found = found.into_iter().find(|(_, is_right)| *is_right);
    found.map(|(step, _)| step)
}

/// Reads a code or a recovery code; none if it can be neither.
pub(crate) fn read(text: &str) -> Option<Typed> {
    let plain: String = text
        .chars()
        .filter(|character| !character.is_whitespace() && *character != '-')
        .collect();
    if plain.len() == DIGITS && plain.bytes().all(|byte| byte.is_ascii_digit()) {
        return plain.parse().ok().map(Typed::Code);
    }
    let upper = plain.to_ascii_uppercase();
    let legal = upper.bytes().all(|byte| ALPHABET.contains(&byte));
    (legal && upper.len() == RECOVERY_CHARACTERS).then(|| Typed::Recovery(sha256(upper.as_bytes())))
}

/// Fresh recovery codes as they are shown, and what is kept of each.
pub(crate) fn recovery_codes(
    random: &dyn RandomSource,
) -> Result<Vec<(String, TokenHash)>, RandomError> {
    let one = |_| {
        let mut bytes = [0; RECOVERY_BYTES];
        random.fill(&mut bytes)?;
        let text = base32(&bytes);
        let hash = sha256(text.as_bytes());
        let lower = text.to_ascii_lowercase();
        let parts: Vec<String> = lower
            .as_bytes()
            .chunks(4)
            .map(|part| String::from_utf8_lossy(part).into_owned())
            .collect();
        Ok((parts.join("-"), hash))
    };
    (0..RECOVERY_CODES).map(one).collect()
}

/// Base 32 without padding.
pub(crate) fn base32(bytes: &[u8]) -> String {
    let mut text = String::new();
    let (mut bits, mut count) = (0_u32, 0_u32);
    for byte in bytes {
        bits = bits.wrapping_shl(8) | u32::from(*byte);
        count = count.saturating_add(8);
        while count >= 5 {
            count = count.saturating_sub(5);
            text.push(digit(bits.wrapping_shr(count)));
        }
    }
    if count > 0 {
        text.push(digit(bits.wrapping_shl(5_u32.saturating_sub(count))));
    }
    text
}

fn digit(bits: u32) -> char {
    let place = usize::try_from(bits & 31).unwrap_or_default();
    ALPHABET.get(place).map_or('A', |digit| char::from(*digit))
}

/// RFC 4226, 5.3.
fn code_at(secret: &[u8], step: i64) -> Option<u32> {
    let key = Key::new(HMAC_SHA1_FOR_LEGACY_USE_ONLY, secret);
    let tag = sign(&key, &step.to_be_bytes());
    let bytes = tag.as_ref();
    let offset = usize::from(bytes.last()? & 15);
    let four: [u8; 4] = bytes.get(offset..)?.first_chunk().copied()?;
    let number = u32::from_be_bytes(four) & 0x7fff_ffff;
    number.checked_rem(MODULUS)
}

#[cfg(test)]
mod tests {
    use trunkline_keyring::SystemRandom;

    use super::*;

    const SECRET: &[u8] = b"12345678901234567890";

    #[test]
    fn codes_are_those_of_rfc_6238() {
        for (seconds, code) in [
            (59, 287_082),
            (1_111_111_109, 81_804),
            (1_111_111_111, 50_471),
            (1_234_567_890, 5_924),
            (2_000_000_000, 279_037),
            (20_000_000_000, 353_130),
        ] {
            assert_eq!(code_at(SECRET, seconds / 30), Some(code), "{seconds}");
        }
    }

    #[test]
    fn a_code_is_right_for_its_step_and_the_two_beside_it() {
        let secret = SecretBytes::new(SECRET.to_vec());
        let at = |seconds: i64| {
            step_of(
                &secret,
                287_082,
                Timestamp::from_micros(seconds * 1_000_000),
            )
        };
        assert_eq!([at(0), at(59), at(89)], [Some(1); 3]);
        assert_eq!([at(-31), at(90)], [None; 2]);
    }

    #[test]
    fn a_secret_is_written_in_base_32() {
        assert_eq!(base32(b"foobar"), "MZXW6YTBOI");
        assert_eq!(base32(b"fooba"), "MZXW6YTB");
        assert_eq!(base32(b""), "");
        assert_eq!(
            uri("Acme & Co", "a+b@c.d", SECRET),
            "otpauth://totp/Acme%20%26%20Co:a%2Bb%40c%2Ed?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ\
             &issuer=Acme%20%26%20Co&algorithm=SHA1&digits=6&period=30"
        );
    }

    #[test]
    fn what_is_typed_is_a_code_or_a_recovery_code() {
        assert_eq!(read(" 012 345 "), Some(Typed::Code(12_345)));
        for (text, hash) in recovery_codes(&SystemRandom).unwrap() {
            assert_eq!(text.len(), 19, "{text}");
            assert_eq!(read(&text), Some(Typed::Recovery(hash)));
            assert_eq!(read(&text.to_uppercase()), Some(Typed::Recovery(hash)));
        }
        for wrong in [
            "",
            "12345",
            "1234567",
            "aaaa-aaaa-aaaa-aaa1",
            "aaaa-aaaa-aaaa-aaa",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
