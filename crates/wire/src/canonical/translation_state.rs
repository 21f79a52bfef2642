//! State of a translation that the response needs: under which names tools were sent, and which of them take
//! plain text although the format has only functions. The writer of the request makes it, the reader of the
//! response takes it.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::block::{BlockKind, ToolCall};
use super::event::{BlockDelta, BlockIndex, BlockStart, Event};
use super::request::{Tool, ToolKind, ToolName};
use super::response::Response;

/// The one argument of a function that stands for a tool of plain text.
pub const CUSTOM_FIELD: &str = "input";
/// Between a group's name and a tool's.
const GROUP_SEAM: &str = "__";
/// Tries for a name that is not taken.
const MAX_TRIES: u32 = 1_000;
/// Bytes of plain text that are held until they are whole.
const MAX_HELD_BYTES: usize = 8_000_000;

/// What a format takes as a tool's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NameRule {
    /// Characters at most.
    pub max: usize,
    /// Besides letters, digits, `_` and `-`.
    pub also: &'static str,
    /// The first one must be alphabetic or `_`.
    pub begins_alphabetic: bool,
    /// Groups and tools of plain text can be said as they are.
    pub native: bool,
}

/// State of a translation that the response needs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TranslationState {
    rule: Option<NameRule>,
    /// By the name that was sent.
    sent: BTreeMap<String, Known>,
    names: BTreeMap<ToolName, String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Known {
    tool: ToolName,
    custom: bool,
}

/// Gives the events of a response the names that the caller knows.
#[derive(Debug, Clone, Default)]
pub struct NameRestorer {
    state: TranslationState,
    /// Arguments of tools that take plain text, until they are whole.
    held: BTreeMap<BlockIndex, String>,
}

// === impl TranslationState ===

impl TranslationState {
    /// Finds a name for every tool.
    #[must_use]
    pub fn new(rule: NameRule, tools: &[Tool]) -> Self {
        let mut state = Self {
            rule: Some(rule),
            ..Self::default()
        };
        for tool in tools {
            let custom = match tool.kind {
                ToolKind::Custom { .. } => !rule.native,
                ToolKind::Function { .. } | ToolKind::Native(_) => false,
            };
            let sent = state.free_name(&tool.name);
            state.names.insert(tool.name.clone(), sent.clone());
            let known = Known {
                tool: tool.name.clone(),
                custom,
            };
            state.sent.insert(sent, known);
        }
        state
    }

    /// The name under which a tool is sent, also one that is only in the past of the conversation.
    #[must_use]
    pub fn sent(&self, tool: &ToolName) -> String {
        let known = self.names.get(tool).cloned();
        known.unwrap_or_else(|| self.fitted(tool))
    }

    /// The response with the names that the caller knows.
    #[must_use]
    pub fn restore(&self, mut answer: Response) -> Response {
        let blocks = answer.choices.iter_mut().flat_map(|one| &mut one.blocks);
        for block in blocks {
            if let BlockKind::ToolCall(call) = &mut block.kind {
                self.restore_call(call);
                if call.custom {
                    call.arguments = words_of(&call.arguments);
                }
            }
        }
        answer
    }

    fn restore_call(&self, call: &mut ToolCall) {
        if let Some(known) = self.sent.get(&call.tool.name) {
            call.tool = known.tool.clone();
            call.custom = call.custom || known.custom;
        }
    }

    fn free_name(&self, tool: &ToolName) -> String {
        let preferred = self.fitted(tool);
        let mut name = preferred.clone();
        let max = self.rule.map_or(usize::MAX, |rule| rule.max);
        for number in 2..MAX_TRIES {
            if !self.sent.contains_key(&name) {
                break;
            }
            let tail = format!("_{number}");
            let remaining = max.saturating_sub(tail.len());
            name = preferred
                .chars()
                .take(remaining)
                .chain(tail.chars())
                .collect();
        }
        name
    }

