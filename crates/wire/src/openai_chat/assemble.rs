//! Chunks of a stream to a whole completion. Pieces are put together as OpenAI's SDKs do it: texts are
//! continued, lists grow, and what has an `index` is continued by it.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::json_value::{is_null, replace};
use crate::{Ending, Object};

/// Texts that a piece repeats: the first counts.
const REPEATED: [&str; 5] = ["id", "type", "role", "name", "format"];
/// Members of a list at most that a piece may continue.
const MAX_OPEN: usize = 1_024;

/// One completion while its chunks are read.
#[derive(Debug, Default)]
pub(crate) struct Assembly {
    /// What stands beside choices and usage.
    response: Map<String, Value>,
    usage: Map<String, Value>,
    choices: BTreeMap<u64, Choice>,
}

#[derive(Debug, Default)]
struct Choice {
    message: Map<String, Value>,
    logprobs: Map<String, Value>,
    /// What stands beside them.
    fields: Map<String, Value>,
}

/// Whether a stream carries all of the response to a request: audio has another form there.
pub(crate) fn is_streamable(request: &Object<'_>) -> bool {
    let modalities = request.value("modalities");
    let modalities = modalities.map(serde_json::from_slice::<Option<Vec<String>>>);
    let is_text = modalities.is_none_or(|list| {
        list.is_ok_and(|list| list.is_none_or(|list| list.iter().all(|one| one == "text")))
    });
    let audio = request.value("audio");
    is_text && audio.is_none_or(|audio| audio == b"null")
}

impl Assembly {
    pub(crate) fn push(&mut self, chunk: Map<String, Value>) {
        for (field, value) in chunk {
            match (field.as_str(), value) {
                ("choices", Value::Array(choices)) => {
                    choices.into_iter().for_each(|choice| self.choice(choice));
                }
                ("usage", Value::Object(usage)) => self.usage.extend(usage),
                // These are of the chunk alone.
                ("choices" | "usage" | "object" | "obfuscation", _) => {}
                (field, value) => replace(&mut self.response, field, value),
            }
        }
    }

    fn choice(&mut self, choice: Value) {
        let Value::Object(choice) = choice else {
            return;
        };
        let number = choice.get("index").and_then(Value::as_u64).unwrap_or(0);
        let known = self.choices.entry(number).or_default();
        for (field, value) in choice {
            match (field.as_str(), value) {
                ("delta", Value::Object(delta)) => grow(&mut known.message, delta),
                ("logprobs", Value::Object(more)) => grow(&mut known.logprobs, more),
                // Moonshot reports it here.
                ("usage", Value::Object(usage)) => self.usage.extend(usage),
                ("delta" | "usage", _) => {}
                (field, value) => replace(&mut known.fields, field, value),
            }
        }
    }

    pub(crate) fn finish(self, ending: Ending) -> Option<Map<String, Value>> {
        if self.choices.is_empty() {
            return None;
        }
        let mut response = self.response;
        response.insert("object".to_owned(), "chat.completion".into());
        let choices = self.choices.into_values();
        let choices = choices.map(|choice| Value::Object(choice.finish(ending)));
        response.insert("choices".to_owned(), choices.collect());
        if ending == Ending::Upstream && !self.usage.is_empty() {
            response.insert("usage".to_owned(), Value::Object(self.usage));
        }
        Some(response)
    }
}

impl Choice {
    fn finish(self, ending: Ending) -> Map<String, Value> {
        let Self {
            mut message,
            logprobs,
            mut fields,
        } = self;
        message.entry("role").or_insert_with(|| "assistant".into());
        message.entry("content").or_insert(Value::Null);
        // Who says at the beginning that nothing is refused is OpenAI, and has this list in every response.
        if message.contains_key("refusal") {
            message
                .entry("annotations")
                .or_insert_with(|| Value::Array(Vec::new()));
        }
        if let Some(Value::Array(calls)) = message.get_mut("tool_calls") {
            for call in calls.iter_mut().filter_map(Value::as_object_mut) {
                call.remove("index");
            }
        }
        if !logprobs.is_empty() {
            fields.insert("logprobs".to_owned(), Value::Object(logprobs));
        }
        if ending == Ending::Length && is_null(&fields, "finish_reason") {
            fields.insert("finish_reason".to_owned(), "length".into());
        }
        fields.insert("message".to_owned(), Value::Object(message));
        fields
    }
}

/// Continues a value by a piece of it.
fn grow(known: &mut Map<String, Value>, piece: Map<String, Value>) {
    for (field, more) in piece {
        match (known.get_mut(&field), more) {
            (Some(_), Value::Null) => {}
            (Some(Value::String(first)), Value::String(more)) => {
                if !REPEATED.contains(&field.as_str()) || first.is_empty() {
                    first.push_str(&more);
                }
            }
            (Some(Value::Object(known)), Value::Object(more)) => grow(known, more),
            (Some(Value::Array(known)), Value::Array(more)) => grow_list(known, more),
            (_, Value::Array(more)) => {
                let mut list = Vec::new();
                grow_list(&mut list, more);
                known.insert(field, Value::Array(list));
            }
            (_, more) => {
                known.insert(field, more);
            }
        }
    }
}

fn grow_list(known: &mut Vec<Value>, more: Vec<Value>) {
    let index = |item: &Value| item.get("index").and_then(Value::as_u64);
    for piece in more {
        let number = index(&piece);
        let open = known.iter_mut().rev().take(MAX_OPEN);
        let same = open
            .filter(|_| number.is_some())
            .find(|item| index(item) == number);
        match (same.and_then(Value::as_object_mut), piece) {
            (Some(known), Value::Object(piece)) => grow(known, piece),
            (_, piece) => known.push(piece),
        }
    }
}
