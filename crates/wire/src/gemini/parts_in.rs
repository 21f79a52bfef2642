//! One part of Google's, read as a block. What a part says besides is kept behind it, so that it can be
//! written back where it stood.

use serde_json::{Map, Value};

use super::FORMAT;
use super::key_case::{snake, take};
use crate::canonical::{
    Block, BlockKind, Media, MediaKind, Redacted, Signature, Source, Text, Thinking, ToolCall,
    ToolName,
};

/// What a part may be; it is one of these.
pub(super) const KINDS: [&str; 9] = [
    "text",
    "inlineData",
    "fileData",
    "functionCall",
    "functionResponse",
    "executableCode",
    "codeExecutionResult",
    "toolCall",
    "toolResponse",
];
/// Marks what a part says besides, behind its block.
pub(super) const BESIDE: &str = "_beside";
/// What media alone say besides.
const BESIDE_MEDIA: [&str; 2] = ["videoMetadata", "mediaResolution"];

/// Reads where the bytes are, and of which type.
type ReadSource = fn(&mut Map<String, Value>) -> Option<(Source, String)>;

pub(super) struct ReadPart {
    pub(super) block: Block,
    pub(super) beside: Map<String, Value>,
}

/// The result of a function, before it is paired with its call.
pub(super) struct RawResult {
    pub(super) id: Option<String>,
    pub(super) name: String,
    pub(super) content: Vec<Block>,
    pub(super) failed: bool,
}

/// Reads a part that is neither a result nor a call without an id; `id` makes one for a call.
pub(super) fn read_part(part: Value, id: &mut dyn FnMut(&str) -> String) -> Option<ReadPart> {
    let Value::Object(mut part) = part else {
        return None;
    };
    let signature = take(&mut part, "thoughtSignature");
    let signature = signature.as_ref().and_then(Value::as_str);
    let signature = signature.map(|text| Signature::read(text, FORMAT));
    let what = read_what(&mut part, signature.as_ref(), id);
    let what = match what {
        Some(what) => what,
        None => return foreign(part, signature),
    };
    Some(ReadPart {
        block: Block {
            signature,
            ..Block::of(what)
        },
        beside: part,
    })
}

fn read_what(
    part: &mut Map<String, Value>,
    signature: Option<&Signature>,
    id: &mut dyn FnMut(&str) -> String,
) -> Option<BlockKind> {
    let kinds = KINDS.iter().filter(|kind| {
        let there = |key: &str| part.get(key).is_some_and(|value| !value.is_null());
        there(kind) || there(&snake(kind))
    });
    // A part is one thing. One that is two, against the rules, is kept as it is.
    let kinds: Vec<&str> = kinds.copied().collect();
    match kinds.as_slice() {
        ["text"] => read_text(part, signature),
        ["inlineData"] => read_media(part, "inlineData", inline),
        ["fileData"] => read_media(part, "fileData", linked),
        ["functionCall"] => read_call(part, id),
        [] if signature.is_some() => Some(text_or_signature(part, String::new(), signature)),
        _ => None,
    }
}

fn read_text(part: &mut Map<String, Value>, signature: Option<&Signature>) -> Option<BlockKind> {
    let text = part.get("text")?.as_str()?.to_owned();
    part.remove("text");
    Some(text_or_signature(part, text, signature))
}

fn text_or_signature(
    part: &mut Map<String, Value>,
    text: String,
    signature: Option<&Signature>,
) -> BlockKind {
    let thought = part.remove("thought") == Some(Value::Bool(true));
    let is_foreign = signature.is_some_and(|signature| signature.format != FORMAT);
    if thought && text.is_empty() && is_foreign {
        return BlockKind::Redacted(Redacted::default());
    }
    if thought {
        return BlockKind::Thinking(Thinking {
            item: None,
            texts: vec![text],
            summary: true,
        });
    }
    BlockKind::Text(Text {
        text,
        citations: Vec::new(),
    })
}

fn read_media(part: &mut Map<String, Value>, key: &str, read: ReadSource) -> Option<BlockKind> {
    let Value::Object(mut inside) = take(part, key)? else {
        return None;
    };
    let kept = inside.clone();
    let Some((source, mime)) = read(&mut inside) else {
        part.insert(key.to_owned(), Value::Object(kept));
        return None;
    };
    let name = take(&mut inside, "displayName");
    let mut extras: Vec<(String, Value)> = inside.into_iter().collect();
    for key in BESIDE_MEDIA {
        extras.extend(take(part, key).map(|value| (key.to_owned(), value)));
    }
    Some(BlockKind::Media(Media {
        kind: kind_of(&mime),
        source,
        name: name.and_then(|name| name.as_str().map(ToOwned::to_owned)),
        detail: None,
        extras,
    }))
}

fn inline(inside: &mut Map<String, Value>) -> Option<(Source, String)> {
    let mime = text_of(take(inside, "mimeType")).unwrap_or_default();
    let data = text_of(take(inside, "data"))?;
    let data = in_the_usual_alphabet(data);
    let source = Source::Inline {
        mime: mime.clone(),
        data,
    };
    Some((source, mime))
}

/// Google takes base64 in both alphabets, and its Python client writes the URL-safe one, which no other vendor takes.
fn in_the_usual_alphabet(data: String) -> String {
    if !data.contains(['-', '_']) {
        return data;
    }
    let mut usual = data.replace('-', "+").replace('_', "/");
    while !usual.len().is_multiple_of(4) {
        usual.push('=');
    }
    usual
}

