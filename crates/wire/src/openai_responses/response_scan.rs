//! A whole response, read: its usage, why it ended, and what it says.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::FORMAT;
use super::error::read_failure;
use super::items_in::{read_call, read_reasoning};
use super::parts_in::read_part;
use super::usage::RawUsage;
use crate::canonical::{Block, BlockKind, Choice, Response, Stop, Thinking};
use crate::token_estimate::tokens_of_bytes;
use crate::{ResponseError, ResponseSummary};

/// A response as far as its end is reported by it.
#[derive(Debug, Deserialize)]
pub(super) struct Ended<'a> {
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    status: Option<String>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) output: Option<Vec<&'a RawValue>>,
    #[serde(default)]
    pub(super) usage: Option<RawUsage>,
    #[serde(default)]
    incomplete_details: Option<Details>,
}

#[derive(Debug, Deserialize)]
struct Details {
    #[serde(default)]
    reason: Option<String>,
}

impl<'a> Ended<'a> {
    /// Reads a response that is no failure.
    pub(super) fn read(body: &'a [u8]) -> Result<Self, ResponseError> {
        let ended: Self = serde_json::from_slice(body).map_err(|_| ResponseError::Invalid)?;
        let failed = matches!(ended.status.as_deref(), Some("failed" | "cancelled"));
        match ended.error.filter(|error| error.get() != "null") {
            Some(error) => Err(ResponseError::Upstream(read_failure(
                error.get().as_bytes(),
            ))),
            None if failed => Err(ResponseError::Upstream(read_failure(body))),
            None => Ok(ended),
        }
    }

    /// Why it ended. The format says only that it is complete; what stands in it says more.
    pub(super) fn stop(&self, calls: bool, refuses: bool) -> Stop {
        let reason = self.incomplete_details.as_ref();
        let reason = reason.and_then(|details| details.reason.as_deref());
        match (self.status.as_deref(), reason) {
            (_, Some("max_output_tokens")) => Stop::Length,
            (_, Some("content_filter")) => Stop::Filtered,
            (Some("incomplete"), Some(other)) => Stop::Other(other.to_owned()),
            (Some("incomplete"), None) => Stop::Length,
            (Some(_) | None, _) if calls => Stop::ToolUse,
            (Some(_) | None, _) if refuses => Stop::Refused,
            (Some(_) | None, _) => Stop::End,
        }
    }
}

/// Looks at a whole response for what it used.
pub(crate) fn scan_response(body: &[u8]) -> Result<ResponseSummary, ResponseError> {
    let ended = Ended::read(body)?;
    let Some(output) = &ended.output else {
        return Err(ResponseError::Upstream(read_failure(body)));
    };
    let bytes: usize = output.iter().map(|item| item.get().len()).sum();
    Ok(ResponseSummary {
        reported: ended.usage.and_then(|usage| usage.reported()),
        written: tokens_of_bytes(bytes),
        id: ended.id.unwrap_or_default(),
        usage_at: None,
    })
}

pub(crate) fn response_to_canonical(body: &[u8]) -> Result<Response, ResponseError> {
    let ended = Ended::read(body)?;
    let Some(output) = &ended.output else {
        return Err(ResponseError::Upstream(read_failure(body)));
    };
    let head: Map<String, Value> =
        serde_json::from_slice(body).map_err(|_| ResponseError::Invalid)?;
    let text = |key: &str| {
        head.get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let mut blocks = Vec::new();
    for item in output {
        let item = serde_json::from_str(item.get()).map_err(|_| ResponseError::Invalid)?;
        read_item(item, &mut blocks);
    }
    let calls = blocks
        .iter()
        .any(|block| matches!(block.kind, BlockKind::ToolCall(_)));
    let refuses = blocks
        .iter()
        .any(|block| matches!(block.kind, BlockKind::Refusal(_)));
    Ok(Response {
        id: text("id"),
        model: text("model"),
        created: head.get("created_at").and_then(seconds),
        choices: vec![Choice {
            stop: ended.stop(calls, refuses),
            blocks,
        }],
        reported: ended.usage.and_then(|usage| usage.reported()),
    })
}

/// Seconds since 1970; some upstreams write parts of them too.
pub(super) fn seconds(value: &Value) -> Option<i64> {
    let whole = || {
        let text = value.as_number()?.to_string();
        text.split('.').next()?.parse().ok()
    };
    value.as_i64().or_else(whole)
}

/// The blocks of one item of a response.
fn read_item(item: Value, blocks: &mut Vec<Block>) {
    let Value::Object(mut map) = item else {
        return;
    };
    let kind = map
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    match kind.as_str() {
        "message" => {
            let parts = map.remove("content");
            let parts = parts.and_then(|parts| match parts {
                Value::Array(parts) => Some(parts),
                Value::Null
                | Value::Bool(_)
                | Value::Number(_)
                | Value::String(_)
                | Value::Object(_) => None,
            });
            let parts = parts.unwrap_or_default().into_iter();
            blocks.extend(parts.map(|part| read_part(part).0));
        }
        "function_call" | "custom_tool_call" => {
            match read_call(&mut map, kind != "function_call") {
                Some(call) => blocks.push(Block::of(BlockKind::ToolCall(call))),
                None => blocks.push(foreign(map)),
            }
        }
        "reasoning" => match read_reasoning(&mut map) {
            Some(thoughts) => blocks.extend(thoughts.into_iter().filter(says_something)),
            None => blocks.push(foreign(map)),
        },
        _ => blocks.push(foreign(map)),
    }
}

/// Reasoning without text and without a signature is of no use to the caller.
fn says_something(block: &Block) -> bool {
    let silent = |thinking: &Thinking| thinking.texts.is_empty() && block.signature.is_none();
    !matches!(&block.kind, BlockKind::Thinking(thinking) if silent(thinking))
}

fn foreign(map: Map<String, Value>) -> Block {
    Block::of(BlockKind::Foreign(FORMAT, Value::Object(map)))
}
