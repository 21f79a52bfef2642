//! Signatures of thoughts. The vendor's are opaque; ours are a keyed hash of the thought, so
//! that the simulator knows what it signed and refuses everything else.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// No secret: it only keeps a client from guessing by accident.
const KEY: &[u8] = b"simulator thinks";
/// Length of the part of a redacted thought that stands for its text.
const SALT_BYTES: usize = 48;

/// The signature of a thought.
pub(super) fn of_thought(text: &str) -> String {
    STANDARD.encode(keyed(&[b"thinking", text.as_bytes()]))
}

pub(super) fn signs(text: &str, signature: &str) -> bool {
    of_thought(text) == signature
}

/// A thought that is shown encrypted. The id makes two of them differ.
pub(super) fn redacted(id: &str) -> String {
    let mut salt = keyed(&[b"salt", id.as_bytes()]);
    salt.extend_from_within(..SALT_BYTES.saturating_sub(salt.len()));
    let seal = keyed(&[b"redacted", &salt]);
    STANDARD.encode([salt, seal].concat())
}

pub(super) fn sealed(data: &str) -> bool {
    let Ok(bytes) = STANDARD.decode(data) else {
        return false;
    };
    bytes
        .split_at_checked(SALT_BYTES)
        .is_some_and(|(salt, seal)| keyed(&[b"redacted", salt]) == seal)
}

fn keyed(parts: &[&[u8]]) -> Vec<u8> {
    // A key of any length is taken.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(KEY) else {
        return Vec::new();
    };
    for part in parts {
        mac.update(part);
        mac.update(b"\0");
    }
    mac.finalize().into_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_belongs_to_one_thought() {
        let signature = of_thought("sim1 ");
        assert!(signs("sim1 ", &signature));
        assert!(!signs("sim1", &signature));
        assert!(!signs("sim1 ", ""));
    }

    #[test]
    fn a_redacted_thought_is_known_again_and_a_changed_one_is_not() {
        let data = redacted("msg_1");
        assert!(sealed(&data));
        assert_ne!(data, redacted("msg_2"));
        assert!(!sealed(&data.replacen(&data[..1], "!", 1)));
        assert!(!sealed(&STANDARD.encode([0; 80])));
        assert!(!sealed(""));
    }
}
