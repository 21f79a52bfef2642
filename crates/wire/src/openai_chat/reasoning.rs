//! Thoughts in chat messages: `reasoning_content` as DeepSeek and most others have it, and beside it
//! `reasoning_details`, where signatures of upstreams travel to the caller and back.

use serde_json::{Map, Value, json};

use super::json_helpers::{list, word};
use super::response_out::tagged;
use crate::Format;
use crate::canonical::{Block, BlockKind, Redacted, Signature, Thinking};

/// Where Google's own chat path puts the signature of a tool call.
const CALL_SIGNATURE: &str = "/extra_content/google/thought_signature";

/// Thoughts of an assistant's message, or of a response.
pub(super) fn read(message: &Map<String, Value>) -> Vec<Block> {
    let details: Vec<Block> = list(message, "reasoning_details")
        .iter()
        .filter_map(detail)
        .collect();
    if !details.is_empty() {
        return details;
    }
    let text = word(message, "reasoning_content").or_else(|| word(message, "reasoning"));
    let text = text.filter(|text| !text.is_empty());
    text.map(|text| vec![thought(text)]).unwrap_or_default()
}

/// Thoughts of a chat upstream. Their signature is empty: it only says where they belong.
fn thought(text: String) -> Block {
    Block {
        signature: Some(Signature::of(Format::OpenaiChat, String::new())),
        ..Block::of(BlockKind::Thinking(Thinking {
            texts: vec![text],
            ..Thinking::default()
        }))
    }
}

fn detail(detail: &Value) -> Option<Block> {
    let text = |name: &str| detail.get(name).and_then(Value::as_str);
    let signature =
        |name: &str| text(name).map(|signature| Signature::read(signature, Format::OpenaiChat));
    let item = text("id").map(str::to_owned);
    match text("type")? {
        "reasoning.encrypted" => Some(Block {
            signature: Some(signature("data")?),
            ..Block::of(BlockKind::Redacted(Redacted { item }))
        }),
        kind @ ("reasoning.text" | "reasoning.summary") => {
            let summary = kind == "reasoning.summary";
            let words = text("text").or_else(|| text("summary")).unwrap_or_default();
            let signature = signature("signature");
            Some(Block {
                signature: signature
                    .or_else(|| Some(Signature::of(Format::OpenaiChat, String::new()))),
                ..Block::of(BlockKind::Thinking(Thinking {
                    item,
                    texts: vec![words.to_owned()],
                    summary,
                }))
            })
        }
        _ => None,
    }
}

/// The signature of a tool call.
pub(super) fn call_signature(call: &Value) -> Option<Signature> {
    let signature = call.pointer(CALL_SIGNATURE)?.as_str()?;
    Some(Signature::read(signature, Format::Gemini))
}

/// The member of a tool call that carries its signature.
pub(super) fn signed_call(signature: &Signature) -> Value {
    json!({ "google": { "thought_signature": signature.tagged() } })
}

/// A block of thoughts as a member of `reasoning_details`; none where `reasoning_content` says it all.
pub(super) fn detail_of(block: &Block, channel: Option<&str>) -> Option<Value> {
    let signature = block.signature.as_ref();
    let tagged = |signature: &Signature| tagged(signature, channel).tagged();
    match &block.kind {
        BlockKind::Redacted(redacted) => Some(json!({
            "type": "reasoning.encrypted",
            "id": redacted.item,
            "data": tagged(signature?),
        })),
        BlockKind::Thinking(thinking) => {
            let signature = signature.filter(|signature| !signature.data.is_empty())?;
            let (kind, field) = if thinking.summary {
                ("reasoning.summary", "summary")
            } else {
                ("reasoning.text", "text")
            };
            Some(json!({
                "type": kind,
                "id": thinking.item,
                field: thinking.texts.join("\n\n"),
                "signature": tagged(signature),
            }))
        }
        BlockKind::Text(_)
        | BlockKind::Media(_)
        | BlockKind::ToolCall(_)
        | BlockKind::ToolResult(_)
        | BlockKind::Refusal(_)
        | BlockKind::Foreign(..) => None,
    }
}
