//! Seals of thoughts, as `encrypted_content` carries them.

use super::FORMAT;
use crate::canon::Signature;

/// Behind a seal of another vendor whose thoughts were shown beside it. Some clients send back the seal
/// alone; without its words it opens nothing, and must not be taken for thoughts that were never shown.
const HAD_WORDS: char = '~';

/// A seal as a caller gets it.
pub(super) fn shown(seal: &Signature, channel: Option<&str>, has_words: bool) -> String {
    if seal.format == FORMAT && channel.is_none() && seal.channel.is_none() {
        return seal.data.clone();
    }
    let marked = Signature {
        channel: channel
            .map(ToOwned::to_owned)
            .or_else(|| seal.channel.clone()),
        ..seal.clone()
    }
    .marked();
    if has_words && seal.format != FORMAT {
        return format!("{marked}{HAD_WORDS}");
    }
    marked
}

/// A seal as a caller or an upstream wrote it, and whether words belong to it.
pub(super) fn read(text: &str) -> (Signature, bool) {
    let mut seal = Signature::read(text, FORMAT);
    let had_words = seal.format != FORMAT && seal.data.ends_with(HAD_WORDS);
    if had_words {
        seal.data.pop();
    }
    (seal, had_words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Format;

    #[test]
    fn a_seal_comes_back_and_remembers_whether_words_stood_beside_it() {
        let claude = Signature::of(Format::ClaudeMessages, "abc==".to_owned());
        let out = shown(&claude, Some("7"), true);
        let (back, had_words) = read(&out);
        assert!(had_words);
        assert_eq!(
            (back.data.as_str(), back.channel.as_deref()),
            ("abc==", Some("7"))
        );
        assert!(!read(&shown(&claude, None, false)).1);
        let own = Signature::of(FORMAT, "gAAA".to_owned());
        assert_eq!(shown(&own, None, true), "gAAA");
        assert_eq!(read(&shown(&own, Some("7"), true)).0.data, "gAAA");
    }
}
