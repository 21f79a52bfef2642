//! Items of a response under way: what is known of each so far, and how it is written whole.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::items_out::arguments_of;
use crate::canonical::ToolCall;

/// How an item ends well.
pub(super) const DONE: &str = "completed";
/// How it ends when it is cut off.
pub(super) const CUT: &str = "incomplete";

#[derive(Debug, Clone)]
pub(super) struct Item {
    /// Its place in the output.
    pub(super) index: u64,
    pub(super) id: String,
    pub(super) body: Body,
    /// How it ended, once it has.
    pub(super) ended: Option<&'static str>,
}

#[derive(Debug, Clone)]
pub(super) enum Body {
    Message(Parts),
    /// A tool is to be used.
    Call(ToolCall),
    /// Thoughts: a summary of them, themselves, their signature as it is shown.
    Reasoning(Parts, Parts, Option<String>),
    /// Anything else, as it stands there.
    Whole(Value),
}

/// Parts by their numbers.
pub(super) type Parts = BTreeMap<u64, Part>;

/// A part of a message or of thoughts.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub(super) kind: PartKind,
    pub(super) text: String,
    pub(super) annotations: Vec<Value>,
    pub(super) open: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PartKind {
    Text,
    /// Why there is none.
    Refusal,
    /// A piece of a summary of thoughts.
    Summary,
    /// A piece of the thoughts.
    Thought,
}

// === impl Item ===

impl Item {
    pub(super) fn value(&self, status: &str) -> Value {
        let mut map = Map::new();
        match &self.body {
            Body::Message(parts) => {
                map.insert("type".to_owned(), json!("message"));
                map.insert("role".to_owned(), json!("assistant"));
                map.insert("status".to_owned(), json!(status));
                map.insert("content".to_owned(), values(parts));
            }
            Body::Call(call) => {
                let (kind, key) = if call.custom {
                    ("custom_tool_call", "input")
                } else {
                    ("function_call", "arguments")
                };
                map.insert("type".to_owned(), json!(kind));
                map.insert("call_id".to_owned(), json!(call.id));
                map.insert("name".to_owned(), json!(call.tool.name));
                if let Some(group) = &call.tool.namespace {
                    map.insert("namespace".to_owned(), json!(group));
                }
                map.insert("status".to_owned(), json!(status));
                let words = if status == DONE {
                    arguments_of(call)
                } else {
                    &call.arguments
                };
                map.insert(key.to_owned(), json!(words));
            }
            Body::Reasoning(summary, content, signature) => {
                map.insert("type".to_owned(), json!("reasoning"));
                map.insert("summary".to_owned(), values(summary));
                if !content.is_empty() {
                    map.insert("content".to_owned(), values(content));
                }
                if let Some(signature) = signature {
                    map.insert("encrypted_content".to_owned(), json!(signature));
                }
            }
            Body::Whole(Value::Object(whole)) => map.clone_from(whole),
            Body::Whole(_) => {}
        }
        map.insert("id".to_owned(), json!(self.id));
        Value::Object(map)
    }

    /// The whole item as it ended, or as if it had ended well.
    pub(super) fn ended(&self) -> Value {
        self.value(self.ended.unwrap_or(DONE))
    }

    /// The item as it begins, with nothing in it yet.
    pub(super) fn begun(&self) -> Value {
        let empty = match &self.body {
            Body::Message(_) => Body::Message(Parts::new()),
            Body::Call(call) => Body::Call(ToolCall {
                arguments: String::new(),
                ..call.clone()
            }),
            Body::Reasoning(..) => Body::Reasoning(Parts::new(), Parts::new(), None),
            Body::Whole(whole) => Body::Whole(whole.clone()),
        };
        let begun = Self {
            body: empty,
            id: self.id.clone(),
            ..*self
        };
        begun.value("in_progress")
    }

    /// The list that parts of a kind stand in; none if this item has no such parts.
    pub(super) const fn parts(&mut self, kind: PartKind) -> Option<&mut Parts> {
        match (&mut self.body, kind) {
            (Body::Message(parts), PartKind::Text | PartKind::Refusal)
            | (Body::Reasoning(parts, _, _), PartKind::Summary)
            | (Body::Reasoning(_, parts, _), PartKind::Thought) => Some(parts),
            (
                Body::Message(_) | Body::Call(_) | Body::Reasoning(..) | Body::Whole(_),
                PartKind::Text | PartKind::Refusal | PartKind::Summary | PartKind::Thought,
            ) => None,
        }
    }
}

// === impl Part ===

impl Part {
    pub(super) const fn new(kind: PartKind) -> Self {
        Self {
            kind,
            text: String::new(),
            annotations: Vec::new(),
            open: true,
        }
    }

    pub(super) fn value(&self) -> Value {
        match self.kind {
            PartKind::Text => json!({
                "type": "output_text",
                "text": self.text,
                "annotations": self.annotations,
                "logprobs": [],
            }),
            PartKind::Refusal => json!({ "type": "refusal", "refusal": self.text }),
            PartKind::Summary => json!({ "type": "summary_text", "text": self.text }),
            PartKind::Thought => json!({ "type": "reasoning_text", "text": self.text }),
        }
    }
}

fn values(parts: &Parts) -> Value {
    Value::Array(parts.values().map(Part::value).collect())
}
