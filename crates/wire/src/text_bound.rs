//! How many tokens a text can be at most. A token is at least one byte of what a vendor's tokenizer reads,
//! so a text has no more tokens than bytes. Some tokenizers normalise first (NFKC), which makes a few
//! characters longer than they are in UTF-8; these are counted by the longest of them.

use memchr::{memchr, memmem};

/// Bytes of the longest normal form of one character: U+FDFA.
const LONGEST_NORMAL_FORM: u64 = 33;
/// Ranges of characters whose normal form (NFKC) is longer in UTF-8 than the character, closed up over
/// gaps of at most 32: `len(normalize("NFKC", c).encode()) > len(c.encode())` over all of Unicode.
const EXPANDING: &[(u32, u32)] = &[
    (0x00A8, 0x00BE),
    (0x013F, 0x0149),
    (0x01C4, 0x01C6),
    (0x02D8, 0x02DD),
    (0x0344, 0x0344),
    (0x037A, 0x0385),
    (0x0587, 0x0587),
    (0x0675, 0x0678),
    (0x0958, 0x095F),
    (0x09DC, 0x09DF),
    (0x0A33, 0x0A36),
    (0x0A59, 0x0A5E),
    (0x0B5C, 0x0B5D),
    (0x0E33, 0x0E33),
    (0x0EB3, 0x0EB3),
    (0x0EDC, 0x0EDD),
    (0x0F43, 0x0FB9),
    (0x1FC1, 0x1FEE),
    (0x2033, 0x2057),
    (0x2150, 0x2189),
    (0x222C, 0x2230),
    (0x247D, 0x2487),
    (0x2A0C, 0x2A0C),
    (0x2ADC, 0x2ADC),
    (0x309B, 0x309F),
    (0x30FF, 0x30FF),
    (0x3200, 0x3243),
    (0x327C, 0x327D),
    (0x32C0, 0x32CB),
    (0x32FF, 0x33FE),
    (0xFA6C, 0xFA6C),
    (0xFACF, 0xFAD7),
    (0xFB13, 0xFB4F),
    (0xFBDD, 0xFDC7),
    (0xFDF0, 0xFDFC),
    (0xFE71, 0xFE7F),
    (0xFEF5, 0xFEFC),
    (0x1D15E, 0x1D164),
    (0x1D1BB, 0x1D1C0),
    (0x1F12A, 0x1F12A),
    (0x1F200, 0x1F201),
    (0x1F240, 0x1F248),
];

/// The most tokens that JSON can be to a vendor which is given the text inside.
pub(crate) fn most_tokens(json: &[u8]) -> u64 {
    let bytes = u64::try_from(json.len()).unwrap_or(u64::MAX);
    let longer = expanding(json).saturating_mul(LONGEST_NORMAL_FORM);
    bytes.saturating_add(longer)
}

/// How many characters become longer, written out or as escapes.
fn expanding(json: &[u8]) -> u64 {
    let is_one = |code: u32| {
        let mut blocks = EXPANDING.iter();
        blocks.any(|(first, last)| (*first..=*last).contains(&code))
    };
    let written = if json.is_ascii() {
        0
    } else {
        let text = str::from_utf8(json).unwrap_or_default();
        let wide = text.chars().filter(|one| !one.is_ascii());
        wide.filter(|one| is_one(u32::from(*one))).count()
    };
    // Most texts have no escape at all, and building a search for one costs more than looking for its first byte.
    if memchr(b'\\', json).is_none() {
        return u64::try_from(written).unwrap_or(u64::MAX);
    }
    let escaped = memmem::find_iter(json, b"\\u").filter(|at| {
        let digits = at.saturating_add(2)..at.saturating_add(6);
        let digits = json
            .get(digits)
            .and_then(|digits| str::from_utf8(digits).ok());
        let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        code.is_some_and(is_one)
    });
    u64::try_from(written.saturating_add(escaped.count())).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_no_more_tokens_than_bytes_and_longer_normal_forms_are_counted() {
        assert_eq!(most_tokens(b"\"abc\""), 5);
        assert_eq!(most_tokens("你好".as_bytes()), 6);
        assert_eq!(most_tokens("ﷺ".as_bytes()), 3 + 33);
        assert_eq!(most_tokens(br"\ufdfa"), 6 + 33);
        assert_eq!(most_tokens(br"\u4f60"), 6);
        assert_eq!(most_tokens("½".as_bytes()), 2 + 33);
        assert_eq!(most_tokens("㌀".as_bytes()), 3 + 33);
    }
}
