//! Pieces of a stream to a whole response. Each piece is a response of its own: texts of one kind that follow
//! each other are one part, and what was counted last counts.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::json_value::{is_null, replace};
use crate::{Ending, Object};

const SIGNATURE: &str = "thoughtSignature";

/// One response while its pieces are read.
#[derive(Debug, Default)]
pub(crate) struct Assembly {
    /// What stands beside candidates and usage.
    response: Map<String, Value>,
    usage: Map<String, Value>,
    candidates: BTreeMap<u64, Candidate>,
}

#[derive(Debug, Default)]
struct Candidate {
    fields: Map<String, Value>,
    /// What stands beside the parts of its content, once it has one.
    content: Option<Map<String, Value>>,
    parts: Vec<Value>,
}

/// Whether a stream is known to carry all of the response to a request: of several candidates, of
/// probabilities and of anything but text that is not documented.
pub(crate) fn is_streamable(request: &Object<'_>) -> bool {
    let configs = ["generationConfig", "generation_config"];
    let mut configs = configs.iter().filter_map(|field| request.value(field));
    configs.all(|config| {
        let config: Map<String, Value> = serde_json::from_slice(config).unwrap_or_default();
        config.iter().all(|(field, value)| {
            let field = field.replace('_', "").to_ascii_lowercase();
            match field.as_str() {
                "candidatecount" => value.is_null() || *value == 1,
                "responselogprobs" => value.is_null() || *value == false,
                "logprobs" | "speechconfig" | "imageconfig" => value.is_null(),
                "responsemodalities" => {
                    let mut list = value.as_array().into_iter().flatten();
                    list.all(|one| one == "TEXT")
                }
                _ => true,
            }
        })
    })
}

impl Assembly {
    pub(crate) fn push(&mut self, piece: Map<String, Value>) {
        for (field, value) in piece {
            match (field.as_str(), value) {
                ("candidates", Value::Array(candidates)) => {
                    for candidate in candidates {
                        self.candidate(candidate);
                    }
                }
                ("usageMetadata", Value::Object(usage)) => self.usage.extend(usage),
                (field, value) => replace(&mut self.response, field, value),
            }
        }
    }

    fn candidate(&mut self, candidate: Value) {
        let Value::Object(candidate) = candidate else {
            return;
        };
        let number = candidate.get("index").and_then(Value::as_u64).unwrap_or(0);
        let known = self.candidates.entry(number).or_default();
        for (field, value) in candidate {
            match (field.as_str(), value) {
                ("content", Value::Object(content)) => known.say(content),
                ("citationMetadata", Value::Object(more)) => known.cite(more),
                (field, value) => replace(&mut known.fields, field, value),
            }
        }
    }

    pub(crate) fn finish(self, ending: Ending) -> Option<Map<String, Value>> {
        let mut response = self.response;
        if response.is_empty() && self.candidates.is_empty() {
            return None;
        }
        if !self.candidates.is_empty() {
            let candidates = self.candidates.into_values();
            let candidates = candidates.map(|candidate| Value::Object(candidate.finish(ending)));
            response.insert("candidates".to_owned(), candidates.collect());
        }
        if ending == Ending::Upstream && !self.usage.is_empty() {
            response.insert("usageMetadata".to_owned(), Value::Object(self.usage));
        }
        Some(response)
    }
}

impl Candidate {
    fn say(&mut self, mut content: Map<String, Value>) {
        if let Some(Value::Array(parts)) = content.remove("parts") {
            parts.into_iter().for_each(|part| self.part(part));
        }
        self.content.get_or_insert_default().extend(content);
    }

    /// A text joins the one before it, unless that one is signed, and so has ended.
    fn part(&mut self, part: Value) {
        let last = self.parts.last_mut().filter(|last| {
            let is_open = is_text(last) && last.get(SIGNATURE).is_none();
            is_open && is_text(&part) && last.get("thought") == part.get("thought")
        });
        match (last.and_then(Value::as_object_mut), part) {
            (Some(last), Value::Object(mut part)) => {
                if let (Some(Value::String(text)), Some(Value::String(more))) =
                    (last.get_mut("text"), part.remove("text"))
                {
                    text.push_str(&more);
                }
                last.extend(part);
            }
            (_, part) => self.parts.push(part),
        }
    }

    /// Sources of each piece are a list of their own.
    fn cite(&mut self, more: Map<String, Value>) {
        let known = self.fields.entry("citationMetadata");
        let known = known.or_insert_with(|| Value::Object(Map::new()));
        for (field, more) in more {
            match (known.get_mut(&field), more) {
                (Some(Value::Array(known)), Value::Array(more)) => known.extend(more),
                (_, more) => {
                    if let Value::Object(known) = known {
                        known.insert(field, more);
                    }
                }
            }
        }
    }

    fn finish(self, ending: Ending) -> Map<String, Value> {
        let (mut fields, mut parts) = (self.fields, self.parts);
        // A stream ends with an empty text; beside calls a whole response has none.
        if parts.iter().any(|part| part.get("functionCall").is_some()) {
            parts.retain(|part| !is_empty_text(part));
        }
        if let Some(mut content) = self.content {
            content.insert("parts".to_owned(), Value::Array(parts));
            fields.insert("content".to_owned(), Value::Object(content));
        }
        if ending == Ending::Length && is_null(&fields, "finishReason") {
            fields.insert("finishReason".to_owned(), "MAX_TOKENS".into());
        }
        fields
    }
}

/// Whether a part is a text and nothing besides.
fn is_text(part: &Value) -> bool {
    let known = |field: &String| ["text", "thought", SIGNATURE].contains(&field.as_str());
    let part = part.as_object();
    part.is_some_and(|part| {
        part.get("text").is_some_and(Value::is_string) && part.keys().all(known)
    })
}

fn is_empty_text(part: &Value) -> bool {
    let text = part.get("text").and_then(Value::as_str);
    is_text(part) && text == Some("") && part.get(SIGNATURE).is_none()
}
