//! An answer is decided once from a checked request, before a byte is sent. Faults change how it is
//! told, not what is decided here.

use crate::answer::filler_words;
use crate::directives::{Directives, Stop};
use crate::fault::Fault;
use crate::schema;
use crate::tokens::{count, tokens_of};
use crate::tool_calls::{self, Called};
use crate::wording;

use super::answer::{Answer, Block, Call, StopReason, Text, Usage};
use super::request::{Choice, MessagesRequest, Thinking, Tool};
use super::signature;
use crate::prompt_cache::Moved;

/// What is left of a limit while an answer grows.
struct RemainingTokens {
    left: u64,
    is_cut: bool,
}

/// Words of a thought without a given size.
const THOUGHT_WORDS: u64 = 4;

/// What the model answers; `call_id` begins the ids of all calls.
pub(super) fn decide(
    request: &MessagesRequest,
    fault: Option<Fault>,
    id: String,
    call_id: &str,
    moved: Moved,
) -> Answer {
    let mut remaining = RemainingTokens {
        left: request.max_tokens,
        is_cut: false,
    };
    let mut blocks = Vec::new();
    let mut hidden = 0;
    let mut sequence = None;
    let mut thinking = 0;
    if let Some(Fault::GiganticBody { bytes } | Fault::GiganticFrame { bytes }) = fault {
        // A flood does not stop at a limit; that is what it is for.
        let words = filler_words(bytes);
        blocks.push(text(Text::Words(words), 0));
    } else {
        (hidden, thinking) = think(request, &id, &mut remaining, &mut blocks);
        let calls = called(request);
        // A model that may call also speaks before it calls, if the prompt sizes a text.
        let is_sized = request.directives.tokens.is_some();
        let has_text = calls.is_empty() || (is_sized && request.choice == Choice::Free);
        if has_text && !remaining.is_cut {
            sequence = speak(request, &mut remaining, &mut blocks);
        }
        if sequence.is_none() && !remaining.is_cut {
            call(&calls, call_id, &mut remaining, &mut blocks);
        }
    }
    let stop = stop(&request.directives, &remaining, sequence, &blocks);
    let output = blocks
        .iter()
        .map(Block::tokens)
        .fold(hidden, u64::saturating_add);
    let moved_in_all = [moved.read, moved.written_5m, moved.written_1h]
        .into_iter()
        .fold(0, u64::saturating_add);
    Answer {
        id,
        model: request.model.clone(),
        blocks,
        hidden,
        stop,
        usage: Usage {
            input: request.prompt_tokens.saturating_sub(moved_in_all),
            read: moved.read,
            written_5m: moved.written_5m,
            written_1h: moved.written_1h,
            output,
            thinking,
        },
    }
}

/// What the prompt itself says about the cache; then marks do not count.
pub(super) fn moved_by_prompt(directives: &Directives, prompt_tokens: u64) -> Option<Moved> {
    let claude = &directives.claude;
    let is_said = directives.cached_tokens > 0
        || claude.written_5m_tokens.is_some()
        || claude.written_1h_tokens.is_some();
    if !is_said {
        return None;
    }
    let read = directives.cached_tokens.min(prompt_tokens);
    let left = prompt_tokens.saturating_sub(read);
    let written_5m = claude.written_5m_tokens.unwrap_or(0).min(left);
    let left = left.saturating_sub(written_5m);
    Some(Moved {
        read,
        written_5m,
        written_1h: claude.written_1h_tokens.unwrap_or(0).min(left),
    })
}

// === impl RemainingTokens ===

impl RemainingTokens {
    /// As much of it as the limit allows.
    fn take(&mut self, requested: u64) -> u64 {
        let taken = requested.min(self.left);
        self.left = self.left.saturating_sub(taken);
        self.is_cut |= requested > taken;
        taken
    }
}

