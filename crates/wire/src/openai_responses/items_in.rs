//! Items of a conversation, or of a response, read into turns and blocks.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::item_metadata::Labels;
use super::parts_in::read_part;
use super::{FORMAT, reasoning};
use crate::Format;
use crate::canonical::{
    Block, BlockKind, Redacted, Role, Signature, Thinking, ToolCall, ToolName, ToolResult, Turn,
};
use crate::json_value::{take_array, take_string};

#[derive(Debug, Default)]
pub(super) struct Turns {
    turns: Vec<Turn>,
    labels: Labels,
    /// Items so far, as they will be written again.
    items: usize,
    /// The last turn has a message in it; another one begins another turn.
    has_message: bool,
    /// Tools by the calls that named them.
    tools: BTreeMap<String, ToolName>,
}

/// What an item is, when it is one we know.
enum Known {
    Message(Role, Vec<Block>),
    /// Something that stands beside messages in a turn.
    Beside(Role, Vec<Block>),
}

// === impl Turns ===

impl Turns {
    pub(super) fn item(&mut self, item: Value) {
        let place = format!("/{}", self.items);
        self.items = self.items.saturating_add(1);
        let Value::Object(mut map) = item else {
            return self.beside(Role::User, vec![foreign(item)]);
        };
        let kind = match map.get("type").and_then(Value::as_str) {
            Some(kind) => kind.to_owned(),
            None => "message".to_owned(),
        };
        // What cannot be read as its kind stays as it is.
        let known = match kind.as_str() {
            "message" => self.message(&mut map, &place),
            "function_call" => self.call(&mut map, false),
            "custom_tool_call" => self.call(&mut map, true),
            "function_call_output" => self.result(&mut map, &place, false),
            "custom_tool_call_output" => self.result(&mut map, &place, true),
            "reasoning" => self.reasoning(&mut map),
            _ => None,
        };
        match known {
            Some(known) => {
                map.remove("type");
                self.labels.keep(&place, map);
                match known {
                    Known::Message(role, blocks) => self.say(role, blocks),
                    Known::Beside(role, blocks) => self.beside(role, blocks),
                }
            }
            None => {
                let theirs = kind.ends_with("_output") || kind.ends_with("_response");
                let role = if theirs { Role::User } else { Role::Assistant };
                self.beside(role, vec![foreign(Value::Object(map))]);
            }
        }
    }

    /// The turns, and what they say that the canonical form has no place for.
    pub(super) fn done(self) -> (Vec<Turn>, Labels) {
        (self.turns, self.labels)
    }

    fn say(&mut self, role: Role, blocks: Vec<Block>) {
        let joins = role == Role::Assistant && !self.has_message;
        self.add(role, blocks, joins);
        self.has_message = true;
    }

    fn beside(&mut self, role: Role, blocks: Vec<Block>) {
        // What tools said stands in a turn of its own, all of it together.
        let joins = role == Role::Assistant || !self.has_message;
        if blocks.is_empty() {
            return;
        }
        self.add(role, blocks, joins);
    }

    fn add(&mut self, role: Role, blocks: Vec<Block>, joins: bool) {
        match self
            .turns
            .last_mut()
            .filter(|last| joins && last.role == role)
        {
            Some(last) => last.blocks.extend(blocks),
            None => {
                self.turns.push(Turn::of(role, blocks));
                self.has_message = false;
            }
        }
    }

    fn message(&mut self, map: &mut Map<String, Value>, place: &str) -> Option<Known> {
        let role = match map.get("role")?.as_str()? {
            "user" => Role::User,
            "assistant" => Role::Assistant,
            "system" | "developer" => Role::System,
            other => Role::Other(other.to_owned()),
        };
        if let Some(text) = take_string(map, "content") {
            forget_role(map);
            return Some(Known::Message(role, vec![Block::text(text)]));
        }
        // A message without a word in it has no block to be said by.
        if map.get("content")?.as_array()?.is_empty() {
            return None;
        }
        let parts = take_array(map, "content")?;
        forget_role(map);
        let blocks = self.parts(parts, &format!("{place}/content"));
        Some(Known::Message(role, blocks))
    }

    fn parts(&mut self, parts: Vec<Value>, place: &str) -> Vec<Block> {
        let mut blocks = Vec::with_capacity(parts.len());
        for (number, part) in parts.into_iter().enumerate() {
            let (block, left) = read_part(part);
            self.labels.keep(&format!("{place}/{number}"), left);
            blocks.push(block);
        }
        blocks
    }

    fn call(&mut self, map: &mut Map<String, Value>, custom: bool) -> Option<Known> {
        let call = read_call(map, custom)?;
        self.tools.insert(call.id.clone(), call.tool.clone());
        let block = Block::of(BlockKind::ToolCall(call));
        Some(Known::Beside(Role::Assistant, vec![block]))
    }

