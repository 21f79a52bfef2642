//! The turns of a conversation in the order this format wants: the user begins, both take turns, every
//! call of a tool is answered at once and before anything else is said, thoughts come first.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::blocks_out::{Side, Writing, content_of};
use super::request_out::system_ahead;
use crate::canonical::{Block, BlockKind, Conversation, Role, Turn};

/// Stands before a conversation that begins with a response.
const OPENING: &str = "(The conversation begins with your answer.)";
/// The result of a tool call without a result.
const NO_RESULT: &str = "(The tool gave no result.)";

struct Message {
    side: Side,
    blocks: Vec<Value>,
}

/// The field `messages`.
pub(super) fn messages_out(conversation: &Conversation, writing: &mut Writing<'_>) -> Vec<Value> {
    if writing.is_own() {
        let turns = conversation.turns.iter().enumerate();
        return turns
            .filter_map(|(number, turn)| as_it_stood(number, turn, writing))
            .collect();
    }
    let mut messages = Vec::new();
    let ahead = system_ahead(conversation).len();
    for turn in conversation.turns.iter().skip(ahead) {
        add_turn(turn, writing, &mut messages);
    }
    let messages = answered(messages, writing);
    let mut messages = taking_turns(messages);
    if messages
        .first()
        .is_some_and(|first| first.side != Side::User)
    {
        let why = "the user must begin; a line that says so was put before the answer";
        writing.notes.approximated("messages", why);
        let blocks = vec![json!({ "type": "text", "text": OPENING })];
        let side = Side::User;
        messages.insert(0, Message { side, blocks });
    }
    if let Some(last) = messages
        .last_mut()
        .filter(|last| last.side == Side::Assistant)
    {
        trim_end(last);
    }
    messages.retain(|message| !message.blocks.is_empty());
    messages.into_iter().map(written).collect()
}

/// Whether the model is in the middle of using tools and did not begin its turn with thoughts.
pub(super) fn is_unsigned(messages: &[Value]) -> bool {
    let kinds = |message: &Value| -> Vec<String> {
        let blocks = message.get("content").and_then(Value::as_array);
        let kind = |block: &Value| Some(block.get("type")?.as_str()?.to_owned());
        blocks.into_iter().flatten().filter_map(kind).collect()
    };
    let mut last = messages.iter().rev();
    let (Some(user), Some(assistant)) = (last.next(), last.next()) else {
        return false;
    };
    let in_tools = kinds(user).iter().any(|kind| kind == "tool_result");
    let first = kinds(assistant).into_iter().next().unwrap_or_default();
    in_tools && !first.ends_with("thinking")
}

/// A turn of this format goes back as it came.
fn as_it_stood(number: usize, turn: &Turn, writing: &mut Writing<'_>) -> Option<Value> {
    let (role, side) = match &turn.role {
        Role::User => ("user", Side::User),
        Role::Assistant => ("assistant", Side::Assistant),
        Role::System => ("system", Side::System),
        Role::Other(word) => (word.as_str(), Side::User),
    };
    let mut blocks = Vec::new();
    for (place, block) in turn.blocks.iter().enumerate() {
        blocks.extend(writing.block(block, side, "messages.content", &[number, place]));
    }
    // Thoughts that do not belong to this upstream were all that was said.
    if blocks.is_empty() && !turn.blocks.is_empty() {
        return None;
    }
    let mut message = Map::new();
    message.insert("role".to_owned(), json!(role));
    message.insert("content".to_owned(), content_of(blocks));
    writing.put_back(&mut message, "messages", &[number]);
    Some(Value::Object(message))
}

fn add_turn(turn: &Turn, writing: &mut Writing<'_>, messages: &mut Vec<Message>) {
    if turn.name.is_some() {
        let why = "speakers have no names";
        writing.notes.dropped("messages.name", why);
    }
    let said_by = match &turn.role {
        Role::User => Side::User,
        Role::Assistant => Side::Assistant,
        Role::System => {
            let why = "instructions in the middle are said by the user, marked as instructions";
            writing.notes.approximated("messages.role", why);
            Side::System
        }
        Role::Other(word) => {
            let why = format!("`{word}` is written as the user");
            writing.notes.approximated("messages.role", why);
            Side::User
        }
    };
    for block in &turn.blocks {
        let side = side_of(block, said_by);
        let Some(mut value) = writing.block(block, side, "", &[]) else {
            continue;
        };
        if side == Side::System {
            mark_instructions(&mut value);
        }
        let side = match side {
            Side::User | Side::System => Side::User,
            Side::Assistant => Side::Assistant,
        };
        push(messages, side, value);
    }
}

