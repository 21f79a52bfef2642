//! What a prompt is made of, in the order in which the vendor's cache sees it: tools, system,
//! messages. Sizes are added up while the body is checked; hashes are made only if there are marks.

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::anthropic::refusal::Refusal;
use crate::tokens::{PromptSize, count};

use super::{Boundary, Ttl};

/// A prompt while it is read.
#[derive(Default)]
pub(super) struct Prompt<'a> {
    size: PromptSize,
    parts: Vec<Part<'a>>,
}

struct Part<'a> {
    /// What it belongs to: tools, system, or a role.
    owner: &'static str,
    value: &'a Value,
    size: PromptSize,
    mark: Option<Ttl>,
}

const MAX_MARKS: usize = 4;

// === impl Prompt ===

impl<'a> Prompt<'a> {
    pub(super) fn begin_message(&mut self) {
        self.size.messages = self.size.messages.saturating_add(1);
    }

    /// One block, or a text that stands for one.
    pub(super) fn add(
        &mut self,
        owner: &'static str,
        value: &'a Value,
        size: PromptSize,
        mark: Option<Ttl>,
    ) {
        self.size.text_bytes = self.size.text_bytes.saturating_add(size.text_bytes);
        self.size.images = self.size.images.saturating_add(size.images);
        self.parts.push(Part {
            owner,
            value,
            size: self.size,
            mark,
        });
    }

    /// The mark at the top of a body stands for one on the last block.
    pub(super) fn mark_last(&mut self, ttl: Ttl) {
        if let Some(part) = self.parts.last_mut() {
            part.mark = part.mark.or(Some(ttl));
        }
    }

    pub(super) fn tokens(&self) -> u64 {
        self.size.tokens()
    }

    /// The ends of all blocks, if one of them is marked.
    pub(super) fn boundaries(&self) -> Result<Vec<Boundary>, Refusal> {
        let marks: Vec<Ttl> = self.parts.iter().filter_map(|part| part.mark).collect();
        if marks.is_empty() {
            return Ok(Vec::new());
        }
        if marks.len() > MAX_MARKS {
            return Err(Refusal::invalid(format!(
                "A maximum of {MAX_MARKS} blocks with cache_control may be provided. Found {}.",
                marks.len()
            )));
        }
        if !marks.is_sorted_by(|earlier, later| earlier >= later) {
            return Err(Refusal::invalid(
                "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control \
                 block. Note that blocks are processed in the following order: `tools`, `system`, \
                 `messages`."
                    .to_owned(),
            ));
        }
        let mut hash = Sha256::new();
        let ends = self.parts.iter().map(|part| {
            hash.update(part.owner);
            hash.update(unmarked(part.value));
            hash.update(b"\0");
            Boundary {
                prefix: hash.clone().finalize().into(),
                tokens: part.size.tokens(),
                mark: part.mark,
            }
        });
        Ok(ends.collect())
    }
}

pub(super) fn text_size(text: &str) -> PromptSize {
    PromptSize {
        text_bytes: count(text.len()),
        ..PromptSize::default()
    }
}

/// The size of a value as it is printed without white space.
pub(super) fn json_size(value: &Value) -> PromptSize {
    text_size(&value.to_string())
}

/// A block as the cache sees it: moving a mark does not change the prompt.
fn unmarked(value: &Value) -> String {
    match value {
        Value::Object(object) if object.contains_key("cache_control") => {
            let mut object = object.clone();
            object.remove("cache_control");
            Value::Object(object).to_string()
        }
        // A plain text is the same prompt as a block that holds it.
        Value::String(text) => serde_json::json!({"type": "text", "text": text}).to_string(),
        Value::Object(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
            value.to_string()
        }
    }
}
