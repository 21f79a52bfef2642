//! Whole chat responses, into the canonical form and out of it.

use serde_json::{Map, Value, json};
use trunkline_types::Bucket;

use super::citation;
use super::json_helpers::{list, word};
use super::reasoning;
use super::request_in::{legacy_call, read_call};
use super::response_scan::RawUsage;
use crate::canonical::{
    Block, BlockKind, Choice, ReportedUsage, Response, Signature, Stop, ToolCall,
};
use crate::{Format, ResponseError, ResponseMeta, json_bytes, read_error};

pub(crate) fn response_to_canonical(body: &[u8]) -> Result<Response, ResponseError> {
    let whole: Map<String, Value> =
        serde_json::from_slice(body).map_err(|_| ResponseError::Invalid)?;
    let choices = list(&whole, "choices");
    let failed = whole.get("error").is_some_and(|error| !error.is_null());
    if failed || choices.is_empty() {
        return Err(ResponseError::Upstream(read_error(body)));
    }
    let usage = whole.get("usage").cloned();
    let usage = usage.and_then(|usage| serde_json::from_value::<RawUsage>(usage).ok());
    Ok(Response {
        id: word(&whole, "id").unwrap_or_default(),
        model: word(&whole, "model").unwrap_or_default(),
        created: whole.get("created").and_then(Value::as_i64),
        choices: choices.iter().map(read_choice).collect(),
        reported: usage.and_then(|usage| usage.reported()),
    })
}

fn read_choice(choice: &Value) -> Choice {
    let empty = Map::new();
    let message = choice.get("message").and_then(Value::as_object);
    let message = message.unwrap_or(&empty);
    let mut blocks = reasoning::read(message);
    blocks.extend(text_blocks(message));
    if let Some(words) = word(message, "refusal").filter(|words| !words.is_empty()) {
        blocks.push(Block::of(BlockKind::Refusal(words)));
    }
    let calls = list(message, "tool_calls").iter().enumerate();
    blocks.extend(calls.map(|(number, call)| read_call(call, number)));
    let older = message.get("function_call").filter(|call| call.is_object());
    blocks.extend(older.map(legacy_call));
    let calls = |block: &Block| matches!(block.kind, BlockKind::ToolCall(_));
    let reason = choice.get("finish_reason").and_then(Value::as_str);
    let (calls, refuses) = (blocks.iter().any(calls), refuses(&blocks));
    Choice {
        stop: stop_of(reason.unwrap_or("stop"), calls, refuses),
        blocks,
    }
}

/// The words of a response: a text, or parts of it.
fn text_blocks(message: &Map<String, Value>) -> Vec<Block> {
    let mut blocks: Vec<Block> = match message.get("content") {
        Some(Value::String(text)) if !text.is_empty() => vec![Block::text(text.clone())],
        Some(Value::Array(parts)) => parts
            .iter()
            .filter_map(|part| part.get("text")?.as_str().map(Block::text))
            .collect(),
        Some(_) | None => Vec::new(),
    };
    let sources = list(message, "annotations").iter();
    if let Some(BlockKind::Text(text)) = blocks.last_mut().map(|block| &mut block.kind) {
        text.citations = sources
            .map(|one| (Format::OpenaiChat, one.clone()))
            .collect();
    }
    blocks
}

fn refuses(blocks: &[Block]) -> bool {
    let refuses = |block: &Block| matches!(block.kind, BlockKind::Refusal(_));
    blocks.iter().any(refuses)
}

/// Why a response ended. Some vendors say `stop` although tools are to be used; all say it of a refusal.
pub(super) fn stop_of(word: &str, calls: bool, refuses: bool) -> Stop {
    match word {
        "stop" | "tool_calls" | "function_call" if calls => Stop::ToolUse,
        "stop" if refuses => Stop::Refused,
        "stop" | "tool_calls" | "function_call" => Stop::End,
        "length" => Stop::Length,
        "content_filter" => Stop::Filtered,
        other => Stop::Other(other.to_owned()),
    }
}

/// Chat's name for it. A refusal that is reported has ended as any response does.
pub(super) const fn finish_of(stop: &Stop, refuses: bool) -> &'static str {
    match stop {
        Stop::Refused if refuses => "stop",
        Stop::End | Stop::Sequence(_) | Stop::Paused | Stop::Other(_) => "stop",
        Stop::Length | Stop::ContextFull => "length",
        Stop::ToolUse => "tool_calls",
        Stop::Filtered | Stop::Refused => "content_filter",
    }
}