/// What tools said is the caller's, and what is to be used is the model's, wherever it stands.
const fn side_of(block: &Block, said_by: Side) -> Side {
    match &block.kind {
        BlockKind::ToolResult(_) => Side::User,
        BlockKind::ToolCall(_) => Side::Assistant,
        BlockKind::Text(_)
        | BlockKind::Media(_)
        | BlockKind::Thinking(_)
        | BlockKind::Redacted(_)
        | BlockKind::Refusal(_)
        | BlockKind::Foreign(..) => said_by,
    }
}

fn mark_instructions(value: &mut Value) {
    if let Some(Value::String(text)) = value.get_mut("text") {
        *text = format!("<system>\n{text}\n</system>");
    }
}

fn push(messages: &mut Vec<Message>, side: Side, value: Value) {
    match messages.last_mut() {
        Some(last) if last.side == side => last.blocks.push(value),
        Some(_) | None => messages.push(Message {
            side,
            blocks: vec![value],
        }),
    }
}

/// Puts what a tool said right behind the turn that called it. What answers no call becomes words, and
/// a call that nothing answers gets a response that says so: the upstream takes neither.
fn answered(messages: Vec<Message>, writing: &mut Writing<'_>) -> Vec<Message> {
    let mut called: BTreeMap<String, usize> = BTreeMap::new();
    let mut results: BTreeMap<usize, Vec<Value>> = BTreeMap::new();
    let mut rest = Vec::with_capacity(messages.len());
    for (number, message) in messages.into_iter().enumerate() {
        let mut blocks = Vec::with_capacity(message.blocks.len());
        for block in message.blocks {
            if let Some(id) = id_of(&block, "tool_use", "id") {
                called.insert(id, number);
            } else if let Some(id) = id_of(&block, "tool_result", "tool_use_id") {
                if let Some(call) = called.remove(&id) {
                    results.entry(call).or_default().push(block);
                    continue;
                }
                let why = "what answers no call before it is sent as words";
                let field = "tool_result";
                writing.notes.approximated(field, why);
                blocks.extend(words_of_result(block));
                continue;
            }
            blocks.push(block);
        }
        let side = message.side;
        rest.push(Message { side, blocks });
    }
    let last = rest.len().saturating_sub(1);
    for (id, call) in called {
        if call == last {
            continue;
        }
        let why = "a call without its result is answered by a line that says so";
        let field = "tool_call";
        writing.notes.approximated(field, why);
        let result = json!({
            "type": "tool_result",
            "tool_use_id": id,
            "content": NO_RESULT,
            "is_error": true,
        });
        results.entry(call).or_default().push(result);
    }
    let mut ordered = Vec::with_capacity(rest.len());
    for (number, message) in rest.into_iter().enumerate() {
        ordered.push(message);
        if let Some(blocks) = results.remove(&number) {
            let side = Side::User;
            ordered.push(Message { side, blocks });
        }
    }
    ordered
}

fn id_of(block: &Value, kind: &str, key: &str) -> Option<String> {
    let is_kind = block.get("type").and_then(Value::as_str) == Some(kind);
    let id = block.get(key).and_then(Value::as_str);
    id.filter(|_| is_kind).map(ToOwned::to_owned)
}

fn words_of_result(mut block: Value) -> Vec<Value> {
    match block.get_mut("content").map(Value::take) {
        Some(Value::String(text)) => vec![json!({ "type": "text", "text": text })],
        Some(Value::Array(blocks)) => blocks,
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => {
            Vec::new()
        }
    }
}

/// One message a turn, none of them empty, thoughts first.
fn taking_turns(messages: Vec<Message>) -> Vec<Message> {
    let mut merged = Vec::with_capacity(messages.len());
    for message in messages {
        for block in message.blocks {
            push(&mut merged, message.side, block);
        }
    }
    for message in &mut merged {
        if message.side == Side::Assistant && !message.blocks.first().is_some_and(is_thought) {
            // A stable order: only thoughts move.
            message.blocks.sort_by_key(|block| !is_thought(block));
        }
    }
    merged
}

fn is_thought(block: &Value) -> bool {
    let kind = block.get("type").and_then(Value::as_str);
    kind.is_some_and(|kind| kind.ends_with("thinking"))
}

/// The upstream does not go on from words that end in a space.
fn trim_end(last: &mut Message) {
    let text = last.blocks.last_mut().and_then(|last| last.get_mut("text"));
    if let Some(Value::String(text)) = text {
        text.truncate(text.trim_end().len());
        if text.is_empty() {
            last.blocks.pop();
        }
    }
}

fn written(message: Message) -> Value {
    let role = match message.side {
        Side::User | Side::System => "user",
        Side::Assistant => "assistant",
    };
    json!({ "role": role, "content": content_of(message.blocks) })
}
