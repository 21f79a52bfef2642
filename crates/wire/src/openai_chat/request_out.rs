//! The canonical form into a chat request.

use serde_json::{Map, Value, json};

use super::reasoning::signed_call;
use super::request_scan::cap_name;
use super::tools::{allowed, rule};
use super::turns_out::answered;
use crate::canonical::{
    Block, BlockKind, Conversation, Notes, OutputShape, Role, Target, ToolCall, ToolResult,
    TranslationState, Turn, Written, effort_of_budget,
};
use crate::{Format, json_bytes};

/// Texts that end a response; the vendor takes no more.
const MAX_STOPS: usize = 4;

/// How a result that failed begins, where nothing else can say so.
const FAILED: &str = "Error: ";

pub(super) struct Writing<'a> {
    pub(super) from: &'a Conversation,
    target: &'a Target<'a>,
    pub(super) state: TranslationState,
    pub(super) notes: Notes,
    messages: Vec<Value>,
}

pub(crate) fn request_from_canonical(conversation: &Conversation, target: &Target<'_>) -> Written {
    let tools = allowed(conversation);
    let mut writing = Writing {
        from: conversation,
        target,
        state: TranslationState::new(rule(conversation.from), &tools),
        notes: Notes::default(),
        messages: Vec::new(),
    };
    writing.instructions();
    conversation
        .turns
        .iter()
        .for_each(|turn| writing.turn(turn));
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(target.model));
    let mut messages = std::mem::take(&mut writing.messages);
    if !writing.same() {
        messages = answered(messages, &mut writing.notes);
    }
    body.insert("messages".to_owned(), Value::Array(messages));
    writing.tools(&tools, &mut body);
    writing.shape(&mut body);
    writing.numbers(&mut body);
    writing.rest(&mut body);
    Written {
        body: json_bytes(&Value::Object(body)),
        notes: writing.notes,
        state: writing.state,
    }
}

