//! A strict scan of a JSON object that keeps its bytes: the range of each member, and that no object in it has
//! a duplicate key. What we price must be what the upstream reads, and which of two equal keys it reads is not
//! defined.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use memchr::memchr2;

use crate::field_list::{FieldList, Place};
use crate::unlisted::{Findings, Unlisted};

/// Objects and arrays inside each other; deeper bodies are refused.
pub const MAX_DEPTH: usize = 128;
/// Up to so many keys are compared one by one, which is faster than any set.
const FEW_MEMBERS: usize = 16;

/// An object and where its members stand in the bytes.
#[derive(Debug, Clone)]
pub struct Object<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) members: Vec<Member<'a>>,
    /// Where the closing brace stands.
    pub(crate) close: usize,
}

/// One member of an object.
#[derive(Debug, Clone)]
pub struct Member<'a> {
    pub key: Cow<'a, str>,
    /// Where the key's quote opens.
    pub start: usize,
    pub value: Range<usize>,
}

/// Why bytes are not an object we can read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// Not UTF-8.
    #[error("the body is not UTF-8")]
    NotUtf8,
    /// Not JSON.
    #[error("the body is not JSON: unexpected byte at position {0}")]
    Syntax(usize),
    /// Something else than an object.
    #[error("the body must be a JSON object")]
    NotAnObject,
    #[error("the body is nested more than {MAX_DEPTH} levels deep")]
    TooDeep,
    #[error(
        "the body has more than {} fields that are not known here",
        crate::unlisted::MAX_UNLISTED
    )]
    TooManyUnlisted,
    /// A key that stands twice in one object.
    #[error("duplicate key {0:?} in one object; which value counts is not defined")]
    DuplicateKey(String),
}

/// Looks at a whole body.
pub fn scan(bytes: &[u8]) -> Result<Object<'_>, JsonError> {
    scan_text(text_of(bytes)?)
}

/// Looks at what is known to be text.
pub fn scan_text(text: &str) -> Result<Object<'_>, JsonError> {
    scan_at(text, Place::Open).map(|(object, _)| object)
}

/// Looks at a whole body, and finds the fields in it that are not listed, in the same pass.
pub fn scan_listed<'a>(
    bytes: &'a [u8],
    list: &FieldList,
) -> Result<(Object<'a>, Vec<Unlisted>), JsonError> {
    scan_at(text_of(bytes)?, list.root())
}

fn text_of(bytes: &[u8]) -> Result<&str, JsonError> {
    std::str::from_utf8(bytes).map_err(|_| JsonError::NotUtf8)
}

fn scan_at<'a>(text: &'a str, place: Place<'_>) -> Result<(Object<'a>, Vec<Unlisted>), JsonError> {
    let bytes = text.as_bytes();
    let mut scanner = Scanner {
        bytes,
        at: 0,
        open: Vec::with_capacity(FEW_MEMBERS),
        findings: Findings::default(),
    };
    scanner.space();
    if scanner.peek() != Some(b'{') {
        // Other values are still checked, so that the message is right.
        scanner.value(0, Place::Open)?;
        return Err(JsonError::NotAnObject);
    }
    let close = scanner.object(1, place)?;
    scanner.space();
    match scanner.peek() {
        None => {
            let object = Object {
                bytes,
                members: scanner.open,
                close,
            };
            Ok((object, scanner.findings.found))
        }
        Some(_) => Err(JsonError::Syntax(scanner.at)),
    }
}

/// The keys of an object with many members; few are compared one by one.
#[derive(Default)]
struct SeenKeys<'a>(BTreeSet<Cow<'a, str>>);

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The members so far of the objects that are open, those of inner ones behind those of outer ones: one list for
    /// all of them, so that an inner object allocates nothing.
    open: Vec<Member<'a>>,
    findings: Findings<'a>,
}

/// Bytes of a string that are looked at one by one: most strings are names and end here, and a search that looks at
/// many bytes at a time costs more to begin than these.
const SHORT: usize = 16;

