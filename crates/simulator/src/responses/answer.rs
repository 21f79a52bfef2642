//! What the model answers: its output items, decided once from a checked request, before a byte
//! is sent.

use serde_json::Value;

use crate::answer::{Usage, filler_words};
use crate::directives::Filter;
use crate::fault::Fault;
use crate::models;
use crate::request::Format;
use crate::schema;
use crate::tokens::{count, tokens_of};
use crate::tool_calls::{self, Called};
use crate::wording;

use super::encrypted_reasoning;
use super::request::ResponsesRequest;
use super::tools::{Choice, Tool, ToolKind};

#[derive(Clone, Debug)]
pub(crate) struct Output {
    pub(crate) items: Vec<Item>,
    pub(crate) outcome: Outcome,
    pub(crate) usage: Usage,
    pub(crate) cache_write_tokens: u64,
    /// Tokens of reasoning that no event shows; the first event stands for them.
    pub(crate) hidden_tokens: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) id: String,
    pub(crate) what: What,
    /// Whether the limit or a filter cut it.
    pub(crate) is_cut: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum What {
    /// So many words, of which the summary shows all or none.
    Reasoning {
        tokens: u64,
        is_shown: bool,
        sealed: Option<String>,
    },
    /// A search the vendor did.
    Search { query: String },
    /// Text, with so many citations beneath it.
    Message { says: Says, citations: u64 },
    /// A call, its arguments or input cut into tokens.
    Call(Call),
}

#[derive(Clone, Debug)]
pub(crate) enum Says {
    Words(u64),
    Document(Vec<String>),
    Refusal(u64),
}

/// A call of a tool.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) call_id: String,
    pub(crate) name: String,
    pub(crate) namespace: Option<String>,
    pub(crate) kind: CallKind,
    pub(crate) pieces: Vec<String>,
    /// Whether the limit allowed the name, which is a token of its own.
    pub(crate) has_name: bool,
}

/// Which item a call becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallKind {
    Function,
    Custom,
    LocalShell,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Completed,
    /// `max_output_tokens` or `content_filter`.
    Incomplete(&'static str),
    Failed(String),
}

/// The output limit of these models.
const MAX_OUTPUT_TOKENS: u64 = 100_000;
/// What a custom tool gets, whatever its grammar.
const CUSTOM_INPUT: &str = "sim1 sim2 sim3";
/// The command for a local shell.
const SHELL_COMMAND: &str = "echo sim";

/// Output tokens that are left.
struct RemainingTokens(u64);

// === impl Output ===

impl Output {
    /// Of a response that says nothing.
    pub(crate) fn nothing() -> Self {
        Self {
            items: Vec::new(),
            outcome: Outcome::Completed,
            usage: Usage {
                prompt: 0,
                cached: 0,
                completion: 0,
                reasoning: 0,
            },
            cache_write_tokens: 0,
            hidden_tokens: 0,
        }
    }

    /// `digits` are those of the response's id, `key` is whose reasoning it is.
    pub(crate) fn decide(
        request: &ResponsesRequest,
        fault: Option<Fault>,
        digits: &str,
        key: &str,
    ) -> Self {
        let directives = &request.directives.openai;
        let limit = request.max_output_tokens.unwrap_or(MAX_OUTPUT_TOKENS);
        let mut remaining = RemainingTokens(limit.min(MAX_OUTPUT_TOKENS));
        let mut items = Vec::new();
        let (reasoning, mut is_cut) = remaining.take(request.directives.reasoning_tokens);
        let reasons = models::reasons(&request.model);
        if reasons && reasoning > 0 {
            let text = format!("{} {reasoning}", request.model);
            items.push(What::Reasoning {
                tokens: reasoning,
                is_shown: request.wants_summary,
                sealed: request
                    .wants_sealed
                    .then(|| encrypted_reasoning::sealed(key, &text)),
            });
        }
        let mut spoken = 0;
        if !is_cut {
            (spoken, is_cut) = speak(request, fault, digits, &mut remaining, &mut items);
        }
        let outcome = if let Some(code) = &directives.fail {
            Outcome::Failed(code.clone())
        } else if directives.filter == Some(Filter::Output) {
            Outcome::Incomplete("content_filter")
        } else if is_cut {
            Outcome::Incomplete("max_output_tokens")
        } else {
            Outcome::Completed
        };
        let last = items.len().saturating_sub(1);
        let items = (0..)
            .zip(items)
            .map(|(at, what)| Item {
                id: format!("{}_{digits}o{at:02}", what.prefix()),
                is_cut: at == last && outcome != Outcome::Completed,
                what,
            })
            .collect();
        let prompt = request.prompt_tokens;
        let cached = request.directives.cached_tokens.min(prompt);
        Self {
            items,
            outcome,
            usage: Usage {
                prompt,
                cached,
                completion: reasoning.saturating_add(spoken),
                reasoning,
            },
            cache_write_tokens: directives
                .cache_write_tokens
                .min(prompt.saturating_sub(cached)),
            hidden_tokens: if reasons { 0 } else { reasoning },
        }
    }
}

// === impl What ===

impl What {
    fn prefix(&self) -> &'static str {
        match self {
            Self::Reasoning { .. } => "rs",
            Self::Search { .. } => "ws",
            Self::Message { .. } => "msg",
            Self::Call(call) => match call.kind {
                CallKind::Function => "fc",
                CallKind::Custom => "ctc",
                CallKind::LocalShell => "lsh",
            },
        }
    }

    /// How many deltas tell it.
    pub(crate) fn deltas(&self) -> u64 {
        match self {
            Self::Reasoning {
                tokens,
                is_shown: true,
                ..
            } => *tokens,
            Self::Reasoning { .. } | Self::Search { .. } => 0,
            Self::Message { says, .. } => match says {
                Says::Words(words) | Says::Refusal(words) => *words,
                Says::Document(tokens) => count(tokens.len()),
            },
            Self::Call(call) => count(call.pieces.len()),
        }
    }
}

