//! Deserializers that all formats share.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// The length of a text in bytes. The text is not kept: a body may have many megabytes.
pub(crate) struct TextLength(pub(crate) u64);

struct TextLengthVisitor;

/// The content of a message. Serde's untagged enums would copy it and describe why it is not the first
/// variant, for every message.
pub(crate) enum Content<P> {
    /// A text; its length in bytes.
    Text(u64),
    Parts(Vec<P>),
    Other,
}

struct ContentVisitor<P>(PhantomData<P>);

/// A token count. Anything but a whole number from zero on counts as not reported.
pub(crate) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    Ok(value.as_u64())
}

pub(crate) fn text_length(text: &str) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX)
}

impl<'de> Deserialize<'de> for TextLength {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(TextLengthVisitor)
    }
}

impl Visitor<'_> for TextLengthVisitor {
    type Value = TextLength;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a text")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<TextLength, E> {
        Ok(TextLength(text_length(text)))
    }
}

impl<'de, P: Deserialize<'de>> Deserialize<'de> for Content<P> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor(PhantomData))
    }
}

impl<'de, P: Deserialize<'de>> Visitor<'de> for ContentVisitor<P> {
    type Value = Content<P>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a text or a list")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Content::Text(text_length(text)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Self::Value, A::Error> {
        let mut all = Vec::new();
        while let Some(part) = parts.next_element()? {
            all.push(part);
        }
        Ok(Content::Parts(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Content::Other)
    }
}
