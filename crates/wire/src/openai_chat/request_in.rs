//! A chat request into the canonical form. The body was looked through before, so what is odd here is only what a
//! price does not depend on; it is kept as it is, or refused by name.

use serde_json::{Map, Value};

use super::json_helpers::{list, number, tool_name, word};
use super::reasoning;
use crate::canonical::{
    Block, BlockKind, CacheLife, Conversation, Media, MediaKind, OutputShape, Reasoning, Role,
    Sampling, Source, Tool, ToolCall, ToolChoice, ToolKind, ToolName, ToolResult, Turn,
    UnknownField,
};
use crate::{Format, Request, RequestError};

/// Fields that have a place of their own in the canonical form.
const MAPPED_FIELDS: &[&str] = &[
    "frequency_penalty",
    "function_call",
    "functions",
    "max_completion_tokens",
    "max_tokens",
    "messages",
    "metadata",
    "model",
    "n",
    "parallel_tool_calls",
    "presence_penalty",
    "prompt_cache_key",
    "reasoning_effort",
    "response_format",
    "seed",
    "service_tier",
    "stop",
    "stream",
    "stream_options",
    "temperature",
    "tool_choice",
    "tools",
    "top_k",
    "top_p",
    "user",
    "verbosity",
];

pub(crate) fn request_to_canonical(request: &Request) -> Result<Conversation, RequestError> {
    let body = request.tree()?;
    let (instructions, turns) = read_turns(list(&body, "messages"))?;
    let effort = word(&body, "reasoning_effort");
    let off = effort.as_deref() == Some("none");
    let mut extras = Vec::new();
    for (field, value) in &body {
        if !MAPPED_FIELDS.contains(&field.as_str()) && !value.is_null() {
            extras.push(UnknownField {
                field: field.clone(),
                value: value.clone(),
                matters: false,
            });
        }
    }
    Ok(Conversation {
        instructions,
        turns,
        tools: read_tools(&body),
        tool_choice: read_choice(&body),
        parallel_tools: body.get("parallel_tool_calls").and_then(Value::as_bool),
        output: read_shape(body.get("response_format")),
        reasoning: Reasoning {
            off,
            effort: effort.filter(|_| !off),
            ..Reasoning::default()
        },
        sampling: Sampling {
            temperature: number(&body, "temperature"),
            top_p: number(&body, "top_p"),
            top_k: number(&body, "top_k"),
            seed: number(&body, "seed"),
            presence_penalty: number(&body, "presence_penalty"),
            frequency_penalty: number(&body, "frequency_penalty"),
        },
        stop: read_stop(body.get("stop")),
        user: word(&body, "user"),
        cache_key: word(&body, "prompt_cache_key"),
        verbosity: word(&body, "verbosity"),
        service_tier: word(&body, "service_tier"),
        metadata: body.get("metadata").filter(|it| !it.is_null()).cloned(),
        extras,
        ..Conversation::new(Format::OpenaiChat, &request.facts)
    })
}

type Turns = (Vec<Block>, Vec<Turn>);

fn read_turns(messages: &[Value]) -> Result<Turns, RequestError> {
    let (mut instructions, mut turns): Turns = (Vec::new(), Vec::new());
    for (place, message) in messages.iter().enumerate() {
        let Some(message) = message.as_object() else {
            continue;
        };
        let path = format!("messages[{place}]");
        let role = word(message, "role").unwrap_or_default();
        let is_tool = matches!(role.as_str(), "tool" | "function");
        // A tool's name is that of a tool, not of a speaker.
        let name = word(message, "name").filter(|_| !is_tool);
        let blocks = match role.as_str() {
            "assistant" => read_assistant(message, &path)?,
            "tool" | "function" => vec![read_result(message, &path, &turns)?],
            _ => read_content(message.get("content"), &path)?,
        };
        let role = match role.as_str() {
            "system" | "developer" if turns.is_empty() => {
                instructions.extend(blocks);
                continue;
            }
            "system" | "developer" => Role::System,
            "user" | "tool" | "function" => Role::User,
            "assistant" => Role::Assistant,
            _ => Role::Other(role),
        };
        turns.push(Turn { role, blocks, name });
    }
    Ok((instructions, turns))
}

fn read_assistant(message: &Map<String, Value>, path: &str) -> Result<Vec<Block>, RequestError> {
    let mut blocks = reasoning::read(message);
    blocks.extend(read_content(message.get("content"), path)?);
    if let Some(refusal) = word(message, "refusal") {
        blocks.push(Block::of(BlockKind::Refusal(refusal)));
    }
    for (number, call) in list(message, "tool_calls").iter().enumerate() {
        blocks.push(read_call(call, number));
    }
    if let Some(call) = message.get("function_call").filter(|it| it.is_object()) {
        blocks.push(legacy_call(call));
    }
    Ok(blocks)
}

