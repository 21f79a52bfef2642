//! Where the members of an object stand, without its bytes: what is kept of a scan, so that the same bytes need not be
//! scanned again.

use std::borrow::Cow;
use std::ops::Range;

use crate::json::{Member, Object};

/// Where the members of an object stand.
#[derive(Debug, Clone)]
pub struct Layout {
    members: Vec<MemberPlace>,
    close: usize,
}

#[derive(Debug, Clone)]
struct MemberPlace {
    key: KeyPlace,
    /// Where the key's quote opens.
    start: usize,
    value: Range<usize>,
}

/// Keys are read in the bytes again, so that a layout is one allocation.
#[derive(Debug, Clone)]
enum KeyPlace {
    /// So many bytes behind the quote.
    Written(usize),
    /// What its escapes mean.
    Unescaped(String),
}

// === impl Object ===

impl Object<'_> {
    #[must_use]
    pub fn layout(&self) -> Layout {
        let members = self.members.iter();
        let kept = members.map(|member| MemberPlace::of(member, self.bytes));
        Layout {
            members: kept.collect(),
            close: self.close,
        }
    }
}

// === impl Layout ===

impl Layout {
    /// The keys, in the order of the bytes that this was looked up in.
    pub fn keys<'a>(&'a self, bytes: &'a [u8]) -> impl Iterator<Item = &'a str> {
        self.members.iter().map(|member| member.key(bytes))
    }

    /// The bytes of a member's value, in the bytes that this was looked up in.
    #[must_use]
    pub fn value<'a>(&self, bytes: &'a [u8], key: &str) -> Option<&'a [u8]> {
        let mut members = self.members.iter();
        let member = members.find(|member| member.key(bytes) == key)?;
        bytes.get(member.value.clone())
    }

    /// The object again, over the bytes it was read from.
    #[must_use]
    pub fn over<'a>(&'a self, bytes: &'a [u8]) -> Object<'a> {
        let borrowed = |member: &'a MemberPlace| Member {
            key: Cow::Borrowed(member.key(bytes)),
            start: member.start,
            value: member.value.clone(),
        };
        Object {
            bytes,
            members: self.members.iter().map(borrowed).collect(),
            close: self.close,
        }
    }
}

// === impl MemberPlace ===

impl MemberPlace {
    fn of(member: &Member<'_>, bytes: &[u8]) -> Self {
        let key = member.key.as_ref();
        let is_written = written(bytes, member.start, key.len()) == Some(key.as_bytes());
        Self {
            key: if is_written {
                KeyPlace::Written(key.len())
            } else {
                KeyPlace::Unescaped(key.to_owned())
            },
            start: member.start,
            value: member.value.clone(),
        }
    }

    fn key<'a>(&'a self, bytes: &'a [u8]) -> &'a str {
        match &self.key {
            KeyPlace::Written(length) => {
                let key = written(bytes, self.start, *length).unwrap_or_default();
                std::str::from_utf8(key).unwrap_or_default()
            }
            KeyPlace::Unescaped(key) => key,
        }
    }
}

/// So many bytes of a key as it is written behind its quote.
fn written(bytes: &[u8], start: usize, length: usize) -> Option<&[u8]> {
    let from = start.saturating_add(1);
    bytes.get(from..from.saturating_add(length))
}

#[cfg(test)]
mod tests {
    use crate::scan;

    #[test]
    fn a_layout_finds_every_key_of_its_object_in_the_bytes_again() {
        let text = "{ \"a\":1,\"\\u0062\":2,\"c\\\\\":3,\"\":4,\"é\" : 5}";
        let bytes = text.as_bytes();
        let layout = scan(bytes).unwrap().layout();
        let keys = ["a", "b", "c\\", "", "é"];
        assert_eq!(layout.keys(bytes).collect::<Vec<_>>(), keys);
        let second = layout.over(bytes).layout();
        assert_eq!(second.keys(bytes).collect::<Vec<_>>(), keys);
        for (key, value) in keys.into_iter().zip(["1", "2", "3", "4", "5"]) {
            assert_eq!(layout.value(bytes, key), Some(value.as_bytes()));
        }
        assert_eq!(layout.value(bytes, "d"), None);
    }
}
