//! How what a request says is looked up in a conversation.

use serde_json::{Value, json};
use trunkline_wire::canonical::{
    Block, BlockKind, CacheLife, Conversation, Media, MediaKind, Role, Source, ToolCall,
    ToolChoice, ToolKind, ToolName,
};

/// Where a format has no description of its own, the schema has it.
pub(crate) fn described_apart(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some(map) = schema.as_object_mut() {
        map.remove("description");
    }
    schema
}

pub(crate) fn flag(is: bool) -> Value {
    if is { Value::Bool(true) } else { Value::Null }
}

pub(crate) fn text_value(text: &str) -> Value {
    if text.is_empty() {
        Value::Null
    } else {
        json!(text)
    }
}

/// A list, if it has so many.
pub(crate) fn some<T: serde::Serialize>(list: Vec<T>, least: usize) -> Value {
    if list.len() < least {
        Value::Null
    } else {
        json!(list)
    }
}

/// Texts before everything, wherever a format puts them.
pub(crate) fn system(it: &Conversation) -> Vec<String> {
    let ahead = it.turns.iter().take_while(|turn| turn.role == Role::System);
    let blocks = it
        .instructions
        .iter()
        .chain(ahead.flat_map(|turn| &turn.blocks));
    blocks
        .filter_map(|block| block.as_text().map(str::to_owned))
        .collect()
}

pub(crate) fn middle(it: &Conversation) -> Value {
    let later = it.turns.iter().skip_while(|turn| turn.role == Role::System);
    let later = later.filter(|turn| turn.role == Role::System);
    let texts = later
        .flat_map(|turn| &turn.blocks)
        .filter_map(Block::as_text);
    some(texts.map(str::to_owned).collect(), 1)
}

/// All blocks with who said them, those inside results included.
pub(crate) fn blocks(it: &Conversation) -> impl Iterator<Item = (&Role, &Block)> {
    it.turns.iter().flat_map(|turn| {
        turn.blocks.iter().flat_map(|block| {
            let inside = if let BlockKind::ToolResult(result) = &block.kind {
                result.content.as_slice()
            } else {
                &[]
            };
            let both = std::iter::once(block).chain(inside);
            both.map(|block| (&turn.role, block))
        })
    })
}

pub(crate) fn order(it: &Conversation) -> Value {
    let model = blocks(it).filter(|(role, _)| **role == Role::Assistant);
    let kinds = model.filter_map(|(_, block)| match &block.kind {
        BlockKind::Text(text) => Some(format!("text {}", text.text)),
        BlockKind::ToolCall(call) => Some(format!("call {}", call.tool.name)),
        BlockKind::Media(_)
        | BlockKind::ToolResult(_)
        | BlockKind::Thinking(_)
        | BlockKind::Redacted(_)
        | BlockKind::Refusal(_)
        | BlockKind::Foreign(..) => None,
    });
    let kinds: Vec<String> = kinds.collect();
    let mixed = kinds
        .windows(2)
        .any(|pair| pair[0].starts_with("call") && pair[1].starts_with("text"));
    if mixed { json!(kinds) } else { Value::Null }
}

pub(crate) fn inline(media: &Media) -> Option<String> {
    match &media.source {
        Source::Inline { mime, data } => Some(format!("{mime} {data}")),
        Source::Link { .. } | Source::Text(_) => None,
    }
}

pub(crate) fn link(media: &Media) -> Option<String> {
    match &media.source {
        Source::Link { url, .. } => Some(url.clone()),
        Source::Inline { .. } | Source::Text(_) => None,
    }
}

pub(crate) fn of_media(
    block: &Block,
    kind: MediaKind,
    take: fn(&Media) -> Option<String>,
) -> Option<String> {
    if let BlockKind::Media(media) = &block.kind
        && media.kind == kind
    {
        take(media)
    } else {
        None
    }
}

pub(crate) fn media(
    it: &Conversation,
    kind: MediaKind,
    take: fn(&Media) -> Option<String>,
) -> Value {
    let all_blocks = it.turns.iter().flat_map(|turn| &turn.blocks);
    some(
        all_blocks
            .filter_map(|block| of_media(block, kind, take))
            .collect(),
        1,
    )
}

/// A name as all formats can write it: answers get the caller's own back.
fn name_of(tool: &ToolName) -> String {
    let whole = match &tool.namespace {
        Some(group) => format!("{group}__{}", tool.name),
        None => tool.name.clone(),
    };
    let fitted = whole.replace('.', "_");
    fitted.trim_start_matches('_').to_owned()
}

/// A schema without what says nothing.
fn schema_of(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some(map) = schema.as_object_mut() {
        map.remove("type");
        if map.get("properties") == Some(&json!({})) {
            map.remove("properties");
        }
    }
    schema
}

pub(crate) fn tools(it: &Conversation) -> Value {
    let functions = it.tools.iter().filter_map(|tool| match &tool.kind {
        ToolKind::Function { schema, .. } => Some(json!([
            name_of(&tool.name),
            tool.description,
            schema_of(schema)
        ])),
        ToolKind::Custom { .. } | ToolKind::Native(_) => None,
    });
    some(functions.collect(), 1)
}

