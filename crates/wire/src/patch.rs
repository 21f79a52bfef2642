//! Changes to named members of an object; every other byte, the order of keys and all white space
//! stay as they were.

use crate::json::{Object, scan};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit<'a> {
    /// Gives a member this value, written as JSON; it is put at the end if it is not there.
    Set(&'a str, Vec<u8>),
    Remove(&'a str),
}

/// The bytes with the changes. Each key may be named once.
#[must_use]
pub fn patch(object: &Object<'_>, edits: &[Edit<'_>]) -> Vec<u8> {
    let bytes = object.bytes;
    let mut kept: Vec<u8> = Vec::with_capacity(bytes.len().saturating_add(64));
    let mut copied = 0_usize;
    let mut any = false;
    let last = object.members.len();
    for (place, member) in object.members.iter().enumerate() {
        let edit = edits.iter().find(|edit| edit.key() == member.key);
        match edit {
            Some(Edit::Remove(_)) => {
                let from = if any {
                    end_before(object, place)
                } else {
                    member.start
                };
                copy(&mut kept, bytes, copied, from);
                // The first member that stays brings no comma of its own.
                let next = object.members.get(place.saturating_add(1));
                copied = match next {
                    Some(next) if !any => next.start,
                    Some(_) | None => member.value.end,
                };
            }
            Some(Edit::Set(_, value)) => {
                copy(&mut kept, bytes, copied, member.value.start);
                kept.extend_from_slice(value);
                copied = member.value.end;
                any = true;
            }
            None => any = true,
        }
    }
    let end = object
        .members
        .get(last.saturating_sub(1))
        .map_or(object.close, |member| member.value.end);
    copy(&mut kept, bytes, copied, end);
    copied = copied.max(end);
    for edit in edits {
        if let Edit::Set(key, value) = edit
            && object.member(key).is_none()
        {
            if any {
                kept.push(b',');
            }
            kept.extend_from_slice(&quoted(key));
            kept.push(b':');
            kept.extend_from_slice(value);
            any = true;
        }
    }
    copy(&mut kept, bytes, copied, bytes.len());
    kept
}

/// The bytes with changes by dotted paths: a JSON value to write, or nothing to take the member out.
/// Objects on the way are made where they are missing. The last change to a path wins.
#[must_use]
pub fn patch_at(object: &Object<'_>, changes: &[(String, Option<Vec<u8>>)]) -> Vec<u8> {
    let mut edits: Vec<Edit<'_>> = Vec::new();
    let mut done: Vec<&str> = Vec::new();
    for (path, value) in changes {
        let Some((first, _)) = path.split_once('.') else {
            edits.retain(|known| known.key() != path);
            edits.push(match value {
                Some(json) => Edit::Set(path, json.clone()),
                None => Edit::Remove(path),
            });
            continue;
        };
        if done.contains(&first) {
            continue;
        }
        done.push(first);
        let inside: Vec<(String, Option<Vec<u8>>)> = changes
            .iter()
            .filter_map(|(path, value)| {
                let rest = path.strip_prefix(first)?.strip_prefix('.')?;
                Some((rest.to_owned(), value.clone()))
            })
            .collect();
        let known = object.value(first).and_then(|value| scan(value).ok());
        let inner = match &known {
            Some(inner) => patch_at(inner, &inside),
            None if inside.iter().all(|(_, value)| value.is_none()) => continue,
            None => match scan(b"{}") {
                Ok(empty) => patch_at(&empty, &inside),
                Err(_) => continue,
            },
        };
        edits.retain(|known| known.key() != first);
        edits.push(Edit::Set(first, inner));
    }
    patch(object, &edits)
}

impl Edit<'_> {
    fn key(&self) -> &str {
        match self {
            Self::Set(key, _) | Self::Remove(key) => key,
        }
    }
}

