//! Whole chat answers, into canon and out of it.

use serde_json::{Map, Value, json};
use trunkline_types::Bucket;

use super::citation;
use super::error::read_error;
use super::reasoning;
use super::request_in::{legacy_call, read_call};
use super::response::RawUsage;
use super::shapes::{list, word};
use crate::canon::{Answer, Block, Choice, Counted, Signature, Stop, ToolCall, What};
use crate::{AnswerError, Format, Shown, json_bytes};

/// Reads a whole answer.
pub(crate) fn answer_to_canon(body: &[u8]) -> Result<Answer, AnswerError> {
    let whole: Map<String, Value> =
        serde_json::from_slice(body).map_err(|_| AnswerError::Garbage)?;
    let choices = list(&whole, "choices");
    let failed = whole.get("error").is_some_and(|error| !error.is_null());
    if failed || choices.is_empty() {
        return Err(AnswerError::Failed(read_error(body)));
    }
    let usage = whole.get("usage").cloned();
    let usage = usage.and_then(|usage| serde_json::from_value::<RawUsage>(usage).ok());
    Ok(Answer {
        id: word(&whole, "id").unwrap_or_default(),
        model: word(&whole, "model").unwrap_or_default(),
        created: whole.get("created").and_then(Value::as_i64),
        choices: choices.iter().map(read_choice).collect(),
        counted: usage.and_then(|usage| usage.counted()),
    })
}

fn read_choice(choice: &Value) -> Choice {
    let empty = Map::new();
    let message = choice.get("message").and_then(Value::as_object);
    let message = message.unwrap_or(&empty);
    let mut blocks = reasoning::read(message);
    blocks.extend(said(message));
    if let Some(words) = word(message, "refusal").filter(|words| !words.is_empty()) {
        blocks.push(Block::of(What::Refusal(words)));
    }
    let calls = list(message, "tool_calls").iter().enumerate();
    blocks.extend(calls.map(|(number, call)| read_call(call, number)));
    let older = message.get("function_call").filter(|call| call.is_object());
    blocks.extend(older.map(legacy_call));
    let calls = |block: &Block| matches!(block.what, What::ToolCall(_));
    let reason = choice.get("finish_reason").and_then(Value::as_str);
    let (calls, refuses) = (blocks.iter().any(calls), refuses(&blocks));
    Choice {
        stop: stop_of(reason.unwrap_or("stop"), calls, refuses),
        blocks,
    }
}

/// The words of an answer: a text, or parts of it.
fn said(message: &Map<String, Value>) -> Vec<Block> {
    let mut blocks: Vec<Block> = match message.get("content") {
        Some(Value::String(text)) if !text.is_empty() => vec![Block::text(text.clone())],
        Some(Value::Array(parts)) => parts
            .iter()
            .filter_map(|part| part.get("text")?.as_str().map(Block::text))
            .collect(),
        Some(_) | None => Vec::new(),
    };
    let sources = list(message, "annotations").iter();
    if let Some(What::Text(text)) = blocks.last_mut().map(|block| &mut block.what) {
        text.citations = sources
            .map(|one| (Format::OpenaiChat, one.clone()))
            .collect();
    }
    blocks
}

fn refuses(blocks: &[Block]) -> bool {
    let refuses = |block: &Block| matches!(block.what, What::Refusal(_));
    blocks.iter().any(refuses)
}

/// Why an answer ended. Some vendors say `stop` although tools are to be used; all say it of a refusal.
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

/// Chat's word for it. A refusal that is told has ended as any answer does.
pub(super) const fn finish_of(stop: &Stop, refuses: bool) -> &'static str {
    match stop {
        Stop::Refused if refuses => "stop",
        Stop::End | Stop::Sequence(_) | Stop::Paused | Stop::Other(_) => "stop",
        Stop::Length | Stop::ContextFull => "length",
        Stop::ToolUse => "tool_calls",
        Stop::Filtered | Stop::Refused => "content_filter",
    }
}