/// A tool call of a whole message.
pub(super) fn read_call(call: &Value, number: usize) -> Block {
    let text = |at: &str| call.pointer(at).and_then(Value::as_str).map(str::to_owned);
    let custom = text("/type").as_deref() == Some("custom");
    let (name, arguments) = if custom {
        ("/custom/name", "/custom/input")
    } else {
        ("/function/name", "/function/arguments")
    };
    // Some vendors write arguments as an object.
    let object = call.pointer(arguments).filter(|it| it.is_object());
    let arguments = object.map(Value::to_string).or_else(|| text(arguments));
    Block {
        signature: reasoning::call_signature(call),
        ..Block::of(BlockKind::ToolCall(ToolCall {
            id: text("/id")
                .filter(|id| !id.is_empty())
                .unwrap_or_else(|| made_id(number)),
            tool: ToolName::plain(text(name).unwrap_or_default()),
            custom,
            arguments: arguments.unwrap_or_default(),
            item: None,
        }))
    }
}

/// A name for a call that has none.
pub(super) fn made_id(number: usize) -> String {
    format!("call_{number}")
}

/// The older form, which has no ids: its result names the function.
pub(super) fn legacy_call(call: &Value) -> Block {
    let text = |name: &str| call.get(name).and_then(Value::as_str).unwrap_or_default();
    Block::of(BlockKind::ToolCall(ToolCall {
        id: format!("call_{}", text("name")),
        tool: ToolName::plain(text("name")),
        arguments: text("arguments").to_owned(),
        ..ToolCall::default()
    }))
}

fn read_result(
    message: &Map<String, Value>,
    path: &str,
    turns: &[Turn],
) -> Result<Block, RequestError> {
    let name = word(message, "name");
    let call = word(message, "tool_call_id");
    let legacy = || name.as_ref().map(|name| format!("call_{name}"));
    let call = call.or_else(legacy).unwrap_or_default();
    let called = called(turns, &call);
    Ok(Block::of(BlockKind::ToolResult(ToolResult {
        tool: name
            .map(ToolName::plain)
            .or_else(|| called.map(|called| called.tool.clone())),
        custom: called.is_some_and(|called| called.custom),
        call,
        content: read_content(message.get("content"), path)?,
        failed: false,
    })))
}

/// The call that a result answers: the last one of that id.
fn called<'a>(turns: &'a [Turn], id: &str) -> Option<&'a ToolCall> {
    let blocks = turns.iter().rev().flat_map(|turn| turn.blocks.iter().rev());
    let mut calls = blocks.filter_map(|block| match &block.kind {
        BlockKind::ToolCall(call) => Some(call),
        BlockKind::Text(_)
        | BlockKind::Media(_)
        | BlockKind::ToolResult(_)
        | BlockKind::Thinking(_)
        | BlockKind::Redacted(_)
        | BlockKind::Refusal(_)
        | BlockKind::Foreign(..) => None,
    });
    calls.find(|call| call.id == id)
}

fn read_content(content: Option<&Value>, path: &str) -> Result<Vec<Block>, RequestError> {
    match content {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::String(text)) => Ok(vec![Block::text(text.clone())]),
        Some(Value::Array(parts)) => {
            let parts = parts.iter().enumerate();
            parts
                .map(|(place, part)| read_part(part, &format!("{path}.content[{place}]")))
                .collect()
        }
        Some(_) => Err(RequestError::invalid(
            &format!("{path}.content"),
            "`content` must be a text or a list of parts",
        )),
    }
}

fn read_part(part: &Value, path: &str) -> Result<Block, RequestError> {
    let text = |at: &str| part.pointer(at).and_then(Value::as_str).map(str::to_owned);
    let what = match text("/type").as_deref() {
        Some("text") => Block::text(text("/text").unwrap_or_default()).kind,
        Some("refusal") => BlockKind::Refusal(text("/refusal").unwrap_or_default()),
        Some("image_url") => {
            let url = text("/image_url/url").or_else(|| text("/image_url"));
            let url = url.ok_or_else(|| RequestError::invalid(path, "an image needs its `url`"))?;
            BlockKind::Media(Media {
                kind: MediaKind::Image,
                source: Source::of_url(url),
                name: None,
                detail: text("/image_url/detail"),
                extras: Vec::new(),
            })
        }
        Some("input_audio") => {
            let format = text("/input_audio/format").unwrap_or_else(|| "wav".to_owned());
            BlockKind::Media(Media {
                kind: MediaKind::Audio,
                source: Source::Inline {
                    mime: format!("audio/{format}"),
                    data: text("/input_audio/data").unwrap_or_default(),
                },
                name: None,
                detail: None,
                extras: Vec::new(),
            })
        }
        Some("file") => {
            let data = text("/file/file_data")
                .ok_or_else(|| RequestError::invalid(path, "a file needs its `file_data`"))?;
            BlockKind::Media(Media {
                kind: MediaKind::File,
                source: file_source(data),
                name: text("/file/filename"),
                detail: None,
                extras: Vec::new(),
            })
        }
        Some(_) | None => BlockKind::Foreign(Format::OpenaiChat, part.clone()),
    };
    Ok(Block {
        cache: read_cache(part),
        ..Block::of(what)
    })
}