/// The thoughts: how many tokens of them no block shows, and how many there are in all.
fn think(
    request: &MessagesRequest,
    id: &str,
    remaining: &mut RemainingTokens,
    blocks: &mut Vec<Block>,
) -> (u64, u64) {
    let directed = request.directives.reasoning_tokens;
    let (budget, is_shown) = match request.thinking {
        Thinking::On { budget, is_shown } => (budget, is_shown),
        Thinking::BetweenTools if request.ends_with_result => (None, true),
        Thinking::Off | Thinking::BetweenTools => {
            let hidden = remaining.take(directed);
            let redacted = redact(request, id, remaining, blocks);
            return (hidden, hidden.saturating_add(redacted));
        }
    };
    let requested = if directed == 0 {
        THOUGHT_WORDS
    } else {
        directed
    };
    let words = remaining.take(requested.min(budget.unwrap_or(u64::MAX)));
    blocks.push(Block::Thought { words, is_shown });
    let redacted = redact(request, id, remaining, blocks);
    (0, words.saturating_add(redacted))
}

/// The tokens of a redacted thought, if the prompt asks for one.
fn redact(
    request: &MessagesRequest,
    id: &str,
    remaining: &mut RemainingTokens,
    blocks: &mut Vec<Block>,
) -> u64 {
    let requested = request.directives.claude.redacted_tokens;
    if requested == 0 {
        return 0;
    }
    let tokens = remaining.take(requested);
    let data = signature::redacted(id);
    blocks.push(Block::Redacted { tokens, data });
    tokens
}

/// The text. Returns the stop sequence it met.
fn speak(
    request: &MessagesRequest,
    remaining: &mut RemainingTokens,
    blocks: &mut Vec<Block>,
) -> Option<String> {
    let directives = &request.directives;
    let spoken = match &request.schema {
        Some(schema) if directives.refusal_tokens.is_none() => {
            let mut tokens = tokens_of(&schema::document(schema));
            let taken = remaining.take(count(tokens.len()));
            truncate(&mut tokens, taken);
            Text::Document(tokens)
        }
        Some(_) | None => {
            let sized = directives.refusal_tokens.or(directives.tokens);
            let words = sized.unwrap_or_else(|| wording::length(&request.model, directives.words));
            Text::Words(remaining.take(words))
        }
    };
    let (spoken, sequence) = stopped(&request.model, spoken, &request.stop_sequences);
    if spoken.pieces() > 0 {
        blocks.push(text(spoken, directives.claude.citations));
    }
    sequence
}

/// The text up to the first stop sequence in it.
fn stopped(model: &str, spoken: Text, sequences: &[String]) -> (Text, Option<String>) {
    if sequences.is_empty() {
        return (spoken, None);
    }
    let whole = match &spoken {
        Text::Words(words) => (0..*words)
            .map(|index| wording::word(model, index, false))
            .collect(),
        Text::Document(tokens) => tokens.concat(),
    };
    let found = sequences
        .iter()
        .filter_map(|sequence| whole.find(sequence.as_str()).map(|at| (at, sequence)))
        .min_by_key(|(at, _)| *at);
    let Some((at, sequence)) = found else {
        return (spoken, None);
    };
    let before = whole.get(..at).unwrap_or_default();
    (Text::Document(tokens_of(before)), Some(sequence.clone()))
}

fn call(
    called: &[Called<'_, Tool>],
    call_id: &str,
    remaining: &mut RemainingTokens,
    blocks: &mut Vec<Block>,
) {
    for (index, one) in called.iter().enumerate() {
        if remaining.take(1) == 0 {
            return;
        }
        let mut tokens = tokens_of(&one.arguments(one.tool.schema.as_ref()));
        let taken = remaining.take(count(tokens.len()));
        truncate(&mut tokens, taken);
        blocks.push(Block::Call(Call {
            id: format!("{call_id}{index:02}"),
            name: one.tool.name.clone(),
            pieces: odd_pieces(&tokens),
        }));
    }
}

/// The tools to call. Those named in the prompt are not called again once as many results came as it has steps, or a
/// client that loops over calls would never end.
fn called(request: &MessagesRequest) -> Vec<Called<'_, Tool>> {
    if request.directives.refusal_tokens.is_some() {
        return Vec::new();
    }
    let find = |name: &str| request.tools.iter().find(|tool| tool.name == name);
    let requested = || tool_calls::requested(&request.directives.calls, find);
    let steps = request.directives.gemini.steps;
    let has_results = steps.is_none_or(|steps| request.results >= steps);
    let mut called = match &request.choice {
        Choice::None => Vec::new(),
        Choice::Named(name) => {
            let mut calls = requested();
            calls.retain(|call| call.tool.name == *name);
            tool_calls::or_made_up(calls, find(name))
        }
        Choice::Any => tool_calls::or_made_up(requested(), request.tools.first()),
        Choice::Free if request.answers_result && has_results => Vec::new(),
        Choice::Free => requested(),
    };
    if !request.may_call_several {
        called.truncate(1);
    }
    called
}