/// Writes a whole answer.
pub(crate) fn answer_from_canon(answer: &Answer, shown: &Shown) -> Vec<u8> {
    let choices = answer.choices.iter().enumerate();
    let choices: Vec<Value> = choices
        .map(|(index, choice)| {
            json!({
                "index": index,
                "message": message(&choice.blocks, shown.channel.as_deref()),
                "logprobs": null,
                "finish_reason": finish_of(&choice.stop, refuses(&choice.blocks)),
            })
        })
        .collect();
    let mut whole = json!({
        "id": id_of(shown),
        "object": "chat.completion",
        "created": shown.created,
        "model": shown.model,
        "choices": choices,
    });
    if let (Some(counted), Some(map)) = (&answer.counted, whole.as_object_mut()) {
        map.insert("usage".to_owned(), usage_of(counted));
    }
    json_bytes(&whole)
}

pub(super) fn id_of(shown: &Shown) -> String {
    format!("chatcmpl-{}", shown.id)
}

fn message(blocks: &[Block], channel: Option<&str>) -> Value {
    let (mut texts, mut thoughts, mut refusal) = (Vec::new(), Vec::new(), None);
    let (mut calls, mut details, mut sources) = (Vec::new(), Vec::new(), Vec::new());
    for block in blocks {
        details.extend(reasoning::shown(block, channel));
        match &block.what {
            What::Text(text) => {
                texts.push(text.text.as_str());
                let cited = text.citations.iter();
                sources.extend(cited.filter_map(|(format, raw)| citation::shown(*format, raw)));
            }
            What::Thinking(thinking) => thoughts.extend(thinking.texts.iter().map(String::as_str)),
            What::ToolCall(call) => {
                let seal = block.signature.as_ref();
                calls.push(call_of(
                    call,
                    seal.map(|seal| marked(seal, channel)).as_ref(),
                ));
            }
            What::Refusal(words) => refusal = Some(words.as_str()),
            What::Redacted(_) | What::Media(_) | What::ToolResult(_) | What::Foreign(..) => {}
        }
    }
    let said = (!texts.is_empty()).then(|| texts.concat());
    let mut message = json!({ "role": "assistant", "content": said, "refusal": refusal });
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

/// A seal that says through which channel it came.
pub(super) fn marked(seal: &Signature, channel: Option<&str>) -> Signature {
    let channel = seal.channel.clone().or_else(|| channel.map(str::to_owned));
    Signature {
        channel,
        ..seal.clone()
    }
}

/// A tool call, whole.
pub(super) fn call_of(call: &ToolCall, seal: Option<&Signature>) -> Value {
    let mut written = if call.custom {
        let custom = json!({ "name": call.tool.name, "input": call.arguments });
        json!({ "id": call.id, "type": "custom", "custom": custom })
    } else {
        let function = json!({ "name": call.tool.name, "arguments": call.arguments });
        json!({ "id": call.id, "type": "function", "function": function })
    };
    if let (Some(seal), Some(map)) = (seal, written.as_object_mut()) {
        map.insert("extra_content".to_owned(), reasoning::sealed_call(seal));
    }
    written
}

/// Usage as chat writes it.
pub(super) fn usage_of(counted: &Counted) -> Value {
    let (input, output) = (counted.input(), counted.output());
    let mut prompt = json!({
        "cached_tokens": counted.of(Bucket::CacheRead),
        "audio_tokens": counted.of(Bucket::AudioInput),
    });
    if let Some(map) = prompt.as_object_mut() {
        for (name, tokens) in [
            ("cache_write_tokens", counted.cache_writes()),
            ("image_tokens", counted.of(Bucket::ImageInput)),
        ] {
            if tokens > 0 {
                map.insert(name.to_owned(), json!(tokens));
            }
        }
    }
    let mut completion = json!({
        "reasoning_tokens": counted.reasoning.unwrap_or(0),
        "audio_tokens": counted.of(Bucket::AudioOutput),
    });
    let drawn = counted.of(Bucket::ImageOutput);
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
