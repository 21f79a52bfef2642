//! Messages in the order chat wants them: calls of one step stand in one message, and what the tools
//! said stands right behind it. Other formats are freer.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::canonical::Notes;

/// The result of a tool call without a result.
const NO_RESULT: &str = "(The tool gave no result.)";

/// Puts every result behind its call. What answers no call becomes the user's words, and a call that
/// nothing answers gets a response that says so: the upstream takes neither.
pub(super) fn answered(messages: Vec<Value>, notes: &mut Notes) -> Vec<Value> {
    let messages = joined(messages, notes);
    let mut results: BTreeMap<String, Value> = BTreeMap::new();
    let mut called: BTreeMap<String, usize> = BTreeMap::new();
    let mut rest: Vec<Value> = Vec::with_capacity(messages.len());
    for mut message in messages {
        let answers = text_of(&message, "tool_call_id");
        match answers.filter(|_| role_of(&message) == "tool") {
            Some(id) if called.contains_key(&id) && !results.contains_key(&id) => {
                results.insert(id, message);
            }
            Some(_) => {
                let why = "what answers no call before it is sent as the user's words";
                notes.approximated("tool_result", why);
                let content = message.get_mut("content").map(Value::take);
                rest.push(json!({ "role": "user", "content": content }));
            }
            None => {
                let place = rest.len();
                called.extend(ids_of(&message).into_iter().map(|id| (id, place)));
                rest.push(message);
            }
        }
    }
    let last = rest.len().saturating_sub(1);
    let mut ordered = Vec::with_capacity(rest.len());
    for (place, message) in rest.into_iter().enumerate() {
        let ids = ids_of(&message);
        ordered.push(message);
        let some = ids.iter().any(|id| results.contains_key(id));
        for id in ids {
            match results.remove(&id) {
                Some(result) => ordered.push(result),
                // The model is still to be answered.
                None if place == last && !some => {}
                None => {
                    let why = "a call without its result is answered by a line that says so";
                    notes.approximated("tool_call", why);
                    let result =
                        json!({ "role": "tool", "tool_call_id": id, "content": NO_RESULT });
                    ordered.push(result);
                }
            }
        }
    }
    ordered
}

/// What the model says behind its calls, before they are answered, belongs to the same message.
fn joined(messages: Vec<Value>, notes: &mut Notes) -> Vec<Value> {
    let mut joined: Vec<Value> = Vec::with_capacity(messages.len());
    for message in messages {
        let follows = role_of(&message) == "assistant";
        let last = joined
            .last_mut()
            .filter(|last| follows && role_of(last) == "assistant" && !ids_of(last).is_empty());
        match last {
            Some(last) => join(last, message, notes),
            None => joined.push(message),
        }
    }
    joined
}

fn join(last: &mut Value, mut message: Value, notes: &mut Notes) {
    let (Some(into), Some(from)) = (last.as_object_mut(), message.as_object_mut()) else {
        return;
    };
    if let Some(Value::String(more)) = from.remove("content").filter(|it| *it != json!("")) {
        let why = "chat has one text a turn, and it stands before the calls";
        notes.approximated("content.order", why);
        let text = into.get("content").and_then(Value::as_str);
        let text = text.map_or_else(|| more.clone(), |text| format!("{text}\n\n{more}"));
        into.insert("content".to_owned(), json!(text));
    }
    if let Some(Value::Array(more)) = from.remove("tool_calls")
        && let Some(Value::Array(calls)) = into.get_mut("tool_calls")
    {
        calls.extend(more);
    }
    for key in ["refusal", "reasoning_content"] {
        if let Some(value) = from.remove(key) {
            into.entry(key).or_insert(value);
        }
    }
}

fn role_of(message: &Value) -> &str {
    let role = message.get("role").and_then(Value::as_str);
    role.unwrap_or_default()
}

fn text_of(message: &Value, key: &str) -> Option<String> {
    message.get(key)?.as_str().map(ToOwned::to_owned)
}

fn ids_of(message: &Value) -> Vec<String> {
    let calls = message.get("tool_calls").and_then(Value::as_array);
    let calls = calls.into_iter().flatten();
    calls.filter_map(|call| text_of(call, "id")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(text: Value, id: &str) -> Value {
        json!({ "role": "assistant", "content": text, "tool_calls": [{ "id": id }] })
    }

    fn result(id: &str) -> Value {
        json!({ "role": "tool", "tool_call_id": id, "content": id })
    }

    #[test]
    fn results_stand_right_behind_their_calls() {
        let user = json!({ "role": "user", "content": "x" });
        let mut notes = Notes::default();
        let messages = vec![
            call(json!("one"), "a"),
            call(json!("two"), "b"),
            user.clone(),
            result("b"),
            result("a"),
            result("odd"),
            call(Value::Null, "c"),
            user.clone(),
            call(Value::Null, "d"),
        ];
        let mut both = call(json!("one\n\ntwo"), "a");
        both["tool_calls"] = json!([{ "id": "a" }, { "id": "b" }]);
        let nothing = json!({ "role": "tool", "tool_call_id": "c", "content": NO_RESULT });
        let expected = [
            both,
            result("a"),
            result("b"),
            user.clone(),
            json!({ "role": "user", "content": "odd" }),
            call(Value::Null, "c"),
            nothing,
            user,
            call(Value::Null, "d"),
        ];
        assert_eq!(answered(messages, &mut notes), expected);
        let fields: Vec<&str> = notes.all().iter().map(|note| note.field.as_ref()).collect();
        assert_eq!(fields, ["content.order", "tool_result", "tool_call"]);
    }
}