fn stop(
    directives: &Directives,
    remaining: &RemainingTokens,
    sequence: Option<String>,
    blocks: &[Block],
) -> StopReason {
    match directives.claude.stop {
        Some(Stop::Refusal) => return StopReason::Refusal,
        Some(Stop::PauseTurn) => return StopReason::PauseTurn,
        Some(Stop::ContextWindow) => return StopReason::ContextWindow,
        None => {}
    }
    if directives.refusal_tokens.is_some() && !remaining.is_cut {
        return StopReason::Refusal;
    }
    if let Some(sequence) = sequence {
        return StopReason::StopSequence(sequence);
    }
    // The vendor tells of a cut before it tells of a call.
    if remaining.is_cut {
        return StopReason::MaxTokens;
    }
    if blocks.iter().any(|block| matches!(block, Block::Call(_))) {
        return StopReason::ToolUse;
    }
    StopReason::EndTurn
}

fn text(text: Text, citations: u64) -> Block {
    Block::Text { text, citations }
}

fn truncate(tokens: &mut Vec<String>, remaining: u64) {
    tokens.truncate(usize::try_from(remaining).unwrap_or(usize::MAX));
}

/// As many pieces as tokens, each ending in the middle of the next token: inside names, numbers
/// and escapes, where the vendor cuts too.
fn odd_pieces(tokens: &[String]) -> Vec<String> {
    let halves: Vec<(&str, &str)> = tokens
        .iter()
        .map(|token| token.split_at(token.floor_char_boundary(token.len() / 2)))
        .collect();
    let mut pieces: Vec<String> = Vec::new();
    for (index, (first, second)) in halves.iter().enumerate() {
        let mut piece = String::new();
        if index == 0 {
            piece.push_str(first);
        }
        piece.push_str(second);
        if let Some((next, _)) = halves.get(index.saturating_add(1)) {
            piece.push_str(next);
        }
        pieces.push(piece);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_pieces_join_to_the_text_and_end_inside_tokens() {
        let tokens = tokens_of("{\n  \"city\": \"sim\"\n}");
        let pieces = odd_pieces(&tokens);
        assert_eq!(pieces.len(), tokens.len());
        assert_eq!(pieces.concat(), tokens.concat());
        assert_eq!(pieces.first().unwrap(), "{\n  \"cit");
    }

    #[test]
    fn a_text_ends_before_the_first_stop_sequence_in_it() {
        let sequences = ["sim4".to_owned(), "m3".to_owned(), "none".to_owned()];
        let (spoken, met) = stopped("sim-small", Text::Words(6), &sequences);
        let Text::Document(tokens) = spoken else {
            panic!("the text was not cut");
        };
        assert_eq!(tokens.concat(), "sim1 sim2 si");
        assert_eq!(met.as_deref(), Some("m3"));
        let (spoken, met) = stopped("sim-small", Text::Words(2), &sequences);
        assert_eq!((spoken.pieces(), met), (2, None));
    }

    #[test]
    fn what_a_prompt_says_of_the_cache_never_exceeds_the_prompt() {
        let directives =
            Directives::read("[[cached:60]] [[written_5m:30]] [[written_1h:30]]").unwrap();
        let moved = moved_by_prompt(&directives, 100).unwrap();
        assert_eq!(
            (moved.read, moved.written_5m, moved.written_1h),
            (60, 30, 10)
        );
        assert_eq!(moved_by_prompt(&Directives::default(), 100), None);
    }
}