pub(crate) fn strict(it: &Conversation) -> Value {
    let strict = it.tools.iter().filter_map(|tool| match &tool.kind {
        ToolKind::Function {
            strict: Some(true), ..
        } => Some(tool.name.name.clone()),
        ToolKind::Function { .. } | ToolKind::Custom { .. } | ToolKind::Native(_) => None,
    });
    some(strict.collect(), 1)
}

pub(crate) fn choice(it: &Conversation, expected: &str) -> Value {
    let Some(choice) = &it.tool_choice else {
        return Value::Null;
    };
    let (kind, value) = match choice {
        ToolChoice::Auto => ("auto", json!("auto")),
        ToolChoice::None => ("none", json!("none")),
        ToolChoice::Any => ("any", json!("any")),
        ToolChoice::Named(tool) => ("one", json!(name_of(tool))),
        // One of one must be this one.
        ToolChoice::Among(tools, true) if tools.len() == 1 => ("one", json!(name_of(&tools[0]))),
        ToolChoice::Among(tools, must) => {
            let names: Vec<String> = tools.iter().map(name_of).collect();
            ("some", json!([names, must]))
        }
    };
    if kind == expected { value } else { Value::Null }
}

/// Calls of turns with so many.
pub(crate) fn calls(it: &Conversation, least: usize) -> Vec<Value> {
    let mut runs: Vec<Vec<&ToolCall>> = vec![Vec::new()];
    for (role, block) in blocks(it) {
        if let BlockKind::ToolCall(call) = &block.kind {
            runs.last_mut().unwrap().push(call);
        } else if *role != Role::Assistant {
            runs.push(Vec::new());
        }
    }
    let runs = runs.into_iter().filter(|run| run.len() >= least).flatten();
    runs.map(|call| {
        let arguments: Value =
            serde_json::from_str(&call.arguments).unwrap_or(json!(call.arguments));
        let arguments = if call.custom {
            json!({ "input": call.arguments })
        } else {
            arguments
        };
        json!([call.id, name_of(&call.tool), arguments])
    })
    .collect()
}

pub(crate) fn results(it: &Conversation, take: fn(&Block) -> Option<String>) -> Value {
    let mut results = Vec::new();
    for block in it.turns.iter().flat_map(|turn| &turn.blocks) {
        if let BlockKind::ToolResult(result) = &block.kind {
            let texts: Vec<String> = result.content.iter().filter_map(take).collect();
            if !texts.is_empty() {
                results.push((result.call.clone(), texts.join("\n")));
            }
        }
    }
    // Some formats put them in the order of their calls.
    results.sort();
    some(results, 1)
}

/// Google's results are objects; a text that is JSON itself stays inside one.
pub(crate) fn result_text(block: &Block) -> Option<String> {
    let text = block.as_text()?;
    let wrapped: Option<Value> = serde_json::from_str(text).ok();
    let inside = wrapped.as_ref().and_then(|it| it.get("output")?.as_str());
    Some(inside.unwrap_or(text).to_owned())
}

pub(crate) fn failed(it: &Conversation) -> Value {
    let failed = blocks(it).filter_map(|(_, block)| {
        if let BlockKind::ToolResult(result) = &block.kind
            && result.failed
        {
            Some(result.call.clone())
        } else {
            None
        }
    });
    some(failed.collect(), 1)
}

pub(crate) fn thoughts(it: &Conversation) -> Value {
    let texts = blocks(it).filter_map(|(_, block)| {
        if let BlockKind::Thinking(thinking) = &block.kind {
            Some(thinking.texts.join("\n"))
        } else {
            None
        }
    });
    some(texts.filter(|text| !text.is_empty()).collect(), 1)
}

pub(crate) fn seals(it: &Conversation) -> Value {
    let seals = blocks(it).filter_map(|(_, block)| {
        if let BlockKind::Thinking(_) = &block.kind {
            block.signature.as_ref().map(|seal| seal.data.clone())
        } else {
            None
        }
    });
    some(seals.filter(|seal| !seal.is_empty()).collect(), 1)
}

pub(crate) fn redacted(it: &Conversation) -> Value {
    let seals = blocks(it).filter_map(|(_, block)| {
        if let BlockKind::Redacted(_) = &block.kind {
            block.signature.as_ref().map(|seal| seal.data.clone())
        } else {
            None
        }
    });
    some(seals.collect(), 1)
}

pub(crate) fn citations(it: &Conversation) -> Value {
    let cited = blocks(it).filter_map(|(_, block)| {
        if let BlockKind::Text(text) = &block.kind {
            Some(text.citations.len())
        } else {
            None
        }
    });
    some(cited.filter(|count| *count > 0).collect(), 1)
}

pub(crate) fn marks(it: &Conversation, life: CacheLife) -> Value {
    let markers = blocks(it).map(|(_, block)| block.cache);
    let markers = it
        .instructions
        .iter()
        .map(|block| block.cache)
        .chain(markers);
    let all = markers.chain(it.tools.iter().map(|tool| tool.cache));
    let count = all.filter(|mark| *mark == Some(life)).count();
    if count == 0 {
        Value::Null
    } else {
        json!(count)
    }
}
