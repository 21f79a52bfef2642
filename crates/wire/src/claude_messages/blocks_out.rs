//! Blocks of the canonical form, written in this format.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::OWN;
use crate::Format;
use crate::canonical::{
    Block, BlockKind, Conversation, Notes, Text, Thinking, ToolCall, ToolResult, TranslationState,
    object_of_arguments,
};

/// Between parts of thoughts that were distinguished.
pub(super) const BETWEEN_PARTS: &str = "\n\n";
/// The side of the conversation that a block is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// The caller's, and those of the caller's tools.
    User,
    Assistant,
    System,
}

/// Keys that stood in blocks and have no place in the canonical form, by where they stood.
pub(super) type Placed = BTreeMap<(String, Vec<usize>), Vec<(String, Value)>>;

/// Writes blocks, and notes what they lose.
pub(super) struct Writing<'a> {
    pub(super) from: Format,
    channel: Option<&'a str>,
    state: &'a TranslationState,
    placed: Placed,
    /// What could not be said.
    pub(super) notes: Notes,
}

impl<'a> Writing<'a> {
    pub(super) fn new(
        conversation: &Conversation,
        channel: Option<&'a str>,
        state: &'a TranslationState,
    ) -> Self {
        Self {
            from: conversation.from,
            channel,
            state,
            placed: placed_keys(conversation),
            notes: Notes::default(),
        }
    }

    /// The conversation came in this format, so its grammar is already ours.
    pub(super) fn is_own(&self) -> bool {
        self.from == OWN
    }

    /// One block; none if it is left out, which is noted unless nothing is lost.
    pub(super) fn block(
        &mut self,
        block: &Block,
        side: Side,
        field: &str,
        at: &[usize],
    ) -> Option<Value> {
        let mut map = match &block.kind {
            BlockKind::Text(text) => self.text(text)?,
            BlockKind::Media(media) => self.media(media, side)?,
            BlockKind::ToolCall(call) => self.tool_call(call),
            BlockKind::ToolResult(result) => self.tool_result(result, field, at),
            BlockKind::Thinking(thinking) => self.thinking(thinking, block)?,
            BlockKind::Redacted(_) => object(json!({
                "type": "redacted_thinking",
                "data": self.signature(block)?,
            })),
            BlockKind::Refusal(words) if words.is_empty() => return None,
            BlockKind::Refusal(words) => {
                self.notes
                    .approximated("refusal", "it is sent as plain text");
                object(json!({ "type": "text", "text": words }))
            }
            BlockKind::Foreign(format, raw) => return self.foreign(*format, raw, side),
        };
        if let Some(life) = block.cache.filter(|_| may_be_marked(&block.kind)) {
            map.entry("cache_control").or_insert_with(|| life.control());
        }
        self.put_back(&mut map, field, at);
        Some(Value::Object(map))
    }

    /// Writes back what had no place in the canonical form.
    pub(super) fn put_back(&self, map: &mut Map<String, Value>, field: &str, at: &[usize]) {
        if self.placed.is_empty() {
            return;
        }
        let kept = self.placed.get(&(field.to_owned(), at.to_vec()));
        for (key, value) in kept.into_iter().flatten() {
            map.insert(key.clone(), value.clone());
        }
    }

    fn text(&mut self, text: &Text) -> Option<Map<String, Value>> {
        // An empty one is an error to the upstream.
        if text.text.is_empty() && !self.is_own() {
            return None;
        }
        let mut map = object(json!({ "type": "text", "text": text.text }));
        let own = text.citations.iter().filter(|(format, _)| *format == OWN);
        let own: Vec<Value> = own.map(|(_, raw)| raw.clone()).collect();
        if own.len() < text.citations.len() {
            let why = "sources are written in another way by every format";
            self.notes.dropped("citations", why);
        }
        if !own.is_empty() {
            map.insert("citations".to_owned(), Value::Array(own));
        }
        Some(map)
    }

    fn tool_call(&mut self, call: &ToolCall) -> Map<String, Value> {
        let (input, is_odd) = object_of_arguments(call);
        if is_odd {
            let why = "arguments that are no JSON object are sent inside one";
            self.notes.approximated("tool_call.arguments", why);
        }
        object(json!({
            "type": "tool_use",
            "id": tool_id(&call.id),
            "name": self.state.sent(&call.tool),
            "input": input,
        }))
    }

