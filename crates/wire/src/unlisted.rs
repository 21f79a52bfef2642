//! What stands in a body and is on no list: found while the body is scanned, and cut out of its bytes.

use std::borrow::Cow;
use std::ops::Range;

use crate::field_list::Place;
use crate::json::{JsonError, Member};

/// Findings of one body at most; more are refused.
pub const MAX_UNLISTED: usize = 10_000;
/// Characters of one name that are kept.
const MAX_NAME: usize = 64;

/// A field, or a tool in a list, that no list has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unlisted {
    /// From its key, or in a list from its value, to its end.
    pub(crate) range: Range<usize>,
    /// Where it stands: `messages[3].content[0].foo`.
    pub path: String,
    /// The same for every item of a list, as lists of passed fields write it: `messages[].content[].foo`.
    /// A tool has its kind behind it: `tools[].type=web_search`.
    pub pattern: String,
    pub what: UnlistedKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnlistedKind {
    /// A field; the number of the object's shape, by which the list names those it may have.
    Field { shape: Option<usize> },
    /// A tool that a vendor runs and bills by the call, and the name that a choice may have for it.
    Tool { kind: String, name: Option<String> },
    /// Null, which says what absence says.
    Null,
}

/// What a scan has found so far, and where it is.
#[derive(Debug, Default)]
pub(crate) struct Findings<'a> {
    pub(crate) found: Vec<Unlisted>,
    path: Vec<Step<'a>>,
}

#[derive(Debug)]
enum Step<'a> {
    Key(Cow<'a, str>),
    Item(usize),
}

// === impl Findings ===

impl<'a> Findings<'a> {
    pub(crate) fn enter(&mut self, key: Cow<'a, str>) {
        self.path.push(Step::Key(key));
    }

    pub(crate) fn enter_item(&mut self, index: usize) {
        self.path.push(Step::Item(index));
    }

    pub(crate) fn leave(&mut self) {
        self.path.pop();
    }

    pub(crate) fn count(&self) -> usize {
        self.found.len()
    }

    /// A member that is not listed, at the place of its object.
    pub(crate) fn member(
        &mut self,
        place: Place<'_>,
        key: &str,
        range: Range<usize>,
        is_null: bool,
    ) -> Result<(), JsonError> {
        if self.found.len() >= MAX_UNLISTED {
            return Err(JsonError::TooManyUnlisted);
        }
        let what = if is_null {
            UnlistedKind::Null
        } else if place.bills(key) {
            UnlistedKind::Tool {
                kind: label(key),
                name: None,
            }
        } else {
            UnlistedKind::Field {
                shape: place.number(),
            }
        };
        let unlisted = self.here(range, what);
        self.found.push(unlisted);
        Ok(())
    }

