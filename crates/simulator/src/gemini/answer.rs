//! What the model says: decided once from a checked request, before a byte is sent. Faults change
//! how it is told, not what is decided here.

use crate::answer::filler_words;
use crate::fault::Fault;
use crate::tokens::count;

use super::content_pieces::{Content, ContentPiece, Words};
use super::contents::add_tokens;
use super::request::GenerateRequest;
use super::schema::Service;

/// One answer, the same in every candidate.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) id: String,
    pub(super) model: String,
    pub(super) candidates: u64,
    /// The pieces of one candidate, in their order.
    pub(super) pieces: Vec<ContentPiece>,
    /// Thoughts that no piece shows, in one candidate; the first frame stands for them.
    pub(super) hidden_thoughts: u64,
    pub(super) finish: &'static str,
    /// What the last part of a candidate without calls carries.
    pub(super) end_signature: Option<String>,
    /// The prompt was not answered, for this reason.
    pub(super) block: Option<&'static str>,
    /// So many filler words instead of pieces.
    pub(super) flood: Option<u64>,
    pub(super) usage: Usage,
}

/// Counts, true or told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Usage {
    pub(super) prompt: Vec<(&'static str, u64)>,
    pub(super) cached: u64,
    pub(super) tool_prompt: u64,
    /// Of the answer, beside its text; told at the end.
    pub(super) answer_details: Vec<(&'static str, u64)>,
    pub(super) spoken: u64,
    pub(super) thoughts: u64,
}

/// Most tokens of one request, all candidates together: the output limit of these models.
pub(super) const MAX_OUTPUT_TOKENS: u64 = 65_536;
/// Why a candidate ends that says no; the vendor has no word of its own for it.
const REFUSED: &str = "SAFETY";

// === impl Answer ===

impl Answer {
    /// `seen` is what the vendor's own cache knows of the prompt.
    pub(super) fn decide(
        request: &GenerateRequest,
        fault: Option<Fault>,
        model: &str,
        id: String,
        seen: u64,
        service: Service,
    ) -> Self {
        let directives = &request.directives.gemini;
        let is_silent = directives.block.is_some();
        let flood = flood_words(fault).filter(|_| !is_silent);
        // One flood is enough.
        let candidates = if flood.is_some() {
            1
        } else {
            request.config.candidates
        };
        let limit = limit(request, candidates);
        let requested = wanted_thoughts(request);
        let thoughts = if is_silent { 0 } else { requested.min(limit) };
        let words = Words {
            model,
            has_accents: matches!(fault, Some(Fault::SplitBytes { .. })),
        };
        let mut content = if is_silent {
            Content::default()
        } else {
            words.content(request, &id, limit.saturating_sub(thoughts), service)
        };
        if let Some(words) = flood {
            // A flood does not stop at a limit; that is what it is for.
            content = Content {
                spoken: words,
                ..Content::default()
            };
        }
        let is_cut = content.is_cut || requested > thoughts;
        let refuses = request.directives.refusal_tokens.is_some();
        let shows = request.thinks && request.config.shows_thoughts;
        Self {
            id,
            model: model.to_owned(),
            candidates,
            hidden_thoughts: if shows { 0 } else { thoughts },
            finish: directives.finish.unwrap_or(match (is_cut, refuses) {
                (true, _) => "MAX_TOKENS",
                (false, true) => REFUSED,
                (false, false) => "STOP",
            }),
            end_signature: content.end_signature(request.thinks),
            block: directives.block,
            flood,
            usage: Usage::of(request, seen, candidates, content.spoken, thoughts),
            pieces: content.behind(if shows {
                words.thoughts(thoughts)
            } else {
                Vec::new()
            }),
        }
    }

    /// How many frames a candidate takes before its end.
    pub(super) fn length(&self) -> u64 {
        count(self.pieces.len())
    }
}

// === impl Usage ===

impl Usage {
    /// The true counts; `spoken` and `thoughts` are those of one candidate.
    fn of(
        request: &GenerateRequest,
        seen: u64,
        candidates: u64,
        spoken: u64,
        thoughts: u64,
    ) -> Self {
        let directives = &request.directives;
        let cached = match directives.cached_tokens {
            0 => seen,
            reported => reported,
        };
        Self {
            prompt: request.prompt.details.clone(),
            cached: cached.min(request.prompt.tokens()),
            tool_prompt: directives.gemini.tool_prompt_tokens,
            answer_details: match directives.gemini.block {
                Some(_) => Vec::new(),
                None => directives.gemini.answer_details.clone(),
            },
            spoken: spoken.saturating_mul(candidates),
            thoughts: thoughts.saturating_mul(candidates),
        }
    }

    pub(super) fn prompt_tokens(&self) -> u64 {
        sum(&self.prompt)
    }

    /// Tokens of the answer with all that is only told of.
    pub(super) fn candidates_tokens(&self) -> u64 {
        self.spoken.saturating_add(sum(&self.answer_details))
    }

    /// What the answer is billed for.
    pub(super) fn output_tokens(&self) -> u64 {
        self.candidates_tokens().saturating_add(self.thoughts)
    }

    /// The counts as a liar tells them.
    pub(super) fn times(&self, factor: u64) -> Self {
        let all = |list: &[(&'static str, u64)]| {
            let mut more = Vec::new();
            for (modality, tokens) in list {
                add_tokens(&mut more, modality, tokens.saturating_mul(factor));
            }
            more
        };
        Self {
            prompt: all(&self.prompt),
            cached: self.cached.saturating_mul(factor),
            tool_prompt: self.tool_prompt.saturating_mul(factor),
            answer_details: all(&self.answer_details),
            spoken: self.spoken.saturating_mul(factor),
            thoughts: self.thoughts.saturating_mul(factor),
        }
    }
}

/// Filler words of a gigantic answer.
fn flood_words(fault: Option<Fault>) -> Option<u64> {
    match fault {
        Some(Fault::GiganticBody { bytes } | Fault::GiganticFrame { bytes }) => {
            Some(filler_words(bytes))
        }
        Some(_) | None => None,
    }
}

/// Most tokens of one candidate.
fn limit(request: &GenerateRequest, candidates: u64) -> u64 {
    MAX_OUTPUT_TOKENS
        .checked_div(candidates)
        .unwrap_or(MAX_OUTPUT_TOKENS)
        .min(request.config.max_tokens.unwrap_or(MAX_OUTPUT_TOKENS))
}

fn wanted_thoughts(request: &GenerateRequest) -> u64 {
    let budget = request.config.thinking_budget.unwrap_or(u64::MAX);
    request.directives.reasoning_tokens.min(budget)
}

fn sum(list: &[(&'static str, u64)]) -> u64 {
    let each = list.iter().map(|(_, tokens)| *tokens);
    each.fold(0, u64::saturating_add)
}
