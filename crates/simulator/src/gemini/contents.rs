//! The contents of a request: which parts there are, and what they count for.

use serde_json::Value;

use crate::refusal::shortened;
use crate::tokens::{PromptSize, count};

use super::errors::GoogleError;
use super::fields::Object;
use super::schema::Service;
use super::turn_rules::{
    OpenCall, Role, UNEQUAL, check_signatures, follow_calls, has, parts, read_role, text_of,
};
use crate::prompt_memory::Prefix;

/// What the simulator needs to know of the contents.
#[derive(Debug, Default)]
pub(super) struct Contents {
    pub(super) size: PromptSize,
    /// Tokens of media, by kind.
    pub(super) media: Vec<(&'static str, u64)>,
    /// Text of the last user content that has some, where the directives stand.
    pub(super) last_user_text: String,
    /// Results of functions since that text.
    pub(super) results: u64,
    /// Whether the last content brings results.
    pub(super) ends_with_result: bool,
    /// Whether the last content is the user's.
    ends_with_user: bool,
    pub(super) prefix: Prefix,
}

/// Bounds the work; the vendor's own bound is not known to us.
const MAX_CONTENTS: usize = 100_000;
/// The kinds of data of which a part has exactly one.
const DATA: [&str; 9] = [
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
/// Tokens of one medium, whatever its size: the vendor's for an image of the smallest kind, one
/// second of sound, one second of video, one page.
const MEDIA: [(&str, &str, u64); 4] = [
    ("image/", "IMAGE", 258),
    ("audio/", "AUDIO", 32),
    ("video/", "VIDEO", 263),
    ("application/pdf", "DOCUMENT", 258),
];
/// What stands behind an address that says nothing of its kind.
const UNNAMED: Option<(&str, u64)> = Some(("DOCUMENT", 258));

// === impl Contents ===

impl Contents {
    pub(super) fn read(
        list: &[Value],
        system: Option<&Object>,
        prefix: Prefix,
        service: Service,
        thinks: bool,
    ) -> Result<Self, GoogleError> {
        if list.is_empty() || list.len() > MAX_CONTENTS {
            return Err(GoogleError::field("contents", "contents is not specified"));
        }
        let mut contents = Self {
            prefix,
            ..Self::default()
        };
        if let Some(system) = system {
            contents.add(Role::Model, system, "system_instruction")?;
        }
        let mut open: Vec<OpenCall> = Vec::new();
        let mut before: Option<Role> = None;
        for (index, value) in list.iter().enumerate() {
            let empty = Object::new();
            let content = value.as_object().unwrap_or(&empty);
            let role = read_role(content, service)?;
            open = follow_calls(role, before, content, open)?;
            contents.add(role, content, &format!("contents[{index}]"))?;
            before = Some(role);
        }
        if !open.is_empty() {
            return Err(GoogleError::invalid(UNEQUAL));
        }
        check_signatures(list, service, thinks)?;
        Ok(contents)
    }

    fn add(&mut self, role: Role, content: &Object, path: &str) -> Result<(), GoogleError> {
        self.size.messages = self.size.messages.saturating_add(1);
        self.prefix.add_message(role == Role::User);
        let parts = parts(content);
        if parts.is_empty() {
            let path = format!("{path}.parts");
            return Err(GoogleError::field(
                &path,
                "contents.parts must not be empty.",
            ));
        }
        let is_user = role == Role::User;
        let has_text = parts.iter().any(|part| part.get("text").is_some());
        let last_result = parts.iter().rposition(|part| has(part, "functionResponse"));
        if last_result.is_some() {
            self.results = self.results.saturating_add(1);
        }
        // Contents of the user that follow each other are one turn: agents put remarks behind a prompt
        // and behind results. Only a remark with a directive is a new prompt.
        let goes_on = is_user && self.ends_with_user && last_result.is_none();
        let is_prompt = |from: usize| !goes_on || asks_behind(parts, from);
        let spoken_from = match last_result {
            None if is_user && has_text && is_prompt(0) => Some(0),
            Some(at) if asks_behind(parts, at) => Some(at),
            Some(_) | None => None,
        };
        if spoken_from.is_some() {
            self.last_user_text.clear();
            self.results = 0;
        }
        let waits = last_result.is_some() || (goes_on && self.ends_with_result);
        self.ends_with_result = waits && spoken_from.is_none();
        self.ends_with_user = is_user;
        for (index, part) in parts.iter().enumerate() {
            let speaks = spoken_from.is_some_and(|from| index >= from);
            self.add_part(speaks, part, &format!("{path}.parts[{index}]"))?;
        }
        Ok(())
    }

    fn add_part(&mut self, speaks: bool, part: &Value, path: &str) -> Result<(), GoogleError> {
        let kinds: Vec<&str> = DATA.into_iter().filter(|kind| has(part, kind)).collect();
        match kinds.as_slice() {
            [] => {
                let path = format!("{path}.data");
                let problem = "required oneof field 'data' must have one initialized field";
                return Err(GoogleError::field(&path, problem));
            }
            [_] => {}
            [_, second, ..] => {
                return Err(GoogleError::invalid(format!(
                    "Invalid value at '{path}' (oneof), oneof field 'data' is already set. Cannot \
                     set '{second}'"
                )));
            }
        }
        // Thoughts that come back are not read again.
        if part.get("thought") == Some(&Value::Bool(true)) {
            return Ok(());
        }
        if let Some(text) = part.get("text").and_then(Value::as_str) {
            self.add_text(text);
            if speaks {
                self.last_user_text.push_str(text);
            }
        }
        for (kind, place) in [("inlineData", "inline_data"), ("fileData", "file_data")] {
            if let Some(data) = part.get(kind) {
                self.add_medium(data, &format!("{path}.{place}"))?;
            }
        }
        for kind in ["functionCall", "functionResponse"] {
            if let Some(value) = part.get(kind) {
                let name = text_of(value, "name");
                let inside = value.get("args").or(value.get("response"));
                self.add_text(name);
                self.add_text(&inside.map(Value::to_string).unwrap_or_default());
            }
        }
        Ok(())
    }

    fn add_text(&mut self, text: &str) {
        self.size.text_bytes = self.size.text_bytes.saturating_add(count(text.len()));
        self.prefix.add(text.as_bytes());
    }

    fn add_medium(&mut self, data: &Value, path: &str) -> Result<(), GoogleError> {
        let mime = text_of(data, "mimeType");
        let uri = data.get("fileUri").and_then(Value::as_str);
        if let Some(uri) = uri
            && !["https://", "gs://"]
                .iter()
                .any(|start| uri.starts_with(start))
        {
            return Err(GoogleError::invalid(format!(
                "Unsupported file URI type: {}. File URIs must be File API (e.g. \
                 https://generativelanguage.googleapis.com/files/<id>), Youtube (e.g. \
                 https://www.youtube.com/watch?v=<id>), or HTTPS (e.g. https://path/to/resource).",
                shortened(uri)
            )));
        }
        let bytes = uri.or_else(|| data.get("data").and_then(Value::as_str));
        let Some(bytes) = bytes.filter(|bytes| !bytes.is_empty()) else {
            return Err(GoogleError::field(path, "data must not be empty."));
        };
        // Plain text in a file is read as text.
        if mime.starts_with("text/") {
            self.add_text(bytes);
            return Ok(());
        }
        let known = MEDIA.iter().find(|(start, _, _)| mime.starts_with(start));
        let unnamed = UNNAMED.filter(|_| uri.is_some() && mime.is_empty());
        let known = known.map(|(_, modality, tokens)| (*modality, *tokens));
        let Some((modality, tokens)) = known.or(unnamed) else {
            let mime = shortened(mime);
            return Err(GoogleError::invalid(format!(
                "Unsupported MIME type: {mime}"
            )));
        };
        add_tokens(&mut self.media, modality, tokens);
        self.prefix.add_medium(bytes.as_bytes(), tokens);
        Ok(())
    }
}

/// Adds to the entry of a kind.
pub(super) fn add_tokens(list: &mut Vec<(&'static str, u64)>, modality: &'static str, more: u64) {
    match list.iter_mut().find(|(known, _)| *known == modality) {
        Some((_, tokens)) => *tokens = tokens.saturating_add(more),
        None => list.push((modality, more)),
    }
}

/// Whether a text behind this part has a directive.
fn asks_behind(parts: &[Value], at: usize) -> bool {
    let behind = parts.iter().skip(at);
    behind
        .filter_map(|part| part.get("text").and_then(Value::as_str))
        .any(|text| text.contains("[["))
}
