//! Blocks of this format, read into the canonical form. What that has no field for is kept as it is: a block of a
//! kind that only this format has is foreign, and a key that only this format has is kept with its place, so that
//! it is written back there.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::OWN;
use super::media::media_in;
use crate::canonical::{
    Block, BlockKind, CacheLife, MAX_SIGNATURE_BYTES, MediaKind, Redacted, Signature, Text,
    Thinking, ToolCall, ToolName, ToolResult, UnknownField,
};
use crate::json_value::{get_str, take_string};
use crate::{Format, RequestError};

/// The author of the blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Author {
    /// A caller, whose signatures may be those of any upstream.
    Caller,
    /// An upstream of this format, whose signatures are its own.
    Upstream,
}

/// Reads blocks, and remembers what they leave over.
pub(super) struct Reading {
    author: Author,
    /// Keys that the canonical form has no place for.
    pub(super) extras: Vec<UnknownField>,
    /// Tools that were called, by the ids of the calls.
    called: BTreeMap<String, ToolName>,
}

/// Where something stands: its field, and its numbers in the lists on the way.
#[derive(Debug, Clone)]
pub(super) struct Place {
    field: String,
    at: Vec<usize>,
    /// The number of the first block; others stand before it.
    first: usize,
}

impl Place {
    pub(super) fn of(field: &str, at: &[usize]) -> Self {
        Self {
            field: field.to_owned(),
            at: at.to_vec(),
            first: 0,
        }
    }

    /// The same behind blocks that were read already.
    pub(super) fn behind(self, first: usize) -> Self {
        Self { first, ..self }
    }

    fn inside(&self, field: &str) -> Self {
        Self {
            field: format!("{}.{field}", self.field),
            at: self.at.clone(),
            first: 0,
        }
    }

    fn numbered(&self, number: usize) -> Self {
        let mut at = self.at.clone();
        at.push(self.first.saturating_add(number));
        Self {
            field: self.field.clone(),
            at,
            first: 0,
        }
    }

    fn path(&self) -> String {
        self.field.clone()
    }
}

impl Reading {
    pub(super) const fn of_caller() -> Self {
        Self::of(Author::Caller)
    }

    pub(super) const fn of_upstream() -> Self {
        Self::of(Author::Upstream)
    }

    const fn of(author: Author) -> Self {
        Self {
            author,
            extras: Vec::new(),
            called: BTreeMap::new(),
        }
    }

