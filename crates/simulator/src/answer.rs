//! What the model says: decided once from a checked request, before a byte is sent. Faults change
//! how it is told, not what is decided here.

use crate::directives::Filter;
use crate::fault::Fault;
use crate::models;
use crate::request::{ChatRequest, Format, Tool, ToolChoice};
use crate::schema;
use crate::tokens::{count, tokens_of};
use crate::tool_calls::{self, Called};
use crate::wording;

/// One answer, the same in every choice.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) id: String,
    pub(crate) created: u64,
    pub(crate) model: String,
    pub(crate) choices: u64,
    /// Words of reasoning that are shown.
    pub(crate) shown_reasoning: u64,
    pub(crate) says: Says,
    pub(crate) finish: Finish,
    pub(crate) usage: Usage,
    /// The tier that it was served in.
    pub(crate) service_tier: String,
    /// Whether it tells what Azure's filters found.
    pub(crate) is_filtered: bool,
}

/// The content of a choice.
#[derive(Debug)]
pub(crate) enum Says {
    Words(u64),
    /// A document, cut into tokens.
    Document(Vec<String>),
    /// So many numbered words of a refusal.
    Refusal(u64),
    /// Calls of tools, and the tokens behind the first one's name.
    Calls {
        calls: Vec<SaidCall>,
        pieces: Vec<CallPiece>,
    },
}

/// A call: what is told when it begins.
#[derive(Debug)]
pub(crate) struct SaidCall {
    pub(crate) id: String,
    pub(crate) name: String,
}

/// A token of the calls; `call` counts from 0.
#[derive(Debug)]
pub(crate) enum CallPiece {
    /// The name of a further call. The first one's comes before every piece.
    Name {
        call: usize,
    },
    Arguments {
        call: usize,
        text: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finish {
    Stop,
    Length,
    ToolCalls,
    ContentFilter,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) prompt: u64,
    pub(crate) cached: u64,
    pub(crate) completion: u64,
    pub(crate) reasoning: u64,
}

/// Most tokens of one request, all choices together: the output limit of these models.
const MAX_OUTPUT_TOKENS: u64 = 100_000;
/// Bytes of a filler word, its space included; see `script`.
pub(crate) const FILLER_WORD_BYTES: u64 = 4;
/// Most bytes of a gigantic answer.
const MAX_GIGANTIC_BYTES: u64 = 64 * 1024 * 1024 * 1024;

// === impl Answer ===

impl Answer {
    pub(crate) fn decide(
        request: &ChatRequest,
        fault: Option<Fault>,
        id: String,
        created: u64,
    ) -> Self {
        let is_flood = matches!(
            fault,
            Some(Fault::GiganticBody { .. } | Fault::GiganticFrame { .. })
        );
        // One flood is enough.
        let choices = if is_flood { 1 } else { request.choices };
        let limit = MAX_OUTPUT_TOKENS
            .checked_div(choices)
            .unwrap_or(MAX_OUTPUT_TOKENS)
            .min(request.max_tokens.unwrap_or(MAX_OUTPUT_TOKENS));
        let wanted_reasoning = request.directives.reasoning_tokens;
        let reasoning = wanted_reasoning.min(limit);
        let remaining = limit.saturating_sub(reasoning);
        let (says, spoken, is_cut) = content(request, fault, &id, remaining);
        let mut finish = match says {
            Says::Calls { .. } => Finish::ToolCalls,
            Says::Words(_) | Says::Document(_) | Says::Refusal(_) => Finish::Stop,
        };
        // The vendor tells of a cut before it tells of a call.
        if is_cut || wanted_reasoning > reasoning {
            finish = Finish::Length;
        }
        if request.directives.openai.filter == Some(Filter::Output) {
            finish = Finish::ContentFilter;
        }
        let prompt = request.prompt.tokens();
        let each = reasoning.saturating_add(spoken);
        Self {
            id,
            created,
            model: request.model.clone(),
            choices,
            shown_reasoning: if models::reasons(&request.model) {
                reasoning
            } else {
                0
            },
            says,
            finish,
            usage: Usage {
                prompt,
                cached: request.directives.cached_tokens.min(prompt),
                completion: each.saturating_mul(choices),
                reasoning: reasoning.saturating_mul(choices),
            },
            service_tier: request.served_tier().to_owned(),
            is_filtered: request.is_filtered,
        }
    }

    /// Tokens of reasoning that no frame shows; the first frame of a choice stands for them.
    pub(crate) fn hidden_reasoning(&self) -> u64 {
        let each = self.usage.reasoning.checked_div(self.choices);
        each.unwrap_or_default()
            .saturating_sub(self.shown_reasoning)
    }
}

// === impl Finish ===

impl Finish {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ToolCalls => "tool_calls",
            Self::ContentFilter => "content_filter",
        }
    }
}

// === impl Usage ===

impl Usage {
    /// The counts as a liar tells them.
    pub(crate) fn times(self, factor: u64) -> Self {
        Self {
            prompt: self.prompt.saturating_mul(factor),
            cached: self.cached.saturating_mul(factor),
            completion: self.completion.saturating_mul(factor),
            reasoning: self.reasoning.saturating_mul(factor),
        }
    }

