//! Signatures that upstreams put on their reasoning and want back unchanged. In a format that is not the
//! upstream's own, and wherever the channel matters, the gateway puts a tag before the signature that names its
//! format and channel; a signature of another upstream is left out, since the upstream would refuse it.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use crate::Format;

/// Longest signature that is read as one.
pub const MAX_SIGNATURE_BYTES: usize = 1_000_000;
const TAG: &str = "tlsig1";
/// Looks for a text that begins with a tag: every request is searched for one, so the search is built once.
static TAGGED: LazyLock<Finder<'static>> =
    LazyLock::new(|| Finder::new(&format!("\"{TAG}")).into_owned());
/// Bytes of a signature that say where it belongs, at most.
const MAX_TAG_BYTES: usize = 64;
/// Signatures of one body that are looked at.
const MAX_TAGS: usize = 10_000;

/// A signature and where it belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// The format whose upstream made it.
    pub format: Format,
    /// The channel it came through, if it is known.
    pub channel: Option<String>,
    pub data: String,
}

impl Signature {
    /// A signature as its own format writes it.
    #[must_use]
    pub const fn of(format: Format, data: String) -> Self {
        Self {
            format,
            channel: None,
            data,
        }
    }

    /// Reads a signature where a format has one: its own, or one of ours with another inside.
    #[must_use]
    pub fn read(text: &str, own: Format) -> Self {
        let tagged = || {
            let rest = text.strip_prefix(TAG)?;
            let mut characters = rest.chars();
            let format = format_of(characters.next()?)?;
            let digits = characters.next()?.to_digit(36)?.checked_sub(10)?;
            let digits = usize::try_from(digits).ok()?;
            let channel = rest.get(2..digits.checked_add(2)?)?;
            if !channel.bytes().all(|byte| byte.is_ascii_digit()) {
                return None;
            }
            let signature = Self {
                format,
                channel: (!channel.is_empty()).then(|| channel.to_owned()),
                data: String::new(),
            };
            let data = text.strip_prefix(signature.tag().as_str())?.to_owned();
            Some(Self { data, ..signature })
        };
        tagged().unwrap_or_else(|| Self::of(own, text.to_owned()))
    }

    /// As a caller of any format gets it, so that it reaches its upstream when the caller sends it back.
    #[must_use]
    pub fn tagged(&self) -> String {
        format!("{}{}", self.tag(), self.data)
    }

    /// As a caller of a format gets it: tagged, unless the caller's requests always reach the upstream
    /// that made it.
    pub(crate) fn for_caller(&self, own: Format, channel: Option<&str>) -> String {
        if self.format == own && channel.is_none() && self.channel.is_none() {
            return self.data.clone();
        }
        let tagged = Self {
            channel: channel.map(ToOwned::to_owned).or(self.channel.clone()),
            ..self.clone()
        };
        tagged.tagged()
    }

    /// The tag before a signature: its format and channel. Google's clients decode signatures, so the tag is base64 too,
    /// in either alphabet: letters and digits alone, and of a length that leaves the rest in its place.
    fn tag(&self) -> String {
        let channel = self.channel.as_deref().unwrap_or_default();
        let digits = u32::try_from(channel.len()).unwrap_or(0).saturating_add(10);
        let digits = char::from_digit(digits, 36).unwrap_or('a');
        let mut tag = format!("{TAG}{}{digits}{channel}", code_of(self.format));
        while !tag.len().is_multiple_of(4) {
            tag.push('x');
        }
        tag
    }

    /// Whether an upstream that speaks a format, behind a channel, made it.
    #[must_use]
    pub fn belongs_to(&self, format: Format, channel: Option<&str>) -> bool {
        let same_channel = match (self.channel.as_deref(), channel) {
            (Some(made), Some(requested)) => made == requested,
            (Some(_) | None, Some(_) | None) => true,
        };
        self.format == format && same_channel
    }
}

