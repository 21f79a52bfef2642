//! The messages of a request: which roles and parts there are, what each may carry, and in which
//! order tools are called and answered.

use serde_json::Value;

use crate::refusal::Refusal;
use crate::tokens::{PromptSize, count};

use super::fields::{self, Object, missing, wrong_type, wrong_value};

/// What the simulator needs to know of the messages.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    pub(crate) size: PromptSize,
    /// Text of the last user message, where the directives stand.
    pub(crate) last_user_text: String,
    /// Whether results of tools came since the user spoke; agents put remarks of the system behind
    /// them.
    pub(crate) answers_tool: bool,
    /// Whether the word "json" stands in any text.
    pub(crate) mentions_json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    System,
    Developer,
    User,
    Assistant,
    Tool,
    Function,
}

const ROLES: &[&str] = &[
    "system",
    "assistant",
    "user",
    "function",
    "tool",
    "developer",
];

/// The vendor's own bound on messages is not known to us; this one only bounds the work.
const MAX_MESSAGES: usize = 100_000;

// === impl Messages ===

impl Messages {
    pub(crate) fn read(list: &[Value], may_carry_reasoning: bool) -> Result<Self, Refusal> {
        if list.is_empty() {
            let message = "Invalid 'messages': empty array. Expected an array with minimum length \
                           1, but got an empty array instead."
                .to_owned();
            return Err(Refusal::invalid("messages", Some("empty_array"), message));
        }
        if list.len() > MAX_MESSAGES {
            let message = format!("Invalid 'messages': more than {MAX_MESSAGES} items.");
            let code = Some("array_above_max_length");
            return Err(Refusal::invalid("messages", code, message));
        }
        let mut messages = Self::default();
        let mut open_calls: Vec<String> = Vec::new();
        for (index, value) in list.iter().enumerate() {
            let path = format!("messages[{index}]");
            let Value::Object(message) = value else {
                return Err(wrong_type(&path, "an object", value));
            };
            let role = Role::read(message, &path)?;
            follow_calls(role, message, &path, &mut open_calls)?;
            messages.add(role, message, &path, may_carry_reasoning)?;
        }
        if open_calls.is_empty() {
            Ok(messages)
        } else {
            Err(unanswered(&open_calls))
        }
    }

    fn add(
        &mut self,
        role: Role,
        message: &Object,
        path: &str,
        may_carry_reasoning: bool,
    ) -> Result<(), Refusal> {
        let mut names = role.names().to_vec();
        if may_carry_reasoning && role == Role::Assistant {
            names.push("reasoning_content");
        }
        fields::only(message, path, &names)?;
        self.size.messages = self.size.messages.saturating_add(1);
        match role {
            Role::User => {
                self.last_user_text.clear();
                self.answers_tool = false;
            }
            Role::Tool => self.answers_tool = true,
            Role::System | Role::Developer | Role::Assistant | Role::Function => {}
        }
        match message.get("content") {
            Some(Value::String(text)) => self.add_text(role, text),
            Some(Value::Array(parts)) => {
                if parts.is_empty() {
                    let param = format!("{path}.content");
                    let message = format!("Invalid '{param}': empty array.");
                    return Err(Refusal::invalid(&param, Some("empty_array"), message));
                }
                for (index, part) in parts.iter().enumerate() {
                    self.add_part(role, part, &format!("{path}.content[{index}]"))?;
                }
            }
            Some(Value::Null) | None if role.may_lack_content(message) => {}
            None => return Err(missing(&format!("{path}.content"))),
            Some(value) => {
                let expected = "one of a string or array of objects";
                return Err(wrong_type(&format!("{path}.content"), expected, value));
            }
        }
        Ok(())
    }

    fn add_text(&mut self, role: Role, text: &str) {
        self.size.text_bytes = self.size.text_bytes.saturating_add(count(text.len()));
        if !self.mentions_json {
            self.mentions_json = text.to_lowercase().contains("json");
        }
        if role == Role::User {
            self.last_user_text.push_str(text);
        }
    }

    fn add_part(&mut self, role: Role, part: &Value, path: &str) -> Result<(), Refusal> {
        let Value::Object(part) = part else {
            return Err(wrong_type(path, "an object", part));
        };
        let kind = fields::text(part, path, "type")?;
        if !role.parts().contains(&kind) {
            return Err(wrong_value(&format!("{path}.type"), kind, role.parts()));
        }
        fields::only(part, path, &["type", kind, "prompt_cache_breakpoint"])?;
        match kind {
            "text" | "refusal" => self.add_text(role, fields::text(part, path, kind)?),
            "image_url" => {
                check_image(part, path)?;
                self.size.images = self.size.images.saturating_add(1);
            }
            "input_audio" => {
                let audio = fields::object(part, path, "input_audio")?;
                let path = format!("{path}.input_audio");
                fields::text(audio, &path, "data")?;
                let format = fields::text(audio, &path, "format")?;
                if !["wav", "mp3"].contains(&format) {
                    let param = format!("{path}.format");
                    return Err(wrong_value(&param, format, &["wav", "mp3"]));
                }
            }
            // The only part left is a file.
            _ => {
                fields::object(part, path, "file")?;
            }
        }
        Ok(())
    }
}

