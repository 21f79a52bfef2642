//! Turns, written as items.

use serde_json::{Map, Value, json};

use super::FORMAT;
use super::media::write_media;
use super::parts_in::is_part;
use crate::canonical::{
    Block, BlockKind, Notes, Role, Signature, Target, Text, Thinking, ToolCall, ToolResult,
    TranslationState, Turn,
};

/// How a result that failed begins, where nothing else can say so.
const FAILED: &str = "Error: ";

/// Items under way. One that is left out leaves a null in its place, so that labels find theirs.
pub(super) struct Items<'a> {
    pub(super) target: &'a Target<'a>,
    pub(super) state: &'a TranslationState,
    pub(super) notes: &'a mut Notes,
    /// The conversation came in this format.
    pub(super) own: bool,
    pub(super) items: Vec<Value>,
    /// Parts of a message that is not written yet.
    parts: Vec<Value>,
    /// The last item is a summary of thoughts without a signature; the thoughts themselves may follow.
    open_summary: Option<Option<String>>,
}

impl<'a> Items<'a> {
    pub(super) const fn new(
        target: &'a Target<'a>,
        state: &'a TranslationState,
        notes: &'a mut Notes,
        own: bool,
    ) -> Self {
        Self {
            target,
            state,
            notes,
            own,
            items: Vec::new(),
            parts: Vec::new(),
            open_summary: None,
        }
    }

    pub(super) fn turn(&mut self, turn: &Turn) {
        if turn.name.is_some() {
            self.notes.dropped(
                "messages.name",
                "the upstream's format has no names of speakers",
            );
        }
        for block in &turn.blocks {
            if block.cache.is_some() {
                let why = "the upstream caches the beginnings of prompts by itself";
                self.notes.approximated("cache_control", why);
            }
            self.block(&turn.role, block);
        }
        self.flush(&turn.role);
    }

    fn block(&mut self, role: &Role, block: &Block) {
        match &block.kind {
            BlockKind::Text(text) => {
                let part = self.text(role, text);
                self.parts.push(part);
            }
            BlockKind::Refusal(text) if *role == Role::Assistant => {
                self.parts
                    .push(json!({ "type": "refusal", "refusal": text }));
            }
            BlockKind::Refusal(text) => self.parts.push(input_text(text)),
            BlockKind::Media(media) => {
                let part = write_media(media, self.own, self.notes);
                if *role == Role::Assistant {
                    // Only callers send media in this format.
                    self.flush(role);
                    self.notes
                        .approximated("image", "media of the model is sent as the caller's");
                    self.parts.extend(part);
                    self.flush(&Role::User);
                } else {
                    self.parts.extend(part);
                }
            }
            BlockKind::ToolCall(call) => {
                let item = self.call(call);
                self.item(role, item);
            }
            BlockKind::ToolResult(result) => {
                let item = self.result(result);
                self.item(role, item);
            }
            BlockKind::Thinking(thinking) => {
                self.thinking(role, thinking, block.signature.as_ref())
            }
            BlockKind::Redacted(redacted) => {
                let hidden = Thinking {
                    item: redacted.item.clone(),
                    texts: Vec::new(),
                    summary: true,
                };
                self.thinking(role, &hidden, block.signature.as_ref());
            }
            BlockKind::Foreign(FORMAT, raw) if is_part(raw) => self.parts.push(raw.clone()),
            BlockKind::Foreign(FORMAT, raw) => self.item(role, raw.clone()),
            BlockKind::Foreign(_, raw) => self.foreign(role, raw),
        }
    }

    /// What another vendor's tools did is reported by the words around it; what a caller says is not left
    /// out.
    fn foreign(&mut self, role: &Role, raw: &Value) {
        let kind = raw.get("type").and_then(Value::as_str);
        let first = || Some(raw.as_object()?.keys().next()?.as_str());
        let kind = kind.or_else(first).unwrap_or("content").to_owned();
        if *role == Role::Assistant {
            self.notes
                .dropped(kind, "only the format it came in has a word for it");
        } else {
            self.notes
                .refused(kind, "only the format it came in has a word for it");
        }
    }

    /// Writes the message that is under way.
    fn flush(&mut self, role: &Role) {
        if self.parts.is_empty() {
            return;
        }
        let role = match role {
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::System => "developer",
            Role::Other(word) if self.own => word.as_str(),
            Role::Other(_) => {
                self.notes.approximated(
                    "messages.role",
                    "a role the upstream does not know speaks as the user",
                );
                "user"
            }
        };
        let content = std::mem::take(&mut self.parts);
        self.items
            .push(json!({ "type": "message", "role": role, "content": content }));
        self.open_summary = None;
    }

    fn item(&mut self, role: &Role, item: Value) {
        self.flush(role);
        self.items.push(item);
        self.open_summary = None;
    }

    fn text(&mut self, role: &Role, text: &Text) -> Value {
        if *role != Role::Assistant {
            return input_text(&text.text);
        }
        let mut part = Map::new();
        part.insert("type".to_owned(), json!("output_text"));
        part.insert("text".to_owned(), json!(text.text));
        let cited = text
            .citations
            .iter()
            .filter(|(format, _)| *format == FORMAT);
        let cited: Vec<&Value> = cited.map(|(_, raw)| raw).collect();
        if cited.len() < text.citations.len() {
            let why = "sources are written in another way by every format";
            self.notes.dropped("citations", why);
        }
        if !cited.is_empty() {
            part.insert("annotations".to_owned(), json!(cited));
        }
        Value::Object(part)
    }

