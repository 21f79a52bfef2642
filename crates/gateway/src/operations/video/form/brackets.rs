//! Names of form fields as OpenAI's libraries write them: `metadata[ratio]` is a field inside
//! `metadata`, `images[]` one more of a list. A form knows texts only, so `true` and `false` are read as
//! what they were; a client that needs a number inside `metadata` sends it as one field of JSON.

use serde_json::{Map, Value};

/// How deep a name may lead.
const MAX_DEPTH: usize = 8;
const MAX_ENTRIES: usize = 64;

/// Why a field cannot be placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BracketError {
    /// It is there already, or stands where another kind of field does.
    Twice,
    Name,
}

/// Whether a name has brackets.
pub(super) fn has(name: &str) -> bool {
    name.contains('[')
}

/// Puts a value where its name leads.
pub(super) fn place(
    fields: &mut Map<String, Value>,
    name: &str,
    value: Value,
) -> Result<(), BracketError> {
    let Some((first, rest)) = name.split_once('[') else {
        return put(fields, name, value);
    };
    let inside = rest.strip_suffix(']').ok_or(BracketError::Name)?;
    let mut path: Vec<&str> = inside.split("][").collect();
    // `images[]` ends with a step that has no name.
    let is_entry = path.last().is_some_and(|step| step.is_empty());
    if is_entry {
        path.pop();
    }
    let legal = |step: &str| !step.is_empty() && !step.contains(['[', ']']);
    if path.len() > MAX_DEPTH || !legal(first) || !path.iter().all(|step| legal(step)) {
        return Err(BracketError::Name);
    }
    let last = path.pop();
    let mut at = fields;
    let mut here = first;
    let Some(last) = last else {
        return append(at, here, value);
    };
    for step in path {
        at = inner(at, here)?;
        here = step;
    }
    at = inner(at, here)?;
    if is_entry {
        append(at, last, value)
    } else {
        put(at, last, value)
    }
}

/// A text inside brackets as the value it was.
pub(super) fn value_of(text: &str) -> Value {
    match text {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        text => Value::String(text.to_owned()),
    }
}

fn put(fields: &mut Map<String, Value>, name: &str, value: Value) -> Result<(), BracketError> {
    if fields.contains_key(name) {
        return Err(BracketError::Twice);
    }
    fields.insert(name.to_owned(), value);
    Ok(())
}

fn append(fields: &mut Map<String, Value>, name: &str, value: Value) -> Result<(), BracketError> {
    let list = fields
        .entry(name)
        .or_insert_with(|| Value::Array(Vec::new()));
    let list = list.as_array_mut().ok_or(BracketError::Twice)?;
    if list.len() >= MAX_ENTRIES {
        return Err(BracketError::Name);
    }
    list.push(value);
    Ok(())
}

fn inner<'a>(
    fields: &'a mut Map<String, Value>,
    name: &str,
) -> Result<&'a mut Map<String, Value>, BracketError> {
    let object = fields
        .entry(name)
        .or_insert_with(|| Value::Object(Map::new()));
    object.as_object_mut().ok_or(BracketError::Twice)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn placed(names: &[&str]) -> Result<Value, BracketError> {
        let mut fields = Map::new();
        for (number, name) in names.iter().enumerate() {
            place(&mut fields, name, json!(number))?;
        }
        Ok(Value::Object(fields))
    }

    #[test]
    fn a_name_with_brackets_leads_inside() {
        let names = [
            "prompt",
            "metadata[ratio]",
            "metadata[settings][resolution]",
            "images[]",
            "images[]",
            "metadata[tags][]",
        ];
        let expected = json!({ "prompt": 0, "images": [3, 4],
            "metadata": { "ratio": 1, "settings": { "resolution": 2 }, "tags": [5] } });
        assert_eq!(placed(&names), Ok(expected));
    }

    #[test]
    fn what_stands_twice_or_leads_nowhere_is_refused() {
        for (names, why) in [
            (&["a", "a"] as &[&str], BracketError::Twice),
            (&["a", "a[b]"], BracketError::Twice),
            (&["a[b]", "a[]"], BracketError::Twice),
            (&["a[b]", "a[b]"], BracketError::Twice),
            (&["a[b"], BracketError::Name),
            (&["[b]"], BracketError::Name),
            (&["a[][b]"], BracketError::Name),
            (&["a[b]c"], BracketError::Name),
            (&["a[1][2][3][4][5][6][7][8][9]"], BracketError::Name),
        ] {
            assert_eq!(placed(names), Err(why), "{names:?}");
        }
    }

    #[test]
    fn a_switch_is_a_switch_again_and_a_number_stays_a_text() {
        assert_eq!(value_of("true"), json!(true));
        assert_eq!(value_of("false"), json!(false));
        assert_eq!(value_of("5"), json!("5"));
    }
}
