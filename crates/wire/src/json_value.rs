//! Reading and writing members of JSON trees.

use serde_json::{Map, Number, Value};

pub(crate) fn get_str<'a>(map: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    map.get(key)?.as_str()
}

/// Removes a string; a member of another type stays.
pub(crate) fn take_string(map: &mut Map<String, Value>, key: &str) -> Option<String> {
    map.get(key)?.as_str()?;
    let Some(Value::String(text)) = map.remove(key) else {
        return None;
    };
    Some(text)
}

/// Removes a list; a member of another type stays.
pub(crate) fn take_array(map: &mut Map<String, Value>, key: &str) -> Option<Vec<Value>> {
    map.get(key)?.as_array()?;
    let Some(Value::Array(list)) = map.remove(key) else {
        return None;
    };
    Some(list)
}

/// Removes a number; a member of another type stays.
pub(crate) fn take_number(map: &mut Map<String, Value>, key: &str) -> Option<Number> {
    let number = map.get(key)?.as_number()?.clone();
    map.remove(key);
    Some(number)
}

/// Removes a boolean; a member of another type stays.
pub(crate) fn take_bool(map: &mut Map<String, Value>, key: &str) -> Option<bool> {
    let flag = map.get(key)?.as_bool()?;
    map.remove(key);
    Some(flag)
}

/// Sets the value at a dotted path, and makes the objects on the way to it.
pub(crate) fn set_at(map: &mut Map<String, Value>, path: &str, value: Value) {
    let Some((first, rest)) = path.split_once('.') else {
        map.insert(path.to_owned(), value);
        return;
    };
    let inner = map
        .entry(first)
        .or_insert_with(|| Value::Object(Map::new()));
    if let Some(inner) = inner.as_object_mut() {
        set_at(inner, rest, value);
    }
}

/// Takes over a later value of a field. What is empty takes nothing back.
pub(crate) fn replace(map: &mut Map<String, Value>, field: &str, value: Value) {
    match (map.get_mut(field), value) {
        (Some(Value::Object(known)), Value::Object(more)) => known.extend(more),
        (Some(_), Value::Null) => {}
        (Some(_), Value::String(empty)) if empty.is_empty() => {}
        (Some(known), value) => *known = value,
        (None, value) => {
            map.insert(field.to_owned(), value);
        }
    }
}

/// Whether a field is not there, or null.
pub(crate) fn is_null(map: &Map<String, Value>, field: &str) -> bool {
    map.get(field).is_none_or(Value::is_null)
}