    pub(crate) fn total(self) -> u64 {
        self.prompt.saturating_add(self.completion)
    }
}

// === impl Says ===

impl Says {
    /// How many tokens there are to tell, one in each frame.
    pub(crate) fn pieces(&self) -> u64 {
        match self {
            Self::Words(words) | Self::Refusal(words) => *words,
            Self::Document(tokens) => count(tokens.len()),
            Self::Calls { pieces, .. } => count(pieces.len()),
        }
    }
}

/// The calls that a whole answer tells, each with its arguments. One whose name was cut off is not
/// among them.
pub(crate) fn announced_calls<'a>(
    calls: &'a [SaidCall],
    pieces: &[CallPiece],
) -> Vec<(&'a SaidCall, String)> {
    let mut announced: Vec<(&SaidCall, String)> = calls
        .first()
        .map(|call| (call, String::new()))
        .into_iter()
        .collect();
    for piece in pieces {
        match piece {
            CallPiece::Name { call } => {
                announced.extend(calls.get(*call).map(|call| (call, String::new())));
            }
            CallPiece::Arguments { text, .. } => {
                if let Some((_, arguments)) = announced.last_mut() {
                    arguments.push_str(text);
                }
            }
        }
    }
    announced
}

/// How many filler words make a gigantic answer.
pub(crate) fn filler_words(bytes: u64) -> u64 {
    bytes.min(MAX_GIGANTIC_BYTES) / FILLER_WORD_BYTES
}

/// The content, its tokens, and whether the limit cut it.
fn content(
    request: &ChatRequest,
    fault: Option<Fault>,
    id: &str,
    remaining: u64,
) -> (Says, u64, bool) {
    if let Some(Fault::GiganticBody { bytes } | Fault::GiganticFrame { bytes }) = fault {
        // A flood does not stop at a limit; that is what it is for.
        let words = filler_words(bytes);
        return (Says::Words(words), words, false);
    }
    if let Some(requested) = request.directives.refusal_tokens {
        let words = requested.min(remaining);
        return (Says::Refusal(words), words, requested > words);
    }
    let called = called_tools(request);
    if !called.is_empty() {
        return said_calls(&called, id, remaining);
    }
    let mut document = match &request.format {
        Format::Text => {
            let requested = request.directives.tokens;
            let words = requested
                .unwrap_or_else(|| wording::length(&request.model, request.directives.words));
            return (
                Says::Words(words.min(remaining)),
                words.min(remaining),
                words > remaining,
            );
        }
        Format::JsonObject => tokens_of("{\n  \"answer\": \"sim\"\n}"),
        Format::JsonSchema(schema) => tokens_of(&schema::document(schema)),
    };
    let is_cut = cut(&mut document, remaining);
    let spoken = count(document.len());
    (Says::Document(document), spoken, is_cut)
}

/// The calls, their tokens, and whether the limit cut them.
fn said_calls(called: &[Called<'_, Tool>], id: &str, remaining: u64) -> (Says, u64, bool) {
    let id = id.trim_start_matches("chatcmpl-");
    let mut calls = Vec::new();
    let mut pieces = Vec::new();
    for (call, one) in called.iter().enumerate() {
        let id = if call == 0 {
            format!("call_{id}")
        } else {
            pieces.push(CallPiece::Name { call });
            format!("call_{id}_{call}")
        };
        let name = one.tool.name.clone();
        calls.push(SaidCall { id, name });
        let tokens = tokens_of(&one.arguments(one.tool.parameters.as_ref()));
        let arguments = |text| CallPiece::Arguments { call, text };
        pieces.extend(tokens.into_iter().map(arguments));
    }
    // The first name is a token of its own, and the first to be said.
    let is_cut = cut(&mut pieces, remaining.saturating_sub(1));
    let spoken = count(pieces.len()).saturating_add(1).min(remaining);
    let says = Says::Calls { calls, pieces };
    (says, spoken, is_cut)
}

/// The tools to call. Those named in the prompt are not called again once a result came, or a
/// client that loops over calls would never end.
fn called_tools(request: &ChatRequest) -> Vec<Called<'_, Tool>> {
    let find = |name: &str| request.tools.iter().find(|tool| tool.name == name);
    let requested = || tool_calls::requested(&request.directives.calls, find);
    let mut called = match &request.tool_choice {
        ToolChoice::None => Vec::new(),
        ToolChoice::Named(name) => {
            let mut calls = requested();
            calls.retain(|call| call.tool.name == *name);
            tool_calls::or_made_up(calls, find(name))
        }
        ToolChoice::Required => tool_calls::or_made_up(requested(), request.tools.first()),
        ToolChoice::Free if request.answers_tool => Vec::new(),
        ToolChoice::Free => requested(),
    };
    if !request.parallel_calls {
        called.truncate(1);
    }
    called
}

/// Shortens the list to so many tokens and says whether that took something away.
fn cut<Token>(tokens: &mut Vec<Token>, remaining: u64) -> bool {
    let remaining = usize::try_from(remaining).unwrap_or(usize::MAX);
    let is_cut = tokens.len() > remaining;
    tokens.truncate(remaining);
    is_cut
}