    fn tool_result(
        &mut self,
        result: &ToolResult,
        field: &str,
        at: &[usize],
    ) -> Map<String, Value> {
        let mut map = object(json!({
            "type": "tool_result",
            "tool_use_id": tool_id(&result.call),
        }));
        let field = format!("{field}.content");
        let mut content = Vec::new();
        for (number, block) in result.content.iter().enumerate() {
            let at = [at, &[number]].concat();
            content.extend(self.block(block, Side::User, &field, &at));
        }
        if !content.is_empty() {
            map.insert("content".to_owned(), content_of(content));
        }
        if result.failed {
            map.insert("is_error".to_owned(), Value::Bool(true));
        }
        map
    }

    fn thinking(&mut self, thinking: &Thinking, block: &Block) -> Option<Map<String, Value>> {
        let signature = match &block.signature {
            // Some compatible vendors do not sign their thinking.
            None if self.is_own() => String::new(),
            Some(_) | None => self.signature(block)?,
        };
        Some(object(json!({
            "type": "thinking",
            "thinking": thinking.texts.join(BETWEEN_PARTS),
            "signature": signature,
        })))
    }

    /// The signature, if its upstream is the one that is asked now.
    fn signature(&mut self, block: &Block) -> Option<String> {
        let signature = block.signature.as_ref();
        let own = signature.filter(|signature| signature.belongs_to(OWN, self.channel));
        if own.is_none() {
            let why = "thoughts are read only by the upstream that sealed them";
            self.notes.dropped("thinking", why);
        }
        own.map(|signature| signature.data.clone())
    }

    fn foreign(&mut self, format: Format, raw: &Value, side: Side) -> Option<Value> {
        if format == OWN {
            return Some(raw.clone());
        }
        let kind = raw.get("type").and_then(Value::as_str);
        let kind = kind.unwrap_or("a block").to_owned();
        let why = format!("`{kind}` exists only in the format it came in");
        match side {
            // What the model did long ago can be left out; what the caller says cannot.
            Side::Assistant => self.notes.dropped(kind, why),
            Side::User | Side::System => self.notes.refused(kind, why),
        }
        None
    }
}

/// The keys of a conversation of this format that have no place in the canonical form.
fn placed_keys(conversation: &Conversation) -> Placed {
    let mut placed = Placed::new();
    if conversation.from != OWN {
        return placed;
    }
    for extra in &conversation.extras {
        let Some((field, key, at)) = place_of(&extra.field, &extra.value) else {
            continue;
        };
        let value = extra.value.get("is").cloned().unwrap_or_default();
        let keys = placed.entry((field.to_owned(), at)).or_default();
        keys.push((key.to_owned(), value));
    }
    placed
}

/// Where a key stood, if it stood inside a list.
pub(super) fn place_of<'a>(
    field: &'a str,
    value: &Value,
) -> Option<(&'a str, &'a str, Vec<usize>)> {
    let (inside, key) = field.rsplit_once('.')?;
    let in_list = ["messages", "system"].iter().any(|list| {
        let rest = inside.strip_prefix(list);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    });
    let numbers = value.get("at")?.as_array().filter(|_| in_list)?;
    let number = |value: &Value| usize::try_from(value.as_u64()?).ok();
    let at: Option<Vec<usize>> = numbers.iter().map(number).collect();
    Some((inside, key, at?))
}

/// A text alone is written as such; otherwise blocks.
pub(super) fn content_of(mut blocks: Vec<Value>) -> Value {
    if let [Value::Object(only)] = blocks.as_mut_slice() {
        let is_plain = only.len() == 2 && only.get("type") == Some(&json!("text"));
        if is_plain && let Some(text) = only.remove("text") {
            return text;
        }
    }
    Value::Array(blocks)
}

/// An id as the format takes it, the same for the call and its result. One that was changed gets a mark
/// of what it was, so that two do not become one.
pub(super) fn tool_id(id: &str) -> String {
    let legal =
        |character: char| character.is_ascii_alphanumeric() || character == '_' || character == '-';
    if !id.is_empty() && id.chars().all(legal) {
        return id.to_owned();
    }
    let mark = id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |mark, byte| {
        (mark ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let characters = id.chars().map(|one| if legal(one) { one } else { '_' });
    format!("{}_{mark:016x}", characters.collect::<String>())
}

const fn may_be_marked(what: &BlockKind) -> bool {
    match what {
        BlockKind::Thinking(_) | BlockKind::Redacted(_) => false,
        BlockKind::Text(_)
        | BlockKind::Media(_)
        | BlockKind::ToolCall(_)
        | BlockKind::ToolResult(_)
        | BlockKind::Refusal(_)
        | BlockKind::Foreign(..) => true,
    }
}

pub(super) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Map::new()
        }
    }
}
