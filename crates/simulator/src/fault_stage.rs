//! The stage between a vendor's answer and the wire, and the one place where transport faults act.
//!
//! A vendor decides what it answers, how a frame looks and how it words an error. This stage selects
//! the fault of a request ([`select`]), answers in the vendor's place ([`early`], [`inside_200`]) and
//! breaks the body of a good answer ([`document`], [`stream`]).

use std::iter;
use std::time::Duration;

use crate::directives::Directives;
use crate::fault::Fault;
use crate::recorded_request::RecordedRequest;
use crate::script::{Head, Piece, Script, Step};
use crate::scripted_body::{Abort, MAX_HANG};
use crate::tokens::count;

pub(crate) use crate::fault::{UpstreamError, inside_200};

/// Which rules a request meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RuleScope {
    /// Those of every model.
    Model,
    /// Those of every model and those of speech and recognition.
    Audio,
}

/// The frames that a fault puts into a stream.
pub(crate) struct Injected<F> {
    pub(crate) error: F,
    /// Neither JSON nor UTF-8.
    pub(crate) garbage: F,
}

/// Bytes that no JSON parser and no UTF-8 decoder accepts.
pub(crate) const GARBAGE: &[u8] = b"{\"id\": \xff\xfe\x00 <html> not json";
/// Filler words in each frame of a gigantic stream.
const FILLER_WORDS_PER_FRAME: u64 = 1024;
/// Longest time a whole answer is held back by the pace of its prompt.
const MAX_WHOLE_WAIT: Duration = Duration::from_secs(600);
/// Bytes of each piece of a document under [`Fault::SlowDrip`].
const DRIP_BYTES: usize = 64;
/// What a wrong content length promises beyond the bytes of a document.
const WRONG_SURPLUS: u64 = 64;
/// What it promises for a stream, which has no length of its own.
const WRONG_STREAM_LENGTH: u64 = 1 << 30;

/// The fault of an acceptable request, written to its record. Only an acceptable request gets here,
/// so that no rule is spent on a bad one; a directive goes before the rules, since it speaks of this
/// request alone.
pub(crate) fn select(
    recorded: &RecordedRequest,
    directives: &Directives,
    model: &str,
    scope: RuleScope,
) -> Option<Fault> {
    let fault = directives.fault.or_else(|| {
        let mut plans = recorded.state.plans();
        match scope {
            RuleScope::Model => plans.strike(model, &recorded.key),
            RuleScope::Audio => plans.strike_audio(model, &recorded.key),
        }
    });
    recorded.note(|record| {
        record.marker.clone_from(&directives.marker);
        record.fault = fault;
    });
    fault
}

/// Closes the connection where a fault wants that; otherwise the error that comes instead of an
/// answer, if one does.
pub(crate) async fn early(
    recorded: &mut RecordedRequest,
    fault: Option<Fault>,
) -> Result<Option<UpstreamError>, Abort> {
    let after = match fault {
        Some(Fault::CloseBeforeHeaders) => Duration::ZERO,
        Some(Fault::HangBeforeHeaders) => MAX_HANG,
        Some(Fault::RateLimited { retry_after_secs }) => {
            return Ok(Some(UpstreamError::RateLimited { retry_after_secs }));
        }
        Some(Fault::Status(status)) => {
            let is_error = (400..600).contains(&status);
            return Ok(Some(UpstreamError::Status(if is_error {
                status
            } else {
                500
            })));
        }
        Some(_) | None => return Ok(None),
    };
    pause(after).await;
    recorded.watch.end(false);
    Err(Abort)
}

/// Holds the first byte back where a fault wants that.
pub(crate) async fn delay_first_byte(fault: Option<Fault>) {
    if let Some(Fault::SlowFirstByte { millis }) = fault {
        pause(Duration::from_millis(millis.into())).await;
    }
}

/// All that comes before an answer, for vendors whose errors under status 200 are worded at once.
pub(crate) async fn before_answer(
    recorded: &mut RecordedRequest,
    fault: Option<Fault>,
    is_stream: bool,
) -> Result<Option<UpstreamError>, Abort> {
    let error = early(recorded, fault).await?;
    let error = error.or_else(|| inside_200(fault, is_stream));
    delay_first_byte(fault).await;
    Ok(error)
}

/// A document, broken by the fault. One with filler has no length, so that a client has to bound
/// what it reads.
pub(crate) fn document(whole: Piece, fault: Option<Fault>) -> Script {
    let is_bounded = whole.filler.is_none();
    let length = count(whole.bytes.len());
    let half = whole.bytes.slice(..whole.bytes.len() / 2);
    let half_length = count(half.len());
    let half = Step::Send(Piece::new(half));
    let (length, steps, is_complete) = match fault {
        Some(Fault::HangMidStream { .. }) => (length, vec![half, Step::Hang], false),
        Some(Fault::CloseMidStream { .. }) => (length, vec![half, Step::Abort], false),
        Some(Fault::TruncatedJson) => (half_length, vec![half], false),
        Some(Fault::GarbageFrame { .. }) => {
            let length = half_length.saturating_add(count(GARBAGE.len()));
            (length, vec![half, Step::Send(Piece::new(GARBAGE))], false)
        }
        Some(Fault::WrongContentLength) => {
            let length = length.saturating_add(WRONG_SURPLUS);
            (length, vec![Step::Send(whole)], false)
        }
        Some(Fault::SlowDrip { .. }) => (length, drip(whole), true),
        Some(_) | None => (length, vec![Step::Send(whole)], true),
    };
    let mut head = Head::ok();
    head.content_length = is_bounded.then_some(length);
    let mut script = Script::new(head, steps);
    script.is_complete = is_complete;
    script
}