fn linked(inside: &mut Map<String, Value>) -> Option<(Source, String)> {
    let mime = text_of(take(inside, "mimeType"));
    let url = text_of(take(inside, "fileUri"))?;
    let kind = mime.clone().unwrap_or_else(|| "video/".to_owned());
    Some((Source::Link { url, mime }, kind))
}

/// Which of the kinds a type is; an address without a type is a video (that of YouTube has none).
fn kind_of(mime: &str) -> MediaKind {
    match mime.split('/').next().unwrap_or_default() {
        "image" => MediaKind::Image,
        "audio" => MediaKind::Audio,
        "video" => MediaKind::Video,
        _ => MediaKind::File,
    }
}

fn read_call(
    part: &mut Map<String, Value>,
    id: &mut dyn FnMut(&str) -> String,
) -> Option<BlockKind> {
    let call = part
        .get("functionCall")
        .or_else(|| part.get("function_call"));
    let mut inside = call?.as_object()?.clone();
    let name = text_of(take(&mut inside, "name"))?;
    let known = text_of(take(&mut inside, "id")).filter(|id| !id.is_empty());
    let arguments = match take(&mut inside, "args") {
        Some(args @ Value::Object(_)) => args.to_string(),
        None => "{}".to_owned(),
        Some(_) => return None,
    };
    // Streamed arguments, and kinds that are newer than this code, are of this format alone.
    if !inside.is_empty() {
        return None;
    }
    take(part, "functionCall");
    Some(BlockKind::ToolCall(ToolCall {
        id: known.unwrap_or_else(|| id(&name)),
        tool: ToolName::plain(name),
        custom: false,
        arguments,
        item: None,
    }))
}

/// A part that no other format has, as it stands there.
fn foreign(mut part: Map<String, Value>, signature: Option<Signature>) -> Option<ReadPart> {
    if part.is_empty() {
        return None;
    }
    if let Some(signature) = signature {
        let signature_text = super::shown_signature(&signature, None);
        part.insert("thoughtSignature".to_owned(), Value::String(signature_text));
    }
    Some(ReadPart {
        block: Block::of(BlockKind::Foreign(FORMAT, Value::Object(part))),
        beside: Map::new(),
    })
}

/// Reads the result of a function, if the part is one.
pub(super) fn read_result(part: &mut Value) -> Option<RawResult> {
    let part = part.as_object_mut()?;
    let inside = part
        .get("functionResponse")
        .or_else(|| part.get("function_response"));
    let mut inside = inside?.as_object()?.clone();
    let name = text_of(take(&mut inside, "name"))?;
    take(part, "functionResponse");
    let response = take(&mut inside, "response").unwrap_or_else(|| Value::Object(Map::new()));
    let (text, failed) = words_of(&response);
    let mut content = vec![Block::text(text)];
    if let Some(Value::Array(parts)) = take(&mut inside, "parts") {
        let blocks = parts
            .into_iter()
            .filter_map(|part| read_part(part, &mut no_id));
        content.extend(blocks.flat_map(ReadPart::blocks));
    }
    let id = text_of(take(&mut inside, "id")).filter(|id| !id.is_empty());
    if !inside.is_empty() {
        content.push(Block::of(BlockKind::Foreign(FORMAT, Value::Object(inside))));
    }
    Some(RawResult {
        id,
        name,
        content,
        failed,
    })
}

/// Media of results call nothing.
fn no_id(_name: &str) -> String {
    String::new()
}

/// What a function said, in words: under Google's own two keys if it is a text that would not be taken
/// for JSON on the way back, else the JSON of all of it.
fn words_of(response: &Value) -> (String, bool) {
    let only = response.as_object().filter(|map| map.len() == 1);
    let under = |key: &str| only.and_then(|map| map.get(key)?.as_str());
    let is_object = |text: &str| matches!(serde_json::from_str(text), Ok(Value::Object(_)));
    if let Some(text) = under("output").filter(|text| !is_object(text)) {
        return (text.to_owned(), false);
    }
    if let Some(text) = under("error").filter(|text| !is_object(text)) {
        return (text.to_owned(), true);
    }
    (response.to_string(), false)
}

pub(super) fn text_of(value: Option<Value>) -> Option<String> {
    match value {
        Some(Value::String(text)) => Some(text),
        Some(
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_),
        )
        | None => None,
    }
}

/// What a part said besides, as a block behind it.
pub(super) fn beside(rest: Map<String, Value>) -> Block {
    let tagged = Map::from_iter([(BESIDE.to_owned(), Value::Object(rest))]);
    Block::of(BlockKind::Foreign(FORMAT, Value::Object(tagged)))
}

/// Adds a block. The signature of another format comes in a part of its own behind the thoughts that it signs,
/// since these had been sent when it was known: it goes back to them, and they are one again.
pub(super) fn push_joined(blocks: &mut Vec<Block>, block: Block) {
    let mut texts: Vec<String> = Vec::new();
    if matches!(block.kind, BlockKind::Redacted(_)) {
        while let Some(Block {
            kind: BlockKind::Thinking(thinking),
            signature: None,
            ..
        }) = blocks.last()
        {
            texts.push(thinking.texts.concat());
            blocks.pop();
        }
    }
    if texts.is_empty() {
        blocks.push(block);
        return;
    }
    let thoughts = texts.iter().rev().map(String::as_str).collect();
    let what = BlockKind::Thinking(Thinking {
        item: None,
        texts: vec![thoughts],
        summary: false,
    });
    blocks.push(Block {
        kind: what,
        ..block
    });
}

impl ReadPart {
    /// The block, and behind it what the part said besides.
    pub(super) fn blocks(self) -> Vec<Block> {
        let mut blocks = vec![self.block];
        if !self.beside.is_empty() {
            blocks.push(beside(self.beside));
        }
        blocks
    }
}