// === impl RemainingTokens ===

impl RemainingTokens {
    /// So many of the requested tokens as the limit allows, and whether that is fewer.
    fn take(&mut self, requested: u64) -> (u64, bool) {
        let taken = requested.min(self.0);
        self.0 = self.0.saturating_sub(taken);
        (taken, taken < requested)
    }

    fn cut(&mut self, pieces: &mut Vec<String>) -> (u64, bool) {
        let (taken, is_cut) = self.take(count(pieces.len()));
        pieces.truncate(usize::try_from(taken).unwrap_or(usize::MAX));
        (taken, is_cut)
    }
}

/// Adds what comes behind the reasoning; gives its tokens, and whether the limit cut it.
fn speak(
    request: &ResponsesRequest,
    fault: Option<Fault>,
    digits: &str,
    remaining: &mut RemainingTokens,
    items: &mut Vec<What>,
) -> (u64, bool) {
    let message = |says| What::Message {
        says,
        citations: request.directives.openai.citations,
    };
    if let Some(Fault::GiganticBody { bytes } | Fault::GiganticFrame { bytes }) = fault {
        // A flood does not stop at a limit; that is what it is for.
        let words = filler_words(bytes);
        items.push(message(Says::Words(words)));
        return (words, false);
    }
    if let Some(requested) = request.directives.refusal_tokens {
        let (words, is_cut) = remaining.take(requested);
        items.push(message(Says::Refusal(words)));
        return (words, is_cut);
    }
    let (mut spoken, mut has_called) = (0u64, false);
    for (at, called) in (0..).zip(called_tools(request)) {
        let tool = called.tool;
        let Some((kind, text)) = call_of(&called) else {
            items.push(What::Search {
                query: "sim".to_owned(),
            });
            continue;
        };
        has_called = true;
        let mut pieces = tokens_of(&text);
        let (name, is_full) = remaining.take(1);
        let (taken, is_cut) = remaining.cut(&mut pieces);
        spoken = spoken.saturating_add(name).saturating_add(taken);
        items.push(What::Call(Call {
            call_id: format!("call_{digits}{at:02}"),
            name: tool.name.clone(),
            namespace: tool.namespace.clone(),
            kind,
            pieces,
            has_name: name > 0,
        }));
        if is_cut || is_full {
            return (spoken, true);
        }
    }
    if has_called {
        return (spoken, false);
    }
    let document = match &request.format {
        Format::Text => {
            let requested = request.directives.tokens;
            let requested = requested
                .unwrap_or_else(|| wording::length(&request.model, request.directives.words));
            let (words, is_cut) = remaining.take(requested);
            items.push(message(Says::Words(words)));
            return (words, is_cut);
        }
        Format::JsonObject => "{\n  \"answer\": \"sim\"\n}".to_owned(),
        Format::JsonSchema(schema) => schema::document(schema),
    };
    let mut tokens = tokens_of(&document);
    let (taken, is_cut) = remaining.cut(&mut tokens);
    items.push(message(Says::Document(tokens)));
    (taken, is_cut)
}

/// What a call says; nothing for a tool that the vendor runs itself.
fn call_of(called: &Called<'_, Tool>) -> Option<(CallKind, String)> {
    match &called.tool.kind {
        ToolKind::Function(schema) => Some((CallKind::Function, called.arguments(schema.as_ref()))),
        ToolKind::Custom => {
            let text = written_text(called.written, "input", CUSTOM_INPUT);
            Some((CallKind::Custom, text))
        }
        ToolKind::LocalShell => {
            let text = written_text(called.written, "command", SHELL_COMMAND);
            Some((CallKind::LocalShell, text))
        }
        ToolKind::WebSearch | ToolKind::Hosted => None,
    }
}

/// A tool without a schema takes a text: that of one field of what the prompt wrote, or all of it.
fn written_text(written: Option<&str>, field: &str, otherwise: &str) -> String {
    let Some(written) = written else {
        return otherwise.to_owned();
    };
    let object: Value = serde_json::from_str(written).unwrap_or_default();
    let text = object.get(field).and_then(Value::as_str);
    text.unwrap_or(written).to_owned()
}

/// The tools to call. Tools named in the prompt are not called again once a result came, or a
/// client that loops over calls would never end.
fn called_tools(request: &ResponsesRequest) -> Vec<Called<'_, Tool>> {
    let find = |name: &str| request.tools.iter().find(|tool| tool.name == name);
    let named = |allowed: &Option<Vec<String>>| {
        let mut called = tool_calls::requested(&request.directives.calls, find);
        called.retain(|call| {
            let name = &call.tool.name;
            allowed.as_ref().is_none_or(|list| list.contains(name))
        });
        called
    };
    let mut called = match &request.choice {
        Choice::None => Vec::new(),
        Choice::Named(name) => tool_calls::or_made_up(named(&Some(vec![name.clone()])), find(name)),
        Choice::Free(_) if request.context.answers_tool => Vec::new(),
        Choice::Free(allowed) => named(allowed),
        Choice::Required(allowed) => {
            let first = match allowed {
                Some(list) => list.iter().find_map(|name| find(name)),
                None => request.tools.first(),
            };
            tool_calls::or_made_up(named(allowed), first)
        }
    };
    called.retain(|call| call.tool.kind != ToolKind::Hosted);
    if !request.is_parallel {
        called.truncate(1);
    }
    called
}
