//! The items a response is made from: what each may carry, which calls they answer, and how many
//! tokens they are. A context grows from the one of the response that is continued, so sending
//! the items again and naming their response come to the same count.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::refusal::Refusal;
use crate::request::Object;
use crate::request::fields::{self, missing, wrong_type, wrong_value};
use crate::tokens::{PromptSize, count};

use super::encrypted_reasoning;
use super::parts;

/// What is known of the items so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Context {
    pub(crate) items: Vec<Arc<Value>>,
    pub(crate) size: PromptSize,
    /// Text of the last user message, where the directives stand.
    pub(crate) last_user_text: String,
    /// Whether results of tools came since the user spoke; agents put remarks behind them.
    pub(crate) answers_tool: bool,
    /// Whether the word "json" stands in any text.
    pub(crate) mentions_json: bool,
    /// Calls, and whether they were answered.
    calls: Vec<(String, bool)>,
}

/// Whose items these are, and where earlier ones are found.
pub(crate) struct Owner<'a> {
    pub(crate) key: &'a str,
    /// Finds an item that was kept for this key.
    pub(crate) find: &'a dyn Fn(&str) -> Option<Arc<Value>>,
    /// What the ids of items without one are made of.
    pub(crate) digits: &'a str,
}

/// The vendor's own bound is not known to us; this one only bounds the work.
const MAX_ITEMS: usize = 100_000;

/// Items that are taken as they are: nothing in them changes an answer.
const OTHER_TYPES: &[&str] = &[
    "file_search_call",
    "computer_call",
    "computer_call_output",
    "web_search_call",
    "tool_search_call",
    "tool_search_output",
    "additional_tools",
    "configuration_update",
    "compaction",
    "compaction_trigger",
    "image_generation_call",
    "code_interpreter_call",
    "local_shell_call",
    "local_shell_call_output",
    "shell_call",
    "shell_call_output",
    "apply_patch_call",
    "apply_patch_call_output",
    "mcp_list_tools",
    "mcp_approval_request",
    "mcp_approval_response",
    "mcp_call",
    "program",
    "program_output",
];
const OWN_TYPES: &[&str] = &[
    "message",
    "function_call",
    "function_call_output",
    "custom_tool_call",
    "custom_tool_call_output",
    "reasoning",
    "item_reference",
];

// === impl Context ===

