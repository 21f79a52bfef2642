//! An answer in no format, written as a GenerateContentResponse.

use serde_json::{Map, Value, json};

use super::chunk::finish_word;
use super::usage::usage_json;
use super::{FORMAT, pieces, shown_seal};
use crate::Shown;
use crate::canon::{Answer, Block, Choice, What};

/// Writes a whole answer.
pub(crate) fn answer_from_canon(answer: &Answer, shown: &Shown) -> Vec<u8> {
    let mut body = Map::new();
    let choices = answer.choices.iter().enumerate();
    let candidates = choices.map(|(index, choice)| candidate(index, choice, shown));
    body.insert("candidates".to_owned(), candidates.collect());
    if let Some(counted) = &answer.counted {
        body.insert("usageMetadata".to_owned(), usage_json(counted));
    }
    body.insert("modelVersion".to_owned(), shown.model.clone().into());
    body.insert("responseId".to_owned(), shown.id.clone().into());
    serde_json::to_vec(&body).unwrap_or_default()
}

fn candidate(index: usize, choice: &Choice, shown: &Shown) -> Value {
    let parts = choice.blocks.iter().filter_map(|block| part(block, shown));
    let parts: Vec<Value> = parts.collect();
    let mut written = Map::new();
    let content = json!({ "role": "model", "parts": parts });
    written.insert("content".to_owned(), content);
    let word = finish_word(&choice.stop);
    written.insert("finishReason".to_owned(), word.into());
    written.insert("index".to_owned(), index.into());
    let cited = choice.blocks.iter().flat_map(|block| match &block.what {
        What::Text(words) => words.citations.as_slice(),
        What::Media(_)
        | What::ToolCall(_)
        | What::ToolResult(_)
        | What::Thinking(_)
        | What::Redacted(_)
        | What::Refusal(_)
        | What::Foreign(..) => &[],
    });
    let cited = cited.filter_map(|(format, raw)| pieces::citation(*format, raw));
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

/// A block of an answer; none if the format has no word for it.
fn part(block: &Block, shown: &Shown) -> Option<Value> {
    let seal = block.signature.as_ref();
    let seal = seal.map(|seal| shown_seal(seal, shown.channel.as_deref()));
    let part = match &block.what {
        What::Text(words) => pieces::text(&words.text),
        What::Refusal(words) => pieces::text(words),
        What::Thinking(thinking) => pieces::thought(&thinking.texts.join("\n\n")),
        What::Redacted(_) => pieces::thought(""),
        What::ToolCall(call) => pieces::call(call, &call.tool.name).0,
        What::Media(media) => pieces::media(media, FORMAT),
        What::Foreign(FORMAT, raw) => return Some(raw.clone()),
        What::Foreign(..) | What::ToolResult(_) => return None,
    };
    Some(pieces::sealed(part, seal))
}