/// How many bytes of a string are neither its end nor an escape nor a mistake.
fn plain_length(bytes: &[u8]) -> usize {
    let (short, long) = bytes.split_at(bytes.len().min(SHORT));
    let special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..=0x1f);
    if let Some(ahead) = short.iter().position(special) {
        return ahead;
    }
    let ahead = memchr2(b'"', b'\\', long).unwrap_or(long.len());
    let text = long.get(..ahead).unwrap_or_default();
    let is_control = |byte: &u8| *byte < 0x20;
    // All are looked at, because that is one instruction for many.
    let has_control = text
        .iter()
        .fold(false, |found, byte| found | is_control(byte));
    let plain = if has_control {
        text.iter().position(is_control).unwrap_or(ahead)
    } else {
        ahead
    };
    short.len().saturating_add(plain)
}

// === impl Object ===

impl<'a> Object<'a> {
    /// The bytes of a member's value.
    #[must_use]
    pub fn value(&self, key: &str) -> Option<&'a [u8]> {
        let member = self.member(key)?;
        self.bytes.get(member.value.clone())
    }

    /// The bytes of a value by its dotted path.
    #[must_use]
    pub fn at(&self, path: &str) -> Option<&'a [u8]> {
        let Some((first, rest)) = path.split_once('.') else {
            return self.value(path);
        };
        scan(self.value(first)?).ok()?.at(rest)
    }

    #[must_use]
    pub fn member(&self, key: &str) -> Option<&Member<'a>> {
        self.members.iter().find(|member| member.key == key)
    }

    /// All members in the order of the bytes.
    #[must_use]
    pub fn members(&self) -> &[Member<'a>] {
        &self.members
    }

    #[must_use]
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }
}

// === impl SeenKeys ===

impl<'a> SeenKeys<'a> {
    /// Whether a key stands among the members already.
    fn has(&mut self, members: &[Member<'a>], key: Cow<'a, str>) -> bool {
        if members.len() < FEW_MEMBERS {
            return members.iter().any(|member| member.key == key);
        }
        if self.0.is_empty() {
            self.0
                .extend(members.iter().map(|member| member.key.clone()));
        }
        !self.0.insert(key)
    }
}

// === impl Scanner ===

impl<'a> Scanner<'a> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn step(&mut self) {
        self.at = self.at.saturating_add(1);
    }

    fn wrong<T>(&self) -> Result<T, JsonError> {
        Err(JsonError::Syntax(self.at))
    }

