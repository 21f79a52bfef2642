//! A generateContent request, read into the canonical form.

use std::collections::{BTreeMap, VecDeque};

use serde_json::Value;

use super::config_in::read_config;
use super::key_case::take;
use super::made_id;
use super::parts_in::{RawResult, beside, push_joined, read_part, read_result, text_of};
use super::tools_in::{read_tool_config, read_tools};
use crate::canonical::{
    Block, BlockKind, Conversation, Role, ToolName, ToolResult, Turn, UnknownField,
};
use crate::{Format, Request, RequestError};

/// Pairs results with calls as the conversation goes on.
#[derive(Default)]
struct Pairs {
    calls: usize,
    /// Ids of calls without a result, by the name of the function, in their order.
    open: BTreeMap<String, VecDeque<String>>,
}

pub(crate) fn request_to_canonical(request: &Request) -> Result<Conversation, RequestError> {
    let mut body = request.tree()?;
    let mut conversation = Conversation::new(Format::Gemini, &request.facts);
    // The address names the model.
    take(&mut body, "model");
    let mut pairs = Pairs::default();
    if let Some(instruction) = take(&mut body, "systemInstruction") {
        conversation.instructions = read_instructions(instruction, &mut pairs);
    }
    if let Some(Value::Array(contents)) = take(&mut body, "contents") {
        let turns = contents
            .into_iter()
            .map(|content| read_turn(content, &mut pairs));
        conversation.turns = turns.collect();
    }
    if let Some(tools) = take(&mut body, "tools") {
        conversation.tools = read_tools(tools)?;
    }
    if let Some(config) = take(&mut body, "toolConfig") {
        read_tool_config(config, &mut conversation);
    }
    if let Some(config) = take(&mut body, "generationConfig") {
        read_config(config, &mut conversation)?;
    }
    conversation.service_tier = text_of(take(&mut body, "serviceTier"));
    let rest = body.into_iter().filter(|(_, value)| !value.is_null());
    conversation
        .extras
        .extend(rest.map(|(field, value)| UnknownField {
            field,
            value,
            matters: false,
        }));
    Ok(conversation)
}

fn read_instructions(instruction: Value, pairs: &mut Pairs) -> Vec<Block> {
    match instruction {
        Value::String(text) => vec![Block::text(text)],
        Value::Array(parts) => read_parts(parts, pairs),
        Value::Object(mut content) => match take(&mut content, "parts") {
            Some(Value::Array(parts)) => read_parts(parts, pairs),
            // One part, said without its list.
            Some(part) => read_parts(vec![part], pairs),
            None => read_parts(vec![Value::Object(content)], pairs),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

fn read_turn(content: Value, pairs: &mut Pairs) -> Turn {
    let Value::Object(mut content) = content else {
        return Turn::of(Role::User, Vec::new());
    };
    let role = match text_of(take(&mut content, "role")).as_deref() {
        None | Some("user" | "function") => Role::User,
        Some("model") => Role::Assistant,
        Some("system") => Role::System,
        Some(other) => Role::Other(other.to_owned()),
    };
    let blocks = match take(&mut content, "parts") {
        Some(Value::Array(parts)) => read_parts(parts, pairs),
        Some(_) | None => Vec::new(),
    };
    Turn::of(role, blocks)
}

fn read_parts(parts: Vec<Value>, pairs: &mut Pairs) -> Vec<Block> {
    let mut blocks = Vec::new();
    for mut part in parts {
        if let Some(result) = read_result(&mut part) {
            blocks.push(Block::of(pairs.result(result)));
            // A result has neither a signature nor anything else beside it that means something.
            let rest = part.as_object().filter(|rest| !rest.is_empty());
            blocks.extend(rest.cloned().map(beside));
            continue;
        }
        let place = pairs.calls;
        let read = read_part(part, &mut |_| made_id("", place));
        for block in read.into_iter().flat_map(super::parts_in::ReadPart::blocks) {
            if let BlockKind::ToolCall(call) = &block.kind {
                pairs.call(&call.tool.name, &call.id);
            }
            push_joined(&mut blocks, block);
        }
    }
    blocks
}

impl Pairs {
    fn call(&mut self, name: &str, id: &str) {
        self.calls = self.calls.saturating_add(1);
        let open = self.open.entry(name.to_owned()).or_default();
        open.push_back(id.to_owned());
    }

    /// A result with the id of its call: its own, or that of the first call of the same name that has
    /// none yet.
    fn result(&mut self, raw: RawResult) -> BlockKind {
        let open = self.open.entry(raw.name.clone()).or_default();
        let call = match raw.id {
            Some(id) => {
                open.retain(|known| *known != id);
                id
            }
            None => open.pop_front().unwrap_or_else(|| made_id("", self.calls)),
        };
        BlockKind::ToolResult(ToolResult {
            call,
            tool: Some(ToolName::plain(raw.name)),
            custom: false,
            content: raw.content,
            failed: raw.failed,
        })
    }
}
