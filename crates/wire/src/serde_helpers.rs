//! Deserializers that all formats share.

use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// The length of a text in bytes. The text is not kept: a body may have many megabytes.
pub(crate) struct TextLength(pub(crate) u64);

struct TextLengthVisitor;

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