// === impl Role ===

impl Role {
    fn read(message: &Object, path: &str) -> Result<Self, Refusal> {
        match fields::text(message, path, "role")? {
            "system" => Ok(Self::System),
            "developer" => Ok(Self::Developer),
            "user" => Ok(Self::User),
            "assistant" => Ok(Self::Assistant),
            "tool" => Ok(Self::Tool),
            "function" => Ok(Self::Function),
            other => Err(wrong_value(&format!("{path}.role"), other, ROLES)),
        }
    }

    fn names(self) -> &'static [&'static str] {
        match self {
            Self::System | Self::Developer | Self::User | Self::Function => {
                &["role", "content", "name"]
            }
            // A client sends back the message it got, annotations included.
            Self::Assistant => &[
                "role",
                "content",
                "name",
                "refusal",
                "audio",
                "function_call",
                "tool_calls",
                "annotations",
            ],
            Self::Tool => &["role", "content", "tool_call_id"],
        }
    }

    fn parts(self) -> &'static [&'static str] {
        match self {
            Self::System | Self::Developer | Self::Tool | Self::Function => &["text"],
            Self::User => &["text", "image_url", "input_audio", "file"],
            Self::Assistant => &["text", "refusal"],
        }
    }

    fn may_lack_content(self, message: &Object) -> bool {
        match self {
            Self::Assistant => {
                message.contains_key("tool_calls")
                    || message.contains_key("function_call")
                    || message.get("refusal").is_some_and(Value::is_string)
            }
            Self::System | Self::Developer | Self::User | Self::Tool | Self::Function => false,
        }
    }
}

/// Every call of a tool is answered before anything else is said, and nothing is answered that
/// was not called.
fn follow_calls(
    role: Role,
    message: &Object,
    path: &str,
    open_calls: &mut Vec<String>,
) -> Result<(), Refusal> {
    if role == Role::Tool {
        let id = fields::text(message, path, "tool_call_id")?;
        let before = open_calls.len();
        open_calls.retain(|open| open != id);
        if open_calls.len() == before {
            let text = "Invalid parameter: messages with role 'tool' must be a response to a \
                        preceeding message with 'tool_calls'."
                .to_owned();
            return Err(Refusal::invalid(&format!("{path}.role"), None, text));
        }
        return Ok(());
    }
    if !open_calls.is_empty() {
        return Err(unanswered(open_calls));
    }
    match message.get("tool_calls") {
        None => Ok(()),
        Some(Value::Array(calls)) if !calls.is_empty() => {
            for (index, call) in calls.iter().enumerate() {
                open_calls.push(call_id(call, &format!("{path}.tool_calls[{index}]"))?);
            }
            Ok(())
        }
        Some(value) => {
            let param = format!("{path}.tool_calls");
            Err(wrong_type(&param, "a non-empty array of objects", value))
        }
    }
}

fn call_id(call: &Value, path: &str) -> Result<String, Refusal> {
    let Value::Object(call) = call else {
        return Err(wrong_type(path, "an object", call));
    };
    match fields::text(call, path, "type")? {
        "function" => {
            let function = fields::object(call, path, "function")?;
            let inner = format!("{path}.function");
            fields::text(function, &inner, "name")?;
            fields::text(function, &inner, "arguments")?;
        }
        "custom" => {
            fields::object(call, path, "custom")?;
        }
        other => {
            let param = format!("{path}.type");
            return Err(wrong_value(&param, other, &["function", "custom"]));
        }
    }
    Ok(fields::text(call, path, "id")?.to_owned())
}

fn unanswered(open_calls: &[String]) -> Refusal {
    let message = format!(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to \
         each 'tool_call_id'. The following tool_call_ids did not have response messages: {}",
        crate::refusal::shortened(&open_calls.join(", "))
    );
    Refusal::invalid("messages", None, message)
}

fn check_image(part: &Object, path: &str) -> Result<(), Refusal> {
    let image = fields::object(part, path, "image_url")?;
    let path = format!("{path}.image_url");
    fields::only(image, &path, &["url", "detail"])?;
    let url = fields::text(image, &path, "url")?;
    let is_address = ["https://", "http://", "data:image/"]
        .iter()
        .any(|start| url.starts_with(start));
    if !is_address {
        let param = format!("{path}.url");
        let message = format!("Invalid '{param}': expected a web address or a data URL.");
        return Err(Refusal::invalid(&param, Some("invalid_image_url"), message));
    }
    let details = &["auto", "low", "high", "original"];
    match image.get("detail") {
        None => Ok(()),
        Some(Value::String(detail)) if details.contains(&detail.as_str()) => Ok(()),
        Some(Value::String(detail)) => Err(wrong_value(&format!("{path}.detail"), detail, details)),
        Some(value) => Err(wrong_type(&format!("{path}.detail"), "a string", value)),
    }
}
