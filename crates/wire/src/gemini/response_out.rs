//! A response in no format, written as a GenerateContentResponse.

use serde_json::{Map, Value, json};

use super::chunk::finish_word;
use super::usage::usage_json;
use super::{FORMAT, part_writer, shown_signature};
use crate::ResponseMeta;
use crate::canonical::{Block, BlockKind, Choice, Response};

pub(crate) fn response_from_canonical(answer: &Response, meta: &ResponseMeta) -> Vec<u8> {
    let mut body = Map::new();
    let choices = answer.choices.iter().enumerate();
    let candidates = choices.map(|(index, choice)| candidate(index, choice, meta));
    body.insert("candidates".to_owned(), candidates.collect());
    if let Some(reported) = &answer.reported {
        body.insert("usageMetadata".to_owned(), usage_json(reported));
    }
    body.insert("modelVersion".to_owned(), meta.model.clone().into());
    body.insert("responseId".to_owned(), meta.id.clone().into());
    serde_json::to_vec(&body).unwrap_or_default()
}

fn candidate(index: usize, choice: &Choice, meta: &ResponseMeta) -> Value {
    let parts = choice.blocks.iter().filter_map(|block| part(block, meta));
    let parts: Vec<Value> = parts.collect();
    let mut written = Map::new();
    let content = json!({ "role": "model", "parts": parts });
    written.insert("content".to_owned(), content);
    let word = finish_word(&choice.stop);
    written.insert("finishReason".to_owned(), word.into());
    written.insert("index".to_owned(), index.into());
    let cited = choice.blocks.iter().flat_map(|block| match &block.kind {
        BlockKind::Text(words) => words.citations.as_slice(),
        BlockKind::Media(_)
        | BlockKind::ToolCall(_)
        | BlockKind::ToolResult(_)
        | BlockKind::Thinking(_)
        | BlockKind::Redacted(_)
        | BlockKind::Refusal(_)
        | BlockKind::Foreign(..) => &[],
    });
    let cited = cited.filter_map(|(format, raw)| part_writer::citation(*format, raw));
    add_citations(&mut written, cited);
    Value::Object(written)
}

/// Puts sources where Google has them: those of a search apart.
pub(super) fn add_citations(
    candidate: &mut Map<String, Value>,
    cited: impl Iterator<Item = Value>,
) {
    let mut list: Vec<Value> = Vec::new();
    for raw in cited {
        match raw.get("groundingMetadata") {
            Some(grounds) => {
                candidate.insert("groundingMetadata".to_owned(), grounds.clone());
            }
            None => list.push(raw),
        }
    }
    if !list.is_empty() {
        let metadata = json!({ "citations": list });
        candidate.insert("citationMetadata".to_owned(), metadata);
    }
}

/// A block of a response; none if the format has no field for it.
fn part(block: &Block, meta: &ResponseMeta) -> Option<Value> {
    let signature = block.signature.as_ref();
    let signature = signature.map(|signature| shown_signature(signature, meta.channel.as_deref()));
    let part = match &block.kind {
        BlockKind::Text(words) => part_writer::text(&words.text),
        BlockKind::Refusal(words) => part_writer::text(words),
        BlockKind::Thinking(thinking) => part_writer::thought(&thinking.texts.join("\n\n")),
        BlockKind::Redacted(_) => part_writer::thought(""),
        BlockKind::ToolCall(call) => part_writer::call(call, &call.tool.name).0,
        BlockKind::Media(media) => part_writer::media(media, FORMAT),
        BlockKind::Foreign(FORMAT, raw) => return Some(raw.clone()),
        BlockKind::Foreign(..) | BlockKind::ToolResult(_) => return None,
    };
    Some(part_writer::signed(part, signature))
}