/// A stream of events, broken by the fault. A frame is rendered with its place in the stream when its
/// turn comes, so that a long stream is not held as bytes.
pub(crate) fn stream<F: Send + 'static>(
    frames: impl Iterator<Item = F> + Send + 'static,
    injected: Injected<F>,
    fault: Option<Fault>,
    render: impl Fn(u64, F) -> Piece + Send + 'static,
) -> Script {
    let mut frames: Box<dyn Iterator<Item = F> + Send> = Box::new(frames);
    let place = |after_frames: u32| usize::try_from(after_frames).unwrap_or(usize::MAX);
    let mut head = Head::event_stream();
    let (mut is_complete, mut last) = (true, None);
    match fault {
        Some(Fault::HangMidStream { after_frames }) => {
            frames = Box::new(frames.take(place(after_frames)));
            last = Some(Step::Hang);
        }
        Some(Fault::CloseMidStream { after_frames }) => {
            frames = Box::new(frames.take(place(after_frames)));
            last = Some(Step::Abort);
        }
        Some(Fault::ErrorFrameMidStream { after_frames }) => {
            let error = iter::once(injected.error);
            frames = Box::new(frames.take(place(after_frames)).chain(error));
            is_complete = false;
        }
        Some(Fault::GarbageFrame { after_frames }) => {
            frames = Box::new(inserted(frames, place(after_frames), injected.garbage));
        }
        Some(Fault::WrongContentLength) => {
            head.content_length = Some(WRONG_STREAM_LENGTH);
            is_complete = false;
        }
        // The vendor left its last frames out.
        Some(Fault::TruncatedJson | Fault::NoDone) => is_complete = false,
        Some(_) | None => {}
    }
    let pieces = (0..).zip(frames).map(move |(at, frame)| render(at, frame));
    let mut steps = vec![Step::pieces(pieces)];
    if let Some(step) = last {
        steps.push(step);
        is_complete = false;
    }
    let mut script = Script::new(head, steps);
    script.is_complete = is_complete;
    script
}

/// How many words of filler stand in each frame of a stream, if the fault makes it a gigantic one.
pub(crate) fn filler_per_frame(fault: Option<Fault>) -> Option<u64> {
    match fault {
        Some(Fault::GiganticBody { .. }) => Some(FILLER_WORDS_PER_FRAME),
        Some(Fault::GiganticFrame { .. }) => Some(u64::MAX),
        Some(_) | None => None,
    }
}

/// Whether the fault makes an answer too large to be held.
pub(crate) fn is_gigantic(fault: Option<Fault>) -> bool {
    filler_per_frame(fault).is_some()
}

/// `words` in portions of at most `each`.
pub(crate) fn portions(words: u64, each: u64) -> impl Iterator<Item = u64> + Send {
    let mut left = words;
    iter::from_fn(move || {
        let now = left.min(each);
        left = left.saturating_sub(now);
        (now > 0).then_some(now)
    })
}

/// What reported usage is multiplied by; nothing if the fault hides it.
pub(crate) fn usage_factor(fault: Option<Fault>) -> Option<u64> {
    match fault {
        Some(Fault::NoUsage) => None,
        Some(Fault::LyingUsage { factor }) => Some(factor.into()),
        Some(_) | None => Some(1),
    }
}

pub(crate) fn reported(fault: Option<Fault>, count: u64) -> Option<u64> {
    usage_factor(fault).map(|factor| count.saturating_mul(factor))
}

/// Even an empty sleep waits for the next tick of the timer, which a load test would see.
pub(crate) async fn pause(time: Duration) {
    if !time.is_zero() {
        tokio::time::sleep(time).await;
    }
}

/// How long a whole answer of so many tokens takes.
pub(crate) fn whole_wait(pace_millis: u64, tokens: u64) -> Duration {
    Duration::from_millis(pace_millis.saturating_mul(tokens)).min(MAX_WHOLE_WAIT)
}

/// The frames with one more at this place, or behind the last if there are fewer.
fn inserted<F>(
    mut frames: impl Iterator<Item = F>,
    place: usize,
    frame: F,
) -> impl Iterator<Item = F> {
    let (mut left, mut frame) = (place, Some(frame));
    iter::from_fn(move || {
        if left == 0 && frame.is_some() {
            return frame.take();
        }
        left = left.saturating_sub(1);
        frames.next().or_else(|| frame.take())
    })
}

/// The same bytes in small pieces; the last one carries the meaning.
fn drip(mut whole: Piece) -> Vec<Step> {
    let mut steps = Vec::new();
    while whole.bytes.len() > DRIP_BYTES {
        let piece = Piece::new(whole.bytes.split_to(DRIP_BYTES));
        steps.push(Step::Send(piece));
    }
    steps.push(Step::Send(whole));
    steps
}