impl Context {
    /// Adds the `input` of a request.
    pub(crate) fn add_input(&mut self, input: &Value, owner: &Owner<'_>) -> Result<(), Refusal> {
        match input {
            Value::String(text) => {
                let item = json!({"type": "message", "role": "user", "content": text});
                self.add(&item, "input", owner)
            }
            Value::Array(list) => {
                if list.len().saturating_add(self.items.len()) > MAX_ITEMS {
                    let message = format!("Invalid 'input': more than {MAX_ITEMS} items.");
                    let code = Some("array_above_max_length");
                    return Err(Refusal::invalid("input", code, message));
                }
                for (index, item) in list.iter().enumerate() {
                    self.add(item, &format!("input[{index}]"), owner)?;
                }
                Ok(())
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Err(wrong_type(
                "input",
                "one of a string or array of input items",
                input,
            )),
        }
    }

    pub(crate) fn add(
        &mut self,
        item: &Value,
        path: &str,
        owner: &Owner<'_>,
    ) -> Result<(), Refusal> {
        let Value::Object(fields) = item else {
            return Err(wrong_type(path, "an object", item));
        };
        match kind_of(fields, path)? {
            "message" => parts::add_message(self, fields, path)?,
            "function_call" => self.add_call(fields, path, "arguments")?,
            "custom_tool_call" => self.add_call(fields, path, "input")?,
            "function_call_output" | "custom_tool_call_output" => self.add_output(fields, path)?,
            "reasoning" => {
                check_reasoning(fields, path, owner)?;
                self.keep(item, owner);
                // Earlier reasoning is not read again, so it costs nothing.
                return Ok(());
            }
            "item_reference" => {
                let id = fields::text(fields, path, "id")?;
                let found = (owner.find)(id).ok_or_else(|| Refusal::no_such_item(id))?;
                return self.add(&found, path, owner);
            }
            other if OTHER_TYPES.contains(&other) => {
                self.answers_tool |= other.ends_with("_output");
            }
            other => {
                let types: Vec<&str> = OWN_TYPES.iter().chain(OTHER_TYPES).copied().collect();
                return Err(wrong_value(&format!("{path}.type"), other, &types));
            }
        }
        self.size.messages = self.size.messages.saturating_add(1);
        self.keep(item, owner);
        Ok(())
    }

    /// Adds an item of the answer, so that the context is what a later response begins with.
    pub(crate) fn absorb(&mut self, item: Value) {
        let owner = Owner {
            key: "",
            find: &|_| None,
            digits: "",
        };
        let is_reasoning = item.get("type").and_then(Value::as_str) == Some("reasoning");
        // Our own items are acceptable; one that were not would only be left uncounted.
        if is_reasoning || self.add(&item, "output", &owner).is_err() {
            self.items.push(Arc::new(item));
        }
    }

    /// Adds the instructions, which count as a message of this request alone.
    pub(crate) fn add_instructions(&mut self, text: &str) {
        self.size.messages = self.size.messages.saturating_add(1);
        self.add_text(text);
    }

    /// Every call was answered.
    pub(crate) fn check_calls(&self) -> Result<(), Refusal> {
        match self.calls.iter().find(|(_, is_answered)| !is_answered) {
            Some((id, _)) => {
                let message = format!("No tool output found for function call {id}.");
                Err(Refusal::invalid("input", None, message))
            }
            None => Ok(()),
        }
    }

    pub(crate) fn add_text(&mut self, text: &str) {
        self.size.text_bytes = self.size.text_bytes.saturating_add(count(text.len()));
        if !self.mentions_json {
            self.mentions_json = text.to_lowercase().contains("json");
        }
    }

    fn add_call(&mut self, item: &Object, path: &str, what: &str) -> Result<(), Refusal> {
        let name = fields::text(item, path, "name")?;
        let arguments = fields::text(item, path, what)?;
        let id = fields::text(item, path, "call_id")?;
        self.add_text(name);
        self.add_text(arguments);
        self.calls.push((id.to_owned(), false));
        Ok(())
    }

    fn add_output(&mut self, item: &Object, path: &str) -> Result<(), Refusal> {
        let id = fields::text(item, path, "call_id")?;
        match self.calls.iter_mut().find(|(call, _)| call == id) {
            Some((_, is_answered)) => *is_answered = true,
            None => {
                let message =
                    format!("No tool call found for function call output with call_id {id}.");
                return Err(Refusal::invalid("input", None, message));
            }
        }
        self.answers_tool = true;
        match item.get("output") {
            Some(Value::String(text)) => self.add_text(text),
            Some(Value::Array(list)) => parts::add_parts(self, list, path, "output", "tool")?,
            Some(value) => {
                let param = format!("{path}.output");
                let expected = "one of a string or array of objects";
                return Err(wrong_type(&param, expected, value));
            }
            None => return Err(missing(&format!("{path}.output"))),
        }
        Ok(())
    }

    /// Keeps the item as it is listed later: with an id, a status and a list of parts.
    fn keep(&mut self, item: &Value, owner: &Owner<'_>) {
        let mut kept = item.clone();
        if let Value::Object(fields) = &mut kept {
            let kind = fields
                .entry("type")
                .or_insert_with(|| json!("message"))
                .as_str()
                .unwrap_or_default()
                .to_owned();
            let number = self.items.len();
            let id = format!("{}_{}i{number:02}", prefix(&kind), owner.digits);
            if fields.get("id").is_none_or(Value::is_null) {
                fields.insert("id".to_owned(), json!(id));
            }
            if kind == "message" {
                parts::complete_message(fields);
            }
        }
        self.items.push(Arc::new(kept));
    }
}

/// The text of the last user message of an input that may not be acceptable, for its directives.
pub(crate) fn glimpse(input: Option<&Value>) -> String {
    match input {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(list)) => {
            let is_user = |item: &&Value| item.get("role").and_then(Value::as_str) == Some("user");
            match list
                .iter()
                .rfind(is_user)
                .and_then(|item| item.get("content"))
            {
                Some(Value::String(text)) => text.clone(),
                Some(Value::Array(parts)) => parts
                    .iter()
                    .filter_map(|part| part.get("text").and_then(Value::as_str))
                    .collect(),
                Some(_) | None => String::new(),
            }
        }
        Some(_) | None => String::new(),
    }
}

/// The type of an item; one with a role and without a type is a message, one with nothing but an
/// id a reference.
fn kind_of<'a>(item: &'a Object, path: &str) -> Result<&'a str, Refusal> {
    match item.get("type") {
        Some(Value::String(kind)) => Ok(kind),
        Some(Value::Null) | None if item.contains_key("role") => Ok("message"),
        Some(Value::Null) | None if item.contains_key("id") => Ok("item_reference"),
        Some(value) => Err(wrong_type(&format!("{path}.type"), "a string", value)),
        None => Err(missing(&format!("{path}.type"))),
    }
}

fn check_reasoning(item: &Object, path: &str, owner: &Owner<'_>) -> Result<(), Refusal> {
    let names = [
        "type",
        "id",
        "summary",
        "content",
        "encrypted_content",
        "status",
    ];
    fields::only(item, path, &names)?;
    if !item.get("summary").is_some_and(Value::is_array) {
        return Err(missing(&format!("{path}.summary")));
    }
    match item.get("encrypted_content") {
        Some(Value::String(text)) if encrypted_reasoning::opens(owner.key, text) => Ok(()),
        Some(Value::String(text)) => {
            Err(Refusal::strange_seal(&encrypted_reasoning::shortened(text)))
        }
        Some(Value::Null) | None => {
            let id = fields::text(item, path, "id")?;
            match (owner.find)(id) {
                Some(_) => Ok(()),
                None => Err(Refusal::no_such_item(id)),
            }
        }
        Some(value) => {
            let param = format!("{path}.encrypted_content");
            Err(wrong_type(&param, "a string", value))
        }
    }
}

/// How ids of such items begin.
fn prefix(kind: &str) -> &'static str {
    match kind {
        "message" => "msg",
        "reasoning" => "rs",
        "function_call" => "fc",
        "function_call_output" => "fco",
        "custom_tool_call" => "ctc",
        "custom_tool_call_output" => "ctco",
        _ => "item",
    }
}
