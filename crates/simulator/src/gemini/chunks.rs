//! The chunks of an answer as bytes, each with what it means for the record.

use crate::fault::Fault;
use crate::fault_stage;
use crate::script::{GAP, Piece};

use super::answer::{Answer, Usage};
use super::content_pieces::{MAX_FRAMES, Part};
use super::script::{Form, Renderer};
use super::wire_types::{Candidate, Counts, Generated, PartShape, ends_well};

/// Filler words in each chunk of a gigantic stream, unless there would be too many chunks.
const FILLER_WORDS_PER_CHUNK: u64 = 1024;

/// The chunks of a stream, each with the counts up to and with it.
pub(super) fn of_stream(renderer: &Renderer<'_>) -> Vec<Piece> {
    let answer = renderer.answer;
    let mut counted = Usage {
        spoken: 0,
        thoughts: 0,
        answer_details: Vec::new(),
        ..answer.usage.clone()
    };
    let mut chunks = Vec::new();
    if answer.block.is_some() {
        chunks.push(chunk(renderer, Vec::new(), &counted, 0, true));
        return chunks;
    }
    let mut hidden = answer.hidden_thoughts.saturating_mul(answer.candidates);
    counted.thoughts = hidden;
    for piece in &answer.pieces {
        for candidate in 0..answer.candidates {
            match piece.part {
                Part::Thought(_) => add(&mut counted.thoughts, piece.tokens),
                Part::Text(_) | Part::Call { .. } => add(&mut counted.spoken, piece.tokens),
            }
            let candidate = Candidate::saying(candidate, vec![PartShape::of(&piece.part)]);
            let worth = piece.tokens.saturating_add(std::mem::take(&mut hidden));
            chunks.push(chunk(renderer, vec![candidate], &counted, worth, false));
        }
    }
    if let Some(words) = answer.flood {
        let each = match renderer.fault {
            Some(Fault::GiganticFrame { .. }) => words,
            Some(_) | None => FILLER_WORDS_PER_CHUNK.max(words.div_ceil(MAX_FRAMES)),
        };
        for now in fault_stage::portions(words, each) {
            add(&mut counted.spoken, now);
            let candidate = Candidate::saying(0, vec![PartShape::text(GAP)]);
            let worth = std::mem::take(&mut hidden);
            let filled = chunk(renderer, vec![candidate], &counted, worth, false);
            chunks.push(filled.filled(now, true));
        }
    }
    if renderer.fault == Some(Fault::TruncatedJson) || renderer.fault == Some(Fault::NoFinishReason)
    {
        return chunks;
    }
    for index in 0..answer.candidates {
        let is_last = index.saturating_add(1) == answer.candidates;
        let mut more = std::mem::take(&mut hidden);
        if is_last {
            counted
                .answer_details
                .clone_from(&answer.usage.answer_details);
            more = more.saturating_add(counted.candidates_tokens().saturating_sub(counted.spoken));
        }
        let ending = Candidate::ending(index, answer);
        chunks.push(chunk(renderer, vec![ending], &counted, more, is_last));
    }
    chunks
}

pub(super) fn of_whole(renderer: &Renderer<'_>) -> Piece {
    let answer = renderer.answer;
    let usage = &answer.usage;
    if answer.block.is_some() {
        return chunk(renderer, Vec::new(), usage, 0, true);
    }
    let joined = Joined::of(answer);
    let parts = joined.parts(answer);
    let is_told = renderer.fault != Some(Fault::NoFinishReason);
    let candidates = (0..answer.candidates).map(|index| {
        let mut candidate = Candidate::saying(index, parts.clone());
        if parts.is_empty() {
            candidate.content = None;
        }
        candidate.finish_reason = is_told.then_some(answer.finish);
        candidate
    });
    let filler = answer.flood.unwrap_or(0);
    let worth = usage.output_tokens().saturating_sub(filler);
    let whole = chunk(renderer, candidates.collect(), usage, worth, true);
    match answer.flood {
        Some(words) => whole.filled(words, true),
        None => whole,
    }
}

fn chunk(
    renderer: &Renderer<'_>,
    candidates: Vec<Candidate<'_>>,
    counted: &Usage,
    tokens: u64,
    is_last: bool,
) -> Piece {
    let reported = renderer.reported(counted);
    let counts = Counts::of(&reported, renderer.service);
    let streams = renderer.form != Form::Whole;
    let (counts, is_pair) = match renderer.fault {
        Some(Fault::NoUsage) => (None, false),
        Some(Fault::SplitUsage) if streams && !is_last => (Some(counts.prompt_half()), false),
        Some(Fault::SplitUsage) if streams => (Some(counts.answer_half()), true),
        Some(_) | None => (Some(counts), true),
    };
    let generated = Generated::new(renderer.answer, candidates, counts);
    let mut piece = Piece::new(generated.bytes(renderer.form == Form::Events)).worth(tokens);
    piece.reports = is_pair.then(|| (reported.prompt_tokens(), reported.output_tokens()));
    piece
}

fn add(count: &mut u64, more: u64) {
    *count = count.saturating_add(more);
}

/// The pieces of a candidate, put together as one document has them.
#[derive(Default)]
struct Joined {
    thought: String,
    text: String,
}

// === impl Joined ===

impl Joined {
    fn of(answer: &Answer) -> Self {
        let mut joined = Self::default();
        for piece in &answer.pieces {
            match &piece.part {
                Part::Thought(text) => joined.thought.push_str(text),
                Part::Text(text) => joined.text.push_str(text),
                Part::Call { .. } => {}
            }
        }
        if answer.flood.is_some() {
            joined.text = GAP.to_owned();
        }
        joined
    }

    fn parts<'a>(&'a self, answer: &'a Answer) -> Vec<PartShape<'a>> {
        let mut parts = Vec::new();
        if !self.thought.is_empty() {
            parts.push(PartShape::thought(&self.thought));
        }
        let calls = answer.pieces.iter().filter_map(|piece| match &piece.part {
            Part::Call { .. } => Some(PartShape::of(&piece.part)),
            Part::Thought(_) | Part::Text(_) => None,
        });
        let calls: Vec<PartShape<'_>> = calls.collect();
        let is_needed = calls.is_empty() && ends_well(answer.finish);
        if !self.text.is_empty() || is_needed {
            let mut text = PartShape::text(&self.text);
            text.thought_signature = answer.end_signature.as_deref();
            parts.push(text);
        }
        parts.extend(calls);
        parts
    }
}
