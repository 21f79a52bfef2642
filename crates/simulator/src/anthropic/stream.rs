//! The script of an answer: its events in order or one document, and which of them a fault leaves
//! out.

use crate::fault::Fault;
use crate::fault_stage::{self, Injected};
use crate::script::{Head, Piece, Script, Step};

use super::answer::{Answer, Block};
use super::frames::{Frame, Renderer, UsageReporting, Wire};

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
    let mut reported = answer.usage;
    if let Some(Fault::LyingUsage { factor }) = fault {
        reported = reported.times(factor.into());
    }
    let renderer = Renderer {
        answer,
        reported,
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
    let script = if stream {
        streamed(renderer, fault)
    } else {
        whole(&renderer, fault)
    };
    script.paced(stream, pace_millis, fault)
}

/// A good status and a stream that says at once that it is none: only AWS does this.
pub(super) fn throttled(answer: Answer) -> Script {
    let renderer = Renderer {
        reported: answer.usage,
        answer,
        reports: UsageReporting::Nothing,
        tells_stop: false,
        wire: Wire::Aws,
        accents: false,
    };
    let piece = renderer.render(Frame::Throttled);
    let mut script = Script::new(Head::event_stream(), vec![Step::Send(piece)]);
    script.is_complete = false;
    script
}

fn streamed(renderer: Renderer, fault: Option<Fault>) -> Script {
    let each = fault_stage::filler_per_frame(fault);
    let (start, end) = frames(&renderer, fault);
    let words = each.map_or(0, |_| words(&renderer));
    let each = match renderer.wire {
        Wire::Aws => each.unwrap_or_default().min(MAX_AWS_WORDS),
        Wire::Lines { .. } => each.unwrap_or_default(),
    };
    let filler = fault_stage::portions(words, each).map(|words| Frame::Filler { words });
    let frames = start.into_iter().chain(filler).chain(end);
    let injected = Injected {
        error: Frame::Error,
        garbage: Frame::Garbage,
    };
    fault_stage::stream(frames, injected, fault, move |_, frame| {
        renderer.render(frame)
    })
}

/// The events before and behind the filler of a gigantic answer, with the faults that leave some out.
fn frames(renderer: &Renderer, fault: Option<Fault>) -> (Vec<Frame>, Vec<Frame>) {
    let mut end = Vec::new();
    let mut start = if fault_stage::is_gigantic(fault) {
        end.push(Frame::BlockStop { block: 0 });
        vec![Frame::MessageStart, Frame::BlockStart { block: 0 }]
    } else {
        renderer.spoken()
    };
    if fault == Some(Fault::TruncatedJson) {
        // The last piece is cut, and nothing comes behind it.
        let is_piece = |frame: &Frame| matches!(frame, Frame::Piece { .. });
        if let Some(at) = start.iter().rposition(is_piece) {
            start.truncate(at);
        }
        let block = renderer.answer.blocks.len().saturating_sub(1);
        start.push(Frame::Cut { block });
        return (start, end);
    }
    end.push(Frame::MessageDelta);
    if fault != Some(Fault::NoDone) {
        end.push(Frame::MessageStop);
    }
    (start, end)
}

fn whole(renderer: &Renderer, fault: Option<Fault>) -> Script {
    let is_gigantic = fault_stage::is_gigantic(fault);
    let mut piece = Piece::new(renderer.document(is_gigantic));
    piece.reports = (renderer.reports != UsageReporting::Nothing).then(|| renderer.told_pair());
    piece = if is_gigantic {
        piece.filled(words(renderer), true)
    } else {
        piece.worth(renderer.answer.usage.output)
    };
    fault_stage::document(piece, fault)
}

fn words(renderer: &Renderer) -> u64 {
    renderer.answer.blocks.iter().map(Block::tokens).sum()
}
