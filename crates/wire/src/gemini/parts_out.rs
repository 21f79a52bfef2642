//! Blocks of a conversation, written as Google's parts.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::parts_in::BESIDE;
use super::{FORMAT, NO_SIGNATURE, is_made, part_writer};
use crate::Format;
use crate::canonical::{
    Block, BlockKind, Media, Notes, Signature, Source, Target, Text, ToolCall, ToolName,
    ToolResult, TranslationState,
};

/// What blocks are written with.
pub(super) struct Parts<'a> {
    pub(super) from: Format,
    pub(super) target: &'a Target<'a>,
    pub(super) state: &'a TranslationState,
    /// The tool of each call, for results that do not say it.
    pub(super) tools: BTreeMap<&'a str, &'a ToolName>,
    pub(super) notes: Notes,
}

/// Parts of one content, and whether a call among them has its signature.
#[derive(Default)]
pub(super) struct Content {
    pub(super) parts: Vec<Value>,
    signed: bool,
}

impl Parts<'_> {
    pub(super) fn write(&mut self, block: &Block, content: &mut Content) {
        if block.cache.is_some() {
            self.notes.dropped(
                "cache_control",
                "Google caches repeated beginnings by itself",
            );
        }
        let own = self.own_signature(block.signature.as_ref());
        match &block.kind {
            BlockKind::Text(words) => self.text(words, own, content),
            BlockKind::Media(media) => {
                self.about_media(media);
                let part = part_writer::media(media, self.from);
                content.parts.push(part_writer::signed(part, own));
            }
            BlockKind::ToolCall(call) => self.call(call, block.signature.as_ref(), own, content),
            BlockKind::ToolResult(result) => {
                let part = self.result(result);
                content.parts.push(part);
            }
            BlockKind::Thinking(thinking) => {
                let keep = own.is_some() || (block.signature.is_none() && self.from == FORMAT);
                if keep {
                    let part = part_writer::thought(&thinking.texts.join("\n\n"));
                    // An empty one only says where the thoughts belong.
                    let signature = own.filter(|signature| !signature.is_empty());
                    content.parts.push(part_writer::signed(part, signature));
                } else {
                    self.no_thinking();
                }
            }
            BlockKind::Redacted(_) => match own {
                Some(signature) => content.parts.push(part_writer::signed(
                    part_writer::thought(""),
                    Some(signature),
                )),
                None => self.no_thinking(),
            },
            BlockKind::Refusal(words) => {
                self.notes
                    .approximated("refusal", "it is sent as plain text");
                content.parts.push(part_writer::text(words));
            }
            BlockKind::Foreign(format, raw) => self.foreign(*format, raw, content),
        }
    }

    fn no_thinking(&mut self) {
        self.notes.dropped(
            "thinking",
            "only the model that had these thoughts can read them",
        );
    }

    /// The bare signature, if the upstream made it.
    fn own_signature(&self, signature: Option<&Signature>) -> Option<String> {
        let signature =
            signature.filter(|signature| signature.belongs_to(FORMAT, self.target.channel));
        signature.map(|signature| signature.data.clone())
    }

    fn text(&mut self, words: &Text, own: Option<String>, content: &mut Content) {
        if !words.citations.is_empty() {
            self.notes.dropped(
                "citations",
                "the format has no place for them in what was said before",
            );
        }
        // Google refuses empty parts, but for those that carry a signature.
        if words.text.is_empty() && own.is_none() && self.from != FORMAT {
            return;
        }
        content
            .parts
            .push(part_writer::signed(part_writer::text(&words.text), own));
    }

    fn about_media(&mut self, media: &Media) {
        if self.from == FORMAT {
            return;
        }
        let why = "the format has no place for it";
        let in_words = matches!(media.source, Source::Text(_));
        if media.name.is_some() && !in_words {
            self.notes.dropped("filename", why);
        }
        if media
            .detail
            .as_deref()
            .is_some_and(|detail| detail != "auto")
        {
            self.notes.dropped("image.detail", why);
        }
        for (key, _) in &media.extras {
            self.notes.dropped(key.clone(), why);
        }
        if in_words {
            self.notes
                .approximated("document", "a document of plain words is sent as text");
        }
    }

    /// The first call of a step needs a signature: its own, or the word that stands for none.
    fn call(
        &mut self,
        call: &ToolCall,
        signature: Option<&Signature>,
        own: Option<String>,
        content: &mut Content,
    ) {
        let (part, odd) = part_writer::call(call, &self.state.sent(&call.tool));
        if odd {
            let why = "arguments that are no JSON object are sent under one key";
            self.notes.approximated("arguments", why);
        }
        if signature.is_some() && own.is_none() {
            self.no_thinking();
        }
        let foreign = signature.is_some() || self.from != FORMAT;
        let stand_in = (foreign && !content.signed).then(|| NO_SIGNATURE.to_owned());
        content.signed = true;
        content
            .parts
            .push(part_writer::signed(part, own.or(stand_in)));
    }

    fn result(&mut self, result: &ToolResult) -> Value {
        let known = self.tools.get(result.call.as_str()).copied();
        let tool = result.tool.as_ref().or(known);
        let name = match tool {
            Some(tool) => self.state.sent(tool),
            None => self.state.sent(&ToolName::plain(result.call.clone())),
        };
        let mut inside = Map::new();
        if !is_made(&result.call) {
            inside.insert("id".to_owned(), Value::String(result.call.clone()));
        }
        inside.insert("name".to_owned(), Value::String(name));
        let mut texts: Vec<&str> = Vec::new();
        let mut parts: Vec<Value> = Vec::new();
        for block in &result.content {
            match &block.kind {
                BlockKind::Text(words) => texts.push(&words.text),
                BlockKind::Refusal(words) => texts.push(words),
                BlockKind::Media(Media {
                    source: Source::Text(words),
                    ..
                }) => texts.push(words),
                BlockKind::Media(media) => {
                    self.about_media(media);
                    parts.push(part_writer::media(media, self.from));
                }
                BlockKind::Foreign(FORMAT, Value::Object(rest)) if self.from == FORMAT => {
                    inside.extend(rest.clone());
                }
                BlockKind::Foreign(format, raw) => self.drop_foreign(*format, raw),
                BlockKind::Thinking(_) | BlockKind::Redacted(_) => self.no_thinking(),
                BlockKind::ToolCall(_) | BlockKind::ToolResult(_) => {
                    let why = "a result holds text and media alone";
                    self.notes.dropped("tool_result.content", why);
                }
            }
        }
        let words = texts.join("\n");
        inside.insert("response".to_owned(), self.response(&words, result.failed));
        if !parts.is_empty() {
            inside.insert("parts".to_owned(), Value::Array(parts));
        }
        json!({ "functionResponse": inside })
    }

    /// A response must be an object.
    fn response(&self, words: &str, failed: bool) -> Value {
        if self.from == FORMAT
            && !failed
            && let Ok(whole @ Value::Object(_)) = serde_json::from_str(words)
        {
            return whole;
        }
        let key = if failed { "error" } else { "output" };
        json!({ key: words })
    }

    fn foreign(&mut self, format: Format, raw: &Value, content: &mut Content) {
        let own = raw
            .as_object()
            .filter(|_| format == FORMAT && self.from == FORMAT);
        let Some(own) = own else {
            self.drop_foreign(format, raw);
            return;
        };
        let before = content.parts.last_mut().and_then(Value::as_object_mut);
        match (own.get(BESIDE).and_then(Value::as_object), before) {
            // What a part said besides belongs to it.
            (Some(beside), Some(before)) => before.extend(beside.clone()),
            (Some(_), None) => {}
            (None, _) => content.parts.push(self.untagged(own)),
        }
    }

    /// A part as it stands there, with its signature as its upstream knows it.
    fn untagged(&self, part: &Map<String, Value>) -> Value {
        let mut part = part.clone();
        let signature = super::key_case::take(&mut part, "thoughtSignature");
        let signature = signature.as_ref().and_then(Value::as_str);
        let signature = signature.map(|text| Signature::read(text, FORMAT));
        part_writer::signed(Value::Object(part), self.own_signature(signature.as_ref()))
    }

    fn drop_foreign(&mut self, format: Format, raw: &Value) {
        let kind = raw.get("type").and_then(Value::as_str);
        let kind: String = kind.unwrap_or(format.as_str()).chars().take(64).collect();
        self.notes
            .dropped(kind, "only the format it came in has this");
    }
}
