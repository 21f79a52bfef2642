//! Text of paths and queries.

/// Without percent signs; what is not text is left as it is.
#[must_use]
pub fn plain(text: &str) -> String {
    let decoded = percent_encoding::percent_decode_str(text).decode_utf8();
    decoded.map_or_else(|_| text.to_owned(), std::borrow::Cow::into_owned)
}
