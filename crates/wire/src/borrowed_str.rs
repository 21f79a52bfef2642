//! Borrowing deserializer for `Option<Cow<str>>`: serde copies a `Cow` inside an `Option`, this borrows when no
//! unescaping is needed. A chunk of a stream has four of them, and a request its images.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};

/// An optional text, without a copy where there is nothing to unescape.
pub(crate) fn borrowed_str<'de, D>(reader: D) -> Result<Option<Cow<'de, str>>, D::Error>
where
    D: Deserializer<'de>,
{
    #[derive(Deserialize)]
    struct Lent<'a>(#[serde(borrow)] Cow<'a, str>);
    let text: Option<Lent<'de>> = Option::deserialize(reader)?;
    Ok(text.map(|Lent(text)| text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Sample<'a> {
        #[serde(borrow, default, deserialize_with = "borrowed_str")]
        text: Option<Cow<'a, str>>,
    }

    #[test]
    fn a_text_is_copied_only_where_it_must_be_unescaped() {
        let read = |json| serde_json::from_str::<Sample<'_>>(json).unwrap().text;
        assert!(matches!(
            read(r#"{"text":"hi"}"#),
            Some(Cow::Borrowed("hi"))
        ));
        assert!(matches!(read(r#"{"text":"h\ni"}"#), Some(Cow::Owned(text)) if text == "h\ni"));
        assert_eq!(read(r#"{"text":null}"#), None);
        assert_eq!(read("{}"), None);
        assert!(serde_json::from_str::<Sample<'_>>(r#"{"text":1}"#).is_err());
    }
}
