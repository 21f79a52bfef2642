//! The messages of a request: roles, blocks, and calls that must be answered.

use serde_json::Value;

use crate::anthropic::refusal::Refusal;
use crate::refusal::shortened;
use crate::request::Object;

use super::blocks::{self, Block};
use super::fields::{self, join};
use super::prompt::{Prompt, text_size};

/// Messages that were checked one by one.
#[derive(Default)]
pub(super) struct Messages {
    turns: Vec<Turn>,
    /// The text of the last user message that has one: directives stand there, and stay in force
    /// while the results of tools come back.
    pub(super) last_user_text: String,
    pub(super) ends_with_result: bool,
    /// The same, and no text stands behind the results.
    pub(super) answers_result: bool,
    /// Results since that text.
    pub(super) results: u64,
}

/// Messages of one role in a row, which the vendor takes as one.
struct Turn {
    is_user: bool,
    /// Index of its first message, and the kind of its first block.
    first: usize,
    first_kind: String,
    calls: Vec<String>,
    /// Where each result stands, and which call it answers.
    results: Vec<(String, String)>,
    /// Whether the last text or result was a text.
    ends_with_text: bool,
}

/// Most messages, as the vendor says.
const MAX_MESSAGES: usize = 100_000;

/// The system prompt: a text, or a list of texts.
pub(super) fn system<'a>(body: &'a Object, prompt: &mut Prompt<'a>) -> Result<(), Refusal> {
    let Some(value) = fields::optional(body, "system") else {
        return Ok(());
    };
    if let Value::String(text) = value {
        prompt.add("system", value, text_size(text), None);
        return Ok(());
    }
    texts(value, "system", prompt)
}

// === impl Messages ===

impl Messages {
    pub(super) fn read<'a>(
        body: &'a Object,
        may_hold_system: bool,
        prompt: &mut Prompt<'a>,
    ) -> Result<Self, Refusal> {
        let list = fields::as_list(fields::needed(body, "", "messages")?, "messages")?;
        if list.is_empty() {
            return Err(Refusal::at("messages", "at least one message is required"));
        }
        if list.len() > MAX_MESSAGES {
            let says = format!("List should have at most {MAX_MESSAGES} items");
            return Err(Refusal::at("messages", &says));
        }
        let mut messages = Self::default();
        for (index, value) in list.iter().enumerate() {
            let path = format!("messages.{index}");
            let message = fields::as_object(value, &path)?;
            let roles: &[&str] = if may_hold_system {
                &["user", "assistant", "system"]
            } else {
                &["user", "assistant"]
            };
            let role = fields::needed(message, &path, "role")?;
            let role = fields::word(role, &join(&path, "role"), roles)?;
            fields::only(message, &path, &["role", "content"])?;
            let content = fields::needed(message, &path, "content")?;
            prompt.begin_message();
            let is_last = index.saturating_add(1) == list.len();
            match role {
                "user" => messages.say(true, index, content, is_last, prompt)?,
                "assistant" => messages.say(false, index, content, is_last, prompt)?,
                _ => system_message(content, &path, prompt)?,
            }
        }
        if let Some(turn) = messages.turns.last() {
            messages.ends_with_result = turn.is_user && !turn.results.is_empty();
            messages.answers_result = messages.ends_with_result && !turn.ends_with_text;
        }
        Ok(messages)
    }

    /// Every call is answered in the next turn, and every answer has its call.
    pub(super) fn check_pairs(&self) -> Result<(), Refusal> {
        let mut open: &[String] = &[];
        let mut asker = 0;
        for turn in &self.turns {
            let answered = |id: &String| turn.results.iter().any(|(_, result)| result == id);
            let missing: Vec<&str> = open
                .iter()
                .filter(|id| !answered(id))
                .map(String::as_str)
                .collect();
            if !missing.is_empty() {
                return Err(unanswered(asker, &missing));
            }
            for (index, (place, id)) in turn.results.iter().enumerate() {
                if !open.contains(id) {
                    return Err(Refusal::at(place, &unexpected(id)));
                }
                if turn
                    .results
                    .iter()
                    .take(index)
                    .any(|(_, other)| other == id)
                {
                    let says = format!(
                        "each tool_use must have a single result. Found multiple `tool_result` \
                         blocks with id: {}",
                        shortened(id)
                    );
                    return Err(Refusal::at(place, &says));
                }
            }
            open = &turn.calls;
            asker = turn.first;
        }
        if open.is_empty() {
            return Ok(());
        }
        let missing: Vec<&str> = open.iter().map(String::as_str).collect();
        Err(unanswered(asker, &missing))
    }

    /// With a thinking budget, the turn whose tools were just run begins with its thoughts.
    pub(super) fn check_thoughts(&self) -> Result<(), Refusal> {
        if !self.ends_with_result {
            return Ok(());
        }
        let Some(turn) = self.turns.iter().rev().find(|turn| !turn.is_user) else {
            return Ok(());
        };
        if matches!(turn.first_kind.as_str(), "thinking" | "redacted_thinking") {
            return Ok(());
        }
        let place = format!("messages.{}.content.0.type", turn.first);
        let says = format!(
            "Expected `thinking` or `redacted_thinking`, but found `{}`. When `thinking` is \
             enabled, a final `assistant` message must start with a thinking block (preceeding \
             the lastmost set of `tool_use` and `tool_result` blocks). We recommend you include \
             thinking blocks from previous turns. To avoid this requirement, disable `thinking`.",
            turn.first_kind
        );
        Err(Refusal::at(&place, &says))
    }

    /// A message of the user or of the model.
    fn say<'a>(
        &mut self,
        is_user: bool,
        index: usize,
        content: &'a Value,
        is_last: bool,
        prompt: &mut Prompt<'a>,
    ) -> Result<(), Refusal> {
        let owner = if is_user { "user" } else { "assistant" };
        let path = format!("messages.{index}");
        let mut text = String::new();
        if self.turns.last().is_none_or(|turn| turn.is_user != is_user) {
            self.turns.push(Turn::new(is_user, index));
        }
        match content {
            Value::String(words) => {
                check_filled(words.is_empty(), is_user, is_last, &path)?;
                text.push_str(words);
                prompt.add(owner, content, text_size(words), None);
                if let Some(turn) = self.turns.last_mut()
                    && turn.first_kind.is_empty()
                {
                    turn.first_kind = "text".to_owned();
                }
            }
            Value::Array(list) => {
                check_filled(list.is_empty(), is_user, is_last, &path)?;
                for (at, value) in list.iter().enumerate() {
                    let place = format!("{path}.content.{at}");
                    let block = blocks::read(value, &place)?;
                    check_owner(block.kind, is_user, &place)?;
                    if let Some(Value::String(words)) = block.object.get("text") {
                        text.push_str(words);
                        text.push('\n');
                    }
                    prompt.add(owner, value, block.size, block.mark);
                    self.note(&block, place)?;
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
                let path = join(&path, "content");
                return Err(Refusal::at(&path, "Input should be a valid list"));
            }
        }
        if is_last && !is_user && text.ends_with(' ') {
            return Err(Refusal::at(
                "messages",
                "final assistant content cannot end with trailing whitespace",
            ));
        }
        if is_user && !text.trim().is_empty() {
            self.last_user_text = text;
            self.results = 0;
        }
        Ok(())
    }

    /// Remembers what a block has to do with others.
    fn note(&mut self, block: &Block<'_>, place: String) -> Result<(), Refusal> {
        let word = |name: &str| {
            let value = block.object.get(name).and_then(Value::as_str);
            value.unwrap_or_default().to_owned()
        };
        let is_known = |id: &str| {
            let mut all = self.turns.iter().flat_map(|turn| &turn.calls);
            all.any(|call| call == id)
        };
        if block.kind == "tool_use" && is_known(&word("id")) {
            return Err(Refusal::at("messages", "`tool_use` ids must be unique"));
        }
        let Some(turn) = self.turns.last_mut() else {
            return Ok(());
        };
        if turn.first_kind.is_empty() {
            block.kind.clone_into(&mut turn.first_kind);
        }
        match block.kind {
            "tool_use" => turn.calls.push(word("id")),
            "tool_result" => {
                self.results = self.results.saturating_add(1);
                turn.results.push((place, word("tool_use_id")));
                turn.ends_with_text = false;
            }
            "text" => turn.ends_with_text = true,
            _ => {}
        }
        Ok(())
    }
}

