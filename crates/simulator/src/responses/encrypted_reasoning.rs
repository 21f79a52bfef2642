//! Encrypted reasoning: a text that says nothing to a client, and that only the key which got it
//! may send back.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE;
use sha2::{Digest, Sha256};

/// How such texts begin with the vendor: a version, and the high bytes of a time.
const HEAD: [u8; 4] = [0x80, 0, 0, 0];
const PAYLOAD_BYTES: usize = 16;

/// The same text for the same key and the same reasoning, always.
pub(crate) fn sealed(key: &str, reasoning: &str) -> String {
    let payload = Sha256::digest(reasoning);
    let payload = payload.get(..PAYLOAD_BYTES).unwrap_or_default();
    URL_SAFE.encode([&HEAD, payload, &mark(key, payload)].concat())
}

/// Whether this key got this text.
pub(crate) fn opens(key: &str, text: &str) -> bool {
    let Ok(bytes) = URL_SAFE.decode(text) else {
        return false;
    };
    let Some(rest) = bytes.strip_prefix(&HEAD) else {
        return false;
    };
    rest.split_at_checked(PAYLOAD_BYTES)
        .is_some_and(|(payload, found)| found == mark(key, payload))
}

/// The beginning and the end of a sealed text, as the vendor shows it in its refusal.
pub(crate) fn shortened(text: &str) -> String {
    let length = text.chars().count();
    let first: String = text.chars().take(4).collect();
    let last: String = text.chars().skip(length.saturating_sub(4)).collect();
    format!("{first}...{last}")
}

fn mark(key: &str, payload: &[u8]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    hasher.update(b"simulator seal\n");
    hasher.update(key);
    hasher.update(b"\n");
    hasher.update(payload);
    hasher.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seal_is_the_same_for_one_key_and_strange_to_another() {
        let text = sealed("a", "sim1 ");
        assert!(text.starts_with("gAAAA"), "{text}");
        assert_eq!(text, sealed("a", "sim1 "));
        assert_ne!(text, sealed("a", "sim1 sim2 "));
        assert!(opens("a", &text));
        assert!(!opens("b", &text));
        assert!(!opens("a", "gAAAA"));
        assert!(!opens("a", &text.replacen('A', "B", 1)));
        assert_eq!(shortened(&text).len(), 11);
    }
}