    /// A name as the format takes it.
    fn fitted(&self, tool: &ToolName) -> String {
        let Some(rule) = self.rule.filter(|rule| !rule.native) else {
            return tool.name.clone();
        };
        let whole = match &tool.namespace {
            Some(group) => format!("{group}{GROUP_SEAM}{}", tool.name),
            None => tool.name.clone(),
        };
        let legal = |character: char| {
            character.is_ascii_alphanumeric()
                || "_-".contains(character)
                || rule.also.contains(character)
        };
        let first = whole.chars().next();
        let ahead = rule.begins_alphabetic
            && !first.is_some_and(|first| first.is_ascii_alphabetic() || first == '_');
        let head = if ahead || whole.is_empty() { "_" } else { "" };
        let characters = whole
            .chars()
            .map(|character| if legal(character) { character } else { '_' });
        head.chars().chain(characters).take(rule.max).collect()
    }
}

// === impl NameRestorer ===

impl NameRestorer {
    /// For the answers of one request.
    #[must_use]
    pub const fn new(state: TranslationState) -> Self {
        Self {
            state,
            held: BTreeMap::new(),
        }
    }

    /// Takes one event, and gives those that the caller's format is written from.
    pub fn pass(&mut self, event: Event, out: &mut Vec<Event>) {
        match event {
            Event::BlockStart(at, BlockStart::ToolCall(mut call)) => {
                let was_custom = call.custom;
                self.state.restore_call(&mut call);
                if call.custom && !was_custom {
                    self.held.insert(at, std::mem::take(&mut call.arguments));
                }
                out.push(Event::BlockStart(at, BlockStart::ToolCall(call)));
            }
            Event::BlockDelta(at, BlockDelta::Arguments(more)) => match self.held.get_mut(&at) {
                Some(held) if held.len() < MAX_HELD_BYTES => held.push_str(&more),
                Some(_) => {}
                None => out.push(Event::BlockDelta(at, BlockDelta::Arguments(more))),
            },
            Event::BlockEnd(at) => {
                if let Some(held) = self.held.remove(&at) {
                    out.push(Event::BlockDelta(
                        at,
                        BlockDelta::Arguments(words_of(&held)),
                    ));
                }
                out.push(Event::BlockEnd(at));
            }
            Event::Start { .. }
            | Event::BlockStart(..)
            | Event::BlockDelta(..)
            | Event::Usage(_)
            | Event::Stop(..)
            | Event::Error(_)
            | Event::Ping => out.push(event),
        }
    }
}

/// The schema of a function that stands for a tool of plain text.
#[must_use]
pub fn custom_schema() -> Value {
    json!({
        "type": "object",
        "properties": { CUSTOM_FIELD: { "type": "string" } },
        "required": [CUSTOM_FIELD],
        "additionalProperties": false,
    })
}

/// What a tool of plain text is for, with its grammar for models that are not held to it.
#[must_use]
pub fn described(description: Option<&str>, format: Option<&Value>) -> Option<String> {
    let grammar = format.and_then(|format| format.get("definition")?.as_str());
    let Some(grammar) = grammar else {
        return description.map(ToOwned::to_owned);
    };
    let purpose = description.unwrap_or_default();
    Some(format!(
        "{purpose}\n\nThe input follows this grammar:\n{grammar}"
    ))
}

/// Arguments as an object, for formats that have no text of them: those of a custom tool are wrapped,
/// and what is not an object is kept under one key. The flag says that this was needed.
#[must_use]
pub fn object_of_arguments(call: &ToolCall) -> (Map<String, Value>, bool) {
    let wrapped = |text: &str| {
        let mut map = Map::new();
        map.insert(CUSTOM_FIELD.to_owned(), Value::String(text.to_owned()));
        map
    };
    if call.custom {
        return (wrapped(&call.arguments), false);
    }
    if call.arguments.trim().is_empty() {
        return (Map::new(), false);
    }
    match serde_json::from_str(&call.arguments) {
        Ok(Value::Object(map)) => (map, false),
        Ok(_) | Err(_) => (wrapped(&call.arguments), true),
    }
}

