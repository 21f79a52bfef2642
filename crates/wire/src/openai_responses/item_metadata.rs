//! What items of a conversation say that the canonical form has no place for (ids of messages, their state, words a
//! vendor adds): kept beside it by where it stood, and put back when the same format is written.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::canonical::UnknownField;

const INPUT: &str = "input";

/// Labels by field and place.
#[derive(Debug, Default)]
pub(super) struct Labels(BTreeMap<String, Map<String, Value>>);

impl Labels {
    /// Keeps what is left of an object that was read. A place is a JSON pointer into the list of items.
    pub(super) fn keep(&mut self, place: &str, left: Map<String, Value>) {
        let names = place.split('/').filter(|step| step.parse::<u32>().is_err());
        let path: Vec<&str> = names.filter(|step| !step.is_empty()).collect();
        for (key, value) in left {
            // Null says what absence says.
            if value.is_null() {
                continue;
            }
            let steps = std::iter::once(INPUT).chain(path.iter().copied());
            let field: Vec<&str> = steps.chain(std::iter::once(key.as_str())).collect();
            let kept = self.0.entry(field.join(".")).or_default();
            kept.insert(place.to_owned(), value);
        }
    }

    /// As fields that only this format has.
    pub(super) fn extras(self) -> impl Iterator<Item = UnknownField> {
        self.0.into_iter().map(|(field, places)| UnknownField {
            field,
            value: Value::Object(places),
            matters: false,
        })
    }
}

/// Whether a field is a label of ours.
pub(super) fn is_label(extra: &UnknownField) -> bool {
    extra.field.starts_with("input.")
}

/// Puts a label back where it stood.
pub(super) fn restore(extra: &UnknownField, items: &mut Value) {
    let Some(places) = extra.value.as_object() else {
        return;
    };
    let key = extra.field.rsplit('.').next().unwrap_or_default();
    for (place, value) in places {
        if let Some(Value::Object(object)) = items.pointer_mut(place) {
            object.insert(key.to_owned(), value.clone());
        }
    }
}
