//! Streams whose pieces are made as they are sent: a list of small events, what a fault does to
//! the list, and the bytes of each event only when its turn comes.

use bytes::Bytes;

use crate::answer::FILLER_WORD_BYTES;
use crate::fault::Fault;
use crate::scripted_body::FILLER;
use crate::tokens::count;

use super::stream::WRONG_STREAM_LENGTH;
use super::{Head, Piece, Script, Step};

/// The script of a stream of events. `error` and `garbage` are the events that a fault puts among
/// the others; `render` makes the bytes of an event from its place in the stream.
pub(crate) fn streamed<E: Send + 'static>(
    mut events: Vec<E>,
    (error, garbage): (E, E),
    fault: Option<Fault>,
    render: impl Fn(u64, E) -> Piece + Send + 'static,
) -> Script {
    let mut head = Head {
        status: 200,
        is_event_stream: true,
        content_length: None,
        retry_after_secs: None,
    };
    let (mut is_complete, mut then) = (true, None);
    match fault {
        Some(Fault::HangMidStream { after_frames }) => {
            events.truncate(place(after_frames, events.len()));
            then = Some(Step::Hang);
        }
        Some(Fault::CloseMidStream { after_frames }) => {
            events.truncate(place(after_frames, events.len()));
            then = Some(Step::Abort);
        }
        Some(Fault::ErrorFrameMidStream { after_frames }) => {
            events.truncate(place(after_frames, events.len()));
            events.push(error);
            is_complete = false;
        }
        Some(Fault::GarbageFrame { after_frames }) => {
            events.insert(place(after_frames, events.len()), garbage);
        }
        Some(Fault::WrongContentLength) => {
            head.content_length = Some(WRONG_STREAM_LENGTH);
            is_complete = false;
        }
        Some(Fault::TruncatedJson | Fault::NoDone) => is_complete = false,
        // These change the events themselves, the pieces, or nothing.
        Some(
            Fault::CloseBeforeHeaders
            | Fault::HangBeforeHeaders
            | Fault::RateLimited { .. }
            | Fault::Status(_)
            | Fault::SlowFirstByte { .. }
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
    let pieces = (0..).zip(events).map(move |(at, event)| render(at, event));
    let mut steps = vec![Step::pieces(pieces)];
    if let Some(step) = then {
        steps.push(step);
        is_complete = false;
    }
    let mut script = Script::new(head, steps);
    script.is_complete = is_complete;
    script
}

/// Where a fault strikes among so many events.
fn place(after_frames: u32, length: usize) -> usize {
    usize::try_from(after_frames).map_or(length, |at| at.min(length))
}

/// So many words of filler; `worth` says whether they count as tokens.
pub(crate) fn filler(words: u64, worth: bool) -> impl Iterator<Item = Piece> + Send {
    let most = count(FILLER.len()) / FILLER_WORD_BYTES;
    let mut left = words;
    std::iter::from_fn(move || {
        let now = left.min(most);
        left = left.saturating_sub(now);
        let length = usize::try_from(now.saturating_mul(FILLER_WORD_BYTES)).unwrap_or_default();
        let bytes = Bytes::from_static(FILLER).slice(..length.min(FILLER.len()));
        (now > 0).then(|| Piece::new(bytes).worth(if worth { now } else { 0 }))
    })
}