    fn call(&self, call: &ToolCall) -> Value {
        let (kind, key) = if call.custom {
            ("custom_tool_call", "input")
        } else {
            ("function_call", "arguments")
        };
        let mut item = Map::new();
        item.insert("type".to_owned(), json!(kind));
        item.insert("call_id".to_owned(), json!(call.id));
        let name = if self.own {
            call.tool.name.clone()
        } else {
            self.state.sent(&call.tool)
        };
        item.insert("name".to_owned(), json!(name));
        if let Some(group) = &call.tool.namespace {
            item.insert("namespace".to_owned(), json!(group));
        }
        if let Some(id) = &call.item {
            item.insert("id".to_owned(), json!(id));
        }
        item.insert(key.to_owned(), json!(arguments_of(call)));
        Value::Object(item)
    }

    fn result(&mut self, result: &ToolResult) -> Value {
        let kind = if result.custom {
            "custom_tool_call_output"
        } else {
            "function_call_output"
        };
        let mut parts = Vec::new();
        for block in &result.content {
            match &block.kind {
                BlockKind::Text(text) => parts.push(input_text(&text.text)),
                BlockKind::Refusal(text) => parts.push(input_text(text)),
                BlockKind::Media(media) => parts.extend(write_media(media, self.own, self.notes)),
                BlockKind::Foreign(FORMAT, raw) => parts.push(raw.clone()),
                BlockKind::Foreign(_, raw) => self.foreign(&Role::User, raw),
                BlockKind::ToolCall(_)
                | BlockKind::ToolResult(_)
                | BlockKind::Thinking(_)
                | BlockKind::Redacted(_) => {
                    let why = "a tool's result holds text and media alone";
                    self.notes.dropped("tool_result.content", why);
                }
            }
        }
        if result.failed {
            let why = "the upstream has no mark for a tool that failed; its words say so";
            self.notes.approximated("tool_result.is_error", why);
            say_failed(&mut parts);
        }
        json!({ "type": kind, "call_id": result.call, "output": output_of(parts) })
    }

    fn thinking(&mut self, role: &Role, thinking: &Thinking, signature: Option<&Signature>) {
        let ours = signature.filter(|signature| signature.belongs_to(FORMAT, self.target.channel));
        let alien = signature.is_some() && ours.is_none();
        let says_nothing =
            signature.is_none() && thinking.item.is_none() && thinking.texts.is_empty();
        if alien || says_nothing || (!self.own && ours.is_none()) {
            let why = "thoughts of another upstream are not sent to this one";
            self.notes.dropped("thinking", why);
            return self.item(role, Value::Null);
        }
        // What came through another format was shown as thoughts, and was a summary here.
        let summary = thinking.summary || !self.own;
        let content = thinking.texts.iter().map(|text| {
            let kind = if summary {
                "summary_text"
            } else {
                "reasoning_text"
            };
            json!({ "type": kind, "text": text })
        });
        let content: Vec<Value> = content.collect();
        let follows = !summary && self.open_summary.as_ref() == Some(&thinking.item);
        if !follows {
            self.flush(role);
            let mut item = Map::new();
            item.insert("type".to_owned(), json!("reasoning"));
            item.insert("summary".to_owned(), json!([]));
            if let Some(id) = &thinking.item {
                item.insert("id".to_owned(), json!(id));
            }
            self.items.push(Value::Object(item));
        }
        let Some(Value::Object(item)) = self.items.last_mut() else {
            return;
        };
        let key = if summary { "summary" } else { "content" };
        item.insert(key.to_owned(), Value::Array(content));
        if let Some(signature) = ours {
            item.insert("encrypted_content".to_owned(), json!(signature.data));
        }
        let may_follow = summary && signature.is_none() && !thinking.texts.is_empty();
        self.open_summary = may_follow.then(|| thinking.item.clone());
    }
}

/// Arguments as clients and upstreams read them: an object even when there are none.
pub(super) fn arguments_of(call: &ToolCall) -> &str {
    if !call.custom && call.arguments.trim().is_empty() {
        return "{}";
    }
    &call.arguments
}

fn input_text(text: &str) -> Value {
    json!({ "type": "input_text", "text": text })
}

/// A text alone is written as one.
fn output_of(mut parts: Vec<Value>) -> Value {
    let is_text = |part: &Value| {
        part.get("type").and_then(Value::as_str) == Some("input_text")
            && part.as_object().is_some_and(|part| part.len() == 2)
    };
    if let [only] = parts.as_mut_slice()
        && is_text(only)
    {
        return only.get_mut("text").map(Value::take).unwrap_or_default();
    }
    if parts.is_empty() {
        return json!("");
    }
    Value::Array(parts)
}

fn say_failed(parts: &mut Vec<Value>) {
    let first = parts.iter_mut().find_map(|part| part.get_mut("text"));
    match first {
        Some(text) => {
            let words = text.as_str().unwrap_or_default();
            if !words.to_ascii_lowercase().starts_with("error") {
                *text = json!(format!("{FAILED}{words}"));
            }
        }
        None => parts.insert(0, input_text(FAILED.trim_end())),
    }
}