/// The plain text inside the arguments of a function that stands for a tool of plain text.
fn words_of(arguments: &str) -> String {
    let value: Option<Value> = serde_json::from_str(arguments).ok();
    let words = value
        .as_ref()
        .and_then(|value| value.get(CUSTOM_FIELD)?.as_str());
    words.unwrap_or(arguments).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: NameRule = NameRule {
        max: 12,
        also: "",
        begins_alphabetic: true,
        native: false,
    };

    fn tool(namespace: Option<&str>, name: &str, kind: ToolKind) -> Tool {
        Tool {
            name: ToolName {
                namespace: namespace.map(ToOwned::to_owned),
                name: name.to_owned(),
            },
            description: None,
            kind,
            cache: None,
            extras: Vec::new(),
        }
    }

    fn function() -> ToolKind {
        ToolKind::Function {
            schema: json!({}),
            strict: None,
        }
    }

    fn call(name: &str, arguments: &str) -> ToolCall {
        ToolCall {
            id: "c".to_owned(),
            tool: ToolName::plain(name),
            arguments: arguments.to_owned(),
            ..ToolCall::default()
        }
    }

    #[test]
    fn names_fit_the_format_and_come_back_as_they_were() {
        let tools = [
            tool(None, "a.b", function()),
            tool(None, "a_b", function()),
            tool(Some("files"), "read everything", function()),
            tool(None, "9lives", function()),
        ];
        let state = TranslationState::new(RULE, &tools);
        let sent: Vec<String> = tools.iter().map(|tool| state.sent(&tool.name)).collect();
        assert_eq!(sent, ["a_b", "a_b_2", "files__read_", "_9lives"]);
        for (tool, sent) in tools.iter().zip(&sent) {
            let mut back = call(sent, "{}");
            state.restore_call(&mut back);
            assert_eq!(back.tool, tool.name);
        }
        let past = ToolName::plain("gone.away");
        assert_eq!(state.sent(&past), "gone_away");
    }

    #[test]
    fn plain_words_travel_inside_a_function_whole_and_in_pieces() {
        let tools = [tool(None, "patch", ToolKind::Custom { format: None })];
        let state = TranslationState::new(RULE, &tools);
        let answer = Response {
            choices: vec![super::super::response::Choice {
                blocks: vec![super::super::block::Block::of(BlockKind::ToolCall(call(
                    "patch",
                    r#"{"input":"*** Begin\n"}"#,
                )))],
                stop: super::super::response::Stop::ToolUse,
            }],
            ..Response::default()
        };
        let whole = state.restore(answer);
        let BlockKind::ToolCall(restored) = &whole.choices[0].blocks[0].kind else {
            panic!("a call");
        };
        assert_eq!(
            (restored.custom, restored.arguments.as_str()),
            (true, "*** Begin\n")
        );
        let mut restored = NameRestorer::new(state);
        let at = BlockIndex::default();
        let mut out = Vec::new();
        restored.pass(
            Event::BlockStart(at, BlockStart::ToolCall(call("patch", ""))),
            &mut out,
        );
        for piece in ["{\"inp", "ut\":\"*** Be", "gin\\n\"}"] {
            let piece = BlockDelta::Arguments(piece.to_owned());
            restored.pass(Event::BlockDelta(at, piece), &mut out);
        }
        restored.pass(Event::BlockEnd(at), &mut out);
        assert_eq!(
            out[1..],
            [
                Event::BlockDelta(at, BlockDelta::Arguments("*** Begin\n".to_owned())),
                Event::BlockEnd(at)
            ]
        );
    }

    #[test]
    fn arguments_that_are_no_object_are_kept_under_one_key() {
        assert_eq!(object_of_arguments(&call("f", "{\"a\":1}")).0["a"], 1);
        assert_eq!(object_of_arguments(&call("f", "")), (Map::new(), false));
        let (kept, odd) = object_of_arguments(&call("f", "{\"a\":"));
        assert_eq!((kept["input"].as_str(), odd), (Some("{\"a\":"), true));
    }
}
