//! The script of an answer: events in order or one document, and what a fault does to them.

use std::iter;
use std::sync::Arc;

use crate::fault::Fault;
use crate::script::{self, FILLER_WORDS_PER_FRAME, Head, Piece, Script, Step, WRONG_STREAM_LENGTH};

use super::answer::{Answer, Block};
use super::frames::{Frame, Renderer, UsageReporting, Wire};

/// One step of a stream that is not yet bytes.
enum Move {
    Frame(Frame),
    /// So many filler words, so many in each event.
    Filler {
        words: u64,
        each: u64,
    },
    Hang,
    Abort,
}

/// Most words in one message of an AWS stream: it is made whole, so it must fit the memory.
const MAX_AWS_WORDS: u64 = 16 * 1024 * 1024;

/// The script of an answer. Faults that never come to an answer change nothing here.
pub(super) fn script(
    answer: Answer,
    stream: bool,
    is_aws: bool,
    pace_millis: u64,
    fault: Option<Fault>,
) -> Script {
    let mut told = answer.usage;
    if let Some(Fault::LyingUsage { factor }) = fault {
        told = told.times(factor.into());
    }
    let renderer = Renderer {
        answer,
        told,
        reports: match fault {
            Some(Fault::NoUsage) => UsageReporting::Nothing,
            Some(Fault::SplitUsage) if stream => UsageReporting::Halves,
            Some(_) | None => UsageReporting::Everything,
        },
        tells_stop: fault != Some(Fault::NoFinishReason),
        wire: if is_aws {
            Wire::Aws
        } else {
            Wire::Lines {
                is_cr_lf: fault == Some(Fault::CrLf),
            }
        },
        accents: matches!(fault, Some(Fault::SplitBytes { .. })),
    };
    let mut script = if stream {
        streamed(renderer, fault)
    } else {
        whole(&renderer, fault)
    };
    if stream {
        script.pause_millis = pace_millis;
    }
    if let Some(Fault::SlowDrip { millis }) = fault {
        script.pause_millis = pace_millis.max(millis.into());
    }
    if let Some(Fault::SplitBytes { chunk }) = fault {
        script.split = Some(usize::try_from(chunk).unwrap_or(usize::MAX).max(1));
    }
    script
}

/// A good status and a stream that says at once that it is none: only AWS does this.
pub(super) fn throttled(answer: Answer) -> Script {
    let renderer = Renderer {
        told: answer.usage,
        answer,
        reports: UsageReporting::Nothing,
        tells_stop: false,
        wire: Wire::Aws,
        accents: false,
    };
    let piece = renderer.render(Frame::Throttled);
    let mut script = Script::new(stream_head(None), vec![Step::Send(piece)]);
    script.is_complete = false;
    script
}

fn streamed(renderer: Renderer, fault: Option<Fault>) -> Script {
    let mut moves = moves(&renderer, fault);
    let mut content_length = None;
    let mut is_complete = true;
    let mut strike = |after_frames: u32, strikes: Move, goes_on: bool| {
        let at = usize::try_from(after_frames).unwrap_or(usize::MAX);
        let at = at.min(moves.len());
        if goes_on {
            moves.insert(at, strikes);
        } else {
            moves.truncate(at);
            moves.push(strikes);
            is_complete = false;
        }
    };
    match fault {
        Some(Fault::HangMidStream { after_frames }) => strike(after_frames, Move::Hang, false),
        Some(Fault::CloseMidStream { after_frames }) => strike(after_frames, Move::Abort, false),
        Some(Fault::ErrorFrameMidStream { after_frames }) => {
            strike(after_frames, Move::Frame(Frame::Error), false);
        }
        Some(Fault::GarbageFrame { after_frames }) => {
            strike(after_frames, Move::Frame(Frame::Garbage), true);
        }
        Some(Fault::WrongContentLength) => {
            content_length = Some(WRONG_STREAM_LENGTH);
            is_complete = false;
        }
        Some(Fault::TruncatedJson | Fault::NoDone) => is_complete = false,
        // These change the events themselves, the pieces, or nothing.
        Some(
            Fault::CloseBeforeHeaders
            | Fault::HangBeforeHeaders
            | Fault::SlowFirstByte { .. }
            | Fault::RateLimited { .. }
            | Fault::Status(_)
            | Fault::ErrorInside200
            | Fault::BaseResp(_)
            | Fault::SlowDrip { .. }
            | Fault::GiganticBody { .. }
            | Fault::GiganticFrame { .. }
            | Fault::LyingUsage { .. }
            | Fault::NoUsage
            | Fault::SplitUsage
            | Fault::NoFinishReason
            | Fault::SplitBytes { .. }
            | Fault::CrLf
            | Fault::NotReady { .. }
            | Fault::Audio(_)
            | Fault::Image(_)
            | Fault::Social(_),
        )
        | None => {}
    }
    let renderer = Arc::new(renderer);
    let steps = moves
        .into_iter()
        .flat_map(move |next| made(&renderer, next));
    let steps = vec![Step::later(steps)];
    let mut script = Script::new(stream_head(content_length), steps);
    script.is_complete = is_complete;
    script
}