    fn result(&mut self, map: &mut Map<String, Value>, place: &str, custom: bool) -> Option<Known> {
        let call = take_string(map, "call_id")?;
        let content = if let Some(text) = take_string(map, "output") {
            vec![Block::text(text)]
        } else if let Some(parts) = take_array(map, "output") {
            self.parts(parts, &format!("{place}/output"))
        } else {
            let other = map.remove("output").filter(|other| !other.is_null());
            other.map(foreign).into_iter().collect()
        };
        let result = ToolResult {
            tool: self.tools.get(&call).cloned(),
            call,
            custom,
            content,
            failed: false,
        };
        Some(Known::Beside(
            Role::User,
            vec![Block::of(BlockKind::ToolResult(result))],
        ))
    }

    fn reasoning(&mut self, map: &mut Map<String, Value>) -> Option<Known> {
        let blocks = read_reasoning(map)?;
        let lone = match blocks.as_slice() {
            [
                Block {
                    kind: BlockKind::Redacted(_),
                    signature: Some(signature),
                    ..
                },
            ] => Some(signature),
            _ => None,
        };
        // Gemini signs calls and texts; its signature came to the caller as an item behind them.
        if let Some(signature) = lone.filter(|signature| signature.format == Format::Gemini)
            && self.signed_before(signature)
        {
            self.items = self.items.saturating_sub(1);
            map.clear();
            return Some(Known::Beside(Role::Assistant, Vec::new()));
        }
        Some(Known::Beside(Role::Assistant, blocks))
    }

    fn signed_before(&mut self, signature: &Signature) -> bool {
        let last = self
            .turns
            .last_mut()
            .filter(|turn| turn.role == Role::Assistant);
        let before = last.and_then(|turn| turn.blocks.last_mut());
        let Some(block) = before.filter(|block| takes_signature(block)) else {
            return false;
        };
        block.signature = Some(signature.clone());
        true
    }
}

/// `developer` is what instructions are written as, so only the older word is worth keeping.
fn forget_role(map: &mut Map<String, Value>) {
    if map.get("role").and_then(Value::as_str) != Some("system") {
        map.remove("role");
    }
}

fn takes_signature(block: &Block) -> bool {
    let fits = matches!(&block.kind, BlockKind::ToolCall(_) | BlockKind::Text(_));
    fits && block.signature.is_none()
}

fn foreign(raw: Value) -> Block {
    Block::of(BlockKind::Foreign(FORMAT, raw))
}

/// A call of a tool, taken out of its item; nothing is taken if it is none.
pub(super) fn read_call(map: &mut Map<String, Value>, custom: bool) -> Option<ToolCall> {
    let input = if custom { "input" } else { "arguments" };
    let text = |key: &str| map.get(key).and_then(Value::as_str);
    (text("call_id").is_some() && text("name").is_some()).then_some(())?;
    let arguments = take_string(map, input).unwrap_or_default();
    Some(ToolCall {
        id: take_string(map, "call_id")?,
        tool: ToolName {
            namespace: take_string(map, "namespace"),
            name: take_string(map, "name")?,
        },
        custom,
        arguments,
        item: take_string(map, "id"),
    })
}

/// Thoughts, taken out of their item: what is shown of them, and their signature on the last block. Nothing
/// is taken if they are not as we know them.
pub(super) fn read_reasoning(map: &mut Map<String, Value>) -> Option<Vec<Block>> {
    let summary = texts_of(map.get("summary"))?;
    let content = texts_of(map.get("content"))?;
    map.remove("summary");
    map.remove("content");
    let item = take_string(map, "id");
    let signed = take_string(map, "encrypted_content").filter(|text| !text.is_empty());
    let signed = signed.map(|text| reasoning::read(&text));
    let thinking = |texts: Vec<String>, summary: bool| {
        let item = item.clone();
        Block::of(BlockKind::Thinking(Thinking {
            item,
            texts,
            summary,
        }))
    };
    let mut blocks = Vec::new();
    if !summary.is_empty() {
        blocks.push(thinking(summary, true));
    }
    if !content.is_empty() {
        blocks.push(thinking(content, false));
    }
    match (blocks.last_mut(), signed) {
        (Some(last), Some((signature, _))) => last.signature = Some(signature),
        (None, Some((signature, false))) => blocks.push(Block {
            signature: Some(signature),
            ..Block::of(BlockKind::Redacted(Redacted { item }))
        }),
        (None, None) => blocks.push(thinking(Vec::new(), true)),
        // The text that the signature belongs to was not sent back; the upstream cannot read it without.
        (None, Some((_, true))) => blocks.push(Block::of(BlockKind::Thinking(Thinking::default()))),
        (Some(_), None) => {}
    }
    Some(blocks)
}

/// The texts of a list of thoughts; none if something else stands among them.
fn texts_of(list: Option<&Value>) -> Option<Vec<String>> {
    let Some(list) = list.filter(|list| !list.is_null()) else {
        return Some(Vec::new());
    };
    let text = |part: &Value| Some(part.get("text")?.as_str()?.to_owned());
    list.as_array()?.iter().map(text).collect()
}
