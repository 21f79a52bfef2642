//! Range requests of RFC 9110 (section 14): pure, from the header's text and the length.
//!
//! One range is served as a part. Several are answered with the whole object, which the RFC allows: no player
//! requests several, and multipart responses are a way to overload a server.

use std::ops::Range;

/// Longest `Range` header that is read; more is refused, not guessed at.
pub const MAX_RANGE_CHARACTERS: usize = 1_024;

/// The response to a `Range` header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RangeAnswer {
    /// Everything: 200. No header, another unit than bytes, or several ranges.
    Whole,
    /// These bytes, the end not included: 206.
    Part(Range<u64>),
    /// A range as it should be, but nothing of it is there: 416 with `Content-Range: bytes */length`.
    Unsatisfiable,
    /// Not a range at all: 416 as well, and the fault is in the header.
    Invalid,
}

/// One range as it is written.
enum Spec {
    /// `a-b`
    Between(u64, u64),
    /// `a-`
    From(u64),
    /// `-n`
    Last(u64),
}

/// Reads a `Range` header (none if there was none) for something of `total_bytes`.
#[must_use]
pub fn read_range(header: Option<&str>, total_bytes: u64) -> RangeAnswer {
    let Some(header) = header else {
        return RangeAnswer::Whole;
    };
    if header.len() > MAX_RANGE_CHARACTERS {
        return RangeAnswer::Invalid;
    }
    let Some((unit, set)) = header.trim().split_once('=') else {
        return RangeAnswer::Invalid;
    };
    if !unit.eq_ignore_ascii_case("bytes") {
        // A unit that a server does not know has to be passed over, not refused.
        return RangeAnswer::Whole;
    }
    // A list may have empty places; they count for nothing.
    let written = set.split(',').map(|spec| spec.trim_matches([' ', '\t']));
    let specs: Option<Vec<Spec>> = written
        .filter(|spec| !spec.is_empty())
        .map(read_spec)
        .collect();
    match specs.as_deref() {
        None | Some([]) => RangeAnswer::Invalid,
        Some([spec]) => resolve(spec, total_bytes),
        Some([_, _, ..]) => RangeAnswer::Whole,
    }
}

/// Whether a `Range` header counts: without `If-Range` it does, with one only if it is this very
/// content. A weak tag or a date never is: neither proves that the bytes are the same.
#[must_use]
pub fn if_range_holds(header: Option<&str>, etag: &str) -> bool {
    header.is_none_or(|tag| tag.trim() == etag)
}

fn read_spec(text: &str) -> Option<Spec> {
    let (first, last) = text.split_once('-')?;
    match (first.is_empty(), last.is_empty()) {
        (true, true) => None,
        (true, false) => read_number(last).map(Spec::Last),
        (false, true) => read_number(first).map(Spec::From),
        (false, false) => {
            let (first, last) = (read_number(first)?, read_number(last)?);
            (first <= last).then_some(Spec::Between(first, last))
        }
    }
}

/// Digits only. A number above all lengths is as good as the highest.
fn read_number(text: &str) -> Option<u64> {
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(text.parse().unwrap_or(u64::MAX))
}

fn resolve(spec: &Spec, total: u64) -> RangeAnswer {
    let part = match *spec {
        Spec::Between(first, last) => first..last.saturating_add(1).min(total),
        Spec::From(first) => first..total,
        // A suffix of an empty object: satisfiable by the RFC, but not expressible as a Content-Range.
        Spec::Last(count) if count > 0 && total == 0 => return RangeAnswer::Whole,
        Spec::Last(count) => total.saturating_sub(count)..total,
    };
    if part.is_empty() {
        return RangeAnswer::Unsatisfiable;
    }
    RangeAnswer::Part(part)
}

#[cfg(test)]
mod tests {
    use super::RangeAnswer::{Invalid, Part, Unsatisfiable, Whole};
    use super::*;