    /// An object that was read whole: one of an unlisted kind goes as a whole, and so does one of which
    /// nothing is left. `seen` is how much was found before it.
    pub(crate) fn object(
        &mut self,
        bytes: &[u8],
        place: Place<'_>,
        members: &[Member<'_>],
        whole: Range<usize>,
        seen: usize,
    ) {
        // A choice of a tool is looked at with the tools, and is no item of a list.
        if !place.has_kinds() || !matches!(self.path.last(), Some(Step::Item(_))) {
            return;
        }
        let text = |key: &str| {
            let member = members.iter().find(|member| member.key == key)?;
            let value = bytes.get(member.value.clone())?;
            serde_json::from_slice::<String>(value).ok()
        };
        let kind = text("type").unwrap_or_default();
        let found = self.found.get(seen..).unwrap_or_default();
        let tool = found.iter().find_map(|unlisted| match &unlisted.what {
            UnlistedKind::Tool { kind, .. } => Some(kind.clone()),
            UnlistedKind::Field { .. } | UnlistedKind::Null => None,
        });
        let is_empty = !members.is_empty()
            && members
                .iter()
                .all(|member| place.member(&member.key).is_none());
        if place.takes_kind(&kind) && !is_empty {
            return;
        }
        self.found.truncate(seen);
        let keys = members.first().map(|member| label(&member.key));
        let kind = Some(label(&kind)).filter(|kind| !kind.is_empty());
        let kind = kind.or(tool).or(keys).unwrap_or_default();
        let name = text("name");
        let mut unlisted = self.here(whole, UnlistedKind::Tool { kind, name });
        if let UnlistedKind::Tool { kind, .. } = &unlisted.what {
            unlisted.pattern = format!("{}.type={kind}", unlisted.pattern);
        }
        self.found.push(unlisted);
    }

    fn here(&self, range: Range<usize>, what: UnlistedKind) -> Unlisted {
        let (mut path, mut pattern) = (String::new(), String::new());
        for step in &self.path {
            match step {
                Step::Key(key) => {
                    for text in [&mut path, &mut pattern] {
                        if !text.is_empty() {
                            text.push('.');
                        }
                        text.push_str(&label(key));
                    }
                }
                Step::Item(index) => {
                    path.push_str(&format!("[{index}]"));
                    pattern.push_str("[]");
                }
            }
        }
        Unlisted {
            range,
            path,
            pattern,
            what,
        }
    }
}

// === impl Unlisted ===

impl Unlisted {
    /// Whether it says anything at all.
    #[must_use]
    pub const fn is_null(&self) -> bool {
        matches!(self.what, UnlistedKind::Null)
    }
}

/// A name for reports: a long one ends early, so that it is like no other.
fn label(name: &str) -> String {
    if name.chars().nth(MAX_NAME).is_none() {
        return name.to_owned();
    }
    let begin: String = name.chars().take(MAX_NAME).collect();
    format!("{begin}…")
}

/// The bytes without some members and items, in the order in which they stand there. Every other byte stays, but
/// for the commas that are too many.
pub(crate) fn cut<'a>(bytes: &[u8], out: impl Iterator<Item = &'a Unlisted>) -> Vec<u8> {
    let mut kept: Vec<u8> = Vec::with_capacity(bytes.len());
    let mut copied = 0_usize;
    for unlisted in out {
        let range = &unlisted.range;
        kept.extend_from_slice(bytes.get(copied..range.start).unwrap_or_default());
        let next = after_space(bytes, range.end);
        if bytes.get(next) == Some(&b',') {
            copied = after_space(bytes, next.saturating_add(1));
            continue;
        }
        copied = range.end;
        let end = kept.iter().rposition(|byte| !is_space(*byte));
        if let Some(end) = end.filter(|end| kept.get(*end) == Some(&b',')) {
            kept.truncate(end);
        }
    }
    kept.extend_from_slice(bytes.get(copied..).unwrap_or_default());
    kept
}

fn after_space(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    let spaces = rest.iter().take_while(|byte| is_space(**byte)).count();
    from.saturating_add(spaces)
}

const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

#[cfg(test)]
mod tests {
    use crate::{FieldList, scan_listed};

    use super::*;

    const LIST: &str = r#"
        [body]
        fields = ["model", "stop"]
        open = ["metadata"]
        billed = ["plugins"]
        messages = "message"
        tools = "tool"
        things = "thing"
        [message]
        fields = ["role"]
        content = "part"
        [part]
        fields = ["text"]
        content = "part"
        [tool]
        kinds = ["", "function", "bash_*"]
        fields = ["type", "name"]
        open = ["schema"]
        [thing]
        keyed = true
        fields = ["mine"]
    "#;

    fn filtered(text: &str) -> (String, Vec<String>) {
        let list = FieldList::parse(LIST).unwrap();
        let (_, found) = scan_listed(text.as_bytes(), &list).unwrap();
        let kept = cut(text.as_bytes(), found.iter());
        let patterns = found.into_iter().map(|one| one.pattern).collect();
        (String::from_utf8(kept).unwrap(), patterns)
    }