const fn code_of(format: Format) -> char {
    match format {
        Format::OpenaiChat => 'c',
        Format::ClaudeMessages => 'm',
        Format::OpenaiResponses => 'r',
        Format::Gemini => 'g',
    }
}

fn format_of(code: char) -> Option<Format> {
    Format::ALL
        .into_iter()
        .find(|format| code_of(*format) == code)
}

/// The tagged signatures in a body: format and channel of each, without its data.
#[must_use]
pub fn find_signatures(body: &[u8]) -> Vec<Signature> {
    let mut found = Vec::new();
    for at in TAGGED.find_iter(body) {
        let text = body.get(at.saturating_add(1)..).unwrap_or_default();
        let end = memchr::memchr(b'"', text).unwrap_or(text.len());
        // Only the beginning is looked at: a signature may be long.
        let head = text.get(..end.min(MAX_TAG_BYTES)).unwrap_or_default();
        let signature = Signature::read(&String::from_utf8_lossy(head), Format::OpenaiChat);
        if signature.channel.is_some() && found.len() < MAX_TAGS {
            found.push(Signature {
                data: String::new(),
                ..signature
            });
        }
    }
    found
}

/// The body with the tags of one channel removed, so that its upstream gets the signatures as it made them.
#[must_use]
pub fn strip_signature_tags(body: &[u8], format: Format, channel: &str) -> Vec<u8> {
    let signature = Signature {
        format,
        channel: Some(channel.to_owned()),
        data: String::new(),
    };
    let needle = format!("\"{}", signature.tag());
    let mut kept = Vec::with_capacity(body.len());
    let mut copied = 0;
    for at in memchr::memmem::find_iter(body, needle.as_bytes()) {
        let quote = at.saturating_add(1);
        kept.extend_from_slice(body.get(copied..quote).unwrap_or_default());
        copied = at.saturating_add(needle.len());
    }
    kept.extend_from_slice(body.get(copied..).unwrap_or_default());
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seal_comes_home_through_any_format() {
        let mut signature = Signature::of(Format::Gemini, "a.b/c==".to_owned());
        assert_eq!(Signature::read("a.b/c==", Format::Gemini), signature);
        signature.channel = Some("17".to_owned());
        let tagged = signature.tagged();
        for format in Format::ALL {
            assert_eq!(Signature::read(&tagged, format), signature);
        }
        assert!(signature.belongs_to(Format::Gemini, Some("17")));
        assert!(signature.belongs_to(Format::Gemini, None));
        assert!(!signature.belongs_to(Format::Gemini, Some("18")));
        assert!(!signature.belongs_to(Format::ClaudeMessages, Some("17")));
        assert_eq!(tagged, "tlsig1gc17xxa.b/c==");
        let tag = tagged.strip_suffix("a.b/c==").unwrap();
        assert!(
            tag.len().is_multiple_of(4) && tag.bytes().all(|byte| byte.is_ascii_alphanumeric())
        );
        let odd = "tlsig1zb1x";
        assert_eq!(Signature::read(odd, Format::Gemini).data, odd);
    }

    #[test]
    fn marks_are_found_in_a_body_and_taken_off_for_the_channel_they_name() {
        let body = br#"{"a":"tlsig1gc17xxxyz","b":["tlsig1gb9xxxq"],"c":"say tlsig1gc17xxno"}"#;
        let channels: Vec<_> = find_signatures(body)
            .into_iter()
            .map(|signature| signature.channel.unwrap())
            .collect();
        assert_eq!(channels, ["17", "9"]);
        let bare = strip_signature_tags(body, Format::Gemini, "17");
        assert_eq!(
            String::from_utf8(bare).unwrap(),
            r#"{"a":"xyz","b":["tlsig1gb9xxxq"],"c":"say tlsig1gc17xxno"}"#
        );
        assert!(find_signatures(b"{}").is_empty());
    }
}