    #[test]
    fn a_range_header_is_read_as_the_rfc_says() {
        let cases: [(&str, u64, RangeAnswer); 54] = [
            ("bytes=0-0", 10, Part(0..1)),
            ("bytes=0-9", 10, Part(0..10)),
            ("bytes=0-10", 10, Part(0..10)),
            ("bytes=2-5", 10, Part(2..6)),
            ("bytes=9-9", 10, Part(9..10)),
            ("bytes=9-99", 10, Part(9..10)),
            ("bytes=0-", 10, Part(0..10)),
            ("bytes=9-", 10, Part(9..10)),
            ("bytes=-1", 10, Part(9..10)),
            ("bytes=-10", 10, Part(0..10)),
            ("bytes=-11", 10, Part(0..10)),
            ("bytes=007-008", 10, Part(7..9)),
            ("Bytes=2-5", 10, Part(2..6)),
            ("BYTES=2-5", 10, Part(2..6)),
            (" bytes=2-5 ", 10, Part(2..6)),
            ("bytes= 2-5", 10, Part(2..6)),
            ("bytes=\t2-5\t", 10, Part(2..6)),
            ("bytes=2-5,", 10, Part(2..6)),
            ("bytes=,2-5", 10, Part(2..6)),
            ("bytes=0-18446744073709551615", 10, Part(0..10)),
            ("bytes=0-99999999999999999999999", 10, Part(0..10)),
            ("bytes=-99999999999999999999999", 10, Part(0..10)),
            ("bytes=0-0", u64::MAX, Part(0..1)),
            ("bytes=10-10", 10, Unsatisfiable),
            ("bytes=10-", 10, Unsatisfiable),
            ("bytes=99-100", 10, Unsatisfiable),
            ("bytes=99999999999999999999999-", 10, Unsatisfiable),
            ("bytes=-0", 10, Unsatisfiable),
            ("bytes=0-0", 0, Unsatisfiable),
            ("bytes=0-", 0, Unsatisfiable),
            ("bytes=-0", 0, Unsatisfiable),
            ("bytes=-5", 0, Whole),
            ("bytes=0-1,4-5", 10, Whole),
            ("bytes=0-1, 4-5", 10, Whole),
            ("bytes=0-1,-1", 10, Whole),
            ("bytes=0-1,99-", 10, Whole),
            ("items=0-1", 10, Whole),
            ("seconds=a", 10, Whole),
            ("bytes", 10, Invalid),
            ("", 10, Invalid),
            ("bytes=", 10, Invalid),
            ("bytes=,", 10, Invalid),
            ("bytes=-", 10, Invalid),
            ("bytes=5", 10, Invalid),
            ("bytes=5-2", 10, Invalid),
            ("bytes=a-b", 10, Invalid),
            ("bytes=1-b", 10, Invalid),
            ("bytes=+1-2", 10, Invalid),
            ("bytes=--1", 10, Invalid),
            ("bytes=1--2", 10, Invalid),
            ("bytes=1 - 2", 10, Invalid),
            ("bytes=0x1-2", 10, Invalid),
            ("bytes=0-1,x", 10, Invalid),
            ("bytes=1.0-2", 10, Invalid),
        ];
        for (header, total, expected) in cases {
            let read = read_range(Some(header), total);
            assert_eq!(read, expected, "{header:?} of {total}");
        }
        assert_eq!(read_range(None, 10), Whole);
    }

    #[test]
    fn a_header_beyond_the_limit_is_not_read() {
        let longest = format!("bytes=0-{}", "1".repeat(MAX_RANGE_CHARACTERS - 8));
        assert_eq!(read_range(Some(&longest), 10), Part(0..10));
        assert_eq!(read_range(Some(&format!("{longest}1")), 10), Invalid);
    }

    #[test]
    fn if_range_holds_for_the_very_same_content_only() {
        let etag = "\"abc\"";
        assert!(if_range_holds(None, etag));
        assert!(if_range_holds(Some("\"abc\""), etag));
        for other in [
            "\"abd\"",
            "abc",
            "W/\"abc\"",
            "*",
            "",
            "\"abc\", \"abd\"",
            "Sat, 29 Oct 1994 19:43:31 GMT",
        ] {
            assert!(!if_range_holds(Some(other), etag), "{other}");
        }
    }
}
