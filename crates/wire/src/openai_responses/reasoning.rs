//! Reasoning signatures, as `encrypted_content` carries them.

use super::FORMAT;
use crate::canonical::Signature;

/// Behind a signature of another vendor whose thoughts were shown beside it. Some clients send back the signature
/// alone; without its words it opens nothing, and must not be taken for thoughts that were never shown.
const HAD_WORDS: char = '~';

/// A signature as a caller gets it.
pub(super) fn signature_text(
    signature: &Signature,
    channel: Option<&str>,
    has_words: bool,
) -> String {
    let text = signature.for_caller(FORMAT, channel);
    if has_words && signature.format != FORMAT {
        return format!("{text}{HAD_WORDS}");
    }
    text
}

/// A signature as a caller or an upstream wrote it, and whether words belong to it.
pub(super) fn read(text: &str) -> (Signature, bool) {
    let mut signature = Signature::read(text, FORMAT);
    let had_words = signature.format != FORMAT && signature.data.ends_with(HAD_WORDS);
    if had_words {
        signature.data.pop();
    }
    (signature, had_words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Format;

    #[test]
    fn a_seal_comes_back_and_remembers_whether_words_stood_beside_it() {
        let claude = Signature::of(Format::ClaudeMessages, "abc==".to_owned());
        let out = signature_text(&claude, Some("7"), true);
        let (back, had_words) = read(&out);
        assert!(had_words);
        assert_eq!(
            (back.data.as_str(), back.channel.as_deref()),
            ("abc==", Some("7"))
        );
        assert!(!read(&signature_text(&claude, None, false)).1);
        let own = Signature::of(FORMAT, "gAAA".to_owned());
        assert_eq!(signature_text(&own, None, true), "gAAA");
        assert_eq!(read(&signature_text(&own, Some("7"), true)).0.data, "gAAA");
    }
}