/// Where the member before ends, so that the comma between goes too.
fn end_before(object: &Object<'_>, place: usize) -> usize {
    let before = place
        .checked_sub(1)
        .and_then(|place| object.members.get(place));
    before.map_or(0, |member| member.value.end)
}

fn copy(kept: &mut Vec<u8>, bytes: &[u8], from: usize, to: usize) {
    kept.extend_from_slice(bytes.get(from..to).unwrap_or_default());
}

fn quoted(key: &str) -> Vec<u8> {
    serde_json::to_vec(key).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set<'a>(key: &'a str, value: &str) -> Edit<'a> {
        Edit::Set(key, value.as_bytes().to_vec())
    }

    fn done(text: &str, edits: &[Edit<'_>]) -> String {
        String::from_utf8(patch(&scan(text.as_bytes()).unwrap(), edits)).unwrap()
    }

    #[test]
    fn only_the_named_members_change() {
        let text = "{ \"b\" : 1.0 ,\n\"model\":\"x\" , \"a\": [ 1 ]}\n";
        assert_eq!(
            done(text, &[set("model", "\"y\"")]),
            "{ \"b\" : 1.0 ,\n\"model\":\"y\" , \"a\": [ 1 ]}\n"
        );
        assert_eq!(
            done(text, &[set("new", "{}")]),
            "{ \"b\" : 1.0 ,\n\"model\":\"x\" , \"a\": [ 1 ],\"new\":{}}\n"
        );
        assert_eq!(done(text, &[]), text);
        assert_eq!(done("{}", &[set("a", "1")]), "{\"a\":1}");
        assert_eq!(
            done("{ }", &[set("a", "1"), set("b", "2")]),
            "{ \"a\":1,\"b\":2}"
        );
    }

    #[test]
    fn members_inside_members_change_by_their_paths() {
        let at = |text: &str, changes: &[(&str, Option<&str>)]| {
            let changes: Vec<_> = changes
                .iter()
                .map(|(path, value)| {
                    let value = value.map(|json| json.as_bytes().to_vec());
                    ((*path).to_owned(), value)
                })
                .collect();
            String::from_utf8(patch_at(&scan(text.as_bytes()).unwrap(), &changes)).unwrap()
        };
        let text = r#"{"a":{"b":1, "c":2},"d":3}"#;
        assert_eq!(
            at(text, &[("a.b", Some("9")), ("a.c", None), ("d", None)]),
            r#"{"a":{"b":9}}"#
        );
        assert_eq!(
            at(text, &[("e.f.g", Some("1"))]),
            r#"{"a":{"b":1, "c":2},"d":3,"e":{"f":{"g":1}}}"#
        );
        assert_eq!(at(text, &[("e.f", None), ("x", None)]), text);
    }

    #[test]
    fn a_member_leaves_with_one_comma() {
        let text = r#"{"a":1, "b":2, "c":3}"#;
        let without = |keys: &[&'static str]| {
            let edits: Vec<_> = keys.iter().map(|key| Edit::Remove(key)).collect();
            done(text, &edits)
        };
        assert_eq!(without(&["a"]), r#"{"b":2, "c":3}"#);
        assert_eq!(without(&["b"]), r#"{"a":1, "c":3}"#);
        assert_eq!(without(&["c"]), r#"{"a":1, "b":2}"#);
        assert_eq!(without(&["a", "b"]), r#"{"c":3}"#);
        assert_eq!(without(&["a", "c"]), r#"{"b":2}"#);
        assert_eq!(without(&["b", "c"]), r#"{"a":1}"#);
        assert_eq!(without(&["a", "b", "c"]), "{}");
        assert_eq!(
            done(text, &[Edit::Remove("a"), set("d", "4")]),
            r#"{"b":2, "c":3,"d":4}"#
        );
        assert_eq!(
            done(
                text,
                &[
                    Edit::Remove("a"),
                    Edit::Remove("b"),
                    Edit::Remove("c"),
                    set("d", "4")
                ]
            ),
            r#"{"d":4}"#
        );
    }
}