/// A data URI, or bare base64 of a PDF.
fn file_source(data: String) -> Source {
    match Source::of_url(data) {
        Source::Link { url, .. } if !url.starts_with("http") => Source::Inline {
            mime: "application/pdf".to_owned(),
            data: url,
        },
        other @ (Source::Link { .. } | Source::Inline { .. } | Source::Text(_)) => other,
    }
}

/// Anthropic's mark, which clients of models behind gateways put on parts and tools of chat too.
fn read_cache(part: &Value) -> Option<CacheLife> {
    let control = part.get("cache_control")?.as_object()?;
    Some(CacheLife::of_control(control))
}

fn read_tools(body: &Map<String, Value>) -> Vec<Tool> {
    let current = list(body, "tools").iter().map(read_tool);
    let older = list(body, "functions").iter().map(|it| function(it, None));
    current.chain(older).collect()
}

fn read_tool(tool: &Value) -> Tool {
    let kind = tool.get("type").and_then(Value::as_str);
    let cache = read_cache(tool);
    match (kind, tool.get("function"), tool.get("custom")) {
        (Some("function") | None, Some(inner), _) => function(inner, cache),
        (Some("custom"), _, Some(inner)) => Tool {
            name: tool_name(inner),
            description: text_of(inner, "description"),
            kind: ToolKind::Custom {
                format: inner.get("format").map(flat_grammar),
            },
            cache,
            extras: Vec::new(),
        },
        (Some(_) | None, _, _) => Tool {
            name: ToolName::plain(kind.unwrap_or_default()),
            description: None,
            kind: ToolKind::Native(tool.clone()),
            cache,
            extras: Vec::new(),
        },
    }
}

/// A grammar as the canonical form has it: chat puts it one level deeper.
fn flat_grammar(format: &Value) -> Value {
    let (Some(outer), Some(inner)) = (
        format.as_object(),
        format.get("grammar").and_then(Value::as_object),
    ) else {
        return format.clone();
    };
    let mut flat = outer.clone();
    flat.remove("grammar");
    flat.extend(inner.clone());
    Value::Object(flat)
}

fn function(inner: &Value, cache: Option<CacheLife>) -> Tool {
    let schema = inner.get("parameters").filter(|schema| schema.is_object());
    Tool {
        name: tool_name(inner),
        description: text_of(inner, "description"),
        kind: ToolKind::Function {
            schema: schema.cloned().unwrap_or_else(|| Value::Object(Map::new())),
            strict: inner.get("strict").and_then(Value::as_bool),
        },
        cache,
        extras: Vec::new(),
    }
}

fn text_of(value: &Value, name: &str) -> Option<String> {
    value.get(name).and_then(Value::as_str).map(str::to_owned)
}

fn read_choice(body: &Map<String, Value>) -> Option<ToolChoice> {
    let choice = body
        .get("tool_choice")
        .or_else(|| body.get("function_call"))?;
    if let Some(word) = choice.as_str() {
        return match word {
            "none" => Some(ToolChoice::None),
            "required" => Some(ToolChoice::Any),
            "auto" => Some(ToolChoice::Auto),
            _ => None,
        };
    }
    if let Some(allowed) = choice.get("allowed_tools") {
        let tools = allowed.get("tools").and_then(Value::as_array)?;
        let names = tools.iter().filter_map(named).collect();
        let must = allowed.get("mode").and_then(Value::as_str) == Some("required");
        return Some(ToolChoice::Among(names, must));
    }
    named(choice).map(ToolChoice::Named)
}

/// A tool named by `{"type":"function","function":{"name":…}}` and similar.
fn named(choice: &Value) -> Option<ToolName> {
    let inner = choice.get("function").or_else(|| choice.get("custom"));
    let name = tool_name(inner.unwrap_or(choice));
    (!name.name.is_empty()).then_some(name)
}

fn read_shape(format: Option<&Value>) -> OutputShape {
    let Some(format) = format else {
        return OutputShape::Text;
    };
    match format.get("type").and_then(Value::as_str) {
        Some("json_object") => OutputShape::Json,
        Some("json_schema") => {
            let inner = format.get("json_schema").unwrap_or(&Value::Null);
            let schema = inner.get("schema").cloned();
            OutputShape::Schema {
                name: text_of(inner, "name"),
                description: text_of(inner, "description"),
                schema: schema.unwrap_or_else(|| Value::Object(Map::new())),
                strict: inner.get("strict").and_then(Value::as_bool),
            }
        }
        Some(_) | None => OutputShape::Text,
    }
}

fn read_stop(stop: Option<&Value>) -> Vec<String> {
    match stop {
        Some(Value::String(one)) => vec![one.clone()],
        Some(Value::Array(many)) => {
            let texts = many.iter().filter_map(Value::as_str);
            texts.map(str::to_owned).collect()
        }
        Some(_) | None => Vec::new(),
    }
}