impl Writing<'_> {
    pub(super) fn same(&self) -> bool {
        self.from.from == Format::OpenaiChat
    }

    fn instructions(&mut self) {
        let text = self.joined(&self.from.instructions.clone());
        if !text.is_empty() {
            self.messages
                .push(json!({ "role": "system", "content": text }));
        }
    }

    /// Texts as one; what is none is reported.
    fn joined(&mut self, blocks: &[Block]) -> String {
        let mut texts: Vec<&str> = Vec::new();
        for block in blocks {
            self.cache_note(block);
            match block.as_text() {
                Some(text) => texts.push(text),
                None => self.notes.dropped("system", "chat takes only text there"),
            }
        }
        texts.join("\n\n")
    }

    fn cache_note(&mut self, block: &Block) {
        if block.cache.is_some() && !self.same() {
            self.notes.dropped(
                "cache_control",
                "chat upstreams decide by themselves what they cache",
            );
        }
    }

    fn turn(&mut self, turn: &Turn) {
        match &turn.role {
            Role::Assistant => self.assistant(turn),
            Role::User => self.user(turn, "user"),
            Role::System => self.user(turn, "system"),
            Role::Other(role) if self.same() => self.user(turn, role),
            Role::Other(_) => {
                self.notes.approximated(
                    "messages.role",
                    "chat has no such role; it is sent as `user`",
                );
                self.user(turn, "user");
            }
        }
    }

    /// Results of tools come first, each as a message of its own.
    fn user(&mut self, turn: &Turn, role: &str) {
        let mut moved = Vec::new();
        for block in &turn.blocks {
            if let BlockKind::ToolResult(result) = &block.kind {
                self.cache_note(block);
                self.result(result, &mut moved);
            }
        }
        let rest = turn.blocks.iter();
        let rest = rest.filter(|block| !matches!(block.kind, BlockKind::ToolResult(_)));
        let parts: Vec<Value> = rest.filter_map(|block| self.part(block)).collect();
        let parts: Vec<Value> = moved.into_iter().chain(parts).collect();
        if parts.is_empty()
            && turn
                .blocks
                .iter()
                .any(|it| matches!(it.kind, BlockKind::ToolResult(_)))
        {
            return;
        }
        let mut message = Map::new();
        message.insert("role".to_owned(), json!(role));
        message.insert("content".to_owned(), content(parts));
        if let Some(name) = &turn.name {
            message.insert("name".to_owned(), json!(name));
        }
        self.messages.push(Value::Object(message));
    }

    fn result(&mut self, result: &ToolResult, moved: &mut Vec<Value>) {
        let mut texts: Vec<&str> = Vec::new();
        for block in &result.content {
            match block.as_text() {
                Some(text) => texts.push(text),
                None => {
                    self.notes.approximated(
                        "tool_result.content",
                        "chat takes only text from tools; the rest follows as the user's words",
                    );
                    moved.extend(self.part(block));
                }
            }
        }
        let mut text = texts.join("\n");
        if result.failed {
            let why = "chat has no mark for a tool that failed; its words say so";
            self.notes.approximated("tool_result.is_error", why);
            if !text.to_ascii_lowercase().starts_with("error") {
                text.insert_str(0, FAILED);
            }
        }
        self.messages.push(json!({
            "role": "tool",
            "tool_call_id": result.call,
            "content": text,
        }));
    }

    fn assistant(&mut self, turn: &Turn) {
        let (mut texts, mut calls) = (Vec::new(), Vec::new());
        let (mut thoughts, mut refusal): (Vec<&str>, Option<&str>) = (Vec::new(), None);
        for block in &turn.blocks {
            self.cache_note(block);
            match &block.kind {
                BlockKind::Text(text) => {
                    if !calls.is_empty() && !text.text.is_empty() {
                        let why = "chat has one text a turn, and it stands before the calls";
                        self.notes.approximated("content.order", why);
                    }
                    if !text.citations.is_empty() {
                        let why = "chat has no place for them in what was said before";
                        self.notes.dropped("citations", why);
                    }
                    texts.push(text.text.as_str());
                }
                BlockKind::ToolCall(call) => calls.push(self.call(call, block)),
                BlockKind::Thinking(thinking) if self.may_think(block) => {
                    thoughts.extend(thinking.texts.iter().map(String::as_str));
                }
                BlockKind::Thinking(_) | BlockKind::Redacted(_) => {
                    self.notes
                        .dropped("thinking", "thoughts are read only by who thought them");
                }
                BlockKind::Refusal(words) => refusal = Some(words),
                BlockKind::Media(_) | BlockKind::ToolResult(_) | BlockKind::Foreign(..) => {
                    self.notes
                        .dropped("assistant.content", "chat has only text from the assistant");
                }
            }
        }
        let mut message = Map::new();
        message.insert("role".to_owned(), json!("assistant"));
        let silent = texts.is_empty() && (!calls.is_empty() || refusal.is_some());
        let content = (!silent).then(|| texts.concat());
        message.insert("content".to_owned(), json!(content));
        if let Some(words) = refusal {
            message.insert("refusal".to_owned(), json!(words));
        }
        if !thoughts.is_empty() {
            message.insert("reasoning_content".to_owned(), json!(thoughts.join("\n\n")));
        }
        if !calls.is_empty() {
            message.insert("tool_calls".to_owned(), Value::Array(calls));
        }
        if let Some(name) = &turn.name {
            message.insert("name".to_owned(), json!(name));
        }
        self.messages.push(Value::Object(message));
    }

    /// Whether the upstream that is asked thought this.
    fn may_think(&self, block: &Block) -> bool {
        let signature = block.signature.as_ref();
        signature
            .is_some_and(|signature| signature.belongs_to(Format::OpenaiChat, self.target.channel))
    }

    fn call(&self, call: &ToolCall, block: &Block) -> Value {
        if call.custom && self.same() {
            let custom = json!({ "name": call.tool.name, "input": call.arguments });
            return json!({ "id": call.id, "type": "custom", "custom": custom });
        }
        let arguments = if call.custom {
            json!({ crate::canonical::CUSTOM_FIELD: call.arguments }).to_string()
        } else {
            call.arguments.clone()
        };
        let mut written = json!({
            "id": call.id,
            "type": "function",
            "function": { "name": self.state.sent(&call.tool), "arguments": arguments },
        });
        // Google's own chat endpoint wants its signatures back; no other chat upstream sends any.
        let signature = block.signature.as_ref().filter(|_| self.same());
        if let (Some(signature), Some(map)) = (signature, written.as_object_mut()) {
            map.insert("extra_content".to_owned(), signed_call(signature));
        }
        written
    }

    fn part(&mut self, block: &Block) -> Option<Value> {
        self.cache_note(block);
        let mut part = match &block.kind {
            BlockKind::Text(text) => json!({ "type": "text", "text": text.text }),
            BlockKind::Media(media) => self.media(media)?,
            BlockKind::Foreign(Format::OpenaiChat, raw) => raw.clone(),
            BlockKind::Refusal(words) => json!({ "type": "text", "text": words }),
            BlockKind::Foreign(..) => {
                self.notes.refused("content", "chat has no such part");
                return None;
            }
            BlockKind::Thinking(_)
            | BlockKind::Redacted(_)
            | BlockKind::ToolCall(_)
            | BlockKind::ToolResult(_) => {
                self.notes
                    .dropped("content", "only the assistant thinks and calls tools");
                return None;
            }
        };
        if self.same()
            && let (Some(life), Some(map)) = (block.cache, part.as_object_mut())
        {
            map.insert("cache_control".to_owned(), life.control());
        }
        Some(part)
    }

    fn shape(&mut self, body: &mut Map<String, Value>) {
        let shape = match &self.from.output {
            OutputShape::Text => return,
            OutputShape::Json => json!({ "type": "json_object" }),
            OutputShape::Schema {
                name,
                description,
                schema,
                strict,
            } => {
                let mut inner = Map::new();
                let name = name.as_deref().unwrap_or("answer");
                inner.insert("name".to_owned(), json!(name));
                if let Some(description) = description {
                    inner.insert("description".to_owned(), json!(description));
                }
                inner.insert("schema".to_owned(), schema.clone());
                if let Some(strict) = strict {
                    inner.insert("strict".to_owned(), json!(strict));
                }
                json!({ "type": "json_schema", "json_schema": inner })
            }
        };
        body.insert("response_format".to_owned(), shape);
    }

    fn numbers(&mut self, body: &mut Map<String, Value>) {
        let sampling = &self.from.sampling;
        let numbers = [
            ("temperature", &sampling.temperature),
            ("top_p", &sampling.top_p),
            ("seed", &sampling.seed),
            ("presence_penalty", &sampling.presence_penalty),
            ("frequency_penalty", &sampling.frequency_penalty),
        ];
        for (name, number) in numbers {
            if let Some(number) = number {
                body.insert(name.to_owned(), Value::Number(number.clone()));
            }
        }
        match &sampling.top_k {
            Some(number) if self.same() => {
                body.insert("top_k".to_owned(), Value::Number(number.clone()));
            }
            Some(_) => self.notes.dropped("top_k", "chat has no such field"),
            None => {}
        }
        if let Some(tokens) = self.target.max_output.or(self.from.max_output) {
            let word = cap_name(self.target.cap_name, None);
            body.insert(word.to_owned(), json!(tokens));
        }
        if self.from.choices > 1 {
            body.insert("n".to_owned(), json!(self.from.choices));
        }
        if !self.from.stop.is_empty() {
            if self.from.stop.len() > MAX_STOPS {
                let why = "chat takes four texts at most; the first four are sent";
                self.notes.approximated("stop", why);
            }
            let stops: Vec<&String> = self.from.stop.iter().take(MAX_STOPS).collect();
            body.insert("stop".to_owned(), json!(stops));
        }
    }

    fn rest(&mut self, body: &mut Map<String, Value>) {
        self.effort(body);
        if self.from.stream {
            body.insert("stream".to_owned(), json!(true));
            if !self.target.no_stream_options {
                body.insert(
                    "stream_options".to_owned(),
                    json!({ "include_usage": true }),
                );
            }
        }
        let advice = [
            ("user", self.from.user.as_ref().map(|it| json!(it)), true),
            (
                "service_tier",
                self.from.service_tier.as_ref().map(|it| json!(it)),
                true,
            ),
            (
                "prompt_cache_key",
                self.from.cache_key.as_ref().map(|it| json!(it)),
                false,
            ),
            (
                "verbosity",
                self.from.verbosity.as_ref().map(|it| json!(it)),
                false,
            ),
            ("metadata", self.from.metadata.clone(), false),
        ];
        let same = self.same();
        for (name, value, common) in advice {
            match value {
                Some(value) if same || common => {
                    body.insert(name.to_owned(), value);
                }
                Some(_) => self.notes.dropped(name, "not every chat upstream takes it"),
                None => {}
            }
        }
        for extra in &self.from.extras {
            if same {
                body.insert(extra.field.clone(), extra.value.clone());
            } else {
                self.notes.unknown_field(extra, "chat has no such field");
            }
        }
    }

    fn effort(&mut self, body: &mut Map<String, Value>) {
        let reasoning = &self.from.reasoning;
        let word = match (&reasoning.effort, reasoning.budget) {
            (Some(word), _) => Some(word.as_str()),
            (None, Some(tokens)) => {
                let why = "chat has words for effort and no budget; the nearest word is sent";
                self.notes.approximated("reasoning_budget", why);
                Some(effort_of_budget(tokens))
            }
            (None, None) if reasoning.off && self.same() => Some("none"),
            (None, None) if reasoning.off => {
                let why = "not every chat upstream can be told not to think";
                self.notes.dropped("reasoning_adaptive", why);
                None
            }
            (None, None) => None,
        };
        if let Some(word) = word {
            body.insert("reasoning_effort".to_owned(), json!(word));
        }
    }
}

/// A lone text stands for itself.
fn content(mut parts: Vec<Value>) -> Value {
    let lone = match parts.as_slice() {
        [] => return json!(""),
        [only] => only
            .as_object()
            .filter(|it| it.len() == 2)
            .and_then(|it| it.get("text").cloned()),
        _ => None,
    };
    lone.unwrap_or_else(|| Value::Array(std::mem::take(&mut parts)))
}
