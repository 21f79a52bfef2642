//! A request in the one form in which it is signed.

use std::fmt::Write as _;

use aws_lc_rs::digest;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// What a signature leaves as it is.
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');
const UNRESERVED_IN_PATHS: &AsciiSet = &UNRESERVED.remove(b'/');

/// A request as it is signed. Headers are in lower case, sorted, each once.
pub(super) struct Canonical<'a> {
    pub(super) method: &'a str,
    pub(super) path: &'a str,
    pub(super) query: &'a str,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: &'a [u8],
}

// === impl Canonical ===

impl Canonical<'_> {
    pub(super) fn text(&self) -> String {
        let mut text = format!(
            "{}\n{}\n{}\n",
            self.method,
            canonical_path(self.path),
            canonical_query(self.query)
        );
        for (name, value) in &self.headers {
            text.push_str(name);
            text.push(':');
            text.push_str(value);
            text.push('\n');
        }
        text.push('\n');
        text.push_str(&self.names());
        text.push('\n');
        text.push_str(&hash(self.body));
        text
    }

    pub(super) fn names(&self) -> String {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        names.join(";")
    }
}

/// The path as it is sent, without dots and double slashes, and encoded once more: what was `%3A`
/// becomes `%253A`. That is the rule of every service but S3.
pub(super) fn canonical_path(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(kept.pop()),
            name => kept.push(name),
        }
    }
    let end = if path.ends_with('/') && !kept.is_empty() {
        "/"
    } else {
        ""
    };
    let plain = format!("/{}{end}", kept.join("/"));
    utf8_percent_encode(&plain, UNRESERVED_IN_PATHS).to_string()
}

/// Pairs in order, each encoded once whatever it was before.
fn canonical_query(query: &str) -> String {
    let encoded = |text: &str| {
        let plain = percent_decode_str(text).decode_utf8_lossy();
        utf8_percent_encode(&plain, UNRESERVED).to_string()
    };
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let mut pairs: Vec<(String, String)> = pairs
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(name, value)| (encoded(name), encoded(value)))
        .collect();
    pairs.sort();
    let pairs: Vec<String> = pairs
        .into_iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    pairs.join("&")
}

/// Headers by name, values of one name in their order, runs of spaces as one.
pub(super) fn merged(mut headers: Vec<(String, String)>) -> Vec<(String, String)> {
    headers.sort_by(|(one, _), (other, _)| one.cmp(other));
    let mut merged: Vec<(String, String)> = Vec::new();
    for (name, value) in headers {
        let words: Vec<&str> = value.split_ascii_whitespace().collect();
        let value = words.join(" ");
        match merged.last_mut() {
            Some((last, values)) if *last == name => {
                values.push(',');
                values.push_str(&value);
            }
            Some(_) | None => merged.push((name, value)),
        }
    }
    merged
}

pub(super) fn hash(bytes: &[u8]) -> String {
    hex(digest::digest(&digest::SHA256, bytes).as_ref())
}

pub(super) fn hex(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        // Writing into a text cannot fail.
        write!(text, "{byte:02x}").unwrap_or_default();
    }
    text
}