    #[test]
    fn a_body_of_listed_fields_stays_as_it_is() {
        let text = r#" {"model":"m", "stop":["a",["b"]],"metadata":{"x":{"y":[{"z":1}]}},
            "messages":[{"role":"user","content":"hi"},{"content":[{"text":"a","content":[{"text":1}]}]}],
            "tools":[{"type":"function","schema":{"any":{"thing":1}}},{"type":"bash_1"},{}]} "#;
        assert_eq!(filtered(text), (text.to_owned(), Vec::new()));
    }

    #[test]
    fn an_unlisted_field_is_found_at_every_depth_and_leaves_with_one_comma() {
        for (text, kept, found) in [
            (r#"{"a":1}"#, "{}", "a"),
            (r#"{"a":1, "model":"m"}"#, r#"{"model":"m"}"#, "a"),
            (r#"{"model":"m", "a":1}"#, r#"{"model":"m"}"#, "a"),
            (
                r#"{"model":"m" , "a":{"b":[1]} ,"stop":1}"#,
                r#"{"model":"m" , "stop":1}"#,
                "a",
            ),
            (r#"{"stop":[{"a":1}]}"#, r#"{"stop":[{}]}"#, "stop[].a"),
            (
                r#"{"messages":[{},{"content":[{"content":{"x":1,"text":"t"}}]}]}"#,
                r#"{"messages":[{},{"content":[{"content":{"text":"t"}}]}]}"#,
                "messages[].content[].content.x",
            ),
            (
                r#"{"tools":[{"type":"function"},{"type":"web","x":{"y":1}}]}"#,
                r#"{"tools":[{"type":"function"}]}"#,
                "tools[].type=web",
            ),
            (
                r#"{"tools":[{"x":{}}]}"#,
                r#"{"tools":[]}"#,
                "tools[].type=x",
            ),
            (
                r#"{"things":[{"mine":1,"search":{}},{"search":{}}]}"#,
                r#"{"things":[{"mine":1}]}"#,
                "things[].search things[].type=search",
            ),
        ] {
            let (left, patterns) = filtered(text);
            assert_eq!(
                (left.as_str(), patterns.join(" ").as_str()),
                (kept, found),
                "{text}"
            );
        }
        let (left, patterns) = filtered(r#"{"a":1,"b":2 , "model":1, "c":3, "d":4}"#);
        assert_eq!(left, r#"{"model":1}"#);
        assert_eq!(patterns, ["a", "b", "c", "d"]);
    }

    #[test]
    fn a_finding_says_what_it_is_and_where() {
        let list = FieldList::parse(LIST).unwrap();
        let text = br#"{"tools":[{"type":"web","name":"w"}],"plugins":[],"messages":[{"x":null}]}"#;
        let (_, found) = scan_listed(text, &list).unwrap();
        let tool = |kind: &str, name: Option<&str>| UnlistedKind::Tool {
            kind: kind.to_owned(),
            name: name.map(ToOwned::to_owned),
        };
        let seen: Vec<_> = found
            .iter()
            .map(|one| (one.path.as_str(), &one.what))
            .collect();
        assert_eq!(
            seen,
            [
                ("tools[0]", &tool("web", Some("w"))),
                ("plugins", &tool("plugins", None)),
                ("messages[0].x", &UnlistedKind::Null),
            ]
        );
        let long = format!("{{\"{}\":1}}", "é".repeat(100));
        let (_, found) = scan_listed(long.as_bytes(), &list).unwrap();
        assert_eq!(found[0].pattern, format!("{}…", "é".repeat(64)));
    }

    #[test]
    fn findings_are_bounded() {
        let list = FieldList::parse(LIST).unwrap();
        let many = |count: usize| {
            let fields: Vec<String> = (0..count).map(|at| format!("\"a{at}\":1")).collect();
            format!("{{{}}}", fields.join(","))
        };
        assert!(scan_listed(many(MAX_UNLISTED).as_bytes(), &list).is_ok());
        let error = scan_listed(many(MAX_UNLISTED + 1).as_bytes(), &list).unwrap_err();
        assert_eq!(error, JsonError::TooManyUnlisted);
    }
}
