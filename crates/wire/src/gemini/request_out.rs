//! A conversation, written as a generateContent request.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::config_out::write_config;
use super::parts_out::{Content, Parts};
use super::tools_out::write_tools;
use super::{FORMAT, RULE};
use crate::canonical::{
    Block, BlockKind, Conversation, Notes, Role, Target, ToolName, TranslationState, Turn, Written,
};
use crate::json_value::set_at;

const USER: &str = "user";
const MODEL: &str = "model";

/// Writes a conversation. Model and stream stand in the address.
pub(crate) fn request_from_canonical(conversation: &Conversation, target: &Target<'_>) -> Written {
    let state = TranslationState::new(RULE, &conversation.tools);
    let mut parts = Parts {
        from: conversation.from,
        target,
        state: &state,
        tools: tools_of_calls(conversation),
        notes: Notes::default(),
    };
    let mut body = Map::new();
    let (ahead, turns) = split_system(conversation);
    let mut instruction = Content::default();
    for block in conversation.instructions.iter().chain(ahead) {
        parts.write(block, &mut instruction);
    }
    if !instruction.parts.is_empty() {
        let content = json!({ "parts": instruction.parts });
        body.insert("systemInstruction".to_owned(), content);
    }
    let contents = write_turns(turns, &mut parts);
    body.insert("contents".to_owned(), Value::Array(contents));
    let mut notes = parts.notes;
    write_tools(conversation, &state, &mut body, &mut notes);
    write_config(conversation, target, &mut body, &mut notes);
    write_tier(conversation, &mut body, &mut notes);
    drop_advice(conversation, &mut notes);
    for extra in &conversation.extras {
        if conversation.from == FORMAT {
            set_at(&mut body, &extra.field, extra.value.clone());
        } else {
            notes.unknown_field(extra, "only the format it came in has this");
        }
    }
    Written {
        body: serde_json::to_vec(&body).unwrap_or_default(),
        notes,
        state,
    }
}

fn tools_of_calls(conversation: &Conversation) -> BTreeMap<&str, &ToolName> {
    let blocks = conversation.turns.iter().flat_map(|turn| &turn.blocks);
    let calls = blocks.filter_map(|block| match &block.kind {
        BlockKind::ToolCall(call) => Some((call.id.as_str(), &call.tool)),
        BlockKind::Text(_)
        | BlockKind::Media(_)
        | BlockKind::ToolResult(_)
        | BlockKind::Thinking(_)
        | BlockKind::Redacted(_)
        | BlockKind::Refusal(_)
        | BlockKind::Foreign(..) => None,
    });
    calls.collect()
}

/// System turns before all others are instructions.
fn split_system(conversation: &Conversation) -> (impl Iterator<Item = &Block>, &[Turn]) {
    let turns = conversation.turns.as_slice();
    let is_system = |turn: &Turn| turn.role == Role::System && conversation.from != FORMAT;
    let first = turns.iter().position(|turn| !is_system(turn));
    let (ahead, rest) = turns.split_at(first.unwrap_or(turns.len()));
    (ahead.iter().flat_map(|turn| &turn.blocks), rest)
}

/// One content as it is put together.
struct Open {
    role: String,
    content: Content,
}

fn write_turns(turns: &[Turn], parts: &mut Parts<'_>) -> Vec<Value> {
    let mut open: Vec<Open> = Vec::new();
    let mut order: BTreeMap<&str, usize> = BTreeMap::new();
    let mut waiting: Vec<&Block> = Vec::new();
    for turn in turns {
        let role = role_word(&turn.role, parts);
        if turn.name.is_some() {
            parts
                .notes
                .dropped("messages.name", "Google's turns have no names");
        }
        if parts.from == FORMAT {
            let mut content = Content::default();
            turn.blocks
                .iter()
                .for_each(|block| parts.write(block, &mut content));
            open.push(Open { role, content });
            continue;
        }
        for block in &turn.blocks {
            if let BlockKind::ToolCall(call) = &block.kind {
                let place = order.len();
                order.entry(&call.id).or_insert(place);
            }
        }
        // Results come first, in the order of their calls: Google wants them right behind these, and
        // all in one content, however many turns they stood in.
        let (results, others): (Vec<&Block>, Vec<&Block>) =
            turn.blocks.iter().partition(|block| is_result(block));
        waiting.extend(results);
        if !others.is_empty() {
            flush(&mut waiting, &order, &mut open, parts);
            add(&mut open, &role, &others, parts);
        }
    }
    flush(&mut waiting, &order, &mut open, parts);
    let contents = open
        .into_iter()
        .filter(|open| !open.content.parts.is_empty());
    contents
        .map(|open| json!({ "role": open.role, "parts": open.content.parts }))
        .collect()
}