    /// A text or a list of blocks.
    pub(super) fn content(
        &mut self,
        content: Value,
        place: &Place,
    ) -> Result<Vec<Block>, RequestError> {
        let list = match content {
            Value::Null => return Ok(Vec::new()),
            Value::String(text) => return Ok(vec![Block::text(text)]),
            Value::Array(list) => list,
            Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
                let field = place.path();
                let what = format!("`{field}` must be a text or a list of blocks");
                return Err(RequestError::invalid(&field, what));
            }
        };
        let mut blocks: Vec<Block> = Vec::with_capacity(list.len());
        for raw in list {
            let block = self.block(raw, &place.numbered(blocks.len()))?;
            if let Some(signature) = signature_of_last(&block)
                && let Some(last) = blocks.last_mut().filter(|last| may_bear(last))
            {
                last.signature = Some(signature);
            } else {
                blocks.push(block);
            }
        }
        Ok(blocks)
    }

    pub(super) fn block(&mut self, raw: Value, place: &Place) -> Result<Block, RequestError> {
        let Value::Object(mut map) = raw else {
            let field = place.path();
            let what = format!("every block of `{field}` must be an object");
            return Err(RequestError::invalid(&field, what));
        };
        let kind = get_str(&map, "type").unwrap_or_default().to_owned();
        let read = match kind.as_str() {
            "text" => text(&mut map),
            "image" => media_in(&mut map, MediaKind::Image),
            "document" => media_in(&mut map, MediaKind::File),
            "tool_use" => self.tool_call(&mut map, place),
            "tool_result" => self.tool_result(&mut map, place)?,
            "thinking" => thinking(&mut map),
            "redacted_thinking" => self.redacted(&mut map),
            _ => None,
        };
        let Some(what) = read else {
            return Ok(Block::of(BlockKind::Foreign(OWN, Value::Object(map))));
        };
        let signature = match (&what, map.remove("signature")) {
            (BlockKind::Thinking(_), Some(Value::String(signature))) => self.signature(&signature),
            (BlockKind::Redacted(_), Some(Value::String(signature))) => self.signature(&signature),
            (_, Some(other)) => {
                map.insert("signature".to_owned(), other);
                None
            }
            (_, None) => None,
        };
        let cache = take_cache(&mut map);
        map.remove("type");
        let mut block = Block {
            kind: what,
            cache,
            signature,
        };
        self.leave_over(map, &mut block, place);
        Ok(block)
    }

    fn tool_call(&mut self, map: &mut Map<String, Value>, place: &Place) -> Option<BlockKind> {
        let tool = ToolName::plain(take_string(map, "name")?);
        let id = take_string(map, "id").filter(|id| !id.is_empty());
        // Some compatible vendors leave it out.
        let number = place.at.last().copied().unwrap_or(0);
        let id = id.unwrap_or_else(|| format!("toolu_{number}"));
        let input = map.remove("input").unwrap_or_else(|| json!({}));
        self.called.insert(id.clone(), tool.clone());
        Some(BlockKind::ToolCall(ToolCall {
            id,
            tool,
            custom: false,
            arguments: input.to_string(),
            item: None,
        }))
    }

    fn tool_result(
        &mut self,
        map: &mut Map<String, Value>,
        place: &Place,
    ) -> Result<Option<BlockKind>, RequestError> {
        let Some(call) = take_string(map, "tool_use_id") else {
            return Ok(None);
        };
        let content = map.remove("content").unwrap_or(Value::Null);
        let content = self.content(content, &place.inside("content"))?;
        let failed = map.remove("is_error") == Some(Value::Bool(true));
        Ok(Some(BlockKind::ToolResult(ToolResult {
            tool: self.called.get(&call).cloned(),
            call,
            custom: false,
            content,
            failed,
        })))
    }

    fn redacted(&self, map: &mut Map<String, Value>) -> Option<BlockKind> {
        self.signature(get_str(map, "data")?)?;
        // From here on it is found where every signature is.
        let data = map.remove("data")?;
        map.insert("signature".to_owned(), data);
        Some(BlockKind::Redacted(Redacted { item: None }))
    }

    /// A signature; an empty one is none.
    pub(super) fn signature(&self, text: &str) -> Option<Signature> {
        if text.is_empty() || text.len() > MAX_SIGNATURE_BYTES {
            return None;
        }
        Some(match self.author {
            Author::Caller => Signature::read(text, OWN),
            Author::Upstream => Signature::of(OWN, text.to_owned()),
        })
    }

    /// Keeps the keys that were not read. Media have a field of their own for them.
    fn leave_over(&mut self, map: Map<String, Value>, block: &mut Block, place: &Place) {
        let rest = map.into_iter().filter(|(_, value)| !value.is_null());
        if let BlockKind::Media(media) = &mut block.kind {
            media.extras.extend(rest);
            return;
        }
        if self.author == Author::Caller {
            self.extras
                .extend(rest.map(|(key, value)| placed(place, &key, value)));
        }
    }
}

/// A key with no place in the canonical form, and where it stood.
pub(super) fn placed(place: &Place, key: &str, value: Value) -> UnknownField {
    UnknownField {
        field: format!("{}.{key}", place.field),
        value: json!({ "at": place.at, "is": value }),
        matters: false,
    }
}

/// A signature that Gemini put on something that is no thought comes back as thoughts behind it, since this
/// format has no other place for one.
fn signature_of_last(block: &Block) -> Option<Signature> {
    let signature = block.signature.as_ref()?;
    let is_redacted = matches!(block.kind, BlockKind::Redacted(_));
    (is_redacted && signature.format == Format::Gemini).then(|| signature.clone())
}

fn may_bear(block: &Block) -> bool {
    let is_thought = matches!(block.kind, BlockKind::Thinking(_) | BlockKind::Redacted(_));
    block.signature.is_none() && !is_thought
}

fn text(map: &mut Map<String, Value>) -> Option<BlockKind> {
    let text = take_string(map, "text")?;
    let citations = match map.remove("citations") {
        Some(Value::Array(list)) => list.into_iter().map(|raw| (OWN, raw)).collect(),
        Some(other) => {
            map.insert("citations".to_owned(), other);
            Vec::new()
        }
        None => Vec::new(),
    };
    Some(BlockKind::Text(Text { text, citations }))
}

fn thinking(map: &mut Map<String, Value>) -> Option<BlockKind> {
    let text = take_string(map, "thinking")?;
    let texts = if text.is_empty() {
        Vec::new()
    } else {
        vec![text]
    };
    Some(BlockKind::Thinking(Thinking {
        item: None,
        texts,
        summary: false,
    }))
}

/// The mark that the prompt is to be cached up to here. One that says more stays where it is as well.
pub(super) fn take_cache(map: &mut Map<String, Value>) -> Option<CacheLife> {
    let mark = map.get("cache_control")?.as_object()?;
    let is_plain = mark.keys().all(|key| key == "type" || key == "ttl");
    let life = CacheLife::of_control(mark);
    if is_plain {
        map.remove("cache_control");
    }
    Some(life)
}
