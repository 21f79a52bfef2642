//! The script of a streamed answer: its frames in order, and what a fault does to them.

use crate::fault::Fault;

use super::{Frame, Head, Renderer, Script, Step};

/// What a wrong content length promises for a stream, which has no length of its own.
pub(crate) const WRONG_STREAM_LENGTH: u64 = 1 << 30;
/// Filler words in each frame of a gigantic stream.
pub(crate) const FILLER_WORDS_PER_FRAME: u64 = 1024;

/// The script of a stream.
pub(super) fn script(renderer: &Renderer, fault: Option<Fault>) -> Script {
    let mut is_complete = true;
    let mut head = Head {
        status: 200,
        is_event_stream: true,
        content_length: None,
        retry_after_secs: None,
    };
    let mut steps = stream_steps(renderer, fault);
    let mut strike = |after_frames: u32, steps: &mut Vec<Step>, step: Step, goes_on: bool| {
        let at = usize::try_from(after_frames).unwrap_or(usize::MAX);
        let at = at.min(steps.len());
        if goes_on {
            steps.insert(at, step);
        } else {
            steps.truncate(at);
            steps.push(step);
            is_complete = false;
        }
    };
    match fault {
        Some(Fault::HangMidStream { after_frames }) => {
            strike(after_frames, &mut steps, Step::Hang, false);
        }
        Some(Fault::CloseMidStream { after_frames }) => {
            strike(after_frames, &mut steps, Step::Abort, false);
        }
        Some(Fault::ErrorFrameMidStream { after_frames }) => {
            strike(after_frames, &mut steps, Step::Frame(Frame::Error), false);
        }
        Some(Fault::GarbageFrame { after_frames }) => {
            strike(after_frames, &mut steps, Step::Frame(Frame::Garbage), true);
        }
        Some(Fault::WrongContentLength) => {
            head.content_length = Some(WRONG_STREAM_LENGTH);
            is_complete = false;
        }
        Some(Fault::TruncatedJson | Fault::NoDone) => is_complete = false,
        // These change the frames themselves, the pieces, or nothing.
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
    let mut script = Script::new(head, steps);
    script.is_complete = is_complete;
    script
}

/// The frames in their order, with the faults that leave some out or add some.
fn stream_steps(renderer: &Renderer, fault: Option<Fault>) -> Vec<Step> {
    let mut steps: Vec<Step> = if let Some(Fault::GiganticBody { .. }) = fault {
        filler(renderer, FILLER_WORDS_PER_FRAME)
    } else if let Some(Fault::GiganticFrame { .. }) = fault {
        filler(renderer, u64::MAX)
    } else {
        renderer.spoken().into_iter().map(Step::Frame).collect()
    };
    if fault == Some(Fault::TruncatedJson) {
        if let Some(Step::Frame(Frame::Token { choice, index })) = steps.pop() {
            steps.push(Step::Frame(Frame::Cut { choice, index }));
        }
        return steps;
    }
    if fault != Some(Fault::NoFinishReason) {
        steps.extend(renderer.finishing().map(Step::Frame));
    }
    if renderer.asks_usage && fault == Some(Fault::SplitUsage) {
        steps.push(Step::Frame(Frame::PromptUsage));
        steps.push(Step::Frame(Frame::CompletionUsage));
    } else if renderer.asks_usage && fault != Some(Fault::NoUsage) {
        steps.push(Step::Frame(Frame::Usage));
    }
    if fault != Some(Fault::NoDone) {
        steps.push(Step::Frame(Frame::Done));
    }
    steps
}

fn filler(renderer: &Renderer, each: u64) -> Vec<Step> {
    let left = renderer.answer.says.pieces();
    let opening = renderer.opening().into_iter().map(Step::Frame);
    let mut steps: Vec<Step> = opening.collect();
    steps.push(Step::FillerFrames { left, each });
    steps
}