/// Adds blocks of a turn: the model's to what it said just before, so that calls of one step stand
/// together; others to a content of their own.
fn add(open: &mut Vec<Open>, role: &str, blocks: &[&Block], parts: &mut Parts<'_>) {
    let joins = |last: &Open| last.role == role && role == MODEL;
    if !open.last().is_some_and(joins) {
        open.push(Open {
            role: role.to_owned(),
            content: Content::default(),
        });
    }
    let Some(last) = open.last_mut() else {
        return;
    };
    blocks
        .iter()
        .for_each(|block| parts.write(block, &mut last.content));
}

/// Writes the results that waited, in the order of their calls.
fn flush(
    waiting: &mut Vec<&Block>,
    order: &BTreeMap<&str, usize>,
    open: &mut Vec<Open>,
    parts: &mut Parts<'_>,
) {
    if waiting.is_empty() {
        return;
    }
    waiting.sort_by_key(|block| place_of(block, order));
    let mut content = Content::default();
    waiting
        .drain(..)
        .for_each(|block| parts.write(block, &mut content));
    open.push(Open {
        role: USER.to_owned(),
        content,
    });
}

const fn is_result(block: &Block) -> bool {
    matches!(block.kind, BlockKind::ToolResult(_))
}

fn place_of(block: &Block, order: &BTreeMap<&str, usize>) -> usize {
    let place = match &block.kind {
        BlockKind::ToolResult(result) => order.get(result.call.as_str()).copied(),
        BlockKind::Text(_)
        | BlockKind::Media(_)
        | BlockKind::ToolCall(_)
        | BlockKind::Thinking(_)
        | BlockKind::Redacted(_)
        | BlockKind::Refusal(_)
        | BlockKind::Foreign(..) => None,
    };
    place.unwrap_or(usize::MAX)
}

fn role_word(role: &Role, parts: &mut Parts<'_>) -> String {
    match role {
        Role::User => USER.to_owned(),
        Role::Assistant => MODEL.to_owned(),
        Role::System if parts.from == FORMAT => "system".to_owned(),
        Role::Other(word) if parts.from == FORMAT => word.clone(),
        Role::System => {
            let why = "instructions in the middle of a conversation are sent as the user's words";
            parts.notes.approximated("messages.role", why);
            USER.to_owned()
        }
        Role::Other(_) => {
            let why = "a role that Google does not have is sent as the user";
            parts.notes.approximated("messages.role", why);
            USER.to_owned()
        }
    }
}

fn write_tier(conversation: &Conversation, body: &mut Map<String, Value>, notes: &mut Notes) {
    let Some(tier) = &conversation.service_tier else {
        return;
    };
    let word = match tier.as_str() {
        _ if conversation.from == FORMAT => tier.as_str(),
        "priority" | "flex" | "standard" => tier.as_str(),
        "default" | "standard_only" => "standard",
        _ => {
            notes.dropped("service_tier", "Google does not have this tier");
            return;
        }
    };
    body.insert("serviceTier".to_owned(), Value::String(word.to_owned()));
}

/// What other formats say and Google has no field for.
fn drop_advice(conversation: &Conversation, notes: &mut Notes) {
    const WHY: &str = "the format has no place for it";
    let fields = [
        ("user", conversation.user.is_some()),
        ("prompt_cache_key", conversation.cache_key.is_some()),
        ("verbosity", conversation.verbosity.is_some()),
        ("metadata", conversation.metadata.is_some()),
        (
            "parallel_tool_calls",
            conversation.parallel_tools == Some(false),
        ),
    ];
    for (field, _) in fields.iter().filter(|(_, is_present)| *is_present) {
        notes.dropped(*field, WHY);
    }
}
