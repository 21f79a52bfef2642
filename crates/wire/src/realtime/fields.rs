//! A client's event without what its field list does not have.

use serde_json::Value;

use crate::FieldList;
use crate::field_list::Place;

/// Takes out what is not listed, and returns the paths of it.
pub(super) fn strip(list: &FieldList, event: &mut Value) -> Vec<String> {
    let mut dropped = Vec::new();
    strip_at(list.root(), event, "", &mut dropped);
    dropped
}

fn strip_at(place: Place<'_>, value: &mut Value, path: &str, dropped: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            let at = |key: &str| match path {
                "" => key.to_owned(),
                _ => format!("{path}.{key}"),
            };
            let keys: Vec<String> = members.keys().cloned().collect();
            for key in keys {
                let below = place.member(&key);
                let member = members.get_mut(&key);
                match (below, member) {
                    (Some(below), Some(member)) if takes(below, member) => {
                        strip_at(below, member, &at(&key), dropped);
                    }
                    (_, None) => {}
                    (Some(_) | None, Some(member)) => {
                        // Null says what absence says, except where it switches a default off.
                        if !member.is_null() {
                            dropped.push(at(&key));
                        }
                        members.remove(&key);
                    }
                }
            }
        }
        Value::Array(items) => {
            let mut index = 0_usize;
            items.retain_mut(|item| {
                let path = format!("{path}[{index}]");
                index = index.saturating_add(1);
                let is_taken = takes(place, item);
                if is_taken {
                    strip_at(place, item, &path, dropped);
                } else {
                    dropped.push(path);
                }
                is_taken
            });
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Whether a value may stand here: no object where none is listed, and only those of a listed kind.
fn takes(place: Place<'_>, value: &Value) -> bool {
    match (place, value) {
        (Place::Plain, Value::Object(_)) => false,
        (_, Value::Object(members)) if place.has_kinds() => {
            let kind = members.get("type").and_then(Value::as_str);
            kind.is_some_and(|kind| place.takes_kind(kind))
        }
        (Place::Open | Place::Plain | Place::Object(..), _) => true,
    }
}
