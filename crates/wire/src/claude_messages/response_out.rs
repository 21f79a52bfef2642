//! Whole responses, from the canonical form and into it.

use serde_json::{Map, Value, json};

use super::OWN;
use super::blocks_in::{Place, Reading};
use super::blocks_out::{BETWEEN_PARTS, object};
use super::usage::{RawUsage, written};
use crate::canonical::{
    Block, BlockKind, Choice, ReportedUsage, Response, Signature, Stop, object_of_arguments,
};
use crate::json_value::get_str;
use crate::upstream_error::read_error;
use crate::{ResponseError, ResponseMeta, json_bytes};

/// How the ids of answers begin.
const ID_BEGINS: &str = "msg_";
/// Words for an end that only this format has and that it may be told again.
const OTHER_ENDS: &[&str] = &["compaction"];

pub(crate) fn response_to_canonical(body: &[u8]) -> Result<Response, ResponseError> {
    let value: Value = serde_json::from_slice(body).map_err(|_| ResponseError::Invalid)?;
    let Value::Object(mut message) = value else {
        return Err(ResponseError::Invalid);
    };
    let is_error = message.get("error").is_some_and(|error| !error.is_null());
    let Some(content @ Value::Array(_)) = message.remove("content").filter(|_| !is_error) else {
        return Err(ResponseError::Upstream(read_error(body)));
    };
    let mut reading = Reading::of_upstream();
    let blocks = reading.content(content, &Place::of("content", &[]));
    let blocks = blocks.map_err(|_| ResponseError::Invalid)?;
    let usage = message.remove("usage").unwrap_or_default();
    let usage: Option<RawUsage> = serde_json::from_value(usage).ok();
    let text = |key: &str| get_str(&message, key).unwrap_or_default().to_owned();
    Ok(Response {
        id: text("id"),
        model: text("model"),
        created: None,
        choices: vec![Choice {
            blocks,
            stop: stop_in(
                get_str(&message, "stop_reason"),
                get_str(&message, "stop_sequence"),
            ),
        }],
        reported: usage.and_then(|usage| usage.whole()),
    })
}

pub(crate) fn response_from_canonical(answer: &Response, meta: &ResponseMeta) -> Vec<u8> {
    let choice = answer.choices.first();
    let blocks = choice.map(|choice| choice.blocks.as_slice());
    let mut content = Vec::new();
    for block in blocks.unwrap_or_default() {
        block_out(block, meta, &mut content);
    }
    let stop = choice.map_or(&Stop::End, |choice| &choice.stop);
    let (reason, sequence) = stop_out(stop);
    let nothing = ReportedUsage::default();
    let reported = answer.reported.as_ref().unwrap_or(&nothing);
    let message = json!({
        "id": id_out(&meta.id),
        "type": "message",
        "role": "assistant",
        "model": meta.model,
        "content": content,
        "stop_reason": reason,
        "stop_sequence": sequence,
        "usage": written(reported),
    });
    json_bytes(&message)
}

/// An id with this format's beginning.
pub(super) fn id_out(id: &str) -> String {
    if id.starts_with(ID_BEGINS) {
        return id.to_owned();
    }
    format!("{ID_BEGINS}{id}")
}

pub(super) fn stop_in(reason: Option<&str>, sequence: Option<&str>) -> Stop {
    match reason {
        Some("end_turn") | None => Stop::End,
        Some("max_tokens") => Stop::Length,
        Some("tool_use") => Stop::ToolUse,
        Some("stop_sequence") => Stop::Sequence(sequence.map(ToOwned::to_owned)),
        Some("refusal") => Stop::Refused,
        Some("pause_turn") => Stop::Paused,
        Some("model_context_window_exceeded") => Stop::ContextFull,
        Some(other) => Stop::Other(other.to_owned()),
    }
}

/// The same in this format's words, and the text that ended it.
pub(super) fn stop_out(stop: &Stop) -> (&str, Option<&str>) {
    match stop {
        Stop::End => ("end_turn", None),
        Stop::Length => ("max_tokens", None),
        Stop::ToolUse => ("tool_use", None),
        Stop::Sequence(text) => ("stop_sequence", text.as_deref()),
        Stop::Filtered | Stop::Refused => ("refusal", None),
        Stop::Paused => ("pause_turn", None),
        Stop::ContextFull => ("model_context_window_exceeded", None),
        Stop::Other(word) if OTHER_ENDS.contains(&word.as_str()) => (word, None),
        Stop::Other(_) => ("end_turn", None),
    }
}

/// Thoughts that stand for a signature on something else: this format has no other place for one.
pub(super) fn signature_block(signature: &Signature, channel: Option<&str>) -> Value {
    json!({ "type": "redacted_thinking", "data": signature.for_caller(OWN, channel) })
}

/// A call of a tool.
pub(super) fn call_out(id: &str, name: &str, input: Map<String, Value>) -> Value {
    json!({ "type": "tool_use", "id": id, "name": name, "input": input })
}

fn block_out(block: &Block, meta: &ResponseMeta, content: &mut Vec<Value>) {
    let channel = meta.channel.as_deref();
    let signature = block.signature.as_ref();
    match &block.kind {
        BlockKind::Text(text) => {
            let mut map = object(json!({ "type": "text", "text": text.text }));
            let own = text.citations.iter().filter(|(format, _)| *format == OWN);
            let own: Vec<Value> = own.map(|(_, raw)| raw.clone()).collect();
            if !own.is_empty() {
                map.insert("citations".to_owned(), Value::Array(own));
            }
            if !text.text.is_empty() || map.len() > 2 {
                content.push(Value::Object(map));
            }
            // No upstream wants signatures of text back, and agents take the last block for the result.
            return;
        }
        BlockKind::Refusal(text) if text.is_empty() => return,
        BlockKind::Refusal(text) => {
            content.push(json!({ "type": "text", "text": text }));
            return;
        }
        BlockKind::ToolCall(call) => {
            let (input, _) = object_of_arguments(call);
            content.push(call_out(&call.id, &call.tool.name, input));
        }
        // A model that thought and shows nothing of it.
        BlockKind::Thinking(thinking) if thinking.texts.is_empty() && signature.is_none() => return,
        BlockKind::Thinking(thinking) => {
            let signature = signature
                .map(|signature| signature.for_caller(OWN, channel))
                .unwrap_or_default();
            content.push(json!({
                "type": "thinking",
                "thinking": thinking.texts.join(BETWEEN_PARTS),
                "signature": signature,
            }));
            return;
        }
        BlockKind::Redacted(_) => {
            content.extend(signature.map(|signature| signature_block(signature, channel)));
            return;
        }
        BlockKind::Foreign(OWN, raw) => content.push(raw.clone()),
        // The format has no field for these in a response.
        BlockKind::Foreign(..) | BlockKind::Media(_) | BlockKind::ToolResult(_) => {}
    }
    content.extend(signature.map(|signature| signature_block(signature, channel)));
}
