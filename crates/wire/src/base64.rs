//! Base64 as requests have it: either alphabet, with or without padding, spaces between characters.

/// The words inside base64; none if it is no base64, or no UTF-8 inside.
pub(crate) fn decoded_text(encoded: &str) -> Option<String> {
    String::from_utf8(decode(encoded, usize::MAX)?).ok()
}

/// The first bytes inside base64, at most so many; none if what was read of it is no base64.
pub(crate) fn decode(encoded: &str, most: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(encoded.len().min(most));
    let (mut bits, mut held, mut is_padded) = (0_u32, 0_u32, false);
    for symbol in encoded.bytes().filter(|byte| !byte.is_ascii_whitespace()) {
        if symbol == b'=' {
            is_padded = true;
            continue;
        }
        if is_padded {
            return None;
        }
        let six = u32::from(six_bits(symbol)?);
        bits = bits.wrapping_shl(6) | six;
        held = held.saturating_add(6);
        if held >= 8 {
            held = held.saturating_sub(8);
            let byte = bits.wrapping_shr(held) & 0xff;
            bytes.push(u8::try_from(byte).ok()?);
            if bytes.len() >= most {
                break;
            }
        }
    }
    Some(bytes)
}

/// The place of a symbol in either alphabet.
fn six_bits(symbol: u8) -> Option<u8> {
    let from = |first: u8, place: u8| symbol.checked_sub(first)?.checked_add(place);
    match symbol {
        b'A'..=b'Z' => from(b'A', 0),
        b'a'..=b'z' => from(b'a', 26),
        b'0'..=b'9' => from(b'0', 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_out_of_base64_and_nothing_else_does() {
        for (encoded, text) in [
            ("", ""),
            ("YQ==", "a"),
            ("aGVsbG8gd8O2cmxk", "hello wörld"),
            ("aGVs\nbG8", "hello"),
        ] {
            assert_eq!(decoded_text(encoded).as_deref(), Some(text), "{encoded}");
        }
        assert_eq!(decoded_text("a*b"), None);
        assert_eq!(decoded_text("/w=="), None, "no UTF-8");
        assert_eq!(decoded_text("YQ==YQ"), None, "padding is the end");
        assert_eq!(decode("aGVsbG8", 3).as_deref(), Some(&b"hel"[..]));
    }
}
