//! Events of a stream to a whole message.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::Ending;
use crate::json_value::{is_null, replace};

/// One message while its events are read.
#[derive(Debug, Default)]
pub(crate) struct Assembly {
    message: Map<String, Value>,
    usage: Map<String, Value>,
    blocks: BTreeMap<u64, Block>,
}

#[derive(Debug)]
struct Block {
    fields: Map<String, Value>,
    /// The input of a tool, as JSON in pieces.
    input: String,
}

impl Assembly {
    pub(crate) fn push(&mut self, mut event: Map<String, Value>) {
        let Some(Value::String(kind)) = event.remove("type") else {
            return;
        };
        let number = event.get("index").and_then(Value::as_u64).unwrap_or(0);
        match kind.as_str() {
            "message_start" => {
                if let Some(Value::Object(message)) = event.remove("message") {
                    self.message = message;
                }
                if let Some(Value::Object(usage)) = self.message.remove("usage") {
                    self.usage = usage;
                }
            }
            "content_block_start" => {
                if let Some(Value::Object(fields)) = event.remove("content_block") {
                    let input = String::new();
                    self.blocks.insert(number, Block { fields, input });
                }
            }
            "content_block_delta" => {
                let block = self.blocks.get_mut(&number);
                if let Some((block, Value::Object(delta))) = block.zip(event.remove("delta")) {
                    block.grow(delta);
                }
            }
            "message_delta" => self.end(event),
            _ => {}
        }
    }

    /// Why it stopped and what was used; the sums replace those of the beginning.
    fn end(&mut self, event: Map<String, Value>) {
        for (field, value) in event {
            match (field.as_str(), value) {
                ("delta", Value::Object(delta)) => self.message.extend(delta),
                ("usage", Value::Object(usage)) => {
                    for (field, sum) in usage {
                        replace(&mut self.usage, &field, sum);
                    }
                }
                (field, value) => replace(&mut self.message, field, value),
            }
        }
    }

    pub(crate) fn finish(self, ending: Ending) -> Option<Map<String, Value>> {
        let mut message = self.message;
        if message.is_empty() {
            return None;
        }
        let blocks = self.blocks.into_values();
        let blocks = blocks.map(|block| Value::Object(block.finish()));
        message.insert("content".to_owned(), blocks.collect());
        match ending {
            Ending::Upstream if !self.usage.is_empty() => {
                message.insert("usage".to_owned(), Value::Object(self.usage));
            }
            Ending::Upstream => {}
            Ending::Length => {
                if is_null(&message, "stop_reason") {
                    message.insert("stop_reason".to_owned(), "max_tokens".into());
                }
            }
        }
        Some(message)
    }
}

impl Block {
    fn grow(&mut self, delta: Map<String, Value>) {
        for (field, more) in delta {
            match (field.as_str(), more) {
                ("type", _) => {}
                ("partial_json", Value::String(more)) => self.input.push_str(&more),
                ("citation", citation) => match self.fields.get_mut("citations") {
                    Some(Value::Array(citations)) => citations.push(citation),
                    Some(_) | None => {
                        let citations = Value::Array(vec![citation]);
                        self.fields.insert("citations".to_owned(), citations);
                    }
                },
                (field, Value::String(more)) => match self.fields.get_mut(field) {
                    Some(Value::String(text)) => text.push_str(&more),
                    Some(_) | None => {
                        self.fields.insert(field.to_owned(), Value::String(more));
                    }
                },
                (field, more) => replace(&mut self.fields, field, more),
            }
        }
    }

    fn finish(self) -> Map<String, Value> {
        let mut fields = self.fields;
        // An input that was cut is no JSON; the vendor then shows the empty one that began it.
        if let Ok(input) = serde_json::from_str::<Value>(&self.input) {
            fields.insert("input".to_owned(), input);
        }
        fields
    }
}