// === impl Turn ===

impl Turn {
    fn new(is_user: bool, first: usize) -> Self {
        Self {
            is_user,
            first,
            first_kind: String::new(),
            calls: Vec::new(),
            results: Vec::new(),
            ends_with_text: false,
        }
    }
}

fn texts<'a>(value: &'a Value, path: &str, prompt: &mut Prompt<'a>) -> Result<(), Refusal> {
    for (index, value) in fields::as_list(value, path)?.iter().enumerate() {
        let place = format!("{path}.{index}");
        let object = fields::as_object(value, &place)?;
        fields::tag(object, &place, &["text"])?;
        let block = blocks::read(value, &place)?;
        prompt.add("system", value, block.size, block.mark);
    }
    Ok(())
}

fn system_message<'a>(
    content: &'a Value,
    path: &str,
    prompt: &mut Prompt<'a>,
) -> Result<(), Refusal> {
    if let Value::String(text) = content {
        prompt.add("system", content, text_size(text), None);
        return Ok(());
    }
    texts(content, &join(path, "content"), prompt)
}

fn check_filled(is_empty: bool, is_user: bool, is_last: bool, path: &str) -> Result<(), Refusal> {
    if !is_empty || (is_last && !is_user) {
        return Ok(());
    }
    Err(Refusal::at(
        path,
        "all messages must have non-empty content except for the optional final assistant message",
    ))
}

/// Which blocks belong to which role.
fn check_owner(kind: &str, is_user: bool, place: &str) -> Result<(), Refusal> {
    let expected = match kind {
        "tool_use" | "thinking" | "redacted_thinking" if is_user => "assistant",
        "tool_result" | "image" if !is_user => "user",
        _ => return Ok(()),
    };
    let says = format!("`{kind}` blocks can only be in `{expected}` messages");
    Err(Refusal::at(place, &says))
}

fn unanswered(message: usize, ids: &[&str]) -> Refusal {
    let says = format!(
        "`tool_use` ids were found without `tool_result` blocks immediately after: {}. Each \
         `tool_use` block must have a corresponding `tool_result` block in the next message.",
        shortened(&ids.join(", "))
    );
    Refusal::at(&format!("messages.{message}"), &says)
}

fn unexpected(id: &str) -> String {
    format!(
        "unexpected `tool_use_id` found in `tool_result` blocks: {}. Each `tool_result` block must \
         have a corresponding `tool_use` block in the previous message.",
        shortened(id)
    )
}