    fn expect(&mut self, byte: u8) -> Result<(), JsonError> {
        if self.peek() == Some(byte) {
            self.step();
            return Ok(());
        }
        self.wrong()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.step();
        }
    }

    fn value(&mut self, depth: usize, place: Place<'_>) -> Result<(), JsonError> {
        if depth > MAX_DEPTH {
            return Err(JsonError::TooDeep);
        }
        match self.peek() {
            Some(b'{') => {
                let (start, outer) = (self.at, self.open.len());
                let seen = self.findings.count();
                self.object(depth.saturating_add(1), place)?;
                let whole = start..self.at;
                let members = self.open.get(outer..).unwrap_or_default();
                self.findings
                    .object(self.bytes, place, members, whole, seen);
                self.open.truncate(outer);
                Ok(())
            }
            Some(b'[') => self.array(depth.saturating_add(1), place),
            Some(b'"') => self.string().map(|_| ()),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word(b"true"),
            Some(b'f') => self.word(b"false"),
            Some(b'n') => self.word(b"null"),
            Some(_) | None => self.wrong(),
        }
    }

    /// From the opening brace to behind the closing one, whose place it returns. The members are the last that are open.
    fn object(&mut self, depth: usize, place: Place<'_>) -> Result<usize, JsonError> {
        if depth > MAX_DEPTH {
            return Err(JsonError::TooDeep);
        }
        self.expect(b'{')?;
        let outer = self.open.len();
        let mut seen = SeenKeys::default();
        self.space();
        while self.peek() != Some(b'}') {
            if self.open.len() > outer {
                self.expect(b',')?;
                self.space();
            }
            let start = self.at;
            let key = self.key()?;
            let members = self.open.get(outer..).unwrap_or_default();
            if seen.has(members, key.clone()) {
                return Err(JsonError::DuplicateKey(key.chars().take(64).collect()));
            }
            self.space();
            self.expect(b':')?;
            self.space();
            if !place.is_open() {
                self.findings.enter(key.clone());
            }
            let value = self.member_value(depth, place, &key, start)?;
            if !place.is_open() {
                self.findings.leave();
            }
            self.open.push(Member { key, start, value });
            self.space();
        }
        let close = self.at;
        self.step();
        Ok(close)
    }

    /// The value of a member. One that is not listed is found as a whole, and its inside is not looked at.
    fn member_value(
        &mut self,
        depth: usize,
        place: Place<'_>,
        key: &str,
        start: usize,
    ) -> Result<Range<usize>, JsonError> {
        let begin = self.at;
        let inside = place.member(key);
        self.value(depth, inside.unwrap_or(Place::Open))?;
        let value = begin..self.at;
        if inside.is_none() {
            let is_null = self.bytes.get(value.clone()) == Some(b"null");
            self.findings
                .member(place, key, start..value.end, is_null)?;
        }
        Ok(value)
    }

    fn array(&mut self, depth: usize, place: Place<'_>) -> Result<(), JsonError> {
        if depth > MAX_DEPTH {
            return Err(JsonError::TooDeep);
        }
        self.expect(b'[')?;
        self.space();
        let mut count = 0_usize;
        while self.peek() != Some(b']') {
            if count > 0 {
                self.expect(b',')?;
                self.space();
            }
            if !place.is_open() {
                self.findings.enter_item(count);
            }
            self.value(depth, place)?;
            if !place.is_open() {
                self.findings.leave();
            }
            count = count.saturating_add(1);
            self.space();
        }
        self.step();
        Ok(())
    }

    fn key(&mut self) -> Result<Cow<'a, str>, JsonError> {
        let start = self.at;
        let plain = self.string()?;
        let with_quotes = self.bytes.get(start..self.at).unwrap_or_default();
        if plain {
            let inside = with_quotes
                .strip_prefix(b"\"")
                .and_then(|rest| rest.strip_suffix(b"\""));
            let text = std::str::from_utf8(inside.unwrap_or_default());
            return text
                .map(Cow::Borrowed)
                .map_err(|_| JsonError::Syntax(start));
        }
        let text: Result<String, _> = serde_json::from_slice(with_quotes);
        text.map(Cow::Owned).map_err(|_| JsonError::Syntax(start))
    }

    /// From the opening quote to behind the closing one. True if nothing in it is escaped.
    fn string(&mut self) -> Result<bool, JsonError> {
        self.expect(b'"')?;
        let mut plain = true;
        loop {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            self.at = self.at.saturating_add(plain_length(rest));
            match self.peek() {
                Some(b'"') => {
                    self.step();
                    return Ok(plain);
                }
                Some(b'\\') => {
                    plain = false;
                    self.step();
                    self.escape()?;
                }
                Some(_) | None => return self.wrong_text(),
            }
        }
    }

    /// A text that does not end is wrong where the bytes end, and another one at its control character.
    fn wrong_text<T>(&mut self) -> Result<T, JsonError> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        if memchr2(b'"', b'\\', rest).is_none() {
            self.at = self.bytes.len();
        }
        self.wrong()
    }

    fn escape(&mut self) -> Result<(), JsonError> {
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.step();
                Ok(())
            }
            Some(b'u') => {
                self.step();
                for _ in 0..4 {
                    if !self.peek().is_some_and(|byte| byte.is_ascii_hexdigit()) {
                        return self.wrong();
                    }
                    self.step();
                }
                Ok(())
            }
            Some(_) | None => self.wrong(),
        }
    }

    fn number(&mut self) -> Result<(), JsonError> {
        if self.peek() == Some(b'-') {
            self.step();
        }
        match self.peek() {
            Some(b'0') => self.step(),
            Some(b'1'..=b'9') => self.digits()?,
            Some(_) | None => return self.wrong(),
        }
        if self.peek() == Some(b'.') {
            self.step();
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.step();
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.step();
            }
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), JsonError> {
        if !self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            return self.wrong();
        }
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.step();
        }
        Ok(())
    }

    fn word(&mut self, word: &[u8]) -> Result<(), JsonError> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        if !rest.starts_with(word) {
            return self.wrong();
        }
        self.at = self.at.saturating_add(word.len());
        Ok(())
    }
}

#[cfg(test)]
#[path = "json_tests.rs"]
mod tests;