pub(crate) fn response_from_canonical(answer: &Response, meta: &ResponseMeta) -> Vec<u8> {
    let choices = answer.choices.iter().enumerate();
    let choices: Vec<Value> = choices
        .map(|(index, choice)| {
            json!({
                "index": index,
                "message": message(&choice.blocks, meta.channel.as_deref()),
                "logprobs": null,
                "finish_reason": finish_of(&choice.stop, refuses(&choice.blocks)),
            })
        })
        .collect();
    let mut whole = json!({
        "id": id_of(meta),
        "object": "chat.completion",
        "created": meta.created,
        "model": meta.model,
        "choices": choices,
    });
    if let (Some(reported), Some(map)) = (&answer.reported, whole.as_object_mut()) {
        map.insert("usage".to_owned(), usage_of(reported));
    }
    json_bytes(&whole)
}

pub(super) fn id_of(meta: &ResponseMeta) -> String {
    format!("chatcmpl-{}", meta.id)
}

fn message(blocks: &[Block], channel: Option<&str>) -> Value {
    let (mut texts, mut thoughts, mut refusal) = (Vec::new(), Vec::new(), None);
    let (mut calls, mut details, mut sources) = (Vec::new(), Vec::new(), Vec::new());
    for block in blocks {
        details.extend(reasoning::detail_of(block, channel));
        match &block.kind {
            BlockKind::Text(text) => {
                texts.push(text.text.as_str());
                let cited = text.citations.iter();
                sources
                    .extend(cited.filter_map(|(format, raw)| citation::annotation(*format, raw)));
            }
            BlockKind::Thinking(thinking) => {
                thoughts.extend(thinking.texts.iter().map(String::as_str))
            }
            BlockKind::ToolCall(call) => {
                let signature = block.signature.as_ref();
                calls.push(call_of(
                    call,
                    signature
                        .map(|signature| tagged(signature, channel))
                        .as_ref(),
                ));
            }
            BlockKind::Refusal(words) => refusal = Some(words.as_str()),
            BlockKind::Redacted(_)
            | BlockKind::Media(_)
            | BlockKind::ToolResult(_)
            | BlockKind::Foreign(..) => {}
        }
    }
    let content = (!texts.is_empty()).then(|| texts.concat());
    let mut message = json!({ "role": "assistant", "content": content, "refusal": refusal });
    if let Some(map) = message.as_object_mut() {
        if !thoughts.is_empty() {
            map.insert("reasoning_content".to_owned(), json!(thoughts.join("\n\n")));
        }
        for (name, list) in [
            ("reasoning_details", details),
            ("tool_calls", calls),
            ("annotations", sources),
        ] {
            if !list.is_empty() {
                map.insert(name.to_owned(), Value::Array(list));
            }
        }
    }
    message
}

/// A signature that says through which channel it came.
pub(super) fn tagged(signature: &Signature, channel: Option<&str>) -> Signature {
    let channel = signature
        .channel
        .clone()
        .or_else(|| channel.map(str::to_owned));
    Signature {
        channel,
        ..signature.clone()
    }
}

pub(super) fn call_of(call: &ToolCall, signature: Option<&Signature>) -> Value {
    let mut written = if call.custom {
        let custom = json!({ "name": call.tool.name, "input": call.arguments });
        json!({ "id": call.id, "type": "custom", "custom": custom })
    } else {
        let function = json!({ "name": call.tool.name, "arguments": call.arguments });
        json!({ "id": call.id, "type": "function", "function": function })
    };
    if let (Some(signature), Some(map)) = (signature, written.as_object_mut()) {
        map.insert(
            "extra_content".to_owned(),
            reasoning::signed_call(signature),
        );
    }
    written
}

/// Usage as chat writes it.
pub(crate) fn usage_of(reported: &ReportedUsage) -> Value {
    let (input, output) = (reported.input(), reported.output());
    let mut prompt = json!({
        "cached_tokens": reported.of(Bucket::CacheRead),
        "audio_tokens": reported.of(Bucket::AudioInput),
    });
    if let Some(map) = prompt.as_object_mut() {
        for (name, tokens) in [
            ("cache_write_tokens", reported.cache_writes()),
            ("image_tokens", reported.of(Bucket::ImageInput)),
        ] {
            if tokens > 0 {
                map.insert(name.to_owned(), json!(tokens));
            }
        }
    }
    let mut completion = json!({
        "reasoning_tokens": reported.reasoning.unwrap_or(0),
        "audio_tokens": reported.of(Bucket::AudioOutput),
    });
    let drawn = reported.of(Bucket::ImageOutput);
    if let Some(map) = completion.as_object_mut().filter(|_| drawn > 0) {
        map.insert("image_tokens".to_owned(), json!(drawn));
    }
    json!({
        "prompt_tokens": input,
        "completion_tokens": output,
        "total_tokens": input.saturating_add(output),
        "prompt_tokens_details": prompt,
        "completion_tokens_details": completion,
    })
}
