//! Thought signatures: given out with the parts of a thinking model, and known again when they
//! come back. Made of the part alone, so that the same part always has the same one.

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::fields::{decode, encode};

/// What a signature that came back is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// Ours, and of this part.
    Good,
    /// The vendor's word for parts that no model made.
    Waived,
    /// Not ours, or of another part.
    Corrupted,
}

/// No secret: it only tells our signatures from others.
const SEAL: &[u8] = b"trunkline simulator thought signature";
const HALF_BYTES: usize = 16;
/// What the vendor accepts instead of a signature, for calls that came from elsewhere.
const WAIVERS: [&str; 2] = [
    "context_engineering_is_the_way_to_go",
    "skip_thought_signature_validator",
];

/// The signature of a call.
pub(super) fn of_call(name: &str, args: &Value) -> String {
    seal(&call_digest(name, args))
}

/// The signature of what was said without a call.
pub(super) fn of_text(text: &str) -> String {
    seal(&digest(&[b"text", text.as_bytes()]))
}

/// Whether a call carries its own signature.
pub(super) fn check_call(signature: &str, name: &str, args: &Value) -> Seen {
    if is_waiver(signature) {
        return Seen::Waived;
    }
    match opened(signature) {
        Some(inside) if inside == call_digest(name, args) => Seen::Good,
        Some(_) | None => Seen::Corrupted,
    }
}

/// Whether a signature on another part is one of ours. Which text it belongs to is not asked: a
/// client may have joined the pieces of a stream.
pub(super) fn check_any(signature: &str) -> Seen {
    if is_waiver(signature) {
        return Seen::Waived;
    }
    match opened(signature) {
        Some(_) => Seen::Good,
        None => Seen::Corrupted,
    }
}

/// The field holds bytes, so clients send the word as it is or in Base64. [unverified] A gateway that is in wide use
/// does the latter.
fn is_waiver(signature: &str) -> bool {
    let word = decode(signature);
    let is_word = |waiver: &&str| word.as_deref() == Some(waiver.as_bytes());
    WAIVERS.contains(&signature) || WAIVERS.iter().any(is_word)
}

fn seal(inside: &[u8; HALF_BYTES]) -> String {
    encode(&[inside.as_slice(), &digest(&[SEAL, inside])].concat())
}

fn opened(signature: &str) -> Option<[u8; HALF_BYTES]> {
    let bytes = decode(signature)?;
    let (inside, mark) = bytes.split_at_checked(HALF_BYTES)?;
    let inside: [u8; HALF_BYTES] = inside.try_into().ok()?;
    (mark == digest(&[SEAL, &inside])).then_some(inside)
}

fn call_digest(name: &str, args: &Value) -> [u8; HALF_BYTES] {
    let mut text = String::new();
    write_plain(args, &mut text);
    digest(&[b"call", name.as_bytes(), text.as_bytes()])
}

fn digest(pieces: &[&[u8]]) -> [u8; HALF_BYTES] {
    let mut hasher = Sha256::new();
    for piece in pieces {
        hasher.update(piece);
        hasher.update([0]);
    }
    let all: [u8; 32] = hasher.finalize().into();
    let mut half = [0; HALF_BYTES];
    for (to, from) in half.iter_mut().zip(all) {
        *to = from;
    }
    half
}

/// JSON with sorted names and one form of each number, since clients print theirs as they like.
fn write_plain(value: &Value, text: &mut String) {
    match value {
        Value::Null | Value::Bool(_) | Value::String(_) => text.push_str(&value.to_string()),
        Value::Number(number) => match number.as_f64() {
            Some(float) => text.push_str(&float.to_string()),
            None => text.push_str(&number.to_string()),
        },
        Value::Array(items) => {
            text.push('[');
            for item in items {
                write_plain(item, text);
                text.push(',');
            }
            text.push(']');
        }
        Value::Object(object) => {
            let mut names: Vec<&String> = object.keys().collect();
            names.sort();
            text.push('{');
            for name in names {
                text.push_str(&Value::from(name.as_str()).to_string());
                text.push(':');
                if let Some(item) = object.get(name) {
                    write_plain(item, text);
                }
                text.push(',');
            }
            text.push('}');
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_signature_is_known_again_however_the_arguments_are_printed() {
        let signature = of_call("f", &json!({"a": 7, "b": [1]}));
        assert_eq!(signature, of_call("f", &json!({"b": [1.0], "a": 7.0})));
        let args = json!({"b": [1.0], "a": 7});
        assert_eq!(check_call(&signature, "f", &args), Seen::Good);
    }

    #[test]
    fn a_signature_of_another_call_or_maker_is_corrupted() {
        let args = json!({"a": 7});
        let signature = of_call("f", &args);
        assert_eq!(check_call(&signature, "g", &args), Seen::Corrupted);
        assert_eq!(
            check_call(&signature, "f", &json!({"a": 8})),
            Seen::Corrupted
        );
        for other in ["", "AAAA", "c2lnbmF0dXJl", "not base64!"] {
            assert_eq!(check_call(other, "f", &args), Seen::Corrupted, "{other}");
            assert_eq!(check_any(other), Seen::Corrupted, "{other}");
        }
        assert_eq!(check_any(&of_text("hello")), Seen::Good);
        assert_eq!(check_any(WAIVERS[0]), Seen::Waived);
        assert_eq!(check_any(&encode(WAIVERS[1].as_bytes())), Seen::Waived);
    }
}