/// The events in their order, with the faults that leave some out or add some.
fn moves(renderer: &Renderer, fault: Option<Fault>) -> Vec<Move> {
    let mut moves: Vec<Move> = if let Some(Fault::GiganticBody { .. }) = fault {
        flood(renderer, FILLER_WORDS_PER_FRAME)
    } else if let Some(Fault::GiganticFrame { .. }) = fault {
        flood(renderer, u64::MAX)
    } else {
        renderer.spoken().into_iter().map(Move::Frame).collect()
    };
    if fault == Some(Fault::TruncatedJson) {
        // The last piece is cut, and nothing comes behind it.
        let is_piece = |next: &Move| matches!(next, Move::Frame(Frame::Piece { .. }));
        if let Some(at) = moves.iter().rposition(is_piece) {
            moves.truncate(at);
        }
        let block = renderer.answer.blocks.len().saturating_sub(1);
        moves.push(Move::Frame(Frame::Cut { block }));
        return moves;
    }
    moves.push(Move::Frame(Frame::MessageDelta));
    if fault != Some(Fault::NoDone) {
        moves.push(Move::Frame(Frame::MessageStop));
    }
    moves
}

fn flood(renderer: &Renderer, each: u64) -> Vec<Move> {
    let words = renderer.answer.blocks.iter().map(Block::tokens).sum();
    let each = match renderer.wire {
        Wire::Aws => each.min(MAX_AWS_WORDS),
        Wire::Lines { .. } => each,
    };
    vec![
        Move::Frame(Frame::MessageStart),
        Move::Frame(Frame::BlockStart { block: 0 }),
        Move::Filler { words, each },
        Move::Frame(Frame::BlockStop { block: 0 }),
    ]
}

/// The steps of one move, made when it is due.
fn made(renderer: &Arc<Renderer>, next: Move) -> Box<dyn Iterator<Item = Step> + Send> {
    match next {
        Move::Frame(frame) => Box::new(iter::once(Step::Send(renderer.render(frame)))),
        Move::Hang => Box::new(iter::once(Step::Hang)),
        Move::Abort => Box::new(iter::once(Step::Abort)),
        Move::Filler { words, each } => {
            let renderer = Arc::clone(renderer);
            let mut left = words;
            let portions = iter::from_fn(move || {
                let now = left.min(each);
                left = left.saturating_sub(now);
                (now > 0).then_some(now)
            });
            Box::new(portions.flat_map(move |words| filled(&renderer, words)))
        }
    }
}

/// One event of filler.
fn filled(renderer: &Renderer, words: u64) -> Vec<Step> {
    match renderer.wire {
        Wire::Aws => vec![Step::Send(renderer.filled(words))],
        Wire::Lines { .. } => {
            let (before, after) = renderer.around_filler();
            vec![
                Step::Send(Piece::new(before)),
                Step::Filler { words },
                Step::Send(Piece::new(after)),
            ]
        }
    }
}

fn whole(renderer: &Renderer, fault: Option<Fault>) -> Script {
    if let Some(Fault::GiganticBody { .. } | Fault::GiganticFrame { .. }) = fault {
        return gigantic(renderer);
    }
    let document = renderer.document(false);
    let mut piece = Piece::new(document).worth(renderer.answer.usage.output);
    piece.reports = (renderer.reports != UsageReporting::Nothing).then(|| renderer.told_pair());
    script::document(piece, fault)
}

/// A whole answer too large to be held: its two ends, and filler between them.
fn gigantic(renderer: &Renderer) -> Script {
    use crate::script::GAP;
    let document = renderer.document(true);
    let text = String::from_utf8_lossy(&document);
    let (before, after) = text.rsplit_once(GAP).unwrap_or((&text, ""));
    let words = renderer.answer.blocks.iter().map(Block::tokens).sum();
    let end = Piece::new(after.to_owned()).reporting(renderer.told_pair());
    let steps = vec![
        Step::Send(Piece::new(before.to_owned())),
        Step::Filler { words },
        Step::Send(end),
    ];
    let head = Head {
        // Without a length, so that a client has to bound what it reads.
        content_length: None,
        is_event_stream: false,
        ..stream_head(None)
    };
    Script::new(head, steps)
}

fn stream_head(content_length: Option<u64>) -> Head {
    Head {
        status: 200,
        is_event_stream: true,
        content_length,
        retry_after_secs: None,
    }
}
