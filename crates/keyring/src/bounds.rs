//! Sizes that errors name.

/// Longest text of a document; two generations take about 500 bytes.
pub const MAX_DOCUMENT_BYTES: usize = 4_096;
/// Longest prefix of a token in text form.
pub const MAX_PREFIX_BYTES: usize = 16;
